"""A session file as importers read it: it can be read twice, and it knows the line that was read last."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from attrs import define, field, frozen

from refold.importers.documents import members
from refold.importers.lines import BOM, Unreadable
from refold.importers.outline import head_of, is_lines
from refold.importers.pairing import Pairing
from refold.registry.answers import checked
from refold.values.errors import NotFound, RefoldError
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts

SKIPPED_LIMIT = 10_000
"""Skipped lines that are reported one by one; of more than that only the number is told."""
_IN_MEMORY = 4 * 1024 * 1024
_TOLD_EVERY = 1024 * 1024
_COMMON_NAMES = frozenset(
    {"api_conversation_history.json", "events.jsonl", "context.jsonl", "wire.jsonl", ".aider.chat.history.md"}
)

Progress = Callable[[int, int], object]
"""Called with the bytes read so far and the bytes of the file."""


@frozen
class Skipped:
    """A line that was not imported, and why. `line` counts from 1; None: the format is not made of lines."""

    line: int | None
    reason: str


@define
class Pass:
    """What one pass over a file saw besides its rows."""

    skipped: list[Skipped] = field(factory=list)
    pairing: Pairing = field(factory=Pairing)


class Lines(io.BufferedIOBase):
    """A stream that counts. `line` is the number of the line read last, or None once it was read by `read`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._inside = False
        self.position = 0
        self.line: int | None = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> bytes:
        data = self._stream.readline(-1 if size is None else size)
        self.position += len(data)
        if data:
            if self.line is not None and not self._inside:
                self.line += 1
            self._inside = not data.endswith(b"\n")
        return data

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(-1 if size is None else size)
        self.position += len(data)
        self.line = None
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self.position = self._stream.seek(offset, whence)
        self.line = 0 if self.position == 0 else None
        self._inside = False
        return self.position

    def tell(self) -> int:
        return self.position


@frozen
class SessionFile:
    """An open session file. `name` is its own without the suffix; `size` is bytes."""

    name: str
    size: int
    stream: BinaryIO

    def head(self) -> bytes:
        """The beginning that tells the format, as `Importer.detect` gets it."""
        return head_of(self.stream)

    def broken(self) -> str:
        """Why the JSON of the file cannot be read to its end; empty when it can, and for a file that is no JSON."""
        if self.head().removeprefix(BOM).lstrip()[:1] not in (b"[", b"{") or is_lines(self.stream):
            return ""
        self.stream.seek(0)
        return next((value.reason for _, value in members(self.stream, ()) if isinstance(value, Unreadable)), "")

    def items(
        self, importer: Importer, reading: Pass, progress: Progress | None = None
    ) -> Iterator[Row | SessionFacts]:
        """What the importer makes of the file, from its start; what is seen in passing goes to `reading`.

        Raises RefoldError when the importer or the disk fails; the rows before that were given.
        """
        self.stream.seek(0)
        lines = Lines(self.stream)
        told = more = 0
        try:
            for item in importer.rows(cast(BinaryIO, lines)):
                if isinstance(item, str):
                    if len(reading.skipped) < SKIPPED_LIMIT:
                        reading.skipped.append(Skipped(lines.line, item))
                    else:
                        more += 1
                    continue
                if isinstance(item, SessionFacts):
                    yield checked(item, SessionFacts)
                    continue
                row = checked(item, Row)
                reading.pairing.see(row)
                yield row
                if progress and not 0 <= lines.position - told < _TOLD_EVERY:
                    told = lines.position
                    progress(told, self.size)
        except RefoldError:
            raise
        except (Exception, SystemExit) as error:  # an extension's importer, or the disk
            place = f" at line {lines.line}" if lines.line else ""
            what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise RefoldError(
                f"the {importer.format} importer failed{place} ({what}); the rows before it are kept"
            ) from error
        if more:
            reading.skipped.append(Skipped(None, f"{more} further lines were skipped"))
        if progress:
            progress(self.size, self.size)


@contextmanager
def opened(source: Path | str | BinaryIO) -> Iterator[SessionFile]:
    """The file at a path, or a stream; one that cannot be read twice is put aside in a temporary file.

    Raises NotFound when there is no such file, RefoldError when it cannot be read.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(source, (str, Path)):
            path = Path(source)
            try:
                stream: BinaryIO = stack.enter_context(path.open("rb"))
            except FileNotFoundError:
                raise NotFound(f"there is no file {path}; nothing was imported") from None
            except (OSError, ValueError) as error:
                raise RefoldError(f"{path} cannot be read ({_short(error)}); nothing was imported") from None
            name = _name_of(path)
        else:
            stream, name = source, "import"
        if not stream.seekable():
            aside = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
            shutil.copyfileobj(stream, aside)
            stream = cast(BinaryIO, aside)
        yield SessionFile(name, stream.seek(0, io.SEEK_END), stream)


def _name_of(path: Path) -> str:
    """A file's own name. Where all sessions of an agent have one file name, the folder tells them apart."""
    if path.name in _COMMON_NAMES and (folder := path.absolute().parent.name):
        return folder
    return path.stem


def _short(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).splitlines()[0]
