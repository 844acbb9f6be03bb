"""`compact`: folds older rows of a session now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from refold.agent.events import CompactionPass, CompactionStarted, Event
from refold.agent.host import Host
from refold.agent.session import Session
from refold.cli.failure import FAILED, failure
from refold.cli.naming import session_named
from refold.cli.options import every_command, newest_session, window_option
from refold.cli.output import note, notes, print_json
from refold.cli.progress import progress_bar
from refold.prepare.request import Attempted, Prepared
from refold.providers.reasoning import reasoning_level
from refold.registry.composition import Composition
from refold.values.errors import Busy, CompactionFailed, NotFound, ProjectionFailed, RefoldError
from refold.values.inputs import Projection, Rows
from refold.values.near import did_you_mean
from refold.values.outcome import Applied, Blocked, Nothing


@click.command("compact")
@newest_session
@click.argument("strategy", required=False)
@window_option
@click.option("--instructions", default="", metavar="TEXT", help="What the summary must keep.")
@click.option("-m", "--model", metavar="ID", help="The model of models.json that summarizes.")
@click.option("-r", "--reasoning", metavar="LEVEL", help="How much it reasons: minimal to xhigh, or default.")
@click.option("--dry-run", is_flag=True, help="Only say which rows would be folded.")
@every_command
def compact_command(
    session: str | None,
    strategy: str | None,
    window: int | None,
    instructions: str,
    model: str | None,
    reasoning: str | None,
    dry_run: bool,
    home: Path | None,
    as_json: bool,
) -> int:
    """Fold older rows of SESSION now, whatever its size. No row is changed or lost.

    A named STRATEGY first becomes the session's own.

    \b
    Example: refold compact my-session rolling --window 32000
    """
    level = reasoning_level(reasoning)
    with Host(home) as host:
        found = _session(host, session, strategy)
        summarizer = host.model_id(model) if model is not None else None
        if strategy is not None:
            _check_word(host, found.id, strategy)
        if dry_run:
            return _report(_planned(found, window, strategy), as_json)
        applied = strategy is not None and host.select(strategy, found.id)
        return _report(
            {**_compacted(found, window, instructions, summarizer, level), "selection_applied": applied}, as_json
        )


def _session(host: Host, session: str | None, strategy: str | None) -> Session:
    """The session; a single word that is a strategy's id instead gets told where it belongs."""
    try:
        return session_named(host, session)
    except NotFound:
        if session is None or strategy is not None or session not in _strategies(host.composition()):
            raise
        raise NotFound(
            f"{session!r} is a strategy; name the session first: `refold compact SESSION {session}`"
        ) from None


def _strategies(composition: Composition) -> list[str]:
    return [each.id for each in composition.installed if each.strategy is not None]


def _check_word(host: Host, session: str, word: str) -> None:
    ids = _strategies(host.composition(session))
    if word not in ids:
        known = ", ".join(ids) or "none"
        meant = did_you_mean(word, ids)
        raise NotFound(f"no strategy {word!r} is installed; nothing was changed; strategies: {known}{meant}")


def _planned(session: Session, window: int | None, strategy: str | None) -> dict[str, Any]:
    attempted = session.plan(window, strategy)
    chosen = strategy or session.host.extensions(session.id).strategy
    if attempted.planned is None:
        return _document(session.id, chosen, attempted)
    rows = attempted.planned
    last = session.newest_seq()
    return _document(
        session.id,
        chosen,
        attempted,
        state="planned",
        summarized_rows=len(rows),
        summarized_tokens=attempted.planned_tokens,
        first_seq=rows.after + 1,
        last_seq=rows.upto,
        kept_rows=last - rows.upto,
        reason=None,
    )


def _compacted(
    session: Session, window: int | None, instructions: str, summarizer: str | None, reasoning: str | None
) -> dict[str, Any]:
    chosen = session.host.extensions(session.id).strategy
    try:
        with progress_bar("compacting, passes", in_bytes=False) as progress:
            prepared = session.compact(
                window,
                instructions,
                summarizer=summarizer,
                reasoning=reasoning,
                on_event=partial(_heard, progress, session.newest_seq()),
            )
    except Busy as error:
        return _document(session.id, chosen, state="blocked", code="busy", reason=str(error), error=_error(error))
    except (CompactionFailed, ProjectionFailed) as error:
        return _document(session.id, chosen, state="failed", code=error.code, reason=str(error), error=_error(error))
    if prepared.attempted is None:
        raise CompactionFailed("nothing was tried; nothing was changed")
    return _prepared(session.id, prepared, prepared.attempted)


