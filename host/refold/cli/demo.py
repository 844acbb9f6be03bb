"""`demo`: a long session is recorded and compacted, and everything that a person would ask is shown."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.agent.session import Session
from refold.cli.demo_session import Recorded, record, said
from refold.cli.options import every_command
from refold.cli.output import notes, print_json
from refold.cli.program import command
from refold.prepare.request import Prepared
from refold.values.errors import CompactionFailed
from refold.values.outcome import Applied

WINDOW = 32_000
"""Tokens of the window that the session has to fit into."""

_ROOMY = 100_000_000  # tokens; nothing is due below it
_KEEPING = "refold-demo"


@click.command("demo")
@every_command
def demo_command(home: Path | None, as_json: bool) -> None:
    """Record a long session out of real files, compact it, and show before and after.

    It works in a temporary home that is gone afterwards, unless --home names one. No network.

    \b
    Example: refold demo --home refold-demo
    """
    if home is not None:
        document = _run(home)
    else:
        with tempfile.TemporaryDirectory(prefix="refold-demo-") as folder:
            document = _run(Path(folder))
    document |= {"home": str(home) if home else None, "next": _next(document["session"], home)}
    if as_json:
        print_json(document)
    else:
        _draw(document)


def _run(home: Path) -> dict[str, Any]:
    with Host(home) as host:
        made = record(host)
        session = made.session
        session.prepare(window=_ROOMY)
        before, rows, digest = session.context(), session.newest_seq(), _digest(session)
        prepared = session.compact(window=WINDOW)
        notes(prepared.notices)
        done = _applied(prepared)
        after = session.context()
        return {
            "session": session.id,
            "files": made.files,
            "turns": made.files + 1,
            "window": WINDOW,
            "strategy": prepared.strategy,
            "summarizer": done.summary.model if done.summary else None,
            "summarized_rows": len(done.covers),
            "before": _view(before),
            "after": _view(after),
            "rows_before": rows,
            "rows_after": session.newest_seq(),
            "transcript_unchanged": _digest(session) == digest,
            "survived": _survived(session, after),
            "search": _search(made, done),
        }


def _applied(prepared: Prepared) -> Applied:
    outcome = prepared.attempted.outcome if prepared.attempted else None
    if not isinstance(outcome, Applied):
        reason = outcome.reason if outcome else "it was not tried"
        raise CompactionFailed(f"the demo's session was recorded but not compacted: {reason}")
    return outcome


def _digest(session: Session) -> str:
    """Of every durable row, as it would be exported."""
    digest = hashlib.sha256()
    for line in session.export():
        digest.update(line)
    return digest.hexdigest()


def _view(context: Mapping[str, Any]) -> dict[str, Any]:
    return {"tokens": context["compaction"]["estimated_input_tokens"], "sections": context["sections"]}


def _survived(session: Session, context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the request still holds what the user set, word for word."""
    texts = {each["id"]: _text(session, each["id"], each["pages"]) for each in context["sections"]}
    return [
        {
            "kind": each.kind,
            "words": each.words,
            "sections": [id for id, text in texts.items() if each.words in text],
        }
        for each in said()
    ]


def _text(session: Session, section: str, pages: int) -> str:
    content = "".join(session.context_page(section, page)["content"] for page in range(pages))
    return " ".join(content.split())


def _search(made: Recorded, done: Applied) -> dict[str, Any]:
    hits = made.session.search(made.needle, limit=1)
    seq = hits[0].seq if hits else None
    return {"text": made.needle, "seq": seq, "folded": seq is not None and seq in done.covers}


def _next(session: str, home: Path | None) -> str:
    """Commands that work as they stand."""
    if home is not None:
        return command("context", session, "--home", home)
    return f"{command('demo', '--home', _KEEPING)} && {command('context', '--home', _KEEPING)}"


def _draw(document: Mapping[str, Any]) -> None:
    from refold.cli.tables import Column, draw, line

    rows, search = document["rows_after"], document["search"]
    line(
        f"Recorded: {document['turns']} turns over {document['files']} files of this Python's standard library, "
        f"{rows} rows."
    )
    sections = [
        Column("section", "whole"),
        Column("tokens*", "number"),
        Column("rows behind it", "whole"),
        Column("what"),
    ]
    for title, view in (("Before", document["before"]), (f"After '{document['strategy']}'", document["after"])):
        line()
        room = f"window {document['window']:,}"
        line(f"{title}: a request of {view['tokens']:,} tokens* ({room})", "bold")
        draw(sections, [_section(each) for each in view["sections"]])
    line()
    line("What the user set, word for word in the request:", "bold")
    columns = [Column("kind", "whole"), Column("in", "whole"), Column("words")]
    draw(columns, [(each["kind"], ", ".join(each["sections"]) or "NO", each["words"]) for each in document["survived"]])
    line()
    same = "every one unchanged" if document["transcript_unchanged"] else "BUT THEY CHANGED"
    line(f"Nothing was lost: {document['rows_before']} rows before, {rows} after, {same}.", "bold")
    if search["folded"]:
        line(f"A search for {search['text']!r} finds row {search['seq']}, which the request no longer shows.")
    line("* estimated here, not counted by a provider", "dim")
    line(f"next: {document['next']}")


def _section(section: Mapping[str, Any]) -> tuple[object, ...]:
    rows = f"{section['first_seq']}-{section['last_seq']}" if "first_seq" in section else "-"
    return section["id"], section["estimated_tokens"], rows, section["label"]
