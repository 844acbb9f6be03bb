"""How people set something for a whole session: patterns over one sentence, strongest first.

Recall comes before precision. A sentence kept in vain costs a few tokens and leaves when the budget is short; a rule
that is missed is lost. `strength` 3 speaks for the whole session or forbids outright, 2 orders or limits, 1 merely
looks like a directive. Every pattern is matched against a sentence in lower case: ignoring case in the pattern costs
several times as much.
"""

from __future__ import annotations

from typing import Literal

from refold.summarize.lazy import Lazy, either

Kind = Literal["goal", "rule", "limit", "preference", "decision", "state", "fact", "note"]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBER = (
    r"(?:(?<![a-z_])\d|\b(?:eur|usd|chf|gbp)\d|\b(?:one(?! or more)"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|sixty"
    r"|ninety|hundred|thousand|million|dozen|half|single|zero|couple)\b)"
)
_DAY = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)\b|\b(?:tonight|tomorrow|noon|midnight|eod|eow"
    r"|end of (?:the )?(?:day|week|month"
    r"|quarter|year)|q[1-4])\b"
)

NUMBER_OR_DAY = Lazy(f"{_NUMBER}|{_DAY}")

BOUND = either(
    r"\b(?:at most|no more than|not more than|more than|up to|at least|no less than|not less than|less than"
    r"|fewer than)\b",
    r"\b(?:max(?:imum|imal|ed)?|min(?:imum|imal)?|limit(?:s|ed)?|cap(?:s|ped)?|ceiling|quota|budget|allowance"
    r"|threshold)\b",
    r"\b(?:exceed(?:s|ing)?|go(?:es)? (?:over|above|beyond|past)|stay (?:under|below|within)|within|under|below"
    r"|above)\b",
    r"\b(?:deadline|due|closes|expires?|no later than|not later than|by (?:the )?end|until|spend(?:ing)?|tops"
    r"|or (?:less|fewer|more))\b",
    r"\b(?:may|can|must|should|shall|has to|have to|needs? to) (?:take|cost|last|use|weigh|run|fit|be (?:done"
    r"|ready|finished))\b",
    r"\b(?:available|left|to spare|each|per|every|a (?:day|week|month|minute|second|request|file|run)) *$",
    r"[<>≤≥]=?\s*\d|\bby " + f"(?:{_DAY})",
    r"\b(?:only|longer|shorter|over|then (?:stop|give up)|not a \w+ more|(?:too|so) (?:long|big|many|much|slow"
    r"|late)|enough)\b",
    r"\b(?:höchstens|maximal|mindestens|unter|bis zu|limite|maximum|au plus|au moins|máximo|mínimo|como máximo"
    r"|al massimo)\b",
    r"不超过|最多|至少|以内|まで|以下|не более|максимум|не менее",
)

ABSOLUTE = either(
    r"\b(?:never|always|must(?:n'?t| not)?|under no circumstances?|at all times|no matter what|nobody|no one"
    r"|without exception|in no case)\b",
    r"\b(?:forbidden|prohibited|off[- ]limits|untouchable|taboo|banned|disallowed|non-?negotiable|mandatory"
    r"|compulsory)\b",
    r"\b(?:not (?:allowed|permitted|acceptable|an option|negotiable|to be)|is out of the question|strictly"
    r"|absolutely|ever)\b",
    r"\b(?:from now on|from here on|going forward|henceforth|from this point|in future|in the future"
    r"|for the rest of)\b",
    r"\b(?:throughout|the (?:whole|entire) (?:session|project|time|way)|as a rule|rule of thumb|house rule"
    r"|hard rule)\b",
    r"\b(?:until (?:i|we) (?:say|tell)|unless i (?:say|tell|ask|approve)|whatever happens|every (?:single )?time"
    r"|each time)\b",
    r"\b(?:whenever|hands off|read[- ]only|frozen|sacred|immutable|do not|don'?t (?:ever|you)|keep (?:your )?hands)\b",
    r"\b(?:my|our|one|two|three|first|second|third|the|another|important|key|golden|standing|ground) (?:rules?"
    r"|constraints?)\b",
    r"\b(?:require(?:s|d|ment)?|insist|demand)\b",
    r"\b(?:niemals|nie(?= )|immer|verboten|auf keinen fall|unter keinen umständen|jamais|toujours|interdit"
    r"|en aucun cas)\b",
    r"\b(?:nunca|siempre|prohibido|jamás|bajo ninguna|sempre|proibido|vietato|non .{0,20}mai)\b",
    r"никогда|всегда|нельзя|запрещ|绝不|永远|必须|不得|禁止|不要|总是|絶対|必ず|常に|禁止|しないで",
)

FORBIDS = either(
    r"\b(?:don'?t|avoid|refrain|no (?!idea|problem|worries|need|doubt|longer|one|way|wonder|clue)\w+"
    r"|without (?:asking|my|a|any|first))\b",
    r"\b(?:make sure|ensure|be sure|be careful|take care|see to it|double[- ]check|stay (?:away|clear|out)"
    r"|steer clear)\b",
    r"\b(?:before (?:you|any|each|every|merging|pushing|committing|deploying|running|making|touching|changing"
    r"|deleting))\b",
    r"\b(?:approval|sign[- ]?off|permission|ask me|check with|run it by|let me know (?:before|first))\b",
    r"\b(?:leave .{1,40} (?:alone|untouched|as (?:it|they)))\b",
    r"\b(?:keep|leave) .{1,60} (?:out of|away from|off) \w+",
    r"\b(?:past|by) me (?:first|before)\b",
    r"\b(?:keine?|darf(?:st)? nicht|ne .{1,30} pas|no (?:debes|uses|toques)|non devi)\b",
    r"别|не (?:делай|трогай|используй)",
)
"""What forbids or demands without a word for always."""

ORDER = either(
    r"\b(?:don'?t|avoid|refrain|no (?!idea|problem|worries|need|doubt|longer|one|way|wonder|clue)\w+"
    r"|without (?:asking|my|a|any|first))\b",
    r"\b(?:make sure|ensure|be sure|be careful|take care|see to it|double[- ]check|stay (?:away|clear|out)"
    r"|steer clear)\b",
    r"\b(?:only|nothing (?:else|but)|solely|exclusively|should(?:n'?t)?|shall|ought|need(?:s)? (?:to|my)|has to"
    r"|have to)\b",
    r"\b(?:not to|isn'?t to|aren'?t to|is to be|are to be|stick (?:to|with)|leave .{1,40} (?:alone|untouched"
    r"|as (?:it|they)))\b",
    r"\b(?:before (?:you|any|each|every|merging|pushing|committing|deploying|running|making|touching|changing"
    r"|deleting))\b",
    r"\b(?:every|each|all|any) (?!i\b)\w+.{0,60}\b(?:gets?|goes|go|needs?|is|are|comes?|carr(?:y|ies)|has|have)\b",
    r"\b(?:approval|sign[- ]?off|permission|confirm(?:ation)?|ask me|check with|run it by|let me know (?:before"
    r"|first))\b",
    r"\b(?:remember|bear in mind|keep in mind|don'?t forget|note that|please note|important)\b",
    r"\b(?:untouched|unchanged|intact|as[- ]is|backwards?[- ]compatible|out of scope|in scope|leave out|skip"
    r"|stop)\b",
    r"\b(?:supposed to|belongs?|essential|crucial|vital|critical|imperative|no-go"
    r"|stays? (?:exactly )?(?:out|away|in|as)|responsible for)\b",
    r"\b(?:goes|go|are|is) (?:in|into|under|through|stored|kept|written|named|signed)\b",
    r", (?:and )?not \w+",
    r"\b(?:keine?|nicht|bitte|darf(?:st)?|sollst|musst|muss|ne .{1,30} pas|il faut|no (?:debes|uses|toques)"
    r"|hay que|non devi)\b",
    r"не (?:надо|делай|трогай|используй)|请|别|应该|してください|ください",
)

