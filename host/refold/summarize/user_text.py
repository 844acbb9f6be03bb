"""What a person wrote in a user row, line by line, told from what was pasted by the shape of the text alone.

No word is judged here. A line that reads as prose stays wherever it stands; what leaves are lines with the shape of
listings, logs, terminals, code or data, and only where several of them stand together. A marker says how much left.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from attrs import define, field

from refold.summarize.lazy import Lazy

READ = 1_000_000
"""Characters of one row that are read: three quarters from its beginning, a quarter from its end."""

SHORT_LINES, SHORT = 20, 1_500
"""Lines and characters up to which fenced text counts as typed, whatever it looks like."""

STRONG, WEAK = 3, 8
"""How many lines together are a paste: of listings with numbers, logs, traces and diffs; of code, data and names."""

TERMINAL = 4
"""How many lines a command with its output has at least to be a terminal's, and not a command that somebody names."""

LONG = 400
"""Characters from which a single line without the words of a sentence is a paste by itself."""

PASTED = "[pasted: {lines:,} lines, {characters:,} characters]"

_TAGS = Lazy(r"(?:</?+[A-Za-z][\w:.-]*+(?:[ \t][^<>]*+)?+>\s*+)++")
# Blocks that agents and editors, not people, put into user rows. Any other tag may be the user's own.
_MACHINE = Lazy(
    r"^[ \t]*+<(system-reminder|environment_(?:context|details)|local-command-(?:stdout|stderr|caveat)|tool_response"
    r"|bash-(?:stdout|stderr)|command-(?:name|message)|function_results?|tool_(?:results?|output)|task-notification"
    r"|(?:file|folder|url)_contents?|terminal_output|attached_files|code_selection|ide_(?:opened_file|selection)"
    r"|returncode)(?:[ \t][^<>]*+)?+>",
    re.MULTILINE,
)
# Tags in which agents wrap what people wrote.
_WRAPPERS = (
    r"</?+(?:user[_-](?:message|query|input|request|instructions)|task|feedback|session-rules|command-args|objective"
    r"|request|question|query|answer|instructions|message|prompt)(?:[ \t][^<>]*+)?+>"
)
_OPENS = Lazy(rf"(?:{_WRAPPERS}\s*+)++")
_CLOSES = Lazy(rf"\s*+{_WRAPPERS}")
_TOOL = Lazy(
    r"^[ \t]*+(?:\[[\w.-]++(?: for '[^'\n]*+')?+\] Result:|EXECUTION RESULT of \[|OBSERVATION:[ \t]*+$)", re.MULTILINE
)
_SPEAKS = Lazy(r"^[ \t]*+<(?:user[_-](?:message|query|input)|task|feedback|answer)\b", re.MULTILINE)
_FENCE = Lazy(r"[ \t]*+(`{3,}+|~{3,}+)([^`]*+)$")
_BULLET = Lazy(r"(?:[-*•–+‣·]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)]|#{1,6})\s++(?:\[[ xX]?\]\s*+)?")
_PROMPT = Lazy(r"(?:\$|%|❯|➜|PS [A-Z]:\S*+>|[\w.-]++@[\w.-]++[:~][^\s$#]*+[$#]|!(?= )) *+\S")
_STRONG = Lazy(
    r"\d{1,7}+[ ]?(?:→|\t|\|)|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|[A-Z][a-z][a-z] {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\[(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\]|at (?:async |new )?\S++ \(|at \S+:\d|File \"|Traceback \("
    r"|npm ERR|\w*(?:Error|Exception): |diff --git|index [0-9a-f]{7}|\+\+\+ |--- \S|@@ |\S+:\d++:|total \d++$"
    r"|[-dlbcps](?:[-r][-w][-xsStT]){3}"
)
_WEAK = Lazy(r"(?:[{}\[\]();,]|//|/\*|\*|#!|\"|<).*+|[\w@~.$-]*+[/\\]\S++$|[\w-]++\.[A-Za-z]\w{0,5}$|[\w.-]++ ?=")
_ENDS = ("{", "}", ";", "(", "[", "],", "},", "):", "=>", "\\", '",')
_SYMBOL = Lazy(r"[{}()\[\]<>=;\\$&*^~]")
_WORD = Lazy(r"(?:[A-Za-z]|[^\x00-\x7f])++(?:['-](?:[A-Za-z]|[^\x00-\x7f])++)*+")
# Thai to Myanmar, Khmer, the scripts of East Asia.
_NO_SPACES = Lazy("[\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")

