"""A user's text as sentences: list items, wrapped lines, and the words between pasted code and logs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

LONGEST = 320
"""Characters of one sentence; a longer one is cut at clauses, and then hard."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
# What programs put into user rows: reminders, environment blocks, command echoes. Names with a hyphen or underscore
# are never prose mark-up.
_MACHINE = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)\b[^<>]*>", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•–+‣·]|\(?\d{1,3}[.):]|\(?[a-z][.)])\s+(?:\[[ xX]?\]\s*)?")
_HEADING = re.compile(r"^\s*#{1,6}\s+(?=\S)")
_END = re.compile(r"(?<=[.!?…])[\"')\]*_]*\s+(?=\S)|(?<=[。！？；])|\s*;\s+|\s+[–—]\s+(?=\w)")
_SHORTENED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|nr|cf|mr|mrs|ms|dr|st|resp|incl|max|min|z\.b|p\.m"
    r"|a\.m)|(?<!['’])\b[A-Za-z])\.$",
    re.I,
)
_CODE = re.compile(
    r"^\s*(?:[{}|]|\[[\d{\]]|\$ |#!|<[a-z]+ \w+=|at \S+\(|at \S+:\d|at (?:async |new )?[\w.<>\[\] ]+ \("
    r"|\w*(?:Error|Exception): |npm ERR|File \"|Traceback \(|import [\w.]+(?: as \w+)?;?$|import .* from [\"']"
    r"|from [\w.]+ import|def \w+\(|class \w+[:({]|return\b.*[;{(]$|(?:const|let|var) \w+ =|function \w*\(|if \(|for \("
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|diff --git|\+\+\+ |--- |@@ |➜|>>> |\w+\(.*\)[;{]?$|//|/\*|\*/)"
)
_TAG = re.compile(r"</?[a-z][\w-]*>", re.IGNORECASE)
_SYMBOL = re.compile(r"[{}()\[\]<>=;|\\$&*^~]")


@frozen
class Sentence:
    """One sentence as it was written, white space collapsed. `heading` is the line with a colon above its list."""

    text: str
    heading: str = ""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a user's text, in order, without fenced code, program blocks, quoted lines and log lines."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n\n", text)
    if "</" in text:
        text = _without_machine(text)
    heading = ""
    for paragraph, listed in _paragraphs(text):
        if not listed:
            heading = ""
        for sentence in _split(paragraph):
            yield Sentence(sentence, heading if listed else "")
        if paragraph.endswith((":", "：")):
            heading = paragraph if len(paragraph) <= 160 else paragraph[-160:]


def _without_machine(text: str) -> str:
    """The text without the blocks that programs put into it, each from its tag to the one that closes it."""
    kept: list[str] = []
    unclosed: set[str] = set()
    start = at = 0
    while found := _MACHINE.search(text, at):
        close = f"</{found[1]}>"
        end = -1 if close in unclosed else text.find(close, found.end())
        if end < 0:
            unclosed.add(close)
            at = found.end()
            continue
        kept += (text[start : found.start()], "\n\n")
        start = at = end + len(close)
    return "".join([*kept, text[start:]])


def _paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Logical lines: a wrapped line is joined to the one before; a list item stands alone, and a short heading ends
    with a colon as if it stood above a list. With each, whether it is an item of a list."""
    current: list[str] = []
    listed = False
    for raw in text.splitlines():
        raw = _TAG.sub(" ", raw) if "<" in raw else raw
        line = raw.strip()
        bullet = _BULLET.match(raw)
        if not line or (_skipped(line) and not bullet):
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


def _skipped(line: str) -> bool:
    if line.startswith(">") or (len(line) > 2000 and line.count(" ") * 12 < len(line)):
        return True
    if _CODE.match(line):
        return True
    if line.count('":') > 1 or '{"' in line:
        return True
    return len(line) >= 20 and len(_SYMBOL.findall(line)) * 6 > len(line)


def _continues(before: str, line: str) -> bool:
    """Whether a line goes on with the one before: an editor's wrap, not a new thought."""
    if before.endswith((".", "!", "?", ":", ";", "。", "！", "？")):
        return False
    return line[0].islower() or len(before) >= 50


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(paragraph):
        if _SHORTENED.search(paragraph, start, end.start()) and paragraph[end.start() - 1] == ".":
            continue
        yield from _bounded(paragraph[start : end.start()])
        start = end.end()
    yield from _bounded(paragraph[start:])


def _bounded(sentence: str) -> Iterator[str]:
    sentence = " ".join(sentence.split())
    while len(sentence) > LONGEST:
        cut = max(sentence.rfind(mark, 80, LONGEST) for mark in (", ", ": ", " and ", " but "))
        if cut < 0:
            cut = sentence.rfind(" ", 80, LONGEST)
        cut = LONGEST if cut < 0 else cut + 1
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence
