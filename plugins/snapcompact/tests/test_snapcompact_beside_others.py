"""snapcompact beside rolling, text-only models, other folds, forks, and pages that cannot be drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from refold import Applied, Blocked, Host, Model, Note, Nothing, Replay, Row, RowRange, Session, SourceRef
from refold.prepare.request import Prepared
from refold_snapcompact import frames as cache
from refold_snapcompact import png
from refold_snapcompact.captions import ENDS

from .conftest import WINDOW, Road, Talk, frames, kinds, pages

CLAUDE = Model("claude-sonnet-4-5", "anthropic", "")
TEXT_ONLY = Model("local/text", "openai-chat", "", inputs=frozenset({"text"}))
UNKNOWN = Model("local/any", "openai-chat", "")


def images(prepared: Prepared) -> list[Any]:
    return [image for message in prepared.request.messages for image in getattr(message, "images", ())]


def texts(prepared: Prepared) -> str:
    return "\n".join(str(getattr(message, "text", "")) for message in prepared.request.messages)


@pytest.fixture
def without_rolling(monkeypatch: pytest.MonkeyPatch) -> None:
    """rolling is not installed."""
    from refold.prepare.context import BoundContext
    from refold.prepare.work import CompactWork

    monkeypatch.setattr(BoundContext, "delegate", lambda self, _: None)
    monkeypatch.setattr(CompactWork, "delegate", lambda self, _: None)


def test_a_text_only_model_gets_rollings_text_compaction_and_the_archive_stays(
    paged: Session, talk: Talk, roads: Road, host: Host
) -> None:
    talk(paged, 30)
    before = pages(roads.compact(paged, CLAUDE))
    prepared = roads.prepare(paged, TEXT_ONLY)
    assert isinstance(prepared.attempted.outcome, Applied)
    assert kinds(prepared) == ["summary", "recap", "tail"]
    assert images(prepared) == []
    assert prepared.snapshot.status == "fallback"
    assert prepared.snapshot.source.startswith("the model reads no pictures; rolling text compaction: ")
    assert prepared.size.tokens < WINDOW
    assert pages(roads.prepare(paged, CLAUDE, 1_000_000))[0].key.split("-")[2] == "0"
    assert len(pages(roads.prepare(paged, CLAUDE))) == len(before)


def test_before_any_archive_a_text_only_model_is_rollings_business(paged: Session, talk: Talk, roads: Road) -> None:
    talk(paged, 30)
    assert kinds(roads.prepare(paged, TEXT_ONLY)) == ["summary", "recap", "tail"]
    assert kinds(roads.compact(paged, CLAUDE)) == ["frames", "tail"]


@pytest.mark.usefixtures("without_rolling")
def test_without_rolling_a_text_only_model_gets_history_whole_and_context_says_why(
    paged: Session, talk: Talk, roads: Road
) -> None:
    talk(paged, 30)
    prepared = roads.prepare(paged, TEXT_ONLY)
    assert kinds(prepared) == ["tail"]
    assert len(prepared.request.messages) == len(paged.rows())
    assert prepared.snapshot.status == "fallback"
    assert "the model reads no pictures; refold-rolling is not installed" in prepared.snapshot.source
    assert "history goes out whole" in paged.context()["compaction"]["source"]
    compacted = roads.compact(paged, TEXT_ONLY)
    assert isinstance(compacted.attempted.outcome, Blocked)
    assert compacted.attempted.outcome.code == "missing"


def test_a_model_of_which_nothing_is_known_counts_as_one_that_reads_pictures(
    paged: Session, talk: Talk, roads: Road
) -> None:
    talk(paged, 30)
    assert kinds(roads.compact(paged, UNKNOWN)) == ["frames", "tail"]


@pytest.mark.parametrize("rolling", [True, False])
def test_when_drawing_fails_the_turn_goes_on_and_context_says_why(
    rolling: bool, paged: Session, talk: Talk, roads: Road, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    if not rolling:
        request.getfixturevalue("without_rolling")
    talk(paged, 30)
    roads.compact(paged, CLAUDE)

    def broken(page: object) -> bytes:
        raise MemoryError("no room for pixels")

    cache.drawn.cache_clear()
    monkeypatch.setattr(cache, "png", broken)
    prepared = roads.prepare(paged, Model("gpt-5.5", "openai-chat", ""))
    assert images(prepared) == []
    assert prepared.snapshot.status == "fallback"
    assert "pages could not be drawn (MemoryError: no room for pixels)" in paged.context()["compaction"]["source"]
    assert prepared.request.messages[-1].text == paged.rows()[-1].text
    monkeypatch.setattr(cache, "png", png.png)
    assert kinds(roads.prepare(paged, CLAUDE)) == ["frames", "tail"]


def test_then_rolling_then_a_text_only_model_one_summary_no_image_no_archive_page(
    paged: Session, talk: Talk, roads: Road, host: Host
) -> None:
    talk(paged, 30)
    assert images(roads.compact(paged, CLAUDE))
    host.choose("rolling", True, session=paged.id)
    rolled = roads.compact(paged, CLAUDE)
    assert isinstance(rolled.attempted.outcome, Applied)
    for strategy in ("rolling", "snapcompact"):
        host.choose(strategy, True, session=paged.id)
        prepared = roads.prepare(paged, TEXT_ONLY)
        assert kinds(prepared) == ["summary", "recap", "tail"]
        assert images(prepared) == []
        assert not [each for each in prepared.request.messages if str(getattr(each, "text", "")).startswith("[rows ")]
        assert texts(prepared).count("[older conversation summary; extracted without a model]") == 1


def test_another_strategy_reads_the_archive_as_text(paged: Session, talk: Talk, roads: Road, host: Host) -> None:
    talk(paged, 20)
    covers = frames(roads.compact(paged, CLAUDE, 200_000)).covers
    host.choose("rolling", True, session=paged.id)
    prepared = roads.prepare(paged, CLAUDE, 1_000_000)
    folds = [section for section in prepared.projection.sections if section.kind == "fold"]
    assert folds[0].covers.after == 0
    assert folds[-1].covers.upto == covers.upto
    assert "¶user #1: question 0" in texts(prepared)
    assert all(a.covers.upto == b.covers.after for a, b in pairwise(folds))
    host.choose("snapcompact-memory", False, session=paged.id)
    assert kinds(roads.prepare(paged, CLAUDE, 1_000_000)) == ["tail"]


FOLDS = """
from refold import *

