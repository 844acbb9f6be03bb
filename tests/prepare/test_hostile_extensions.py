"""An extension that raises, leaves, or answers with anything at all costs its own call and never a request."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from refold import Applied, Blocked, CompactionFailed, Host, Image, ProjectionFailed, RefoldError, Session

Install = Callable[..., str]
Talk = Callable[..., None]
WINDOW = 100_000


def strategy(project: str = "whole(context)", compact: str = "return Nothing('never')") -> str:
    return f"""
import sys
def whole(context, *sections, trigger=1):
    tail = Section("tail", "tail", "tail", (Rows(context.history.range),))
    return Projection((*sections, tail), trigger, Observation("whole", "test"))
def write(context, value="x"):
    context.commit(lambda writer: writer.execute("INSERT INTO odd_n VALUES(?, ?)", context.session, value))
@hookimpl
def migrations():
    return ["CREATE TABLE odd_n(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, n)"]
class Odd:
    def project(self, context):
        return {project}
    def compact(self, context, demand):
{textwrap.indent(textwrap.dedent(compact), "        ")}
@hookimpl
def compaction_strategy(): return Odd()
"""


BEGIN = "context.begin(RowRange(context.session, 0, 4))\n"


def opened(host: Host, talk: Talk, choose: bool = False) -> Session:
    session = host.new()
    talk(session, 2)
    if choose:
        host.choose("odd", True, session.id)
    return session


def written(host: Host) -> int:
    with host.database.read() as reader:
        return int(reader.all("SELECT count(*) FROM odd_n")[0][0])


REDUCER = """
class R:
    def reduce(self, context, rows, size, refused): {}
@hookimpl
def reducer(): return R()
"""
FOLDS = """
class F:
    owner = "odd"
    def folds(self, context, history): {}
