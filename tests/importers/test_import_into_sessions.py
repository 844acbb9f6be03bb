"""What an import leaves in a home: new sessions, grown ones, and clear refusals."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from refold import Busy, Importer, NotFound, RefoldError, Refused, Row, SourceRef
from refold.importers.formats import BUILT_IN
from refold.importers.reading import Skipped
from refold.importers.store import import_file
from refold.transcript.append import append
from refold.transcript.images import load_image
from refold.transcript.leases import lease
from refold.transcript.rows import load_sources
from refold.transcript.sessions import create, listing, tree

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAEklEQVR4nGP4z8DwHxlhEwEAnDgL9Y7XPKkAAAAASUVORK5CYII="


def prompt(n: int, text: str, **more: Any) -> dict[str, Any]:
    return record(n, "user", text, **more)


def record(n: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, "id": f"m{n}", "model": "x"}
    linked = {"uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n > 1 else None, "sessionId": "talk", **more}
    return {"type": role, "message": message, **linked}


def conversation(upto: int) -> list[dict[str, Any]]:
    """Prompt, answer with a call, result, answer, and again."""
    made = []
    for n in range(1, upto + 1):
        match n % 4:
            case 1:
                made.append(prompt(n, f"prompt {n}"))
            case 2:
                made.append(
                    record(n, "assistant", [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {"n": n}}])
                )
            case 3:
                made.append(record(n, "user", [{"type": "tool_result", "tool_use_id": f"c{n - 1}", "content": "r"}]))
            case _:
                made.append(record(n, "assistant", [{"type": "text", "text": f"answer {n}"}]))
    return made


def rows_of(database, session: str) -> list[Row]:
    with database.read() as reader:
        return load_sources(reader, session, 0, 10**9)


def test_a_file_becomes_a_session_that_bears_its_name(database, lines):
    done = import_file(database, io.BytesIO(lines(*conversation(8))))
    assert (done.session, done.format, done.rows, done.already, done.turns, done.note) == (
        "talk",
        "claude-code",
        8,
        0,
        2,
        "",
    )
    rows = rows_of(database, "talk")
    assert [(row.ref.seq, row.turn, row.step, row.kind) for row in rows[:5]] == [
        (1, 1, 0, "user"),
        (2, 1, 1, "assistant"),
        (3, 1, 1, "result"),
        (4, 1, 2, "assistant"),
        (5, 2, 0, "user"),
    ]
    with database.read() as reader:
        (listed,) = listing(reader)
    assert (listed.session.title, listed.rows, listed.tokens) == ("prompt 1", 8, done.tokens)


def test_the_same_file_twice_adds_nothing(database, lines):
    data = lines(*conversation(8))
    import_file(database, io.BytesIO(data))
    again = import_file(database, io.BytesIO(data))
    assert (again.session, again.rows, again.already, again.turns) == ("talk", 0, 8, 2)


@pytest.mark.parametrize("grown", [5, 8, 40])
def test_a_file_that_grew_adds_only_what_is_new(grown, database, lines):
    import_file(database, io.BytesIO(lines(*conversation(4))))
    done = import_file(database, io.BytesIO(lines(*conversation(grown))))
    assert (done.session, done.rows, done.already) == ("talk", grown - 4, 4)
    assert len(rows_of(database, "talk")) == grown


def test_an_older_copy_of_a_file_adds_nothing(database, lines):
    import_file(database, io.BytesIO(lines(*conversation(8))))
    done = import_file(database, io.BytesIO(lines(*conversation(4))))
    assert (done.session, done.rows, done.already, done.note) == ("talk", 0, 8, "")


def test_a_session_continued_here_is_left_alone_and_the_grown_file_becomes_another(database, lines):
    import_file(database, io.BytesIO(lines(*conversation(4))))
    with database.write() as writer:
        append(writer, "talk", [Row(SourceRef("talk", 0), "user", 0, 0, opens=True, text="go on here")])
    same = import_file(database, io.BytesIO(lines(*conversation(4))))
    assert (same.session, same.rows, same.already) == ("talk", 0, 4)
    done = import_file(database, io.BytesIO(lines(*conversation(8))))
    assert (done.session, done.rows, done.note) == (
        "talk-2",
        8,
        "session talk was continued here, so this is a new session",
    )
    assert rows_of(database, "talk")[-1].text == "go on here"
    assert import_file(database, io.BytesIO(lines(*conversation(8)))).session == "talk-2"


def test_a_file_whose_history_changed_becomes_another_session(database, lines):
    import_file(database, io.BytesIO(lines(*conversation(4))))
    rewound = [*conversation(4), prompt(5, "instead", parentUuid=None)]
    done = import_file(database, io.BytesIO(lines(*rewound)))
    assert (done.session, done.children) == ("talk-2", ("talk-2/branch-u1",))
    assert done.note == "session talk holds another history under the same name, so this is a new session"
    assert [row.text for row in rows_of(database, "talk-2")] == ["talk-2/branch-u1", "instead"]


def side(n: int, agent: str, text: str) -> dict[str, Any]:
    return prompt(n, text, isSidechain=True, agentId=agent)


def test_children_are_sessions_below_and_the_rows_that_announce_them_bear_their_names(database, lines):
    with database.write() as writer:
        create(writer, "talk")  # the name is taken
    records = [*conversation(3), side(10, "k", "explore")]
    done = import_file(database, io.BytesIO(lines(*records)))
    assert (done.session, done.children, done.child_rows) == ("talk-2", ("talk-2/agent-k",), 1)
    assert [row.text for row in rows_of(database, "talk-2") if row.kind == "event"] == ["talk-2/agent-k"] * 2
    with database.read() as reader:
        (branch,) = tree(reader, "talk-2")
    assert [child.session.id for child in branch.children] == ["talk-2/agent-k"]

    again = import_file(database, io.BytesIO(lines(*records)))
    assert (again.rows, again.child_rows, again.children) == (0, 0, ("talk-2/agent-k",))
    grown = import_file(database, io.BytesIO(lines(*records, side(11, "k", "more"), side(12, "j", "new"))))
    assert (grown.session, grown.child_rows, grown.children) == (
        "talk-2",
        2,
        ("talk-2/agent-k", "talk-2/agent-j"),
    )


def test_a_named_target_is_made_grown_and_protected(database, lines):
    four, eight = lines(*conversation(4)), lines(*conversation(8))
    assert import_file(database, io.BytesIO(four), session="mine").session == "mine"
    assert import_file(database, io.BytesIO(eight), session="mine").rows == 4
    with database.write() as writer:
        create(writer, "other")
    with pytest.raises(Refused, match="session other was not imported from this file; nothing was imported"):
        import_file(database, io.BytesIO(eight), session="other")
    changed = lines(prompt(1, "else"), *conversation(4)[1:])
    with pytest.raises(Refused, match="session mine holds another history"):
        import_file(database, io.BytesIO(changed), session="mine")
    with pytest.raises(Refused, match="cannot name a session"):
        import_file(database, io.BytesIO(changed), session="a\nb")


def test_skipped_lines_are_reported_with_their_numbers(database, lines):
    data = lines(prompt(1, "go"), b"\n", b"broken\n", record(2, "assistant", [{"type": "text", "text": "ok"}]), 42)
    done = import_file(database, io.BytesIO(data + b'{"half'))
    assert done.skipped == (
        Skipped(3, "not JSON at character 1"),
        Skipped(5, "not a record of a session"),
        Skipped(6, "the file ends in the middle of this line"),
    )


def test_a_document_has_no_lines_and_is_named_after_its_file(database, tmp_path):
    path = tmp_path / "my chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "oracle"}]))
    done = import_file(database, path)
    assert (done.session, done.format, done.rows) == ("my_chat", "openai-chat", 1)
    assert done.skipped == (Skipped(None, "message 2 has no known role"),)
    assert import_file(database, path).rows == 0


def test_what_cannot_be_imported_is_refused_in_one_line_and_leaves_nothing(database, tmp_path, lines):
    (tmp_path / "empty").touch()
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    (tmp_path / "titles").write_bytes(lines({"type": "summary", "leafUuid": "x"}, {"type": "odd", "uuid": "y"}))
    for name, error, words in [
        ("missing", NotFound, "there is no file"),
        (".", RefoldError, "cannot be read"),
        ("empty", Refused, "it is empty"),
        ("bytes", Refused, "its format is not known"),
        ("titles", Refused, "titles holds no row of format claude-code (line 2: unknown record type odd)"),
    ]:
        with pytest.raises(error) as raised:
            import_file(database, tmp_path / name)
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)
    with database.read() as reader:
        assert listing(reader) == []


def test_a_stream_that_cannot_be_read_twice_is_imported(database, lines):
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert import_file(database, Pipe(lines(*conversation(8)))).rows == 8


def test_pictures_are_kept_once_by_their_bytes_and_measured(database, lines):
    shot = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    data = lines(prompt(1, [shot]), record(2, "assistant", [{"type": "text", "text": "a"}]), prompt(3, [shot]))
    import_file(database, io.BytesIO(data))
    first, _, last = rows_of(database, "talk")
    assert first.images == last.images
    assert (first.images[0].width, first.images[0].height) == (2, 3)
    with database.read() as reader:
        assert load_image(reader, first.images[0].key).media_type == "image/png"
    assert import_file(database, io.BytesIO(data)).rows == 0


def test_what_the_record_stores_in_another_form_is_still_recognized(database, lines):
    deep: Any = "bottom"
    for _ in range(150):
        deep = [deep]
    arguments = {"wide": 2**80, "half": "\ud83d", "deep": deep, "real": 0.1}
    data = lines(
        prompt(1, "half \ud83d"),
        record(2, "assistant", [{"type": "tool_use", "id": "c", "name": "f", "input": arguments}]),
    )
    import_file(database, io.BytesIO(data))
    _, answer = rows_of(database, "talk")
    assert answer.calls[0].arguments["wide"] == 2**80
    assert import_file(database, io.BytesIO(data)).rows == 0


def test_progress_counts_the_bytes_of_the_file_and_ends_with_it(database, lines):
    told: list[tuple[int, int]] = []
    data = lines(*(prompt(n, "x" * 40_000) for n in range(1, 100)))
    import_file(database, io.BytesIO(data), progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(data), len(data))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) >= 3


def test_a_large_file_is_read_in_bounded_memory(database, tmp_path):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        for n in range(1, 1501):
            file.write(json.dumps(prompt(n, f"{n} " * 900)).encode() + b"\n")
    import_file(database, io.BytesIO(json.dumps(prompt(1, "warm up")).encode()), session="warm")
    tracemalloc.start()
    try:
        done = import_file(database, path, session="large")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert done.rows == 1500
    assert peak < path.stat().st_size


def test_a_session_that_is_held_is_busy(database, lines):
    import_file(database, io.BytesIO(lines(*conversation(4))))
    with lease(database, "talk", "send"), pytest.raises(Busy, match="held by"):
        import_file(database, io.BytesIO(lines(*conversation(8))))
    assert len(rows_of(database, "talk")) == 4


def plain(text: str, session: str = "x", **more: Any) -> Row:
    return Row(SourceRef(session, 0), more.pop("kind", "user"), 0, 0, text=text, **more)


def test_an_importer_of_an_extension_is_used_like_a_built_in_one(database):
    def read(stream):
        for line in stream:
            word = line.decode().strip()
            yield plain(word, opens=True) if word != "no" else "it says no"

    mine = Importer("mine", lambda head: head.startswith(b"MINE"), read)
    done = import_file(database, io.BytesIO(b"MINE\na\nno\nb\n"), importers=(*BUILT_IN, mine))
    assert (done.session, done.format, done.rows, done.skipped) == ("x", "mine", 3, (Skipped(3, "it says no"),))


def test_an_importer_that_fails_keeps_the_rows_before_and_says_where(database):
    def read(stream):
        for n, line in enumerate(stream):
            if line == b"bad\n":
                raise KeyError("surprise")
            yield plain(str(n), opens=True)

    broken = Importer("broken", lambda head: True, read)
    good = Importer(
        "broken", lambda head: True, lambda stream: (plain(str(n), opens=True) for n, _ in enumerate(stream))
    )
    data = b"x\n" * 600 + b"bad\n"
    with pytest.raises(RefoldError, match=r"the broken importer failed at line 601 \(KeyError: 'surprise'\)") as raised:
        import_file(database, io.BytesIO(data), importers=[broken])
    assert "\n" not in str(raised.value)
    assert len(rows_of(database, "x")) == 600
    assert import_file(database, io.BytesIO(data), importers=[good]).rows == 1


def test_a_home_without_the_file_named_in_an_export_is_not_given_sessions_that_it_does_not_hold(database, lines):
    header = {"refold": 1, "session": "a"}
    row = {"seq": 1, "kind": "event", "text": "a/agent-k", "row": {"step": 0, "event": "spawned"}}
    done = import_file(database, io.BytesIO(lines(header, row)))
    assert (done.children, [row.text for row in rows_of(database, "a")]) == ((), ["a/agent-k"])


def test_a_path_may_be_text(database, tmp_path: Path, lines):
    (tmp_path / "f").write_bytes(lines(*conversation(4)))
    assert import_file(database, str(tmp_path / "f")).rows == 4


def test_of_very_many_skipped_lines_the_number_is_told(database, lines):
    done = import_file(database, io.BytesIO(lines(prompt(1, "go")) + b"x\n" * 10_500))
    assert len(done.skipped) == 10_001
    assert done.skipped[-1] == Skipped(None, "500 further lines were skipped")


@pytest.mark.parametrize("cut", [30, 45, 70_000])
def test_a_document_that_is_cut_says_so(cut, database, tmp_path):
    whole = json.dumps([{"role": "user", "content": "x" * 100_000}, {"role": "assistant", "content": "ok"}]).encode()
    (tmp_path / "cut.json").write_bytes(whole[:cut])
    with pytest.raises(Refused, match=r"the file is cut: its JSON ends in the middle.*nothing was imported"):
        import_file(database, tmp_path / "cut.json")
    (tmp_path / "odd.json").write_bytes(json.dumps({"a": [1] * 100_000}).encode()[:-cut])
    with pytest.raises(Refused, match=r"its format is not known, and the file is cut: its JSON ends in the middle"):
        import_file(database, tmp_path / "odd.json")
    (tmp_path / "end.json").write_bytes(whole[:-2])
    done = import_file(database, tmp_path / "end.json")
    assert done.rows == 1
    assert done.skipped[0].reason == "the file is cut: its JSON ends in the middle; 1 messages before it were read"
