"""`import`: a session file of another agent becomes a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from attrs import asdict

from refold.agent.host import Host
from refold.cli.options import every_command
from refold.cli.output import note, notes, print_json
from refold.cli.progress import progress_bar
from refold.importers.store import Imported

_SKIPS_SHOWN = 5
SMALL = 4_000
"""Tokens up to which a session has nothing worth folding."""


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", metavar="NAME", help="Its format (else it is detected).")
@click.option("--session", metavar="ID", help="The session it goes into (else one named after the file's own).")
@every_command
def import_command(file: Path, format: str | None, session: str | None, home: Path | None, as_json: bool) -> None:
    """Import a session file of another agent. The same file again adds what it has grown by.

    Once a row stands it is not changed: when a file is read while an answer is half written, the next import makes a
    new session of it.

    FILE may be - for standard input. Formats: refold, Claude Code, Codex, pi, Gemini CLI, Anthropic and OpenAI
    messages, and those that extensions bring.

    \b
    Example: refold import session.jsonl
    """
    source = sys.stdin.buffer if str(file) == "-" else file
    with Host(home) as host, progress_bar(f"importing {file.name}", in_bytes=True) as progress:
        done = host.import_file(source, format=format, session=session, progress=progress)
    if done.note:
        note(done.note)
    notes(f"skipped {_place(skip.line)}{skip.reason}" for skip in done.skipped[:_SKIPS_SHOWN])
    if len(done.skipped) > _SKIPS_SHOWN:
        note(f"and {len(done.skipped) - _SKIPS_SHOWN:,} more; --json lists them all")
    if as_json:
        print_json(_document(done))
    else:
        _draw(done)


def _document(done: Imported) -> dict[str, Any]:
    return {
        "session": done.session,
        "format": done.format,
        "rows": done.rows,
        "already": done.already,
        "turns": done.turns,
        "tokens": done.tokens,
        "skipped": [{"line": skip.line, "reason": skip.reason} for skip in done.skipped],
        "children": list(done.children),
        "child_rows": done.child_rows,
        "sessions": [asdict(each) for each in done.sessions],
        "calls": done.calls,
        "unanswered": done.unanswered,
        "note": done.note or None,
    }


def _draw(done: Imported) -> None:
    from refold.cli.tables import facts, hint

    facts(
        [
            ("session", done.session),
            ("and", f"{len(done.sessions) - 1:,} more, one a conversation" if len(done.sessions) > 1 else None),
            ("format", done.format),
            ("new rows", done.rows),
            ("known before", done.already or None),
            ("turns", done.turns),
            ("tokens", f"{done.tokens:,} (estimated here, before any model's own factor)"),
            ("children", f"{len(done.children):,} sessions, {done.child_rows:,} new rows" if done.children else None),
            ("skipped", len(done.skipped) or None),
        ]
    )
    if done.tokens > SMALL:
        hint("next", "compact", done.session, "--window", 32_000)
    else:
        hint("next", "show", done.session)


def _place(line: int | None) -> str:
    return f"line {line}: " if line is not None else ""
