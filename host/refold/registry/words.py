"""Names that belong to the host, and the shapes that names must have."""

from __future__ import annotations

import re

HOST_SECTIONS = frozenset({"enabled", "compaction"})
"""Sections of `extensions.json` that are the host's own, so no extension may have one of these as its id."""

# fmt: off
HOST_COMMANDS = frozenset({
    "import", "new", "sessions", "show", "search", "tree", "fork", "delete", "compact", "prepare",
    "context", "extensions", "models", "send", "resume", "export", "chat", "tail", "demo",
    "new-strategy", "new-extension", "unlock", "vacuum", "completion",
})
# fmt: on
"""First words of the host's own commands."""

HOST_TOOLS = frozenset({"compact_context"})
"""Tools that the host itself offers to the model."""

_ID = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def id_fault(id: str) -> str | None:
    """What is wrong with an extension's id; None: nothing."""
    if not _ID.fullmatch(id):
        return "an id is a lower-case letter, then letters, digits, '-' or '_' (64 at most)"
    return f"'{id}' is a section of the host in extensions.json" if id in HOST_SECTIONS else None
