"""The demo's session: a review of the standard library's own sources, as an agent would have recorded it.

Every result is real: the files of this Python are read and searched, and temporary copies of them are edited. Nothing
depends on the clock or on chance, so the same Python gives the same rows.
"""

from __future__ import annotations

import difflib
import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from refold.agent.host import Host
from refold.agent.session import Session
from refold.values.errors import RefoldError
from refold.values.rows import Call

MODULES = (
    "queue", "sched", "selectors", "socketserver", "threading", "asyncio.queues", "asyncio.locks", "asyncio.timeouts",
    "concurrent.futures.thread", "multiprocessing.queues", "heapq", "textwrap", "shlex", "csv", "base64", "copy",
    "filecmp", "fileinput", "glob", "gzip", "html.parser", "json.decoder", "json.encoder", "linecache", "poplib",
    "pprint", "shelve", "tabnanny", "timeit", "types", "weakref", "zipapp",
)  # fmt: skip

READ_LINES = 320
"""Lines that one recorded read shows."""

_WAITS = ("timeout", "wait", "acquire", "sleep")
_FOUND = 12


@frozen
class Said:
    """Something that the user set for the whole session; `words` are verbatim in a user row."""

    kind: str
    words: str


OPENING = (
    Said("goal", "The goal is to find every place in the standard library that can wait for ever."),
    Said("rule", "Never change a public name or its signature."),
    Said("limit", "No edit may be longer than 12 lines."),
)
LATER: Mapping[int, Said] = {
    3: Said("preference", "I prefer short answers in plain English."),
    6: Said("exact fact", "The ticket is RF-4071 and its branch is review/bounded-waits."),
    9: Said("change", "From now on no edit may be longer than 8 lines."),
}
"""What the user adds, by the number of the turn."""


def said() -> tuple[Said, ...]:
    """Everything that should outlive a compaction; the limit was replaced by the change."""
    return (*(each for each in OPENING if each.kind != "limit"), *LATER.values())


@frozen
class Recorded:
    """What was recorded: the session, how many files it read, and a line of the first file, to search for later."""

    session: Session
    files: int
    needle: str


def record(host: Host) -> Recorded:
    """Makes the session. Raises RefoldError when this Python came without its sources."""
    sources = list(_sources())
    if len(sources) < 3:
        raise RefoldError("this Python has no sources of its standard library to read; nothing was made")
    session = host.new(_free(host), title="review of blocking waits in the standard library")
    with tempfile.TemporaryDirectory(prefix="refold-demo-") as folder:
        for turn, (name, source) in enumerate(sources):
            _turn(session, turn, name, source, Path(folder))
    session.user(f"Which of the {len(sources)} modules should we bound first, and why?")
    first = sources[0][1].splitlines()
    needle = next(
        (line.strip() for line in first[:READ_LINES] if line.strip().startswith(("def ", "class "))), first[0]
    )
    return Recorded(session, len(sources), needle)


def _sources() -> Iterator[tuple[str, str]]:
    for name in MODULES:
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
                yield name, Path(spec.origin).read_text(encoding="utf-8")
        except (ImportError, OSError, UnicodeDecodeError):  # a cut-down installation reviews what it has
            continue


def _free(host: Host) -> str:
    taken = {each.session.id for each in host.sessions()}
    names = ("demo" if number == 1 else f"demo-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _turn(session: Session, number: int, name: str, source: str, folder: Path) -> None:
    """One module: searched and read in one step, a copy of it edited in the next, and an answer."""
    path, lines = f"lib/{name.replace('.', '/')}.py", source.splitlines()
    session.user(_question(number, name))
    found = [f"{place}: {text.strip()}" for place, text in enumerate(lines, 1) if any(word in text for word in _WAITS)]
    search, read, edit = (f"call-{number}-{step}" for step in ("search", "read", "edit"))
    session.assistant(
        f"I search {name} for waits and read it.",
        [
            Call(search, "Grep", {"pattern": "|".join(_WAITS), "path": path}),
            Call(read, "Read", {"file_path": path, "limit": READ_LINES}),
        ],
    )
    numbered = "\n".join(f"{place:>5}  {text}" for place, text in enumerate(lines[:READ_LINES], 1))
    session.results({search: "\n".join(found[:_FOUND]) or "no match", read: numbered})
    note = f"# reviewed: {len(found)} lines speak of waiting"
    session.assistant(
        "I note the result in a copy.", [Call(edit, "Edit", {"file_path": path, "old_string": "", "new_string": note})]
    )
    session.results({edit: _edited(folder, path, source, note)})
    session.assistant(_answer(name, len(lines), found))


def _question(number: int, name: str) -> str:
    ask = f"Please review {name}: where can it wait, and is every wait bounded?"
    if number == 0:
        return " ".join([each.words for each in OPENING] + [ask])
    return f"{LATER[number].words} {ask}" if number in LATER else ask


def _edited(folder: Path, path: str, source: str, note: str) -> str:
    """Edits a copy and returns the difference, and whether the copy still compiles."""
    copy = folder / path
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(f"{source.rstrip()}\n\n{note}\n", encoding="utf-8")
    after = copy.read_text(encoding="utf-8")
    compile(after, path, "exec", dont_inherit=True)
    difference = difflib.unified_diff(source.splitlines(), after.splitlines(), path, path, lineterm="", n=1)
    return "\n".join([*difference, "the edited copy compiles"])


def _answer(name: str, lines: int, found: list[str]) -> str:
    if not found:
        return f"{name} has {lines} lines and none of them waits."
    return f"{name} has {lines} lines; {len(found)} speak of waiting, the first at {found[0][:100]}"
