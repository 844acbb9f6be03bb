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
@click.argument("files", type=click.Path(path_type=Path, allow_dash=True), nargs=-1, metavar="[FILE]...")
@click.option("--agent", metavar="NAME", help="Take what this agent keeps on this machine; FILE then names some of it.")
@click.option("--list", "only_list", is_flag=True, help="Show what there is, and import nothing.")
@click.option("--all", "everything", is_flag=True, help="Import all that the agent keeps.")
@click.option("--format", metavar="NAME", help="The format (else it is detected).")
@click.option("--session", metavar="ID", help="The session it goes into (else one named after the file's own).")
@every_command
def import_command(
    files: tuple[Path, ...],
    agent: str | None,
    only_list: bool,
    everything: bool,
    format: str | None,
    session: str | None,
    home: Path | None,
    as_json: bool,
) -> int:
    """Import session files of other agents. The same file again adds what it has grown by.

    FILE is a file, a folder with all that it holds, or - for standard input. Once a row stands it is not changed: when
    a file is read while an answer is half written, the next import makes a new session of it.

    Agents: claude-code, codex, pi, gemini-cli, qwen-code, copilot-cli, kimi-cli, opencode, cline, roo-code, aider.
    Formats: theirs, refold's own, swe-agent, tau-bench, message lists of providers and libraries, and those that
    extensions bring.

    \b
    Example: refold import session.jsonl
             refold import --agent claude-code --list
    """
    if not files and not agent:
        raise click.UsageError("name a FILE, a folder, or an --agent")
    if agent is None and everything:
        raise click.UsageError("--all goes with --agent; a folder is imported whole")
    single = agent is None and len(files) == 1 and not only_list and not files[0].is_dir()
    if session is not None and not single:
        raise click.UsageError("--session names the target of one file")
    if not single:
        return _many(files, agent, only_list, everything, format, home, as_json)
    file = files[0]
    source = sys.stdin.buffer if str(file) == "-" else file
    with Host(home) as host, progress_bar(f"importing {file.name}", in_bytes=True) as progress:
        done = host.import_file(source, format=format, session=session, progress=progress)
    if done.note:
        note(done.note)
    notes(f"skipped {_place(skip.line)}{skip.reason}" for skip in done.skipped[:_SKIPS_SHOWN])
    if len(done.skipped) > _SKIPS_SHOWN:
        note(f"and {len(done.skipped) - _SKIPS_SHOWN:,} more; --json lists them all")
    if as_json:
        print_json(document(done))
    else:
        _draw(done)
    return 0


def _many(
    files: tuple[Path, ...],
    agent: str | None,
    only_list: bool,
    everything: bool,
    format: str | None,
    home: Path | None,
    as_json: bool,
) -> int:
    from refold.cli import importing_many as many

    found, others = (many.of_agent(agent), 0) if agent else many.of_paths(files)
    if only_list:
        many.show_list(found, as_json)
        return 0
    if agent:
        found = many.chosen(found, everything, [str(word) for word in files])
    with Host(home) as host:
        return many.import_all(host, found, others, format, as_json)


def document(done: Imported) -> dict[str, Any]:
    """What `--json` tells of one file."""
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
        hint("next", "compact", done.session, "--window", fitting_window(done.tokens))
    else:
        hint("next", "show", done.session)


def fitting_window(tokens: int) -> int:
    """A window that a session of so many tokens does not fit, so that compacting it shows something.

    >>> [fitting_window(tokens) for tokens in (5_000, 70_000, 5_000_000)]
    [4000, 32000, 1000000]
    """
    usual = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000)
    return max((each for each in usual if each * 2 <= tokens), default=usual[0])


def _place(line: int | None) -> str:
    return f"line {line}: " if line is not None else ""