class Notes:
    owner = "notes"
    def folds(self, context, history):
        upto = context.read("SELECT upto FROM notes_upto WHERE session=?", context.session)
        if not upto or history.range.after: return ()
        covers = RowRange(context.session, 0, upto[0][0])
        return [Fold("notes", f"n{covers.upto}", "notes", "WHAT THE NOTES SAY", covers)]

@hookimpl
def manifest(): return Manifest(id="notes", title="notes", summary="notes", default=True)
@hookimpl
def migrations():
    session = "session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE"
    return [f"CREATE TABLE notes_upto({session}, upto INTEGER)"]
@hookimpl
def fold_plugin(): return Notes()
class Reader:
    def reduce(self, context, rows, size, refused):
        if context.read("SELECT upto FROM notes_upto WHERE session=?", context.session): return {}
        return {row.ref: "[elided: read again]" for row in rows if row.kind == "result"}
@hookimpl
def reducer(): return Reader()
@hookimpl
def commands():
    def set(context, arguments):
        context.commit(lambda w: w.execute("REPLACE INTO notes_upto VALUES(?, ?)", context.session, arguments["upto"]))
        return {}
    return [Command(name="notes set", summary="set", parameters={}, run=set)]
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A third party's extension that stores a fold."""
    folder = tmp_path / "third"
    facts = folder / "refold_notes-1.0.dist-info"
    facts.mkdir(parents=True)
    (folder / "refold_notes_of_a_test.py").write_text(FOLDS)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: refold-notes\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[refold.extensions]\nnotes = refold_notes_of_a_test\n")
    (facts / "RECORD").write_text("refold_notes_of_a_test.py,,\n")
    monkeypatch.syspath_prepend(folder)
    yield
    sys.modules.pop("refold_notes_of_a_test", None)


@pytest.mark.usefixtures("notes")
def test_folds_of_others_stand_as_text_in_front_of_the_pages(home: Path, talk: Talk) -> None:
    with Host(home) as host:
        session = host.new(model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session=session.id)
        talk(session, 30)
        session.run("notes set", {"upto": 40})
        prepared = session.compact(WINDOW)
        assert kinds(prepared) == ["fold", "frames", "tail"]
        assert frames(prepared).covers.after == 40
        assert prepared.request.messages[0].text.startswith("WHAT THE NOTES SAY\n\n[users' own words")
        assert "user #41" in session_text(host, session.id)

        session.run("notes set", {"upto": 60})  # they grow: what they cover is not shown twice
        grown = session.prepare(WINDOW * 10)
        assert kinds(grown) == ["fold", "frames", "tail"]
        assert 40 < frames(grown).covers.after <= 60

        session.run("notes set", {"upto": 20})  # they shrink: the archive would leave a hole, so it does not serve
        hole = session.prepare(WINDOW * 10)
        assert kinds(hole) == ["fold", "tail"]
        again = session.compact(WINDOW)
        assert kinds(again) == ["fold", "frames", "tail"]
        assert frames(again).covers.after == 20


