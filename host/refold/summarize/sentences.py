"""A user's text as sentences: list items, wrapped lines, and the words between pasted code and logs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from attrs import frozen

from refold.summarize.lazy import Lazy

LONGEST = 320
"""Characters of one sentence; a longer one is cut at clauses, and then hard."""

READ = 64_000
"""Characters of one text that are read, after code in fences and the blocks of programs are out: three quarters from
its beginning, a quarter from its end. What people write stands there; what is longer was pasted."""

OPEN = 40
"""Lines after a pasted one that may belong to it while its braces are open."""

_FENCE = Lazy(r"^[ \t]*(`{3,}+(?!.*`)|~{3,}+)(.*)$", re.MULTILINE)
# What programs put into user rows: reminders, environment blocks, command echoes. Names with a hyphen or underscore
# are never prose mark-up.
_MACHINE = Lazy(r"<([a-z]{1,40}(?:[-_][a-z]{1,40}){1,6})\b[^<>]{0,2000}>", re.IGNORECASE)
_MACHINE_END = Lazy(r"</([a-z]{1,40}(?:[-_][a-z]{1,40}){1,6})>", re.IGNORECASE)
_BULLET = Lazy(r"^\s*(?:[-*•–+‣·]|\(?\d{1,3}[.):]|\(?[a-z][.)])\s+(?:\[[ xX]?\]\s*)?")
_HEADING = Lazy(r"^\s*#{1,6}\s+(?=\S)")
_END = Lazy(r"(?<=[.!?…])[\"')\]*_]*\s+(?=\S)|(?<=[。！？；])|\s*;\s+|\s+[–—]\s+(?=\w)")
_SHORTENED = Lazy(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|nr|cf|mr|mrs|ms|dr|st|resp|incl|max|min|z\.b|p\.m"
    r"|a\.m)|(?<!['’])\b[A-Za-z])\.$",
    re.I,
)
SHORTENED = 10
"""Characters back from a full stop within which a shortened word begins."""

_CODE = Lazy(
    r"^\s*(?:[{}|]|\[[\d{\]]|\$ |#!|<[a-z]+ \w+=|at \S+\(|at \S+:\d|at (?:async |new )?[\w.<>\[\] ]+ \("
    r"|\w*(?:Error|Exception): |npm ERR|File \"|Traceback \(|import [\w.]+(?: as \w+)?;?$|import .* from [\"']"
    r"|from [\w.]+ import|def \w+\(|class \w+[:({]|return\b.*[;{(]$|(?:const|let|var) \w+ =|function \w*\(|if \(|for \("
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|diff --git|\+\+\+ |--- |@@ |➜|>>> |\w+\(.*\)[;{]?$|//|/\*|\*/"
    r"|[-dlbcps](?:[-r][-w][-xsStT]){3}[@+.]?\s|total \d+$)"
)
_JSON = Lazy(r"[\"\]}]\s?[,}\]]+\s?\"[\w-]+\":|^\s*\"[\w-]+\"\s?:\s|^[\]}]+[,;]?$")
_TAG = Lazy(r"</?[a-z][\w-]*>", re.IGNORECASE)
_SYMBOL = Lazy(r"[{}()\[\]<>=;|\\$&*^~]")


@frozen
class Sentence:
    """One sentence as it was written, white space collapsed. `heading` is the line with a colon above its list."""

    text: str
    heading: str = ""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a user's text, in order, without fenced code, program blocks, quoted lines and log lines.

    Of a text that is longer than READ without those, the beginning and the end.
    """
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    if "</" in text:
        text = _without_machine(text)
    for part in ends(text):
        heading = ""
        for paragraph, listed in _paragraphs(part):
            if not listed:
                heading = ""
            for sentence in _split(paragraph):
                yield Sentence(sentence, heading if listed else "")
            if paragraph.endswith((":", "：")):
                heading = paragraph if len(paragraph) <= 160 else paragraph[-160:]


