"""Sizes of requests: a bound that decodes nothing, the exact estimate, and what a provider counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from attrs import frozen

from refold.prepare.messages import Sourced
from refold.sizing.estimate import row_tokens
from refold.sizing.sizer import Sizer
from refold.values.contexts import History
from refold.values.inputs import Input, Note, Rows, Section
from refold.values.json_text import json_text
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, ToolSpec, UserMessage
from refold.values.rows import Image, Kind, Replay, Row, RowRange, SourceRef
from refold.values.sizes import Measured

TOOL = 20
"""Raw tokens around one tool's name, description and schema."""

SizeSource = Literal["count_endpoint", "reported_usage", "estimate"]

_NOWHERE = SourceRef("", 0)


@frozen
class Size:
    """The size of a request in tokens: what a provider counted of it, and what is estimated here of the rest.

    `source` says where `measured` comes from; `estimate` when nothing was counted. `estimated` is below zero when rows
    left the view since they were counted. `local` is the whole request as estimated here.
    """

    measured: int
    estimated: int
    source: SizeSource
    local: int

    @property
    def tokens(self) -> int:
        return self.measured + self.estimated


@frozen
class RequestSizing:
    """`Sizing` of one preparation. `fixed` is tokens of system prompt, context blocks and tools."""

    sizer: Sizer
    history: History
    fixed: int

    def text(self, text: str) -> int:
        return self.sizer.text(text)

    def image(self, width: int, height: int) -> int:
        return self.sizer.image(width, height)

    def request(self, sections: Sequence[Section]) -> int:
        """An upper bound that decodes no row: opaque items that will not be sent count too."""
        return self.fixed + sum(self.section(section) for section in sections)

    def section(self, section: Section) -> int:
        """Tokens of one section, by the same bound."""
        return sum(self._input(part) for part in section.inputs)

    def _input(self, part: Input) -> int:
        if isinstance(part, Rows):
            elided = sum(
                _words("result", text, self.sizer) - self.history.size(RowRange(part.range.session, seq - 1, seq))
                for seq, text in part.elide.items()
            )
            return self.history.size(part.range) + elided
        if isinstance(part, Note):
            return message_tokens(UserMessage(part.text, part.images), self.sizer)
        return message_tokens(part, self.sizer)


def message_tokens(message: Message, sizer: Sizer) -> int:
    """Tokens of one message: exactly those of the row that it would be."""
    match message:
        case UserMessage(text=text, images=images):
            return _words("user", text, sizer) + _pictures(images, sizer)
        case AssistantMessage(text=text, calls=calls):
            return sizer.scale(row_tokens(Row(_NOWHERE, "assistant", 0, 0, text=text, calls=calls)))
        case ResultMessage(call_id=call, text=text, images=images):
            row = Row(_NOWHERE, "result", 0, 0, text=text, call_id=call)
            return sizer.scale(row_tokens(row)) + _pictures(images, sizer)
        case Replay():
            return sizer.scale(row_tokens(Row(_NOWHERE, "replay", 0, 0, replay=message)))


def fixed_tokens(system: str, schemas: Sequence[str], sizer: Sizer) -> int:
    """Tokens of what every request carries: the system prompt, context blocks included, and the tools' schemas."""
    return (_words("user", system, sizer) if system else 0) + sum(
        sizer.text(schema) + sizer.scale(TOOL) for schema in schemas
    )


def request_tokens(request: Request, sizer: Sizer) -> int:
    """Tokens of a whole request, estimated message by message. Equal requests, equal estimates, and of two requests
    measured with one `sizer` it is known which is the smaller; pictures are in it by their formula."""
    fixed = fixed_tokens(request.system, [schema(tool) for tool in request.tools], sizer)
    return fixed + sum(message_tokens(message, sizer) for message in request.messages)


def schema(tool: ToolSpec) -> str:
    """A tool as the text that is measured."""
    return f"{tool.name}\n{tool.description}\n{json_text(tool.parameters)}"


def unsent_tokens(shown: Sequence[Row], sent: Sequence[Sourced], history: History) -> int:
    """Tokens of shown rows that became no message, such as another provider's opaque items."""
    refs = {ref for _, sources in sent for ref in sources}
    lost = [row.ref for row in shown if row.ref not in refs and row.kind != "event"]
    return sum(history.size(RowRange(ref.session, ref.seq - 1, ref.seq)) for ref in lost)


def size(estimate: int, sent: Measured, estimated: int, model: str, compactions: int) -> Size:
    """The size of a request that is estimated at `estimate`.

    `sent` is the newest request that the provider counted, `estimated` what it was estimated at. When it still applies
    (same model, no compaction since), its count stands for what it held, and the difference of the two estimates for
    what came or went since.
    """
    if sent.tokens is None or (sent.model, sent.compaction) != (model, compactions):
        return Size(0, estimate, "estimate", estimate)
    return Size(sent.tokens, estimate - estimated, "reported_usage", estimate)


@lru_cache(maxsize=512)  # summaries and folds are measured again for every request, and seldom change
def _words(kind: Kind, text: str, sizer: Sizer) -> int:
    return sizer.scale(row_tokens(Row(_NOWHERE, kind, 0, 0, text=text)))


def _pictures(images: Sequence[Image], sizer: Sizer) -> int:
    return sum(sizer.image(image.width, image.height) for image in images)
