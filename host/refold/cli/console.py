"""The console of `refold chat`: one prompt that stays while answers come above it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from functools import partial

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from refold.agent.commands import Reply, commands_of, only_reads, run_command, split_command
from refold.agent.events import Event
from refold.agent.session import Session
from refold.cli.failure import failure
from refold.cli.screen import Line, Screen
from refold.cli.signals import ENDING
from refold.cli.visible import visible, visible_lines
from refold.values.errors import RefoldError

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "call": "ansiblue",
        "result": "ansibrightblack",
        "note": "ansibrightblack",
        "error": "ansired",
        "live": "nobold ansiyellow",
        "answer": "nobold ansidefault",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)
_MARKS = {"prompt": "> ", "call": "· ", "result": "  ", "error": "! "}
_SETTLING = 0.02  # seconds between two looks at whether a turn that begins takes follow-ups already


class Console:
    """One session on a terminal. It runs in an event loop; turns and commands run in threads."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._screen = Screen()
        self._commands: dict[str, str] = {}
        self._about = ""
        self._work: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._leaving = False
        self._prompt: PromptSession[str] = PromptSession(
            self._message,
            bottom_toolbar=self._footer,
            completer=_Commands(self),
            complete_while_typing=True,
            key_bindings=self._keys(),
            style=_STYLE,
            erase_when_done=True,
            reserve_space_for_menu=4,
        )

    async def run(self) -> None:
        """Reads and answers until Ctrl-D, or until the process is asked to end. A turn that still runs then is stopped,
        and what came is kept."""
        for number in ENDING:
            with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows, or not the main thread
                asyncio.get_running_loop().add_signal_handler(number, self._leave)
        await asyncio.to_thread(self._look)
        self._show(Line("note", f"session {self.session.id}; Ctrl-C stops a turn, Ctrl-D leaves, / begins a command"))
        while not self._leaving:
            try:
                text = await self._prompt.prompt_async()
            except KeyboardInterrupt:  # a signal from outside
                self._interrupt()
                continue
            except EOFError:
                break
            await self._entered(text.strip())
        self._stop.set()
        if self._work is not None:
            await self._work

    def _leave(self) -> None:
        self._leaving = True
        self._stop.set()
        if self._prompt.app.is_running and not self._prompt.app.is_done:
            self._prompt.app.exit(exception=EOFError)

    def commands(self) -> dict[str, str]:
        """Commands by name with their summaries."""
        return self._commands

    def busy(self) -> bool:
        """Whether a turn or a command runs."""
        return self._work is not None and not self._work.done()

    async def _entered(self, text: str) -> None:
        if not text:
            return
        self._show(*(Line("prompt", line) for line in visible_lines(text).split("\n")))
        command = split_command(text) is not None
        if self.busy() and command and only_reads(text):
            await self._read(text)
            return
        while self.busy():
            if not self._stop.is_set():  # what was stopped is over in a moment, and then this is heard
                if command:
                    self._show(Line("error", "something runs; Ctrl-C stops it, or wait"))
                    return
                if self.session.follow_up(text):
                    return
            await asyncio.sleep(_SETTLING)
        self._stop = threading.Event()
        work = self._run_command(text) if command else self._run_turn(text)
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(lambda done: self._prompt.app.invalidate())

    async def _run_turn(self, text: str) -> None:
        send = partial(self.session.send, text, on_event=self._hear, stop=self._stop)
        await self._guarded(send)

    async def _read(self, text: str) -> None:
        """A command that changes nothing: it needs not wait for what runs."""
        await self._guarded(lambda: self._reply(run_command(self.session, text)))

    def _reply(self, reply: Reply) -> None:
        if reply.text:
            self._show(*(Line("reply", line) for line in visible_lines(reply.text).split("\n")))

    async def _run_command(self, text: str) -> None:
        def run() -> None:
            reply = run_command(self.session, text, self._hear, self._stop)
            self._reply(reply)
            self.session = reply.session or self.session
            self._look()

        await self._guarded(run)

    async def _guarded(self, work: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception as error:
            style = "note" if self._stop.is_set() else "error"  # whoever stopped it knows why it failed
            self._show(*self._screen.close(), Line(style, visible(failure(error).message)))

    def _look(self) -> None:
        """What the prompt shows of the session before anything is sent."""
        try:
            self._commands = commands_of(self.session)
            host, record = self.session.host, self.session.record
            strategy = host.extensions(self.session.id).strategy
            self._about = f"{record.model or host.models.file().default or 'no model'} · {strategy or 'no strategy'}"
            now = self.session.check()
            self._screen.used, self._screen.window, self._screen.source = now.size, now.window.tokens, "estimate"
        except RefoldError as error:
            self._show(Line("error", visible(str(error))))

    def _hear(self, event: Event) -> None:
        self._show(*self._screen.hear(event))
        self._prompt.app.invalidate()

    def _show(self, *lines: Line) -> None:
        if lines:
            parts = [(f"class:{line.style}", _MARKS.get(line.style, "") + line.text) for line in lines]
            joined = [part for each in parts for part in (each, ("", "\n"))][:-1]
            print_formatted_text(FormattedText(joined), style=_STYLE)

    def _message(self) -> FormattedText:
        live = [(f"class:{style}", f"{visible_lines(text)}\n") for style, text in self._live() if text]
        return FormattedText([*live, ("class:prompt", "> ")])

    def _live(self) -> Iterable[tuple[str, str]]:
        yield "answer", self._screen.answer
        yield "live", f"… {self._screen.status}" if self._screen.status else "… waiting" if self._waits() else ""

    def _waits(self) -> bool:
        return self.busy() and not self._screen.answer

    def _footer(self) -> str:
        return visible(f"{self._screen.usage} · {self._about} · {self.session.id}")

    def _interrupt(self) -> None:
        """Ctrl-C: stops what runs, else forgets what was typed."""
        if self.busy():
            self._stop.set()
        else:
            self._prompt.default_buffer.reset()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupt()

        return keys


class _Commands(Completer):
    """Completes a command at the front of the line."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if not typed.startswith("/"):
            return
        for name, summary in self._console.commands().items():
            if name.startswith(typed[1:]):
                yield Completion(name, start_position=1 - len(typed), display=f"/{name}", display_meta=visible(summary))