PERMISSION = either(
    r"\b(?:(?<!if )(?:you|we|everyone|everybody)(?:'re| are)? (?:may|can|could|are (?:now )?allowed|are free"
    r"|allowed)(?: \w+)? (?!see|find|look|read|tell|imagine))",
    r"\b(?:is|are|'s) (?:now |again |also )?(?:fine|ok(?:ay)?|allowed|permitted|acceptable|alright|possible"
    r"|welcome)\b",
    r"\b(?:it'?s|that'?s) (?:fine|ok(?:ay)?|alright) (?:now |again )?(?:to|if|for|with)\b",
    r"\b(?:feel free|go ahead)\b",
    r"\b(?:open(?:ed)? (?:for|to|again)|back (?:on|in play)|unlocked|unfrozen|available again|cleared for"
    r"|can (?:now )?(?:grow|go|be))\b",
    r"\b(?:no longer|not .{0,40}any ?more|any ?more|anymore|lifted|waived|is over|doesn'?t apply|don'?t need to"
    r"|need not|no need (?:to|for)|any longer|don'?t bother (?:with|to|about))\b",
    r"\b(?:du darfst|ihr dürft|ist (?:wieder )?erlaubt|nicht mehr|tu peux|vous pouvez|ne .{1,20} plus|puedes"
    r"|ya no|puoi)\b",
    r"可以|もう|いいです|можно|больше не",
)

RETRACTION = either(
    r"\b(?:forget|ignore|drop|lift|scrap|cancel|disregard|remove|withdraw|take back|undo|revoke|never ?mind"
    r"|scratch) (?:about |the |that |what |my |our |any |this |those |it\b)",
    r"^(?:scrap|ditch) \w+",
    r"\b(?:changed? my mind|on second thought|i was wrong|i take (?:that|it) back|is lifted|are lifted|is gone"
    r"|void)\b",
    r"\b(?:vergiss|ignoriere|doch nicht|oublie|olvida|dimentica|esquece)\b",
    r"忘れて|忽略|取消|забудь",
)

CHANGE = either(
    r"\b(?:now|instead|actually|again|from now on|no longer|any ?more|any longer|stop \w+ing|after all"
    r"|correction|bigger|larger|smaller|higher|tighter|update|updated|new|changed?|changes)\b",
    r"\b(?:can (?:now )?(?:grow|go|be|use|take|have)|raise[sd]?|increase[sd]?|lower(?:s|ed)?|reduce[sd]?"
    r"|extend(?:s|ed)?|mov(?:e|es|ed)|go(?:es)? (?:up|down)|bump(?:s|ed)?|cut|double[sd]?|grew|shrank|set|make it"
    r"|switch(?:ed)?|revised?|replace[sd]?|on second thought|scratch|rather|went (?:up|down)|got (?:more|less)"
    r"|approved|turns out|(?:lets?|allows?) (?:us|you|me|\w+)|back to|let'?s (?:say|make)|post(?:poned?)"
    r"|push(?:ed)? (?:back|out)|slipp?(?:ed|s))\b",
    r"\b(?:jetzt|doch|stattdessen|ab sofort|maintenant|désormais|plutôt|ahora|mejor|adesso|agora)\b",
    r"现在|改为|今から|теперь",
)

NAMED = either(
    r"\b(?:call me|address me|refer to me|my name(?:'s| is)|my pronouns|name'?s|i go by|nenn(?:en sie)? mich"
    r"|ich heiße)\b",
    r"\b(?:appelle[sz]?-moi|je m'appelle|llámame|me llamo|chiamami|mi chiamo)\b",
    r"叫我|と呼んで|зови меня|меня зовут",
)

