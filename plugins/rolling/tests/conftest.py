"""A home with one session under rolling, and a summarizer that says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from refold import Call, Host, Image, Row, Session, SourceRef
from refold.testing import ScriptedSummarizer

_NEW = SourceRef("", 0)


@pytest.fixture
def summarizer() -> ScriptedSummarizer:
    return ScriptedSummarizer()


@pytest.fixture
def host(tmp_path: Path, summarizer: ScriptedSummarizer) -> Iterator[Host]:
    with Host(tmp_path / "home", summarizers=[summarizer]) as host:
        yield host


@pytest.fixture
def session(host: Host) -> Session:
    return host.new("one")


@pytest.fixture
def configure(host: Host) -> Callable[..., None]:
    """Writes rolling's section of the settings."""

    def write(**section: object) -> None:
        (host.home / "extensions.json").write_text(json.dumps({"rolling": section}))

    return write


@pytest.fixture
def turns() -> Callable[..., None]:
    """Appends turns of four rows each: a prompt, a call, its result, an answer."""

    def append(session: Session, first: int, last: int, words: int = 40) -> None:
        for n in range(first, last + 1):
            session.append(
                [
                    Row(_NEW, "user", 0, 0, opens=True, text=f"prompt {n}"),
                    Row(_NEW, "assistant", 0, 0, calls=(Call(f"c{n}", "read", {"path": f"/{n}.py"}),)),
                    Row(_NEW, "result", 0, 0, text=f"line {n} of the file\n" * words, call_id=f"c{n}"),
                    Row(_NEW, "assistant", 0, 0, text=f"answer {n}"),
                ]
            )

    return append


@pytest.fixture
def picture() -> Image:
    """A real PNG of 8 by 8 pixels, as a caller hands it in."""
    data = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAADklEQVR4nGNoQAMMQyoAAI+wIAEbC3YvAAAAAElFTkSuQmCC"
    return Image(f"data:image/png;base64,{data}", "image/png", 8, 8)


FOLDER = '''
from refold import Fold, Manifest, RowRange, hookimpl

class Folds:
    """Folds that a test wrote: (id, first row - 1, last row, text)."""
    owner = "archive"

    def folds(self, context, history):
        return [
            Fold("archive", id, f"archive {id}", text, RowRange(context.session, after, upto))
            for id, after, upto, text in context.read(
                "SELECT id, after, upto, text FROM archive_folds WHERE session=? ORDER BY upto", context.session
            )
        ]

@hookimpl
def manifest():
    return Manifest(id="archive", title="Archive", summary="stored folds", default=True)

@hookimpl
def migrations():
    return [
        "CREATE TABLE archive_folds(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,"
        " id TEXT NOT NULL, after INTEGER NOT NULL, upto INTEGER NOT NULL, text TEXT NOT NULL)"
    ]

@hookimpl
def fold_plugin():
    return Folds()
'''


@pytest.fixture(scope="session")
def archive_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an extension that stores folds of older rows, as an installer leaves it."""
    site = tmp_path_factory.mktemp("site")
    info = site / "refold_archive-1.dist-info"
    info.mkdir()
    (site / "rolling_test_archive.py").write_text(FOLDER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: refold-archive\nVersion: 1\n")
    (info / "RECORD").write_text("rolling_test_archive.py,,\n")
    (info / "entry_points.txt").write_text("[refold.extensions]\narchive = rolling_test_archive\n")
    return site


@pytest.fixture
def archive(archive_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That extension is installed while a test runs. Ask for it before `host`."""
    monkeypatch.syspath_prepend(str(archive_site))


@pytest.fixture
def fold(host: Host) -> Callable[[str, int, int, str], None]:
    """Stores a fold of the rows `after < seq <= upto` of session `one`."""

    def store(id: str, after: int, upto: int, text: str) -> None:
        host.extensions()  # its tables are made when extensions load
        with host.database.write() as writer:
            writer.execute("INSERT INTO archive_folds VALUES('one', ?, ?, ?, ?)", id, after, upto, text)

    return store
