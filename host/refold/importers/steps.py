"""Rows of one imported session, put into the order the host asks for.

Files scatter one response over several records, with results and notices between them. `Steps` gathers a response and
gives it out as one step: its replay rows, one assistant row, then whatever came while it was open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from refold.importers.lines import json_text
from refold.values.rows import Call, Image, Kind, Replay, Row, SourceRef

PARTS_LIMIT = 1000
"""Records that one response gathers, and rows that wait behind it: no file makes a step grow without end."""


_STANDARD = str.maketrans("-_", "+/")  # Google's and pydantic's base64 has another alphabet
NO_CALL = "[a result that names no call]"


def row(session: str, kind: Kind, **fields: Any) -> Row:
    """A row as an importer gives it: seq, turn and step are the host's to set."""
    return Row(ref=SourceRef(session, 0), kind=kind, turn=0, step=0, **fields)


def event(session: str, name: str, text: str) -> Row:
    """An event row: recorded, never sent."""
    return row(session, "event", event=name, text=text)


def replay(provider: str, model: str, item: Mapping[str, Any]) -> Replay:
    """One provider's item as it was. Its owner is no live model's, so it is kept and never sent."""
    return Replay(owner=f"imported:{provider}:{model or 'unknown'}", payload=json_text(item))


def picture(media_type: str, base64: str) -> Image:
    """A picture whose bytes travel in its key; its size in pixels is the host's to find."""
    if "-" in base64 or "_" in base64:
        base64 = base64.translate(_STANDARD)
    return Image(key=f"data:{media_type};base64,{base64}", media_type=media_type, width=0, height=0)


def picture_from_url(url: str) -> Image | None:
    """The picture in a base64 `data:` URL; None for any other address, whose bytes are not in the file."""
    scheme, _, data = url.partition(",")
    if not (scheme.startswith("data:image/") and scheme.endswith(";base64") and data):
        return None
    return picture(scheme[len("data:") : -len(";base64")].partition(";")[0], data)


def ran(command: str, output: str, failed: str = "") -> str:
    """What a command that the user ran shows: its line, its output in a fence, and how it failed."""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", output)), default=0))
    return f"! {command}\n{fence}\n{output}\n{fence}" + (f"\n{failed}" if failed else "")


class Steps:
    """The rows of one session. Every method gives the rows that are complete by then."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._key: str | None = None
        self._open = False
        self._texts: list[str] = []
        self._calls: dict[str, Call] = {}
        self._images: list[Image] = []
        self._replays: list[Replay] = []
        self._behind: list[Row] = []
        self._answered = False
        self._parts = 0

    def answer(
        self,
        key: str | None = None,
        *,
        text: str = "",
        calls: Iterable[Call] = (),
        images: Iterable[Image] = (),
        replays: Iterable[Replay] = (),
    ) -> Iterator[Row]:
        """A part of a response.

        Parts with the same key are one response. Without a key, parts are one response until a result comes.
        """
        if self._open and (key != self._key or (key is None and self._answered) or self._parts >= PARTS_LIMIT):
            yield from self.close()
        self._parts += 1
        self._open, self._key = True, key
        if text.strip():
            self._texts.append(text)
        for call in calls:
            # A call that is recorded twice was made once; two calls of one id are both kept.
            key = call.id if self._calls.get(call.id, call) == call else f"{call.id} {len(self._calls)}"
            self._calls[key] = call
        self._images.extend(images)
        self._replays.extend(replays)

    def result(self, call_id: str, text: str, ok: bool = True, images: tuple[Image, ...] = ()) -> Iterator[Row]:
        """The result of one call."""
        self._answered = True
        yield from self._behind_answer(
            row(self.session, "result", call_id=call_id, text=text, ok=ok, images=images)
            if call_id
            else event(self.session, "notice", f"{NO_CALL}\n{text}")
        )

    def event(self, name: str, text: str) -> Iterator[Row]:
        """An event; while a response is open it stands behind it, so that results follow their calls."""
        yield from self._behind_answer(event(self.session, name, text))

    def child(self, name: str) -> Iterator[Row]:
        """A sub-agent began here. In a file its work is history, so it has joined at once: nothing waits for it."""
        yield from self.event("spawned", name)
        yield from self.event("joined", name)

    def user(self, text: str, images: tuple[Image, ...] = (), opens: bool = True) -> Iterator[Row]:
        """Words of the user; they end a response that is open."""
        yield from self.close()
        yield row(self.session, "user", text=text, images=images, opens=opens)

    def close(self) -> Iterator[Row]:
        """Ends the open response."""
        if not self._open:
            return
        for item in self._replays:
            yield row(self.session, "replay", replay=item)
        if self._texts or self._calls or self._images:
            yield row(
                self.session,
                "assistant",
                text="\n\n".join(self._texts),
                calls=tuple(self._calls.values()),
                images=tuple(self._images),
            )
        yield from self._behind
        self._open = self._answered = False
        self._parts = 0
        self._key = None
        for part in (self._texts, self._calls, self._images, self._replays, self._behind):
            part.clear()

    def _behind_answer(self, item: Row) -> Iterator[Row]:
        if self._open and len(self._behind) >= PARTS_LIMIT:
            yield from self.close()
        if self._open:
            self._behind.append(item)
        else:
            yield item
