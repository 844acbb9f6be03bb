"""An export read back gives the same rows, row for row."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from pathlib import Path

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, Image, Replay, Row, SourceRef
from refold.importers.export import export_lines
from refold.importers.refold_export import IMPORTER
from refold.importers.store import import_file
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.rows import load_sources
from refold.transcript.sessions import create

TEXTS = st.text(max_size=20) | st.sampled_from(["", "\ud800", "\0", '"images":[1]', "a\u2028b", "ß"])
BYTES = st.sampled_from([b"GIF89a\x02\x00\x03\x00", b"not a picture", b"\x89PNG\r\n"])
IMAGES = st.builds(
    lambda data, edge: Image(f"data:image/gif;base64,{base64.b64encode(data).decode()}", "image/gif", edge, edge),
    BYTES,
    st.sampled_from([0, 7]),
) | st.just(Image("page-1", "image/png", 5, 5, owner="pages"))
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.just(2**90) | st.just(["images"]) | st.none(), max_size=3)
CALLS = st.builds(Call, TEXTS, TEXTS, ARGUMENTS)


def made(kind: str, **fields: object) -> Row:
    return Row(SourceRef("", 0), kind, 0, 0, **fields)


ROWS = st.one_of(
    st.builds(made, st.just("user"), opens=st.booleans(), text=TEXTS, images=st.lists(IMAGES, max_size=2).map(tuple)),
    st.builds(made, st.just("assistant"), text=TEXTS, calls=st.lists(CALLS, max_size=2).map(tuple)),
    st.builds(made, st.just("result"), text=TEXTS, call_id=TEXTS, ok=st.booleans(), images=st.tuples(IMAGES)),
    st.builds(made, st.just("event"), event=st.sampled_from(["notice", "spawned", "joined", "command"]), text=TEXTS),
    st.builds(made, st.just("replay"), replay=st.builds(Replay, TEXTS, TEXTS, TEXTS)),
)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=12))
def test_random_rows_come_back_as_they_were(rows):
    with (
        tempfile.TemporaryDirectory() as folder,
        Database(Path(folder) / "one" / "refold.db") as one,
        Database(Path(folder) / "two" / "refold.db") as two,
    ):
        with one.write() as writer:
            create(writer, "s")
            append(writer, "s", rows)
        with one.read() as reader:
            before = load_sources(reader, "s", 0, 99)
            exported = b"".join(export_lines(reader, "s"))
        done = import_file(two, io.BytesIO(exported))
        assert (done.session, done.format, done.rows, done.skipped) == ("s", "refold", len(rows), ())
        with two.read() as reader:
            assert load_sources(reader, "s", 0, 99) == before
            assert b"".join(export_lines(reader, "s")).split(b"\n")[1:] == exported.split(b"\n")[1:]
        assert import_file(two, io.BytesIO(exported)).rows == 0


def test_an_export_goes_into_the_home_it_came_from_as_another_session(database):
    with database.write() as writer:
        create(writer, "s", title="T")
        create(writer, "s/child", parent="s")
        append(writer, "s", [made("user", opens=True, text="hi")])
    with database.read() as reader:
        exported = b"".join(export_lines(reader, "s"))
    header = json.loads(exported.split(b"\n")[0])
    assert (header["refold"], header["session"], header["title"]) == (1, "s", "T")
    assert (header["parent"], header["children"]) == (None, ["s/child"])
    assert import_file(database, io.BytesIO(exported)).session == "s-2"


def test_lines_of_folds_are_passed_over_and_strange_ones_reported(lines, read):
    header = {"refold": 1, "session": "s"}
    row = {"seq": 1, "kind": "user", "opens": True, "turn": 1, "text": "hi", "row": {"step": 0}}
    fold = {"fold": "f1", "after_seq": 1, "text": "said hi"}
    rows, skipped = read(IMPORTER, lines(header, row, fold, {"a": 1}, {"kind": "event", "row": {"event": "party"}}))
    assert [(row.text, row.opens) for row in rows] == [("hi", True)]
    assert skipped == ["not a line of an export", "an event of unknown name"]


def test_a_picture_is_known_by_its_bytes_and_not_by_the_name_that_the_file_gives_it(lines, read):
    """Else a file could show somebody else's picture, or put its own in the place of another."""
    data = base64.b64encode(b"mine").decode()
    image = {"image": "sha256:stolen", "type": "image/png", "width": 1, "height": 1, "data": data}
    shown = {"key": "sha256:stolen", "media_type": "image/png", "width": 1, "height": 1}
    row = {"kind": "user", "text": "", "row": {"images": [shown]}}
    rows, _ = read(IMPORTER, lines({"refold": 1, "session": "s"}, image, row, row))
    first, second = (row.images[0] for row in rows)
    assert first.key == f"data:image/png;base64,{data}"
    assert second.key.startswith("sha256:")
    assert second != evolve(first, key="sha256:stolen")
