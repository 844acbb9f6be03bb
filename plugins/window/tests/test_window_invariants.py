"""What holds after every step of every history, whatever is appended, compacted, refused, forked or reopened."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import define, field, frozen
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from refold import Applied, Blocked, Call, CompactionFailed, Host, Nothing, Refused, Row, Session
from refold.prepare.request import Prepared
from refold.registry import home_file
from refold.testing import rules
from refold.transcript.rows import RawRow, raw_rows
from refold.values.errors import SummaryFailed
from refold.values.rows import RowRange

from .conftest import NEW, SETTINGS, Curator, Kit, words

WINDOWS = (3_000, 6_000)
MOODS = (None, None, None, SummaryFailed("the provider failed; nothing was changed"))


@frozen
class Turn:
    """Appends a turn: a prompt, calls with results (as many as `tools`), an answer unless `open`."""

    tools: tuple[str, ...]
    tokens: int
    open: bool


@frozen
class Happen:
    """Something beside the conversation."""

    what: Literal["spawned", "joined", "late", "follow-up"]


@frozen
class Ask:
    """A request, or a compaction that somebody asked for (`manual`), with a curator that may fail."""

    window: int
    manual: bool
    fails: bool


@frozen
class Other:
    """Undo, reopen, fork `back` rows before the end, or work in another session."""

    what: Literal["undo", "reopen", "fork", "elsewhere"]
    back: int


TOOLS = st.lists(st.sampled_from(["Grep", "Read", "Bash", "Edit", "unknown"]), max_size=4).map(tuple)
STEPS = st.one_of(
    st.builds(Turn, TOOLS, st.sampled_from([10, 150, 500]), st.sampled_from([False, False, True])),
    st.builds(Turn, TOOLS, st.sampled_from([150, 500]), st.just(False)),
    st.builds(
        Ask, st.sampled_from(WINDOWS), st.sampled_from([False, False, True]), st.sampled_from([False, False, True])
    ),
    st.builds(Happen, st.sampled_from(["spawned", "joined", "joined", "late", "follow-up"])),
    st.builds(Other, st.sampled_from(["undo", "reopen", "fork", "elsewhere"]), st.integers(0, 12)),
)


PROMPT = Turn((), 10, True)
TOUR = (
    *(Turn(("Grep",) * 4, 500, False),) * 2, PROMPT, Ask(6_000, False, False), Other("undo", 0),
    Ask(6_000, False, False), Other("reopen", 0), *(Turn(("Bash",) * 4, 500, False),) * 3, PROMPT,
    Ask(6_000, False, False), Other("fork", 3), *(Turn(("unknown",) * 4, 500, False),) * 2, PROMPT,
    Ask(6_000, False, False), Ask(6_000, False, False), Other("elsewhere", 0),
    *(Turn(("unknown",) * 4, 500, False),) * 3, PROMPT, Ask(6_000, True, True), Ask(6_000, False, True),
    Ask(6_000, True, False), PROMPT, Ask(6_000, True, False),
)  # fmt: skip
"""A history that comes by everything once; it is played before the random ones."""


@define
class Play:
    """One history, with everything that is held against it."""

    kit: Kit
    session: Session
    stored: list[RawRow] = field(factory=list)
    other: Any = None
    made: int = 0
    happened: set[str] = field(factory=set)

    def step(self, step: Turn | Happen | Ask | Other) -> None:
        match step:
            case Turn():
                self.append(turn(self.made, step))
            case Happen():
                self.append(happen(self.made, step))
            case Ask():
                self.ask(step)
            case Other():
                self.elsewhere(step)
        self.made += 1
        now = self.rows(self.session)
        assert now == self.stored, "history is append-only, whatever the outcome"

    def append(self, rows: Sequence[Row]) -> None:
        self.session.append(rows)
        now = self.rows(self.session)
        assert now[: len(self.stored)] == self.stored
        self.stored = now

    def rows(self, session: Session) -> list[RawRow]:
        with self.kit.host.database.read() as reader:
            return list(raw_rows(reader, session.id))

    def ask(self, step: Ask) -> None:
        before, known, calls = self.session.prepare(10**6), self.records(), self.kit.curator.calls
        self.kit.curator.answers = [MOODS[-1]] if step.fails else []
        try:
            prepared = self.session.compact(step.window) if step.manual else self.session.prepare(step.window)
        except CompactionFailed:
            self.happened.add("failed")
            assert self.records() == known
            assert self.session.prepare(10**6).request == before.request, "a failure is invisible"
            return
        self.check(prepared)
        now = self.records()
        done = prepared.attempted.outcome if prepared.attempted else None
        assert isinstance(done, Applied | Nothing | Blocked | None), "one outcome of the closed set"
        assert self.kit.curator.calls - calls <= 3
        if isinstance(done, Applied):
            self.happened.add(done.kind)
            assert len(now) == len(known) + 1, "one plan, one record"
            record = now[-1]
            assert record["after_tokens"] < record["before_tokens"], "what was applied is smaller"
            assert done.lossy == record["lossy"]
            assert done.kind == record["kind"]
            assert record["after_tokens"] <= step.window or record["reason"].startswith("no")
            self.joins(record["last_seq"])
        else:
            self.happened.add("nothing" if done else "fits")
            assert now == known
            assert self.session.prepare(10**6).request == before.request, "a failure is invisible"
        if step.manual:
            assert not isinstance(done, Applied) or done.kind != "drop"

    def check(self, prepared: Prepared) -> None:
        rows = self.session.rows()
        whole = RowRange(self.session.id, 0, len(rows))
        assert rules.accounted(prepared.projection, whole) is None, "every row is shown, covered or announced"
        assert rules.in_legal_order(prepared.request.messages) is None
        assert rules.results_kept(prepared.request.messages, prepared.projection, rows) is None
        assert rules.not_blank(prepared.request.messages, prepared.request.model.owner) is None
        assert rules.prompt_verbatim(prepared.request.messages, prepared.projection, rows, 0) is None
        kinds = [section.kind for section in prepared.projection.sections]
        assert kinds == sorted(kinds, key=["summary", "notice", "tail"].index), "summary, notice, tail"
        assert len(set(kinds)) == len(kinds), "at most one of each"
        for message in prepared.request.messages:
            getattr(message, "text", "").encode("utf-8")
        again = self.session.prepare(10**6)
        assert self.session.prepare(10**6).request == again.request, "equal records give equal bytes"

    def joins(self, last: int) -> None:
        """No new cut passes the oldest open spawn."""
        open_at = [row.ref.seq for row in self.session.rows() if row.event == "spawned"]
        closed = sum(row.event == "joined" for row in self.session.rows())
        waiting = open_at[closed:]
        assert not waiting or last < waiting[0] or self.older(waiting[0], last)

    def older(self, spawn: int, last: int) -> bool:
        """A record from before the child began is carried on, and it may reach further than the new one."""
        return any(record["last_seq"] >= last for record in self.records()[:-1])

    def records(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.session.run("window records", {})["records"]
        return found

    def elsewhere(self, step: Other) -> None:
        match step.what:
            case "undo":
                if any(record["active"] for record in self.records()):
                    self.session.run("window undo", {})
                    self.happened.add("undone")
                self.check(self.session.prepare(10**6))
            case "reopen":
                before = self.session.prepare(10**6).request
                self.kit.reopen()
                self.session = self.kit.host.session(self.session.id)
                assert self.session.prepare(10**6).request == before
                self.happened.add("reopened")
            case "fork":
                self.fork(len(self.stored) - step.back)
            case "elsewhere":
                before, known = self.session.prepare(10**6).request, self.records()
                self.other = self.other or self.kit.session("other")
                self.other.append([row for n in range(6) for row in turn(n, Turn(("Grep",), 500, False))])
                self.other.prepare(WINDOWS[0])
                assert self.session.prepare(10**6).request == before, "sessions change nothing of one another"
                assert self.records() == known

    def fork(self, at: int) -> None:
        """The view of a branch is that of the rows up to its point, made by the records that are valid there."""
        if at < 1:
            return
        try:
            branch = self.kit.host.session(self.session.fork(at, f"branch-{self.made}").session)
        except Refused:  # a result without its call is no checkpoint
            return
        valid = [record for record in self.records() if record["last_seq"] <= at and record["retained_first_seq"] <= at]
        assert [r["id"] for r in branch.run("window records", {})["records"]] == [r["id"] for r in valid]
        branched = Play(self.kit, branch)
        branched.stored = branched.rows(branch)
        assert branched.stored[:at] == self.stored[:at]
        branched.check(branch.prepare(10**6))
        self.happened.add("forked")


def turn(number: int, step: Turn) -> list[Row]:
    calls = tuple(Call(f"c{number}-{n}", name, arguments(name, number + n)) for n, name in enumerate(step.tools))
    text = words(step.tokens, f"part {number}")
    rows = [Row(NEW, "user", 0, 0, opens=True, text=f"turn {number}: {text[: len(text) // 4]}")]
    if calls:
        rows.append(Row(NEW, "assistant", 0, 0, calls=calls))
        rows += [Row(NEW, "result", 0, 0, text=text, call_id=call.id, ok=number % 5 != 4) for call in calls]
    return rows if step.open else [*rows, Row(NEW, "assistant", 0, 0, text=f"answer {number}")]


def arguments(name: str, n: int) -> dict[str, Any]:
    return {"Grep": {"pattern": f"p{n}"}, "Bash": {"command": f"make p{n}"}}.get(name, {"file_path": f"/f{n % 3}"})


def happen(number: int, step: Happen) -> list[Row]:
    match step.what:
        case "late":
            return [Row(NEW, "result", 0, 0, text=words(50), call_id=f"c{number - 2}-0")]
        case "follow-up":
            return [Row(NEW, "user", 0, 0, opens=False, text=f"and {number}")]
        case event:
            return [Row(NEW, "event", 0, 0, event=event, text="child")]


@pytest.fixture(scope="module")
def folder() -> Any:
    made = Path(tempfile.mkdtemp(prefix="window-invariants-"))
    yield made
    shutil.rmtree(made)


def opened(folder: Path, number: int) -> Kit:
    home = folder / f"home-{number}"
    home.mkdir()
    home_file.update(home / "extensions.json", lambda sections: sections.update({"window": dict(SETTINGS)}))
    curator = Curator()
    return Kit(home, curator, Host(home, summarizers=[curator]))


def test_every_history_keeps_every_invariant(folder: Path) -> None:
    happened: set[str] = set()
    number = 0

    def play(steps: Sequence[Any]) -> None:
        nonlocal number, happened
        number += 1
        kit = opened(folder, number)
        try:
            history = Play(kit, kit.session())
            for step in steps:
                history.step(step)
            happened |= history.happened
        finally:
            kit.host.close()

    @settings(
        max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    @given(st.lists(STEPS, min_size=6, max_size=20))
    def random(steps: list[Any]) -> None:
        play(steps)

    play(TOUR)
    random()
    wanted = {
        "microcompact",
        "collapse",
        "summary",
        "drop",
        "failed",
        "nothing",
        "fits",
        "undone",
        "reopened",
        "forked",
    }
    assert wanted - happened == set(), "the histories reach everything"


@pytest.mark.parametrize("fails", [False, True])
def test_a_session_lives_on_and_its_curator_is_asked_at_most_every_other_turn(folder: Path, fails: bool) -> None:
    kit = opened(folder, 1_000 + fails)
    try:
        session = kit.session()
        kit.curator.answers = [MOODS[-1]] if fails else []
        turns = 80
        for n in range(turns):
            session.append(turn(n, Turn(("Bash",) * (n % 3), 250, True)))
            prepared = session.prepare(WINDOWS[1])
            assert prepared.size.tokens <= WINDOWS[1], "every request fits"
            session.assistant(f"answer {n}")
        assert kit.curator.calls <= (turns if fails else turns // 2)
        assert len(records_of(kit, session)) >= 3
    finally:
        kit.host.close()


def records_of(kit: Kit, session: Session) -> list[Any]:
    found: list[Any] = session.run("window records", {})["records"]
    return found
