"""`prepare`, `context`: the request that a model would get next, and what the last one was made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.agent.session import Session
from refold.cli.naming import session_named
from refold.cli.options import every_command, newest_session, window_option
from refold.cli.output import notes, print_json, print_json_bytes
from refold.cli.program import runnable
from refold.prepare import inspector
from refold.prepare.request import Prepared
from refold.providers.protocols import PROTOCOLS, codec
from refold.values.inputs import Rows
from refold.values.json_text import json_bytes
from refold.values.outcome import Applied
from refold.values.rows import RowRange

_COUNTED = {"count_endpoint": "counted by the provider", "reported_usage": "counted, what came since estimated here"}


@click.command("prepare")
@newest_session
@window_option
@click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="Print the request as this provider takes it.")
@every_command
def prepare_command(
    session: str | None, window: int | None, protocol: str | None, home: Path | None, as_json: bool
) -> None:
    """Make the request that a model would get next, compacted first when that is due. Nothing is sent.

    With --protocol, standard output is exactly the request's body.

    \b
    Example: refold prepare my-session --window 32000 --protocol anthropic
    """
    with Host(home) as host:
        found = session_named(host, session)
        prepared = found.prepare(window, protocol)
        notes(prepared.notices)
        if as_json:
            print_json(_document(found, prepared))
        elif protocol is not None:
            print_json_bytes([json_bytes(codec(protocol).encode(prepared.request, found.image_bytes)), b"\n"])
        else:
            draw_context(found.id, found.context())


def _document(session: Session, prepared: Prepared) -> dict[str, Any]:
    sections = prepared.projection.sections
    sent = [part.range for section in sections for part in section.inputs if isinstance(part, Rows)]
    attempted = prepared.attempted
    return {
        "session": prepared.session,
        "strategy": prepared.strategy,
        "window": prepared.window.tokens,
        "window_source": prepared.window.source,
        "compacted": attempted is not None and isinstance(attempted.outcome, Applied),
        "sections": inspector.summary(prepared.snapshot)["sections"],
        "estimated_input_tokens": prepared.size.tokens,
        "rows_covered": _covered([each.covers for each in sections if each.covers]),
        "rows_sent": sum(len(each) for each in sent),
        "notices": list(prepared.notices),
        "request": codec(prepared.request.model.protocol).encode(prepared.request, session.image_bytes),
    }


def _covered(ranges: Sequence[RowRange]) -> int:
    """How many rows the ranges hold together; they may overlap."""
    count = last = 0
    for each in sorted(ranges, key=lambda each: each.after):
        count += max(0, each.upto - max(each.after, last))
        last = max(last, each.upto)
    return count


@click.command("context")
@newest_session
@click.argument("section", required=False)
@click.argument("page", type=click.IntRange(min=0), default=0)
@every_command
def context_command(session: str | None, section: str | None, page: int, home: Path | None, as_json: bool) -> None:
    """Show what the last prepared request of SESSION was made of; with SECTION, its text, a page at a time.

    \b
    Example: refold context my-session summary
    """
    with Host(home) as host:
        found = session_named(host, session)
        document = found.context() if section is None else found.context_page(section, page)
    if as_json:
        print_json(document)
    elif section is None:
        draw_context(found.id, document)
    else:
        _draw_page(found.id, document)


def draw_context(session: str, document: dict[str, Any]) -> None:
    """A snapshot as people see it."""
    from refold.cli.tables import Column, draw, facts, hint, line

    if document["state"] == "pending":
        line(f"{document['reason'].capitalize()}.")
        hint("next", "prepare", session)
        return
    compaction = document["compaction"]
    facts(
        [
            ("session", f"{session}, rows 1-{document['rows_upto']}"),
            ("model", document.get("model")),
            ("window", _window(document)),
            ("request", _request(compaction)),
            ("compaction", f"{compaction.get('strategy', 'no strategy')}: {compaction['source']}"),
            ("", compaction["automatic"]),
            *compaction["facts"].items(),
            ("prompt cache", f"begins anew: {', '.join(document['changed'])}" if document["changed"] else None),
        ]
    )
    line()
    columns = [
        Column("section", "whole"),
        Column("tokens*", "number"),
        Column("items", "number"),
        Column("rows", "whole"),
        Column("what"),
    ]
    draw(columns, [_section(each) for each in document["sections"]])
    line("* estimated here, not counted by a provider", "dim")
    for text in document["notices"]:
        line(runnable(text), "yellow")
    if document["sections"]:
        hint("read a section", "context", session, document["sections"][0]["id"])


def _section(section: dict[str, Any]) -> tuple[object, ...]:
    rows = f"{section['first_seq']}-{section['last_seq']}" if "first_seq" in section else "-"
    return section["id"], section["estimated_tokens"], section["item_count"], rows, section["label"]


def _window(document: dict[str, Any]) -> str:
    tokens = document.get("context_window_tokens")
    return "unknown" if tokens is None else f"{tokens:,} tokens ({document['context_window_source']})"


def _request(compaction: dict[str, Any]) -> str:
    counted = compaction.get("provider_input_tokens")
    measured = "" if counted is None else f"; {counted:,} counted by the provider"
    items = f"{compaction['after_items']:,} messages for {compaction['before_items']:,} rows"
    how = _COUNTED.get(compaction["size_source"], "estimated here")
    return f"{compaction['estimated_input_tokens']:,} tokens ({how}){measured}, {items}"


def _draw_page(session: str, document: dict[str, Any]) -> None:
    from refold.cli.tables import hint, line
    from refold.cli.visible import visible_lines

    click.echo(visible_lines(document["content"]))
    if "omitted" in document:
        line(f"left out: {document['omitted']}", "dim")
    page, pages = document["page"], document["pages"]
    if page + 1 < pages:
        words = ("context", session, document["section"], page + 1)
        hint(f"page {page + 1} of {pages}, next", *words)
