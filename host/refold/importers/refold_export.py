"""refold's own export (`export.py`), read back row for row.

Lines with the key `fold` (`refold export --folds`) are derived state and are passed over. The file is as untrusted as
any other: a picture is known by the digest of its bytes, not by the name that the file gives it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, get_args

from refold.importers.lines import (
    Unreadable,
    as_arguments,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    as_title,
    as_word,
    records,
)
from refold.importers.outline import beginning
from refold.importers.steps import picture, row
from refold.transcript.append import EDGE_LIMIT
from refold.transcript.images import PREFIX
from refold.values.rows import EVENTS, Call, Image, Kind, Replay, Row
from refold.values.tools import Importer, SessionFacts

_KINDS = frozenset(get_args(Kind))


def detect(head: bytes) -> bool:
    """A header of refold's."""
    return any(isinstance(each.get("refold"), int) and "session" in each for each in beginning(head).records)


def rows(stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
    """The rows of the file, or why a line was skipped."""
    reader = _Reader()
    for record in records(stream):
        if isinstance(record, Unreadable):
            yield record.reason
        elif isinstance(record, dict):
            yield from reader.record(record)
        else:
            yield "not a line of an export"


class _Reader:
    def __init__(self) -> None:
        self._name = ""
        self._bytes: dict[str, Image] = {}  # pictures that no row has shown yet
        self._known: dict[str, str] = {}  # the file's name of a picture, to its digest

    def record(self, line: Mapping[str, Any]) -> Iterator[Row | SessionFacts | str]:
        if "refold" in line:
            self._name = as_name(line.get("session"))
            parent, forked = line.get("parent"), line.get("forked_at")
            yield SessionFacts(
                self._name,
                title=as_title(line.get("title")) or "",
                created=as_time(line.get("created")),
                parent=as_name(parent) or None,
                forked_at=forked if type(forked) is int and forked >= 0 else None,
            )
            if line["refold"] != 1:
                yield f"written by another version of the format ({as_text(line['refold'])[:20]}); read as version 1"
        elif "image" in line:
            yield from self._image(line)
        elif as_word(line.get("kind")) in _KINDS:
            yield from self._row(line["kind"], line)
        elif "fold" not in line:
            yield "not a line of an export"

    def _image(self, line: Mapping[str, Any]) -> Iterator[str]:
        name, data = as_text(line.get("image")), as_text(line.get("data"))
        try:
            known = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            known = b""
        if not known:
            yield "a picture whose bytes cannot be read"
            return
        self._bytes[name] = picture(as_text(line.get("type")), data)
        self._known[name] = PREFIX + hashlib.sha256(known).hexdigest()

    def _row(self, kind: Kind, line: Mapping[str, Any]) -> Iterator[Row | str]:
        fields = as_map(line.get("row"))
        event = as_text(fields.get("event"))
        if (kind == "event") != (event in EVENTS):
            yield "an event of unknown name" if kind == "event" else "a row that is no event names one"
            return
        calls = tuple(
            Call(as_text(call.get("id")), as_text(call.get("name")), as_arguments(call.get("arguments")))
            for call in map(as_map, as_list(fields.get("calls")))
        )
        replay = fields.get("replay")
        if (kind == "replay") != isinstance(replay, dict):
            yield "a replay row without its item, or an item in a row of another kind"
            return
        call_id = fields.get("call_id")
        yield row(
            self._name,
            kind,
            opens=line.get("opens") is True,
            event=event,
            text=as_text(line.get("text")),
            calls=calls,
            call_id=call_id if isinstance(call_id, str) else None,
            ok=fields.get("ok") is not False,
            images=tuple(map(self._picture, map(as_map, as_list(fields.get("images"))))),
            replay=Replay(*(as_text(replay.get(key)) for key in ("owner", "payload", "behind"))) if replay else None,
        )

    def _picture(self, fields: Mapping[str, Any]) -> Image:
        """A picture's bytes travel with the row that shows it first; from then on its digest is enough."""
        name, owner = as_text(fields.get("key")), fields.get("owner")
        width, height = _pixels(fields.get("width")), _pixels(fields.get("height"))
        fresh = self._bytes.pop(name, None) if owner is None else None
        key = fresh.key if fresh else self._known.get(name, name)
        media_type = as_text(fields.get("media_type"))
        return Image(key, media_type, width, height, owner if isinstance(owner, str) else None)


def _pixels(size: Any) -> int:
    return size if isinstance(size, int) and 0 < size <= EDGE_LIMIT else 0


IMPORTER = Importer(format="refold", detect=detect, rows=rows)