Shape = Literal["prose", "strong", "weak", "other"]


def typed(text: str) -> Iterator[tuple[str, bool]]:
    """The lines that a person wrote, white space collapsed, each with True; with False a marker for what was pasted
    among them. A text that is nothing but pasted yields nothing."""
    kept = _Kept()
    for part in _ends(text):
        if part is not text and kept.lines:
            kept.paste(1, len(text) - READ)
        for lines, fenced in _fenced(_without_tools(_without_machine(part)).splitlines()):
            if fenced and (_is_short(lines) and not kept.ends_with_command()):
                kept.keep(lines)
            elif fenced and not _mostly_prose(lines):
                kept.paste(len(lines), sum(map(len, lines)))
            else:
                _judge(lines, kept)
    yield from kept.all()


@define
class _Kept:
    """Lines in order, and what was pasted since the last of them."""

    lines: list[tuple[str, bool]] = field(factory=list)
    pasted: int = 0
    characters: int = 0

    def keep(self, lines: Sequence[str]) -> None:
        for line in lines:
            words = " ".join(_unwrapped(line).split())
            if words:
                self._mark()
                self.lines.append((words, True))

    def paste(self, lines: int, characters: int) -> None:
        self.pasted += lines
        self.characters += characters

    def ends_with_command(self) -> bool:
        return bool(self.lines) and not self.pasted and _PROMPT.match(self.lines[-1][0]) is not None

    def all(self) -> list[tuple[str, bool]]:
        if self.lines:
            self._mark()
        return self.lines

    def _mark(self) -> None:
        if self.pasted:
            self.lines.append((PASTED.format(lines=self.pasted, characters=self.characters), False))
            self.pasted = self.characters = 0