LIKING = either(
    r"\b(?:i|we|i'd|we'd)(?: would| really| generally| usually| always| also| personally| strongly| much"
    r"| do)* (?:prefer|like|rather|love|favou?r|appreciate|enjoy|hate|dislike|detest|can'?t stand|loathe"
    r"|care about|value|don'?t (?:like|care|want))\b",
    r"\b(?:prefer(?:s|red|ably|ence)?|favou?r(?:ed|ite)?|pet peeve|i'?m (?:a fan|fond|not a fan|allergic"
    r"|more comfortable|used to|picky))\b",
    r"\b(?:rather than|instead of|over) (?:a |an |the |any |using |long |big |writing )?\w+",
    r"\bif (?:possible|in doubt)\b",
    r"\bwhen in doubt\b",
    r"\b(?:answer|reply|respond|write|speak|talk|explain|communicate|address|summari[sz]e|comment|describe|phrase"
    r"|format|present|show|report|label|spell|indent|quote|name)\b.{0,60}\b(?:in|as|with|using|to)\b",
    r"\b(?:keep|make) (?:it|them|things|your|the|every|all|any)?.{0,50}\b(?:short|brief|concise|terse|simple"
    r"|small|minimal|tidy|clean|formal|informal|friendly|polite|detailed|readable|plain|to the point|under|crisp"
    r"|tight|lean|dry)\b",
    r"\b(?:bullet points?|one[- ]liners?|emojis?|british|american|metric|tabs|spaces|camelcase|snake_case|tone"
    r"|style|wording|verbos\w*)\b",
    r"\b(?:default to|opt for|lean towards?|go easy on|spare me|skip the|less|more) \w+",
    r"\bworks? (?:better|best) for me\b",
    r"\bsuits? me\b",
    r"\bi(?:'d| would) be happier\b",
    r"\bmy (?:taste|habit|liking|preference)\b",
    r"\b(?:lieber|bevorzuge|antworte|préfère|réponds|prefiero|responde|preferisco|rispondi|prefiro)\b",
    r"喜欢|偏好|好み|希望|предпочита|отвечай",
)

AIM = either(
    r"\b(?:goal|objective|aim|mission|purpose|deliverable|end result|outcome|target|vision|north star|milestone"
    r"|the point of)\b",
    r"\b(?:i'?m|we'?re|i am|we are|i have been|we have been) (?:trying|building|working (?:on|towards?)|looking"
    r"|here|after|aiming|going) (?:to|for|at|a|an|on)?\b",
    r"\b(?:the|our|your|my|this) (?:task|job|assignment|project|plan|idea|whole point|point"
    r"|overall \w+) (?:here )?(?:is|was|will be)\b",
    r"\b(?:i|we|i'd|we'd)(?: would)?(?: really| just| ultimately| eventually| only| do)* (?:(?:want|need|like|hope"
    r"|intend|plan) (?:to|you to|a|an|the)|have to)\b",
    r"\b(?:ultimately|in the end|at the end of (?:this|all this|the day)|success (?:means|is|looks)|done when"
    r"|we'?ll be done|finish line)\b",
    r"\b(?:help me|what (?:i|we)(?:'m| am|'re| are)? (?:after|want|need|really want)|all this is (?:for|about)"
    r"|so that (?:we|i|users|the))\b",
    r"\bby the time (?:we|you)(?:'re| are) done\b",
    r"\bwe (?:should|must|need to) end up with\b",
    r"\b(?:i|we) (?:really )?want (?:that|this|it|them|all of \w+) to\b|^looking to\b"
    r"|\b(?:that|this)(?:'s| is) the (?:project|task|job|goal|plan)\b",
    r"\b(?:we (?:want|replace|migrate|move|port|build)|we'?re \w+ing|let'?s (?:build|make|write|create|get|turn)"
    r"|in this session)\b",
    r"\b(?:this is (?:all )?about|everything (?:we|i) do|serves? the|turn .{2,60} into|get(?:ting)? rid of)\b",
    r"\b(?:ziel|aufgabe|objectif|objetivo|meta|obiettivo|scopo|ich (?:möchte|will)|wir (?:möchten|wollen)"
    r"|je (?:veux|voudrais)|nous voulons|quiero|queremos|vorrei|vogliamo)\b",
    r"目标|目的|目標|цель|задача",
)

