"""`models`: which models can be asked, and how much each takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refold.agent.home import home_path
from refold.cli.options import every_command
from refold.cli.output import note, notes, print_json
from refold.cli.tables import Column, draw, line
from refold.prepare.window import resolve_window
from refold.providers import catalog
from refold.providers.models import Models, ResolvedModel
from refold.providers.models_file import NAME

COLUMNS = (
    Column("model", "whole"),
    Column("window", "number"),
    Column("said by"),
    Column("output", "number"),
    Column("reads"),
)


@click.command("models")
@every_command
def models_command(home: Path | None, as_json: bool) -> None:
    """List the models of models.json and of its providers' own listings.

    A provider that does not answer within three seconds is listed with what is known of it.

    \b
    Example: refold models --json
    """
    where = home_path(home)
    models = Models(where)
    notes(f"{NAME}: {fault}" for fault in models.file().faults)
    documents = [_document(model) for model in models.all()]
    shipped = catalog.origin()
    if as_json:
        print_json({"models": documents, "catalog": {"date": shipped.date, "sources": dict(shipped.sources)}})
        return
    if not documents:
        note(f"no models yet; name a provider in {where / NAME}")
        return
    draw(
        COLUMNS,
        (
            (
                each["id"],
                each["window"],
                each["window_source"],
                each["max_output"],
                ", ".join(each["inputs"] or ()) or None,
            )
            for each in documents
        ),
    )
    sources = ", ".join(f"{name} {version}" for name, version in shipped.sources.items())
    line(f"catalog: {shipped.date}, made from {sources}", "dim")


def _document(resolved: ResolvedModel) -> dict[str, Any]:
    window = resolve_window(resolved.windows)
    model = resolved.model
    limits = {"max_edge": model.max_edge, "max_images": model.max_images}
    return {
        "id": resolved.id,
        "window": window.tokens,
        "window_source": window.source if window.tokens is not None else None,
        "max_output": resolved.max_output,
        "inputs": sorted(model.inputs, reverse=True) if model.inputs else None,
        "image_limits": limits if any(limits.values()) else None,
    }
