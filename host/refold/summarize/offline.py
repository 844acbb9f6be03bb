"""The summarizer that needs no model: deterministic, extractive, the same text for the same history.

What users said is kept beside a summary. This one keeps the account of the work: what was answered last, errors that
no later run of the same command cleared, files, commands, results, and the sentences that say most (by lede).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve, frozen

from refold.sizing.estimate import tokens
from refold.summarize.accept import Unacceptable
from refold.summarize.account import Account, parse
from refold.summarize.blocks import Block, BlockKind
from refold.summarize.lazy import Lazy
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply

LINE = 200
"""Characters of one entry."""

PROSE = 12_000
"""Characters that are offered to lede in one pass, half of them the newest: it is linear, but not free."""

_COMMAND = Lazy(r"^(?:command|cmd|script|shell): (.+)", re.MULTILINE)
_PATH = Lazy(
    r"^(?:path|file_?path|file_?name|file|notebook_path|target_file"
    r"|absolute_path): (.+)",
    re.MULTILINE | re.I,
)
_PATCHED = Lazy(r"(?:^|: )\*\*\* (?:Update|Add|Delete) File: (.+)|^\+\+\+ b/(.+)", re.MULTILINE)
_CHANGES = Lazy(
    r"write|edit|create|patch|replace|insert|update|delete|remove|move|rename|save"
    r"|append",
    re.IGNORECASE,
)
_CHANGED = Lazy(
    r"^(?:content|new_?(?:string|str|text|source)|old_?(?:string|str|text)|edits|patch|diff"
    r"|insert): ",
    re.M | re.I,
)
_ERROR = Lazy(
    r"\b[A-Z]\w*(?:Error|Exception)\b"
    r"|\b(?:[Ee]rror|ERROR|fatal|FATAL|panic|FAILED|failure|denied|[Nn]ot found|undefined)\b[:( ]"
)
_RESULT = Lazy(
    r"\b\d+ (?:passed|failed|tests?|errors?|warnings?|files? changed|skipped|insertions?)\b"
    r"|\b\d+(?:\.\d+)? ?(?:ms|%|MB|GB|req/s)(?!\w)|\bexit(?:ed)?(?: with)?(?: code| status)? ?\d+",
    re.IGNORECASE,
)
_SENTENCE = Lazy(r"(?<=[.!?。！？])\s+|\n+")


@frozen
class Offline:
    """The offline summarizer. `window` is None: it reads passes of any size."""

    name: str = "offline"
    window: int | None = None

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        """The account of the work within `limit` tokens. Raises SummaryRejected when no word of it fits."""
        account = parse(prompt.previous)
        for call, outcome in _calls(prompt.blocks):
            account = _worked(account, call, outcome)
        if last := _last(prompt.blocks, "assistant"):
            account = evolve(account, lists={**account.lists, "Last": (last,)})
        account = evolve(account, prose=_told(account.prose, prompt, limit))
        if account == Account() and (asked := _last(prompt.blocks, "user")):
            account = evolve(account, lists={"Last": (asked,)})  # nothing was done yet
        text = account.render(limit) or _shrunk(account, limit)
        if not text:
            raise Unacceptable("empty", by=self.name)
        return Reply(text, "end", self.name, copied=True)


def _calls(blocks: tuple[Block, ...]) -> Iterator[tuple[Block | None, Block]]:
    """Every outcome with the call that it answers, if that is known: the oldest open call of the same tool."""
    open_calls: list[Block] = []
    for block in blocks:
        if block.kind == "call":
            open_calls.append(block)
        elif block.kind in ("result", "error"):
            name = block.label.partition(" ")[2]
            call = next((call for call in open_calls if call.label == f"call {name}"), None)
            if call is not None:
                open_calls.remove(call)
            yield call, block
        else:
            open_calls.clear()


def _worked(account: Account, call: Block | None, outcome: Block) -> Account:
    """The account with one call and what came of it."""
    failed = outcome.kind == "error"
    source = ""
    if call is not None:
        command = _COMMAND.search(call.text)
        paths = _paths(call)
        if command:
            source = f"`{_line(command[1], 120)}`"
            # A later run of the same command says how things stand; what it reported before is over.
            account = account.without("Commands", source).without("Errors", f"{source}: ")
            account = account.added("Commands", [source + (" (failed)" if failed else "")])
        elif paths:
            account = account.added("Files changed" if _changes(call) else "Files read", paths)
            source = f"`{paths[0]}`"
        account = account.added("Files changed", _patched(call.text))
    errors = _lines(_ERROR, outcome.text, 3)
    if failed and not errors:
        errors = [_line(outcome.text.strip().partition("\n")[0])]
    if failed or (errors and call is not None and _COMMAND.search(call.text)):
        account = account.added("Errors", (f"{source}: {error}" if source else error for error in errors if error))
    if call is not None and _COMMAND.search(call.text):
        account = account.added("Results", _lines(_RESULT, outcome.text, 2))
    return account


def _paths(call: Block) -> list[str]:
    return [_line(path, 160) for path in _PATH.findall(call.text)[:1]]


def _patched(text: str) -> list[str]:
    if "***" not in text and "+++" not in text:
        return []
    return [_line(found[1] or found[2], 160) for found in _PATCHED.finditer(text)]


def _changes(call: Block) -> bool:
    return _CHANGES.search(call.label) is not None or _CHANGED.search(call.text) is not None


def _lines(pattern: Lazy, text: str, most: int) -> list[str]:
    """The last lines that match, oldest first: what a run says at its end counts."""
    found: dict[str, None] = {}
    end = 0
    for match in pattern.finditer(text):
        if match.start() < end:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        found[_line(text[start:end])] = None
    return list(found)[-most:]


def _last(blocks: tuple[Block, ...], kind: BlockKind) -> str:
    """The newest answer, from which whoever goes on takes up the work, or the newest user text; empty: there is none.

    That of earlier passes is gone: an old word must not outlive its change.
    """
    block = next((block for block in reversed(blocks) if block.kind == kind and block.text.strip()), None)
    if block is None:
        return ""
    paragraphs = block.text.strip().split("\n\n")
    return f"{kind}: {_line(paragraphs[0] if kind == 'user' else paragraphs[-1], 2 * LINE)}"


def _told(before: tuple[str, ...], prompt: Prompt, limit: int) -> tuple[str, ...]:
    """The prose: sentences of before and the sentences of this pass that say most, half of the room each.

    Users' words stand beside the summary: told here too, a changed rule would live on. Older sentences leave first.
    """
    told = [block.text for block in prompt.blocks if block.kind in ("assistant", "fold", "text")]
    text = _bounded("\n\n".join(told))
    said = dict.fromkeys(_line(sentence, 2 * LINE) for sentence in _SENTENCE.split(_extract(text, limit, prompt.focus)))
    fresh = [sentence for sentence in said if len(sentence) > 12]
    room = limit * 2
    size = sum(len(sentence) for sentence in fresh)
    kept: list[str] = []
    for sentence in reversed(before):
        size += len(sentence)
        if size > room:
            break
        kept.append(sentence)
    return tuple(dict.fromkeys([*reversed(kept), *fresh]))


def _bounded(text: str) -> str:
    """At most PROSE characters: the newest half as it is, and from the rest paragraphs evenly spread."""
    if len(text) <= PROSE:
        return text
    newest = text[-PROSE // 2 :]
    older = [paragraph for paragraph in text[: -PROSE // 2].split("\n\n") if paragraph.strip()]
    share = max(80, PROSE // 2 // max(1, len(older)))
    spread = older[:: max(1, len(older) * share // (PROSE // 2))]
    return "\n\n".join([*(paragraph[:share] for paragraph in spread), newest])


def _extract(text: str, limit: int, focus: str) -> str:
    """What lede takes for the sentences that say most, about half of the limit at four characters a token."""
    if not text.strip():
        return ""
    from lede import summarize  # here, so that importing this costs nothing

    hints = [word for word in re.findall(r"\w+", focus.casefold()) if len(word) > 3] or None
    return str(summarize(text, max(200, limit * 2), hints=hints).summary)


def _shrunk(account: Account, limit: int) -> str:
    """One line of what came last, cut until it fits: for limits of a few tokens."""
    entries = account.lists.get("Last", ()) or account.prose
    text = entries[-1] if entries else ""
    while text and tokens(text) > limit:
        text = text[: len(text) * 3 // 4].rstrip()
    return text


def _line(text: str, most: int = LINE) -> str:
    """The text on one line of at most that many characters."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