DECIDED = either(
    r"\b(?:decided|decision|settled|agreed|chose(?:n)?|approved|finali[sz]ed|concluded|resolved to|signed off"
    r"|opted)\b",
    r"\b(?:let'?s (?:go with|use|stick|take|do|keep|pick|settle|call it)|(?:we'?ll|we will|we'?re going to|i'?ll"
    r"|going to) (?:go with|use|keep|take|adopt))\b",
    r"\b(?:go with|final (?:answer|call|word|choice)|it'?s settled|that'?s settled|pick(?:ed)?|we (?:went"
    r"|go) with|switch(?:ed)? to)\b",
    r"\b(?:entschieden|beschlossen|décidé|decidido|hemos elegido|deciso)\b",
    r"决定|決め|решили",
)

PROGRESS = either(
    r"\b(?:status|progress|so far|in progress|wip|to ?do|remaining|remains|left to do|still (?:open|to do|missing"
    r"|need|has|have|failing|broken))\b",
    r"\b(?:next (?:step|up|is|comes|we|you|i)|up next|(?:is|are|was|were|'s|got) (?:now )?(?:done|finished"
    r"|complete|completed|merged|blocked|pending|half))\b",
    r"\b(?:missing|halfway|went through|is being|works? now|comes? the|all green|red|left)\b",
    r"\bpass(?:es|ed)? (?:except|but|now)\b",
    r"\b(?:has|have|hasn'?t|haven'?t|i|i've)(?: been| not| just| already| now){0,2} \w+ed\b",
    r"\b(?:step|phase|part|stage|item|task|milestone) \d+",
    r"\b\d+ (?:of|out of|/) \d+\b",
    r"\b\d+/\d+\b",
    r"\bleft off\b",
    r"\bpick up\b",
    r"\bhalfway\b",
    r"\b(?:waiting (?:for|on)|currently|right now|at the moment|just (?:finished|merged|started|deployed)"
    r"|we(?:'re| are) at|blocked|not yet)\b",
    r"\b(?:stand der dinge|erledigt|offen|en cours|terminé|pendiente|hecho|in corso|fatto)\b",
    r"进度|完成|下一步|進捗|次は|сделано|осталось",
)

TO_REMEMBER = either(
    r"\b(?:remember|for (?:the record|reference|later|your (?:information|reference))|fyi|note(?: down)?:?"
    r"|keep (?:in mind|this|a note)|write (?:this|that|it) down|you'?ll need|here'?s|here is|this is the"
    r"|verbatim|merke?|notiere)\b"
)

SCOPE = either(r"\b(?:all|every|each|any|everywhere|whole|entire|everything|always|both|default)\b")

FETCH = Lazy(
    r"^(?:(?:ok(?:ay)?|alright|and|so|now|then|please|first|next|can you|could you)[,.!]* )*(?:read|open|grep|rerun) "
)
"""What asks for the next move whatever else the sentence says."""

REQUEST = Lazy(
    r"^(?:please|can|could|would|will|kindly|pls|and|also|so|then|ok(?:ay)?|hey|hi|oh|well|now|first|next"
    r"|finally|but|do|actually|instead|alright|sorry|hmm+|no|yes|wait)\b"
)

SPEAKER = either(
    r"\b(?:i|we|i'?m|we'?re|i'?d|we'?d|my|me|us|prefer\w*|when in doubt|tone|style|please|welcome"
    r"|ich|mir|mich|je|moi|préfère|yo|prefiero|preferisco|prefiro)\b"
)
"""Words by which a sentence is somebody's own taste."""

