"""`send` and `resume`: one turn of a session, from a shell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refold.agent.events import AnswerText, CompactionFinished, Event, Noticed, TurnFinished
from refold.agent.host import Host
from refold.cli.naming import session_named
from refold.cli.options import every_command, named_session, newest_session
from refold.cli.output import note, print_json
from refold.cli.signals import ending
from refold.cli.visible import visible_lines
from refold.transcript.requests import Asked

steps_option = click.option(
    "--max-steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="Answers that the turn may take (else maxSteps of models.json, else 100).",
)


@click.command("send")
@named_session
@click.argument("text")
@steps_option
@every_command
def send_command(session: str, text: str, max_steps: int | None, home: Path | None, as_json: bool) -> int:
    """Send TEXT to the model of SESSION and print its answer. `-` as TEXT is read from standard input.

    Tools of enabled extensions run on the way, and the session is compacted when that is due.

    \b
    Example: refold send my-session "What is left to do?"
    """
    text = sys.stdin.read() if text == "-" else text
    return _turn(home, session, as_json, lambda found, **listen: found.send(text, max_steps=max_steps, **listen))


@click.command("resume")
@newest_session
@steps_option
@every_command
def resume_command(session: str | None, max_steps: int | None, home: Path | None, as_json: bool) -> int:
    """Go on with the newest turn of SESSION where it stopped, and print the answer.

    For a turn that failed, was stopped, or took too many steps. The prompt is not sent a second time.

    
    Example: refold resume my-session
    """
    return _turn(home, session, as_json, lambda found, **listen: found.resume(max_steps=max_steps, **listen))


def _turn(home: Path | None, session: str | None, as_json: bool, run: Callable[..., TurnFinished]) -> int:
    """Runs a turn, printing what comes of it; returns the exit code."""
    with Host(home) as host, ending() as asked_to_end:
        found = session_named(host, session)
        before = max((each.id for each in found.requests()), default=0)
        teller = _Teller(quiet=as_json)
        try:
            finished = run(found, on_event=teller, stop=asked_to_end.stop)
        finally:
            teller.end()
        if as_json:
            asked = [_document(each) for each in found.requests(before)]
            print_json({"answer": finished.text, "stop": finished.stop, "requests": asked})
        if finished.stop in ("cancelled", "steps"):
            note(f"the turn ended early: {finished.stop}; what came is kept; 'refold resume {found.id}' goes on")
        elif finished.stop != "end":
            note(f"the turn ended early: {finished.stop}; what came is kept")
        return asked_to_end.exit


class _Teller:
    """Prints the answer while it comes, and what people should know beside it."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Noticed):
            note(event.text)
        elif isinstance(event, CompactionFinished) and not event.failure:
            note(f"compacted on the way: {event.before:,} -> {event.after:,} tokens")
        elif isinstance(event, AnswerText) and not self._quiet:
            shown = visible_lines(event.text)
            self._last = shown or self._last
            click.echo(shown, nl=False)

    def end(self) -> None:
        """The answer is over: what was printed of it ends with its line."""
        if self._last and not self._last.endswith("\n"):
            click.echo()


def _document(asked: Asked) -> dict[str, Any]:
    usage = asked.usage
    return {
        "kind": asked.kind,
        "model": asked.model,
        "input_tokens": usage.get("input_tokens", asked.tokens),
        "cached_tokens": usage.get("cached_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "outcome": asked.outcome,
        "replaced": asked.replaced,
    }
