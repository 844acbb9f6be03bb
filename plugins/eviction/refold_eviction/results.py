"""What stands on view, told by the calls: which results can be had again, what was written, what was marked useful."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import frozen
from refold import Call, Row, SourceRef, ToolTraits

from refold_eviction.paths import is_address, joined, listed_folder, patched

KEEP_TOOL = "keep_result"
KEEP_ARGUMENT = "keep"

Traits = Callable[[str], ToolTraits | None]

_PATHS = ("path", "file_path", "absolute_path", "filePath")
_FOLDERS = ("path", "dir_path", "directory", "folder", "dir")
_NETWORK = ("query", "url", "prompt")
# Arguments that name something on the network: no write in a folder touches it.


@frozen
class Lines:
    """A range of lines, both ends included; `last` None: to the end."""

    first: int = 1
    last: int | None = None

    def overlaps(self, other: Lines) -> bool:
        before = self.last is not None and self.last < other.first
        behind = other.last is not None and other.last < self.first
        return not before and not behind


@frozen
class Result:
    """One result that can be had again.

    `targets` are the paths or addresses that were read, or the folder that was searched or listed (none: nothing that
    a write could touch). `sought` is the pattern of a search, or the target of a listing. `step` is the seq of the
    assistant row that made the call, `size` its bytes. `kept`: the call itself asked for it to stay.
    """

    ref: SourceRef
    step: int
    kind: Literal["read", "search", "listing"]
    tool: str
    targets: tuple[str, ...]
    sought: str
    lines: Lines | None
    size: int
    text_lines: int
    kept: bool


@frozen
class Write:
    """A successful write, at the seq of its result."""

    seq: int
    paths: tuple[str, ...]


@frozen
class Mark:
    """A call of `keep_result` that succeeded, in the assistant row `seq`: by path (perhaps some lines of it), or by
    pattern."""

    seq: int
    path: str
    lines: Lines | None
    pattern: str


@frozen
class Seen:
    """All that stands on view. `unread` is the step whose results the model has not seen yet; 0: none."""

    results: tuple[Result, ...]
    writes: tuple[Write, ...]
    marks: tuple[Mark, ...]
    unread: int


def seen(rows: Sequence[Row], traits: Traits) -> Seen:
    """Reads the rows on view, oldest first. A result belongs to a call of its own step."""
    results, writes, marks = list[Result](), list[Write](), list[Mark]()
    for step, call, row in _answered(rows):
        known = traits(call.name)
        if call.name == KEEP_TOOL:
            mark = _mark(step, call.arguments)
            if (mark.path or mark.pattern) and _succeeded(row):
                marks.append(mark)
        elif known is None:
            continue
        elif known.writes:
            paths = _written(call.arguments, known.writes)
            if paths and _succeeded(row):
                writes.append(Write(row.ref.seq, paths))
        elif not known.action and (result := _result(step, call, row, known)) is not None:
            results.append(result)
    newest = next((row for row in reversed(rows) if row.kind == "assistant"), None)
    return Seen(tuple(results), tuple(writes), tuple(marks), newest.ref.seq if newest and newest.calls else 0)


def lines_of(arguments: Mapping[str, Any]) -> Lines | None:
    """The lines that a call asks for, by the names that agents use; None: all."""
    first, last = _whole(arguments.get("start_line")), _whole(arguments.get("end_line"))
    offset, limit = _whole(arguments.get("offset")), _whole(arguments.get("limit"))
    if first is None and offset is None and last is None and not limit:
        return None
    begins = max(1, first if first is not None else offset or 1)
    if last is None and limit:
        last = begins + limit - 1
    return Lines(begins, last)


def _answered(rows: Sequence[Row]) -> Iterator[tuple[int, Call, Row]]:
    """Every result on view with the call that it answers and the seq of that call's row."""
    step, waiting = 0, list[Call]()
    for row in rows:
        if row.kind == "assistant":
            step, waiting = row.ref.seq, list(row.calls)
        elif row.opens:
            waiting = []
        elif row.kind == "result":
            call = next((call for call in waiting if call.id == row.call_id), None)
            if call is not None:
                waiting.remove(call)
                yield step, call, row


def _result(step: int, call: Call, row: Row, traits: ToolTraits) -> Result | None:
    arguments = call.arguments
    folder = next(iter(_words(arguments, *_FOLDERS)), "")
    lines: Lines | None = None
    kind: Literal["read", "search", "listing"]
    if traits.reads is not None:
        kind, targets, sought = "read", _words(arguments, traits.reads, *_PATHS), ""
        lines = lines_of(arguments)
    elif traits.searches is not None:
        kind, sought = "search", next(iter(_words(arguments, traits.searches)), "")
        targets = () if traits.searches in _NETWORK else (folder or ".",)
    elif traits.lists is not None:
        kind, sought = "listing", next(iter(_words(arguments, traits.lists, *_FOLDERS)), "")
        looked = listed_folder(sought)
        targets = (looked if sought == folder else joined(folder, looked),)
    else:
        return None
    raw = len(row.text.encode("utf-8", "surrogatepass"))
    kept = arguments.get(traits.pins or KEEP_ARGUMENT) in (True, "true", "True")
    return Result(
        ref=row.ref,
        step=step,
        kind=kind,
        tool=call.name,
        targets=targets,
        sought=sought,
        lines=lines,
        size=raw + sum(image.width * image.height for image in row.images),
        text_lines=row.text.rstrip("\n").count("\n") + 1,
        kept=kept,
    )


def _written(arguments: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """The targets that these arguments hold; those that a patch names, where one holds a patch."""
    targets = (target for name in names for target in _words(arguments, name, *_PATHS))
    return tuple(path for target in targets for path in patched(target) or (target,))


def _mark(step: int, arguments: Mapping[str, Any]) -> Mark:
    path, pattern = (next(iter(_words(arguments, name)), "") for name in ("path", "pattern"))
    return Mark(step, path, lines_of(arguments), pattern)


def _succeeded(row: Row) -> bool:
    """A failed call says so in its row; some agents' files hold denials and errors as plain text alone."""
    begins = row.text.lstrip()[:40].lower()
    return row.ok and not begins.startswith(("error:", "permission denied", "denied", "not granted", "[not executed"))


def _words(arguments: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """The text, texts or number that the first of these arguments holds."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return (value,)
        if isinstance(value, int) and not isinstance(value, bool):
            return (str(value),)
        if isinstance(value, list | tuple) and (texts := tuple(each for each in value if isinstance(each, str))):
            return texts
    return ()


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def touchable(result: Result) -> tuple[str, ...]:
    """The targets that a write in a folder could touch."""
    return tuple(target for target in result.targets if not is_address(target))