LEANING = either(
    r"\b(?:i|we) (?:find|enjoy|am|are|read|learn|work|think in|understand)\b",
    r"\bi'?m (?:a|an|not|more|very|new)\b",
    r"\b(?:helps?|suits?|bothers?|annoys?|confuses?|irritates?|distracts?) (?:me|us)\b",
    r"\bgive me\b",
    r"\bmore \w+,? less\b",
    r"\b(?:less|fewer|more) \w+,? (?:and )?(?:less|fewer|more)\b",
    r"\bplease[.!]?$",
    r"\bfor me\b",
    r"\w+ over \w+",
)

AIM_NAMED = either(
    r"\b(?:goal|objective|aim|mission|purpose|end result|deliverable|outcome|trying to|ultimately|in the end"
    r"|success)\b",
    r"\b(?:what (?:i|we) (?:want|need|'re after|am after)|the (?:task|job|point|idea|plan|assignment))\b",
    r"\b(?:ziel|objectif|objetivo|obiettivo)\b",
    r"目标|目的|目標|цель",
)

HEADING: dict[Kind, Lazy] = {
    "rule": either(
        r"\b(?:rules?|constraints?|requirements?|do not|don'?ts?|never|always|must|guidelines?|regeln|règles|reglas)\b"
    ),
    "limit": either(r"\b(?:limits?|budgets?|caps?|quotas?|deadlines?|grenzen|limites|límites)\b"),
    "preference": either(
        r"\b(?:preferences?|style|conventions?|tone|i (?:like|prefer)|vorlieben|préférences|preferencias)\b"
    ),
    "goal": either(r"\b(?:goals?|objectives?|aims?|ziele?|objectifs?|objetivos?)\b"),
    "decision": either(r"\b(?:decisions?|decided|agreed|entscheidungen|décisions|decisiones)\b"),
    "state": either(r"\b(?:status|progress|to ?dos?|remaining|next steps?|done|open (?:items|points))\b"),
    "fact": either(r"\b(?:facts?|credentials?|identifiers?|ids?|codes?|references?|values|details|remember|note)\b"),
}
"""What a line that ends with a colon says of the list behind it."""

IMPERATIVE = _listed(
    """
    accelerate adapt add adjust adopt aim allow analyse analyze answer append apply arrange ask assemble assume
    attach audit automate avoid back balance begin book bring build bump bundle calculate call cap change check
    clarify clean close collect combine commit compile complete compose compress configure confirm connect
    consolidate continue convert copy correct count cover create cut debug default define delete deliver deploy
    describe design determine develop disable discover display divide document draft draw drop duplicate edit
    eliminate enable end ensure evaluate exclude expand explain explore export extend extract favor favour fetch
    figure file fill filter find finish fix flag flatten focus fold follow force format generate get give go
    group handle hide hold identify ignore implement import improve include indent inline insert install
    integrate invent invert investigate isolate keep label leave let limit link list load lock log look lower
    maintain make map mark match measure merge migrate mind minimise minimize mock modernise modernize modify
    monitor move name note notify offer omit open optimize order organize pack parallelise parallelize park pass
    patch pause pin place plan point polish port prefer prefix prepare present preserve prevent print prioritise
    prioritize process produce propose protect prove provide prune publish pull push put quote raise reach read
    rebase rebuild record recover redesign redo reduce refactor refer reference rehearse release relocate remind
    remove rename render reorganise reorganize repair rephrase replace replay reply report reproduce request
    require rescue reset respect respond restore restrict restructure restyle retire retry return reuse revert
    review reword rewrite rid rip roll rotate round route rule run salvage save say scale schedule secure send
    separate serve set settle shift ship shorten show shrink sign simplify skip solve sort speak specify speed
    spell split squash stabilise stabilize stage standardise standardize start state stay stick stop store
    straighten strengthen strip stub submit sum summarise summarize supply support switch tackle tag take talk
    target tell test tidy tie tighten time trace track train transfer transform translate treat trim try tune
    turn tweak type undo unify unite untangle update upgrade upload use validate verify wait warn watch widen
    wire work wrap write
"""
)
"""Base forms that open an order when a sentence begins with them."""
