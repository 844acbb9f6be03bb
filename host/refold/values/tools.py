"""What extensions contribute besides strategies: tools, commands, importers, context blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from attrs import frozen

from refold.values.rows import Image, Row

if TYPE_CHECKING:
    import threading

    from refold.values.contexts import ToolContext, Work


@frozen
class ToolTraits:
    """What a tool does, by the names of the arguments that say to what.

    `reads`, `searches` and `lists` name the argument that holds the target of a call whose result can be had again;
    `writes` names the arguments that hold targets it changes, or a patch that names them; `action`: it acts on the
    world; `pins` names the argument by which a call asks for its result to be kept. An unknown tool has no traits and
    is never cleared as if it could be read again.
    """

    reads: str | None = None
    searches: str | None = None
    lists: str | None = None
    writes: tuple[str, ...] = ()
    action: bool = False
    pins: str | None = None


class CallContext(Protocol):
    """One tool call, as the tool that runs it sees it. Safe from any thread."""

    @property
    def session(self) -> str:
        """The id of the session."""

    @property
    def call_id(self) -> str:
        """The id that the model gave the call."""

    @property
    def stop(self) -> threading.Event:
        """Set when the call should end; to be waited for, and to be given to what the call starts."""

    def cancelled(self) -> bool:
        """Whether the call should end. What is returned within a second is its result; later nobody waits for it."""

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Tells whoever waits (event `CallProgress`) how much of how much is done, and what is being done."""


@frozen
class ToolResult:
    """What a tool gives back when a text alone is not enough.

    `images` are pictures by their bytes (PNG, JPEG, GIF, WebP, HEIC), which are stored with the row, or by reference.
    Bytes that are no picture become a line that says so. `ok` false: the call failed.
    """

    text: str = ""
    images: Sequence[bytes | Image] = ()
    ok: bool = True


@frozen
class Tool:
    """A read-only tool that an extension offers to the model. `parameters` is a JSON schema of its arguments.

    `call` runs beside the turn, in a thread of the turn's tools, and may be async. It returns a text, JSON values,
    bytes, None or a `ToolResult`; what it raises is an error result.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[ToolContext, Mapping[str, Any]], object]
    traits: ToolTraits = ToolTraits()


@frozen
class Command:
    """`/name` in a console and `refold name` in a shell, from one definition.

    The first word of `name` is the extension's id or store name. `parameters` is a JSON schema of the arguments;
    `run` returns what `--json` prints.
    """

    name: str
    summary: str
    parameters: Mapping[str, Any]
    run: Callable[[Work, Mapping[str, Any]], Mapping[str, Any]]


@frozen
class SessionFacts:
    """What a session file says of a session besides its rows; an importer gives it before the first of them.

    `name` is the `ref.session` of its rows. An empty `title`: it has none; without one the user's first words are it.
    `created` is ISO 8601. `parent` names the session that this one belongs to, in this file or in one that was imported
    before; with `forked_at` it is a fork of it after that seq.
    """

    name: str
    title: str | None = None
    created: str | None = None
    parent: str | None = None
    forked_at: int | None = None


@frozen
class Importer:
    """Reads session files of one format.

    `detect` gets the beginning of a file, 64 KiB at most: its first bytes, or of larger JSON an outline in which texts
    and lists are shortened, so that a large first message does not hide what stands behind it. `rows` yields rows in
    order, or a `str` that says why the line just read was skipped. A row's `ref.session` is the file's own name for
    the session, empty when it has none. A further name that begins with a dot (`.2`) is a further conversation of the
    file; any other is a child session, unless `SessionFacts` says what it is, and a `spawned` event row whose text is
    such a name marks where the child began. The host gives the durable refs, turns and steps; an image's bytes travel
    in its key as a `data:` URL.
    """

    format: str
    detect: Callable[[bytes], bool]
    rows: Callable[[BinaryIO], Iterable[Row | SessionFacts | str]]


@frozen
class ContextBlock:
    """A part of the system prompt that an extension adds."""

    id: str
    label: str
    text: str