def _heard(progress: Callable[[int, int | None], None], newest: int, event: Event) -> None:
    """What a person who watches sees before anything is folded, and while it is."""
    if isinstance(event, CompactionPass):
        progress(event.done, event.total)
    elif isinstance(event, CompactionStarted) and sys.stderr.isatty():
        rows = event.rows
        note(
            f"folding rows {rows.after + 1:,}-{rows.upto:,} of {newest:,}, {event.tokens:,} of {event.size:,} tokens"
            " (estimated here)"
        )


def _prepared(session: str, prepared: Prepared, attempted: Attempted) -> dict[str, Any]:
    document = _document(session, prepared.strategy, attempted)
    document["after_tokens"] = prepared.size.tokens
    document["kept_rows"] = _shown(prepared.projection)
    document["notes"] = [*document["notes"], *prepared.notices]
    document["window"], document["window_source"] = prepared.window.tokens, prepared.window.source
    return document


def _document(session: str, strategy: str | None, attempted: Attempted | None = None, **known: Any) -> dict[str, Any]:
    """Every key of the answer, unknown ones null."""
    document: dict[str, Any] = {
        "session": session,
        "state": None,
        "strategy": strategy,
        "selection_applied": False,
        "kind": None,
        "before_tokens": attempted.before.tokens if attempted else None,
        "after_tokens": None,
        "summarized_rows": None,
        "summarized_tokens": None,
        "first_seq": None,
        "last_seq": None,
        "kept_rows": None,
        "passes": None,
        "summarizer": None,
        "lossy": None,
        "notes": [],
        "code": None,
        "reason": None,
    }
    match attempted.outcome if attempted else None:
        case Applied() as done:
            document |= {
                "state": "compacted",
                "kind": done.kind,
                "summarized_rows": len(done.covers),
                "first_seq": done.covers.after + 1,
                "last_seq": done.covers.upto,
                "passes": done.summary.passes if done.summary else None,
                "summarizer": done.summary.model if done.summary else None,
                "lossy": done.lossy,
                "notes": [done.note] if done.note else [],
            }
        case Nothing(reason=reason):
            document |= {"state": "nothing", "reason": reason}
        case Blocked(code=code, reason=reason):
            document |= {"state": "blocked", "code": code, "reason": reason, "error": {"code": code, "message": reason}}
    return {**document, **known}


def _error(error: RefoldError) -> dict[str, Any]:
    return dict(failure(error).document()["error"])


def _shown(projection: Projection) -> int:
    inputs = [part for section in projection.sections for part in section.inputs]
    return sum(len(part.range) for part in inputs if isinstance(part, Rows))


def _report(document: dict[str, Any], as_json: bool) -> int:
    """Says it, and returns the exit code: what was blocked or failed was not done."""
    error = document.get("error")
    if as_json:
        print_json(document)
    if error:
        note(f"error: {error['message']}")
        return FAILED
    if not as_json:
        notes(document["notes"])
        _draw(document)
    return 0


def _draw(document: dict[str, Any]) -> None:
    from refold.cli.tables import facts, hint, line

    session, rows = document["session"], (document["first_seq"], document["last_seq"])
    if document["state"] == "nothing":
        line(f"Nothing was folded: {document['reason']}.")
        return
    folded = f"{document['summarized_rows']:,} (rows {rows[0]}-{rows[1]})"
    if document["state"] == "planned":
        facts(
            [
                ("strategy", document["strategy"]),
                ("tokens now", f"{document['before_tokens']:,} (estimated here)"),
                ("rows to fold", f"{folded}, {document['summarized_tokens']:,} tokens"),
                ("rows to keep", document["kept_rows"]),
            ]
        )
        line("Nothing was changed; leave --dry-run out to do it.", "dim")
        return
    facts(
        [
            ("strategy", document["strategy"] + (" (now this session's own)" if document["selection_applied"] else "")),
            ("request", f"{document['before_tokens']:,} -> {document['after_tokens']:,} tokens (estimated here)"),
            ("rows folded", folded),
            ("rows in view", document["kept_rows"]),
            ("summarizer", _summarizer(document)),
            ("lossy", "yes: a notice stands in the view" if document["lossy"] else None),
        ]
    )
    line("The transcript is complete as before: folding changes what a model is shown, never a row.", "dim")
    hint("look", "context", session)
    hint("read what was folded", "show", session, "--after", rows[0] - 1)
    if rows[1] > 1:
        hint("branch from before its end", "fork", session, "--at", rows[1] - 1)


def _summarizer(document: dict[str, Any]) -> str | None:
    if document["summarizer"] is None:
        return None
    passes = "1 pass" if document["passes"] == 1 else f"{document['passes']:,} passes"
    return f"{document['summarizer']}, {passes}"
