"""A request before any provider's wire format: what `prepare` makes and a codec encodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from refold.values.rows import Call, Image, Replay
from refold.values.sizes import Model


@frozen
class UserMessage:
    """Words in the user role: a user row, or an extension's `Note`."""

    text: str
    images: tuple[Image, ...] = ()


@frozen
class AssistantMessage:
    """An answer of the model, its tool calls included."""

    text: str
    calls: tuple[Call, ...] = ()


@frozen
class ResultMessage:
    """The result of one call. It directly follows the assistant message that made the call, in the calls' order."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    images: tuple[Image, ...] = ()


Message = UserMessage | AssistantMessage | ResultMessage | Replay


@frozen
class ToolSpec:
    """A tool as the model is told of it. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@frozen
class Request:
    """Everything a provider is asked, in order.

    `max_output` is tokens; `reasoning` a level of `refold.providers.reasoning`. None: the protocol's or provider's own.
    """

    model: Model
    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    max_output: int | None = None
    reasoning: str | None = None
