"""An importer of an extension that gives anything but rows fails in one line, and keeps what came before."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from refold import Host, Importer, RefoldError, Row, SourceRef
from refold.importers.store import import_file

FIRST = Row(SourceRef("", 0), "user", 0, 0, opens=True, text="hello")


def leave(file):
    yield FIRST
    raise SystemExit(3)


WRONG = {
    "a number": (lambda file: [FIRST, 1], "is int, not Row"),
    "a row without a ref": (lambda file: [FIRST, Row(None, "user", 0, 0)], "Row.ref is NoneType"),
    "a row without text": (
        lambda file: [FIRST, Row(SourceRef("", 0), "user", 0, 0, text=None)],
        "Row.text is NoneType",
    ),
    "sys.exit": (leave, "SystemExit: 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_row_ends_the_import_and_the_rows_before_it_are_kept(name: str, tmp_path: Path) -> None:
    rows, words = WRONG[name]
    odd = Importer("odd", lambda head: True, rows)
    with Host(tmp_path / "home") as host:
        with pytest.raises(RefoldError) as failure:
            import_file(host.database, io.BytesIO(b"x"), session="s", importers=[odd])
        assert words in str(failure.value)
        assert "\n" not in str(failure.value)
        assert [row.text for row in host.session("s").rows()] == ["hello"]


def test_a_format_whose_detection_leaves_is_passed_over(tmp_path: Path) -> None:
    def leaving(head: bytes) -> bool:
        raise SystemExit

    importers = [Importer("odd", leaving, lambda file: []), Importer("good", lambda head: True, lambda file: [FIRST])]
    with Host(tmp_path / "home") as host:
        assert import_file(host.database, io.BytesIO(b"x"), importers=importers).format == "good"