@hookimpl
def fold_plugin(): return F()
"""
BLOCKS = "@hookimpl\ndef context_blocks(context): {}"
OBSERVE = "@hookimpl\ndef observe(context, projection): {}"

SKIPPED = {
    "sys.exit in a hook": (BLOCKS.format("raise SystemExit(3)"), "context_blocks failed (SystemExit: 3)"),
    "texts for blocks": (BLOCKS.format("return ['x']"), "context_blocks failed (TypeError: an item"),
    "a number for blocks": (BLOCKS.format("return 5"), "is int, not a list"),
    "a block without text": (BLOCKS.format("return [ContextBlock('a', 'b', None)]"), "ContextBlock.text is NoneType"),
    "blocks that end in a raise": (BLOCKS.format("yield 1 / 0"), "ZeroDivisionError"),
    "texts for facts": (OBSERVE.format("return ['x']"), "observe failed (TypeError"),
    "a number for facts": (OBSERVE.format("return 7"), "is int, not a list"),
    "sys.exit in observe": (OBSERVE.format("raise SystemExit"), "observe failed (SystemExit)"),
    "a list from a reducer": (REDUCER.format("return [1]"), "reduce failed (TypeError: the answer is list"),
    "nothing for texts": (REDUCER.format("return {r.ref: None for r in rows}"), "a value of the answer is NoneType"),
    "seqs for refs": (REDUCER.format("return {r.ref.seq: 'x' for r in rows}"), "is int, not SourceRef"),
    "sys.exit in a reducer": (REDUCER.format("raise SystemExit(1)"), "reduce failed (SystemExit: 1)"),
    "folds that raise": (FOLDS.format("raise ValueError('a\\nb')"), "folds failed (ValueError: a b)"),
    "texts for folds": (FOLDS.format("return ['a']"), "is str, not Fold"),
    "a fold without words": (
        FOLDS.format("return [Fold('odd', '1', 'l', ' ', RowRange(context.session, 0, 4))]"),
        "fold 1 holds no text",
    ),
    "sys.exit in folds": (FOLDS.format("raise SystemExit"), "folds failed (SystemExit)"),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_a_hook_that_answers_wrongly_is_skipped_with_one_notice_and_the_request_goes_out(
    name: str, install: Install, home: Path, talk: Talk
) -> None:
    body, words = SKIPPED[name]
    install("odd", body)
    with Host(home) as host:
        session = opened(host, talk)
        prepared = session.prepare(WINDOW)
        assert len(prepared.request.messages) == 8
        (notice,) = prepared.notices
        assert notice.startswith("odd: ")
        assert words in notice
        assert "\n" not in notice
        session.stored_folds()


def test_folds_with_one_name_never_reach_a_strategy(install: Install, home: Path, talk: Talk) -> None:
    twice = "return [Fold('odd', '1', 'l', 'a', RowRange(context.session, a, b)) for a, b in ((0, 2), (2, 4))]"
    install("odd", FOLDS.format(twice))
    with Host(home) as host:
        assert len(opened(host, talk).prepare(WINDOW).request.messages) == 8


def test_what_no_wire_can_carry_is_replaced_where_a_person_sees_it(install: Install, home: Path, talk: Talk) -> None:
    install("odd", strategy("whole(context, Section('n', 'n\\ud800', 'summary', (Note('so \\ud83d'),)))"))
    install("more", BLOCKS.format("return [ContextBlock('a', 'b', 'x\\ud800')]"))
    install("less", REDUCER.format("return {r.ref: 'gone\\ud800' for r in rows}"))
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        request = session.prepare(WINDOW).request
        assert "x\\ud800" in request.system
        texts = [message.text for message in request.messages if hasattr(message, "text")]
        assert "so \\ud83d" in texts
        assert "gone\\ud800" in texts


FAILING = {
    "nothing": ("None", "the answer is NoneType, not Projection"),
    "a text for a trigger": ("whole(context, trigger='1')", "Projection.trigger is str"),
    "a trigger beyond JSON": ("whole(context, trigger=10**40)", "Projection.trigger is beyond 2**53"),
    "sys.exit": ("sys.exit(4)", "SystemExit: 4"),
    "words on two lines": ("(_ for _ in ()).throw(CompactionFailed('a\\nb'))", "a b"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_projection_that_is_none_fails_the_request_in_one_line(
    name: str, install: Install, home: Path, talk: Talk
) -> None:
    project, words = FAILING[name]
    install("odd", strategy(project), default=False)
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        for ask in (session.prepare, session.compact):
            with pytest.raises(ProjectionFailed) as failure:
                ask(WINDOW)
            assert words in str(failure.value)
            assert "\n" not in str(failure.value)
        session.stored_folds()


NOT_COMPACTED = {
    "nothing": ("return None", "the answer is NoneType, not Applied or Nothing or Blocked"),
    "a text": ("return 'x'", "the answer is str"),
    "applied to nothing": (BEGIN + "return Applied(None)", "Applied.covers is NoneType"),
    "sys.exit": (BEGIN + "sys.exit(3)", "SystemExit: 3"),
    "sys.exit in a commit": (BEGIN + "context.commit(lambda writer: sys.exit(2))", "SystemExit: 2"),
    "rows of another session": ("context.begin(RowRange('zz', 0, 4))", "rows 1-4 of zz are not in this history"),
    "no rows": ("context.begin(None)", "the answer is NoneType, not RowRange"),
    "a summary before begin": ("context.summarize('text')", "summarize before begin"),
    "a summary inside a commit": (
        BEGIN + "context.commit(lambda writer: context.summarize('text'))",
        "summarize inside commit",
    ),
    "words on two lines": ("raise CompactionFailed('a\\nb')", "compaction odd: a b"),
}


@pytest.mark.parametrize("name", NOT_COMPACTED)
def test_a_compaction_that_committed_nothing_fails_in_one_line(
    name: str, install: Install, home: Path, talk: Talk
) -> None:
    compact, words = NOT_COMPACTED[name]
    install("odd", strategy(compact=compact), default=False)
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        with pytest.raises(CompactionFailed) as failure:
            session.compact(WINDOW)
        assert words in str(failure.value)
        assert "\n" not in str(failure.value)
        assert (written(host), session.record.compactions) == (0, 0)


COMMITTED = {
    "nothing": ("return None", "stopped early: TypeError: the answer is NoneType"),
    "rows of another session": ("return Applied(RowRange('zz', 0, 4))", "rows 1-4 of zz are not in this history"),
    "no rows": ("return Applied(None)", "Applied.covers is NoneType"),
    "that there was nothing to do": ("return Nothing('a\\nb')", "stopped early: it committed, then said: a b"),
    "that it may not": ("return Blocked('busy', 'later')", "it committed, then said: later"),
    "sys.exit": ("sys.exit(3)", "stopped early: SystemExit: 3"),
}


@pytest.mark.parametrize("name", COMMITTED)
def test_what_was_committed_is_applied_whatever_is_said_afterwards(
    name: str, install: Install, home: Path, talk: Talk
) -> None:
    after, words = COMMITTED[name]
    install("odd", strategy(compact=f"{BEGIN}write(context)\n{after}"), default=False)
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        attempted = session.compact(WINDOW).attempted
        assert attempted is not None
        assert isinstance(attempted.outcome, Applied)
        assert (attempted.outcome.covers.after, attempted.outcome.covers.upto) == (0, 4)
        assert words in attempted.outcome.note
        assert (written(host), session.record.compactions) == (1, 1)


SWALLOWING = f"""
try: {BEGIN.strip()}
except Exception: pass
write(context)
return Applied(RowRange(context.session, 0, 4))
"""


def test_a_strategy_that_swallows_a_veto_commits_nothing(install: Install, home: Path, talk: Talk) -> None:
    install("odd", strategy(compact=SWALLOWING), default=False)
    install("no", "@hookimpl\ndef pre_compact(context, event): return 'not\\nnow'")
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        with pytest.raises(CompactionFailed, match="commit though begin was refused"):
            session.compact(WINDOW)
        assert written(host) == 0


def test_a_strategy_that_swallows_everything_commits_nothing_in_a_dry_run(
    install: Install, home: Path, talk: Talk
) -> None:
    install("odd", strategy(compact=SWALLOWING), default=False)
    with Host(home) as host:
        session = opened(host, talk, choose=True)
        planned = session.plan().planned
        assert planned is not None
        assert planned.upto == 4
        assert written(host) == 0


def test_a_veto_is_told_on_one_line(install: Install, home: Path, talk: Talk) -> None:
    install("odd", strategy(compact=BEGIN), default=False)
    install("no", "@hookimpl\ndef pre_compact(context, event): return 'not\\nnow'")
    with Host(home) as host:
        attempted = opened(host, talk, choose=True).compact(WINDOW).attempted
        assert attempted is not None
        assert attempted.outcome == Blocked("veto", "no refused the compaction: not now")


@pytest.mark.parametrize(
    ("body", "words"),
    [("return 'text'", "is str, not bytes"), ("raise SystemExit(9)", "SystemExit: 9"), ("1 / 0", "ZeroDivisionError")],
)
def test_a_picture_that_cannot_be_made_is_said_in_one_line(
    body: str, words: str, install: Install, home: Path, talk: Talk
) -> None:
    install("odd", f"@hookimpl\ndef image_bytes(context, image): {body}")
    with Host(home) as host, pytest.raises(RefoldError, match=f"odd could not make the picture k .*{words}"):
        opened(host, talk).image_bytes(Image("k", "image/png", 2, 2, owner="odd"))
