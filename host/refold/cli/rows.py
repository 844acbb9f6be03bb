"""`show`, `search`, `export`: the rows of one session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from refold.agent.host import Host
from refold.cli.folds import fold_documents
from refold.cli.naming import session_named
from refold.cli.options import after_option, every_command, limit_option, named_session, newest_session
from refold.cli.output import print_json, print_json_bytes
from refold.cli.visible import visible
from refold.values.contexts import Fold
from refold.values.json_text import json_bytes
from refold.values.rows import Row

_ROLES = {"user": "user", "assistant": "assistant", "replay": "assistant", "result": "tool"}
_SHOWN_CHARACTERS = 600
_SHOWN_LINES = 12


@frozen
class _Page:
    """Rows after seq `after`, each with its tokens, the folds whose boundary is among them, and whether more follow."""

    session: str
    after: int
    rows: Sequence[tuple[Row, int]]
    folds: Sequence[Fold]
    has_more: bool

    @property
    def next_after(self) -> int:
        return self.rows[-1][0].ref.seq if self.rows else self.after


@click.command("show")
@newest_session
@after_option
@limit_option(20)
@click.option("--full", is_flag=True, help="Show long texts whole.")
@every_command
def show_command(session: str | None, after: int, limit: int, full: bool, home: Path | None, as_json: bool) -> None:
    """Show the rows of SESSION as they were recorded, and where older ones are folded.

    \b
    Example: refold show my-session --after 40 --limit 10
    """
    with Host(home) as host:
        found = session_named(host, session)
        rows = found.sized_rows(after, limit + 1)
        shown = rows[:limit]
        last = shown[-1][0].ref.seq if shown else after
        folds = [fold for fold in found.stored_folds() if after < fold.covers.upto <= last]
    page = _Page(found.id, after, shown, folds, len(rows) > limit)
    if as_json:
        print_json(
            {
                "session": page.session,
                "rows": [row_document(row, tokens) for row, tokens in page.rows],
                "folds": fold_documents(page.folds),
                "next_after": page.next_after,
                "has_more": page.has_more,
            }
        )
    else:
        _draw(page, full)


def row_document(row: Row, tokens: int) -> dict[str, Any]:
    """A row as `--json` shows it."""
    return {
        "seq": row.ref.seq,
        "kind": row.kind,
        "role": _ROLES.get(row.kind),
        "turn": row.turn,
        "step": row.step,
        "opens": row.opens,
        "event": row.event or None,
        "bytes": len(row.text.encode("utf-8", "surrogatepass")),
        "tokens": tokens,
        "text": row.text,
        "calls": [{"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in row.calls],
        "call_id": row.call_id,
        "ok": row.ok,
        "replay_owner": row.replay.owner if row.replay else None,
        "images": [
            {"key": image.key, "media_type": image.media_type, "width": image.width, "height": image.height}
            for image in row.images
        ],
    }


def _draw(page: _Page, full: bool) -> None:
    from refold.cli.tables import hint, line

    draw_rows(page.rows, page.folds, full)
    if not page.rows:
        line(f"Session {page.session} has no row after {page.after}.")
    if page.has_more:
        hint("more", "show", page.session, "--after", page.next_after)


def draw_rows(rows: Sequence[tuple[Row, int]], folds: Sequence[Fold], full: bool) -> None:
    """Rows for people, oldest first, with the boundaries of folds between them."""
    from refold.cli.tables import block, line

    boundaries = {fold.covers.upto: fold for fold in folds}
    for row, tokens in rows:
        what = f"event {row.event}" if row.kind == "event" else row.kind if row.ok else f"{row.kind}, an error"
        about = f"{row.ref.seq:>5}  {what} · turn {row.turn}" + (f" · {tokens:,} tokens" if tokens else "")
        line(about, "bold cyan" if row.kind == "user" else "bold")
        text, rest = (row.text, 0) if full else _clipped(row.text)
        if text.strip():
            block(text, indent=7)
        if rest:
            block(f"… {rest:,} more characters (--full shows them)", indent=7)
        if row.replay is not None:
            block(f"[opaque item of {row.replay.owner}]", indent=7)
        for call in row.calls:
            arguments = json_bytes(dict(call.arguments)).decode()
            block(f"→ {call.name} {arguments if full else visible(arguments)[:200]}", indent=7)
        for image in row.images:
            block(f"[{image.media_type} {image.width}×{image.height}]", indent=7)
        if fold := boundaries.get(row.ref.seq):
            line(f"──── up to here: {fold.label} ({fold.owner}) ────", "yellow")


def _clipped(text: str) -> tuple[str, int]:
    """The beginning of a long text, and how many characters were left out."""
    lines = text.splitlines(keepends=True)
    kept = "".join(lines[:_SHOWN_LINES])[:_SHOWN_CHARACTERS]
    return kept.rstrip("\n"), len(text) - len(kept)


@click.command("search")
@named_session
@click.argument("text")
@after_option
@limit_option(20)
@every_command
def search_command(session: str, text: str, after: int, limit: int, home: Path | None, as_json: bool) -> None:
    """Find TEXT, literally and whatever its case, in all rows of SESSION, folded ones too.

    \b
    Example: refold search my-session "connection refused"
    """
    with Host(home) as host:
        named = session_named(host, session)
        hits = named.search(text, after, limit + 1)
    session = named.id
    shown = hits[:limit]
    next_after = shown[-1].seq if len(hits) > limit else None
    if as_json:
        found = [{"seq": hit.seq, "preview": hit.snippet} for hit in shown]
        print_json({"session": session, "hits": found, "next_after": next_after})
        return
    from refold.cli.tables import Column, draw, hint, line

    if not shown:
        line("No row holds this text." if not after else f"No row after {after} holds this text.")
        return
    draw([Column("row", "number"), Column("around it")], [(str(hit.seq), hit.snippet) for hit in shown])
    if next_after is not None:
        hint("more", "search", session, text, "--after", next_after)
    else:
        hint("read one", "show", session, "--after", shown[0].seq - 1, "--limit", 1, "--full")


@click.command("export")
@newest_session
@click.option("--folds", is_flag=True, help="Add a line for each stored fold, at its boundary.")
@click.option("--family", is_flag=True, help="With the sessions of its sub-agents and its forks.")
@every_command
def export_command(session: str | None, folds: bool, family: bool, home: Path | None, as_json: bool) -> None:
    """Write SESSION as JSON lines, which 'refold import' reads back row for row.

    With --json the lines are the list `lines` of one document.

    \b
    Example: refold export my-session > my-session.jsonl
    """
    with Host(home) as host:
        found = session_named(host, session)
        members = [host.session(id) for id in found.family()] if family else [found]
        lines: Iterator[bytes] = chain.from_iterable(
            _with_folds(each.export(), each.stored_folds() if folds else []) for each in members
        )
        if family:
            lines = chain(found.family_headers(), lines)
        print_json_bytes(_as_document(found.id, lines) if as_json else lines)


def _with_folds(lines: Iterable[bytes], folds: Sequence[Fold]) -> Iterator[bytes]:
    """A fold's line follows the last row that it covers, which is the n-th row line: seqs have no gaps."""
    waiting = sorted(folds, key=lambda fold: fold.covers.upto)
    seq = 0
    for text in lines:
        yield text
        seq += text.startswith(b'{"seq":')
        while waiting and waiting[0].covers.upto <= seq:
            yield json_bytes(_fold_line(waiting.pop(0))) + b"\n"


def _fold_line(fold: Fold) -> dict[str, Any]:
    covers = {"after": fold.covers.after, "upto": fold.covers.upto}
    return {"fold": fold.id, "source": fold.owner, "label": fold.label, "covers": covers, "text": fold.text}


def _as_document(session: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    yield b'{"session":' + json_bytes(session) + b',"lines":['
    for place, text in enumerate(lines):
        yield (b"," if place else b"") + text.rstrip(b"\n")
    yield b"]}\n"