def ends(text: str) -> tuple[str, ...]:
    """The text if it has at most READ characters, else its beginning and its end, cut at lines where there are some."""
    if len(text) <= READ:
        return (text,)
    head, tail = READ * 3 // 4, len(text) - READ // 4
    cut, resumed = text.rfind("\n", head // 2, head), text.find("\n", tail, tail + READ // 8)
    return text[: head if cut < 0 else cut], text[tail if resumed < 0 else resumed :]


def _without_fences(text: str) -> str:
    """The text without fenced code; a fence that nothing closes goes to the end."""
    kept: list[str] = []
    start: int | None = 0
    mark = ""
    for line in _FENCE.finditer(text):
        if start is not None:
            kept.append(text[start : line.start()])
            start, mark = None, line[1]
        elif line[1] == mark and not line[2].strip():
            start = line.end()
    if start is not None:
        kept.append(text[start:])
    return "\n\n".join(kept)


def _without_machine(text: str) -> str:
    """The text without the blocks that programs put into it, each from its tag to the one that closes it."""
    closed: dict[str, list[int]] = {}
    for mark in _MACHINE_END.finditer(text):
        closed.setdefault(mark[1], []).append(mark.end())
    if not closed:
        return text
    kept: list[str] = []
    start = at = 0
    while found := _MACHINE.search(text, at):
        at = found.end()
        places = closed.get(found[1], [])
        nearest = bisect_left(places, at)
        if nearest < len(places):
            kept += (text[start : found.start()], "\n\n")
            start = at = places[nearest]
    return "".join([*kept, text[start:]])


def _paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Logical lines: a wrapped line is joined to the one before; a list item stands alone, and a short heading ends
    with a colon as if it stood above a list. With each, whether it is an item of a list."""
    current: list[str] = []
    listed = False
    for raw in _unpasted(text.splitlines()):
        line = raw.strip()
        bullet = _BULLET.match(raw)
        if not line:
            if current:
                yield " ".join(current), listed
            current = []
            continue
        title = _HEADING.match(raw)
        mark = bullet or title
        if current and mark is None and _continues(current[-1], line):
            current.append(line)
            continue
        if current:
            yield " ".join(current), listed
        after_head = bool(current) and current[-1].endswith(":") and mark is None
        current = [raw[mark.end() :].strip() if mark else line]
        if title and len(current[0].split()) <= 4:
            current = [current[0].rstrip(":") + ":"]
        listed = bullet is not None or after_head
    if current:
        yield " ".join(current), listed


def _unpasted(lines: list[str]) -> Iterator[str]:
    """The lines without mark-up; an empty one stands for each that was pasted: code, logs, JSON.

    A pasted line whose braces are open goes on to the line that closes them, at most OPEN lines, and never past an
    empty line: `Error: 400 {"message": "It` and the rest of that message. Where nothing closes them it stands alone.
    """
    until = 0
    for at, raw in enumerate(lines):
        line = _TAG.sub(" ", raw) if "<" in raw else raw
        if at < until:
            yield ""
        elif _skipped(line.strip()) and not _BULLET.match(line):
            until = _closed(lines, at)
            yield ""
        else:
            yield line


def _closed(lines: list[str], at: int) -> int:
    """The line behind a pasted piece that begins at `at`."""
    depth = 0
    for place in range(at, min(at + OPEN, len(lines))):
        line = lines[place]
        if place > at and not line.strip():
            break
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            return place + 1
    return at + 1


def _skipped(line: str) -> bool:
    if line.startswith(">") or (len(line) > 2000 and line.count(" ") * 12 < len(line)):
        return True
    if _CODE.match(line):
        return True
    if line.count('":') > 1 or '{"' in line or _JSON.search(line):
        return True
    return len(line) >= 20 and len(_SYMBOL.findall(line)) * 6 > len(line)


def _continues(before: str, line: str) -> bool:
    """Whether a line goes on with the one before: an editor's wrap, not a new thought."""
    if before.endswith((".", "!", "?", ":", ";", "。", "！", "？")):
        return False
    return line[0].islower() or len(before) >= 50


def _split(paragraph: str) -> Iterator[str]:
    # Collapsed first: patterns that look for white space take long where there is much of it.
    paragraph = " ".join(paragraph.split())
    start = seen = depth = 0
    for end in _END.finditer(paragraph):
        at = end.start()
        depth += paragraph.count("(", seen, at) - paragraph.count(")", seen, at)
        seen = at
        if paragraph[at - 1] == "." and _SHORTENED.search(paragraph, max(start, at - SHORTENED), at):
            continue
        if depth > 0 and at - start < LONGEST and ")" in paragraph[at : start + LONGEST]:
            continue
        depth = 0
        yield from _bounded(paragraph[start : end.start()])
        start = end.end()
    yield from _bounded(paragraph[start:])


def _bounded(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > LONGEST:
        least, most = start + 80, start + LONGEST
        cut = max(sentence.rfind(mark, least, most) for mark in (", ", ": ", " and ", " but "))
        if cut < 0:
            cut = sentence.rfind(" ", least, most)
        cut = most if cut < 0 else cut + 1
        if part := sentence[start:cut].strip():
            yield part
        start = cut
    if part := sentence[start:].strip():
        yield part