@pytest.mark.usefixtures("notes")
def test_the_archive_holds_rows_as_they_are_whatever_reducers_did_to_the_view(home: Path, talk: Talk) -> None:
    with Host(home) as host:
        session = host.new(model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session=session.id)
        talk(session, 60)
        session.prepare(1_000_000)
        session.compact(WINDOW)
        archived = session_text(host, session.id)
        assert "elided" not in archived
        assert archived.count("def f3(value):") == 50


def session_text(host: Host, session: str) -> str:
    with host.database.read() as reader:
        found = reader.all("SELECT text FROM snapcompact_archive WHERE session=? ORDER BY part", session)
    return "\n".join(text for (text,) in found)


def test_a_fork_behind_the_cut_takes_the_archive_along(paged: Session, talk: Talk, host: Host) -> None:
    talk(paged, 30)
    prepared = paged.compact(WINDOW)
    cut = frames(prepared).covers.upto
    branch = host.session(paged.fork(len(paged.rows())).session)
    forked = branch.prepare(WINDOW)
    assert kinds(forked) == ["frames", "tail"]
    assert pages(forked) == pages(prepared)
    assert [branch.image_bytes(image) for image in pages(forked)] == [paged.image_bytes(i) for i in pages(prepared)]
    assert frames(forked).covers == RowRange(branch.id, 0, cut)
    at_cut = host.session(paged.fork(cut).session)
    assert kinds(at_cut.prepare(WINDOW)) == ["frames"]


def test_a_fork_before_the_cut_starts_without_an_archive(paged: Session, talk: Talk, host: Host) -> None:
    talk(paged, 30)
    cut = frames(paged.compact(WINDOW)).covers.upto
    branch = host.session(paged.fork(cut - 4).session)
    assert kinds(branch.prepare(1_000_000)) == ["tail"]
    assert session_text(host, branch.id) == ""


def test_an_archive_of_another_format_is_ignored_and_replaced(paged: Session, talk: Talk, host: Host) -> None:
    talk(paged, 30)
    paged.compact(WINDOW)
    with host.database.write() as writer:
        writer.execute("UPDATE snapcompact_archive SET format=99")
    assert kinds(paged.prepare(1_000_000)) == ["tail"]
    again = paged.compact(WINDOW)
    assert kinds(again) == ["frames", "tail"]
    assert frames(again).covers.after == 0
    assert kinds(paged.prepare(WINDOW)) == ["frames", "tail"]


def test_a_veto_leaves_everything_as_it_was(
    paged: Session, talk: Talk, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(paged, 30)
    import refold.prepare.work as work

    def veto(*arguments: object) -> str:
        return "a deployment is running"

    monkeypatch.setattr(work, "_veto", veto)
    prepared = paged.compact(WINDOW)
    assert isinstance(prepared.attempted.outcome, Blocked)
    assert session_text(host, paged.id) == ""
    assert kinds(prepared) == ["tail"]


def test_pages_of_an_older_compaction_leave_the_cache(paged: Session, talk: Talk, host: Host) -> None:
    talk(paged, 30)
    paged.compact(200_000)
    talk(paged, 30, first=30)
    shown = pages(paged.compact(200_000))
    with host.database.read() as reader:
        stored = {digest for (digest,) in reader.all("SELECT digest FROM snapcompact_frames")}
    assert stored == {image.key.split("-")[4] for image in shown}


def test_turns_that_hold_only_events_and_opaque_items_need_no_page(host: Host) -> None:
    session = host.new(model="claude-sonnet-4-5")
    host.choose("snapcompact", True, session=session.id)
    new = SourceRef("", 0)
    session.append([Row(new, "event", 0, 0, event="notice", text="n" * 900) for _ in range(5)])
    session.user("hello")
    assert isinstance(session.compact(WINDOW).attempted.outcome, Nothing | Applied)
    assert session.prepare(WINDOW).request.messages[-1].text == "hello"


def test_rows_that_are_not_sent_do_not_make_an_archive_look_worth_its_pages(host: Host) -> None:
    session = host.new(model="claude-sonnet-4-5")
    host.choose("snapcompact", True, session=session.id)
    new = SourceRef("", 0)
    for n in range(4):
        session.user(f"question {n}")
        opaque = Replay("another provider", '{"encrypted_content": "' + "x9" * 2_000 + '"}')
        session.append([Row(new, "replay", 0, 0, replay=opaque), Row(new, "assistant", 0, 0, text="answer")])
    before = session.prepare(WINDOW).size.tokens
    prepared = session.compact(WINDOW)
    assert isinstance(prepared.attempted.outcome, Nothing)
    assert f"{before:,} tokens now" in prepared.attempted.outcome.reason


def test_the_end_of_the_pages_is_marked(paged: Session, talk: Talk) -> None:
    talk(paged, 30)
    note = frames(paged.compact(WINDOW)).inputs[-1]
    assert isinstance(note, Note)
    assert note.text.startswith(f"{ENDS}\n\n[users' own words")