def _ends(text: str) -> tuple[str, ...]:
    if len(text) <= READ:
        return (text,)
    head, tail = READ * 3 // 4, len(text) - READ // 4
    cut, resumed = text.rfind("\n", head // 2, head), text.find("\n", tail, tail + READ // 8)
    return text[: head if cut < 0 else cut], text[tail if resumed < 0 else resumed :]


def _without_machine(text: str) -> str:
    """The text without the blocks of programs, each from its tag to the one that closes it."""
    if "</" not in text:
        return text
    kept: list[str] = []
    closed: dict[str, list[int]] = {}
    start = at = 0
    while found := _MACHINE.search(text, at):
        at = found.end()
        end = f"</{found[1]}>"
        if found[1] not in closed:
            closed[found[1]] = [place.end() for place in re.finditer(re.escape(end), text)]
        places = closed[found[1]]
        nearest = bisect_left(places, at)
        if nearest < len(places):
            kept += (text[start : found.start()], "\n")
            start = at = places[nearest]
    return "".join([*kept, text[start:]])


def _without_tools(text: str) -> str:
    """The text without results of tools that an agent stores as user text: from their heading to where a person
    speaks again, in a tag, or to the end."""
    kept: list[str] = []
    start = 0
    while found := _TOOL.search(text, start):
        kept.append(text[start : found.start()])
        speaks = _SPEAKS.search(text, found.end())
        if speaks is None:
            return "".join(kept)
        start = speaks.start()
    return "".join([*kept, text[start:]])


def _fenced(lines: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Runs of lines, and whether each stood in a fence. One that nothing closes is no fence."""
    run: list[str] = []
    opened: re.Match[str] | None = None
    for line in lines:
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark is None:
            run.append(line)
        elif opened is None:
            yield run, False
            run, opened = [], mark
        elif mark[1].startswith(opened[1]) and not mark[2].strip():
            yield run, True
            run, opened = [], None
        else:
            run.append(line)
    yield run, False


def _is_short(lines: Sequence[str]) -> bool:
    return len(lines) <= SHORT_LINES and sum(map(len, lines)) <= SHORT


def _mostly_prose(lines: Sequence[str]) -> bool:
    shapes = [_shape(line) for line in lines if line.strip()]
    return 2 * shapes.count("prose") >= len(shapes)


def _judge(lines: Sequence[str], kept: _Kept) -> None:
    """Keeps the lines but for pastes among them. Blank lines part blocks: a terminal's output goes on over them until
    a block that is all prose, and behind a paste a smaller piece of the same shape counts."""
    blocks = [list(block) for blank, block in groupby(lines, lambda line: not line.strip()) if not blank]
    shapes = [[_shape(line) for line in block] for block in blocks]
    terminal = _terminals(blocks, shapes)
    after_paste = False
    for number, (block, shaped) in enumerate(zip(blocks, shapes, strict=True)):
        if number not in terminal:
            after_paste = _keep_prose(block, shaped, kept, after_paste)
            continue
        end = len(block) - (_trailing_prose(shaped) if number == len(blocks) - 1 else 0)
        kept.paste(end, sum(map(len, block[:end])))
        kept.keep(block[end:])


def _terminals(blocks: Sequence[Sequence[str]], shapes: Sequence[Sequence[Shape]]) -> set[int]:
    """The blocks that are a terminal's: from one that begins with a prompt up to one that is all prose, or to a last
    short one without a machine's shape, which is what people write below it."""
    found: set[int] = set()
    at = 0
    while at < len(blocks):
        end = at
        if len(blocks[at]) > 1 and _is_prompt(blocks[at][0]):
            end = at + 1
            while end < len(blocks) and set(shapes[end]) != {"prose"}:
                end += 1
            if end == len(blocks) > at + 1 and len(blocks[-1]) <= 2 and set(shapes[-1]) <= {"prose", "other"}:
                end -= 1
            if sum(map(len, blocks[at:end])) >= TERMINAL:
                found.update(range(at, end))
        at = max(at + 1, end)
    return found


def _keep_prose(block: Sequence[str], shapes: Sequence[Shape], kept: _Kept, after_paste: bool) -> bool:
    """Whether the block ended with a paste."""
    start = 0
    pasted = False
    for prose, run in groupby(shapes, lambda shape: shape == "prose"):
        shaped = list(run)
        lines = block[start : start + len(shaped)]
        start += len(shaped)
        pasted = not prose and _is_paste(lines, shaped, after_paste or pasted)
        if not pasted:
            kept.keep(lines)
            continue
        marked = [at for at, shape in enumerate(shaped) if shape != "other"]
        first, end = marked[0], marked[-1] + 1
        kept.keep(lines[:first])
        kept.paste(end - first, sum(map(len, lines[first:end])))
        kept.keep(lines[end:])
    return pasted


def _is_paste(lines: Sequence[str], shapes: Sequence[Shape], more: bool) -> bool:
    strong, weak = shapes.count("strong"), shapes.count("weak")
    if any(len(line) >= LONG for line, shape in zip(lines, shapes, strict=True) if shape != "other"):
        return True
    return strong >= STRONG or strong + weak >= (1 if more else WEAK)


def _trailing_prose(shapes: Sequence[Shape]) -> int:
    return next((at for at, shape in enumerate(reversed(shapes)) if shape != "prose"), len(shapes))


def _is_prompt(line: str) -> bool:
    return _PROMPT.match(line.strip()) is not None


def _shape(line: str) -> Shape:
    line = line.strip()
    if _STRONG.match(line):
        return "strong"
    bullet = _BULLET.match(line)
    words = line[bullet.end() :] if bullet else line
    if _reads(words):
        return "prose"
    if _is_prompt(line):
        return "strong"
    unbroken = len(words) >= LONG and words.count(" ") * 12 < len(words)
    dense = unbroken or len(_SYMBOL.findall(words)) * 6 > len(words)
    return "weak" if dense or words.endswith(_ENDS) or _WEAK.match(words) else "other"


def _reads(line: str) -> bool:
    """Whether a line has the words of a sentence: at least three, most of them plain, or a script without spaces."""
    pieces = line[: 2 * LONG].split()
    plain = sum(1 for piece in pieces if _WORD.fullmatch(piece.strip(".,;:!?…\"'()*_`")))
    if plain >= 3 and plain * 10 >= len(pieces) * 6:
        return True
    return len(_NO_SPACES.findall(line[:LONG])) >= 4


def _unwrapped(line: str) -> str:
    """The line without tags around what a person wrote; a line of tags alone is empty."""
    if "<" not in line:
        return line
    line = line.strip()
    if _TAGS.fullmatch(line):
        return ""
    if found := _OPENS.match(line):
        line = line[found.end() :]
    while line.endswith(">") and _CLOSES.fullmatch(line, line.rfind("<")):
        line = line[: line.rfind("<")].rstrip()
    return line
