"""The formats that are built in, and which of them a file is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refold.importers import refold_export
from refold.importers.agents import (
    aider,
    claude_code,
    cline,
    codex,
    copilot_cli,
    gemini_cli,
    kimi_cli,
    opencode,
    pi,
    qwen_code,
    swe_agent,
    tau_bench,
)
from refold.importers.messages import (
    anthropic_messages,
    gemini_contents,
    langchain,
    openai_chat,
    openai_responses,
    pydantic_ai,
    sharegpt,
)
from refold.values.errors import Refused
from refold.values.near import did_you_mean
from refold.values.tools import Importer

# What marks itself comes first; the message lists come last, the plainest at the end: they are told by shape alone.
BUILT_IN: tuple[Importer, ...] = (
    refold_export.IMPORTER,
    qwen_code.IMPORTER,
    claude_code.IMPORTER,
    codex.IMPORTER,
    copilot_cli.IMPORTER,
    pi.IMPORTER,
    gemini_cli.IMPORTER,
    kimi_cli.IMPORTER,
    opencode.IMPORTER,
    aider.IMPORTER,
    cline.IMPORTER,
    swe_agent.IMPORTER,
    tau_bench.IMPORTER,
    pydantic_ai.IMPORTER,
    langchain.IMPORTER,
    gemini_contents.IMPORTER,
    openai_responses.IMPORTER,
    sharegpt.IMPORTER,
    anthropic_messages.IMPORTER,
    openai_chat.IMPORTER,
)


def detect(head: bytes, importers: Sequence[Importer] = BUILT_IN, broken: Callable[[], str] = lambda: "") -> Importer:
    """The first importer that knows a file by its head (`outline.head_of`); one that raises does not know it.

    Raises Refused, listing the formats, when none does; `broken` then says what is wrong with the file, if anything.
    """
    for importer in importers:
        try:
            if importer.detect(head):
                return importer
        except (Exception, SystemExit):  # an extension's mistake costs its own format only
            continue
    what = "its format is not known" if head.strip() else "it is empty"
    if reason := broken():
        what = f"{what}, and {reason}"
    raise Refused(f"{what}; nothing was imported; formats: {_listed(importers)} (--format names one)")


def named(format: str, importers: Sequence[Importer] = BUILT_IN) -> Importer:
    """The importer of that format. Raises Refused, listing the formats, when there is none."""
    for importer in importers:
        if importer.format == format:
            return importer
    meant = did_you_mean(format, [importer.format for importer in importers])
    raise Refused(f"there is no format {format[:60]!r}; nothing was imported; formats: {_listed(importers)}{meant}")


def _listed(importers: Sequence[Importer]) -> str:
    return ", ".join(dict.fromkeys(importer.format for importer in importers))
