"""Traits of the tools of agents whose sessions refold imports, by tool name.

Argument names are those agents' own. Tools of host apps and extensions bring their own traits and win over this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from refold.values.tools import ToolTraits

_ACTION = ToolTraits(action=True)

KNOWN_TOOLS: Mapping[str, ToolTraits] = {
    # Claude Code
    "Read": ToolTraits(reads="file_path"),
    "NotebookRead": ToolTraits(reads="notebook_path"),
    "Write": ToolTraits(writes=("file_path",)),
    "Edit": ToolTraits(writes=("file_path",)),
    "MultiEdit": ToolTraits(writes=("file_path",)),
    "NotebookEdit": ToolTraits(writes=("notebook_path",)),
    "Grep": ToolTraits(searches="pattern"),
    "Glob": ToolTraits(lists="pattern"),
    "LS": ToolTraits(lists="path"),
    "WebFetch": ToolTraits(reads="url"),
    "WebSearch": ToolTraits(searches="query"),
    "Bash": _ACTION,
    "Task": _ACTION,
    # pi
    "read": ToolTraits(reads="path"),
    "write": ToolTraits(writes=("path",)),
    "edit": ToolTraits(writes=("path",)),
    "grep": ToolTraits(searches="pattern"),
    "find": ToolTraits(lists="pattern"),
    "ls": ToolTraits(lists="path"),
    "bash": _ACTION,
    # Codex
    "shell": _ACTION,
    "shell_command": _ACTION,
    "exec_command": _ACTION,
    "local_shell": _ACTION,
    "apply_patch": ToolTraits(writes=("input",), action=True),
    "list_dir": ToolTraits(lists="dir_path"),
    "grep_files": ToolTraits(searches="pattern"),
    "view_image": ToolTraits(reads="path"),
    # Gemini CLI
    "read_file": ToolTraits(reads="absolute_path"),
    "read_many_files": ToolTraits(reads="paths"),
    "write_file": ToolTraits(writes=("file_path",)),
    "replace": ToolTraits(writes=("file_path",)),
    "search_file_content": ToolTraits(searches="pattern"),
    "glob": ToolTraits(lists="pattern"),
    "list_directory": ToolTraits(lists="path"),
    "web_fetch": ToolTraits(reads="prompt"),
    "google_web_search": ToolTraits(searches="query"),
    "run_shell_command": _ACTION,
}

_FILES = ("path", "file_path", "filePath", "absolute_path", "file", "filename", "url")
_TERMS = ("pattern", "query", "regex", "text")


def traits_by_name(tool: str, parameters: Mapping[str, Any] | None) -> ToolTraits | None:
    """What is known of a tool by its name, as far as its declared schema bears it out; None: nothing is.

    A tool that is not declared (`parameters` None: it stands in an imported session alone) is taken by its name. A
    declared one that names its target otherwise has the traits with its own argument; one without any such argument
    is another tool of the same name.

    >>> traits_by_name("read_file", {"properties": {"path": {"type": "string"}}}).reads
    'path'
    >>> traits_by_name("read", {"properties": {"mail_id": {"type": "string"}}}) is None
    True
    """
    known = KNOWN_TOOLS.get(tool)
    declared = parameters.get("properties") if parameters is not None else None
    if known is None or not isinstance(declared, Mapping):
        return known
    reads, searches, lists = (
        _declared(name, declared, others)
        for name, others in ((known.reads, _FILES), (known.searches, _TERMS), (known.lists, (*_FILES, *_TERMS)))
    )
    writes = tuple(name for each in known.writes if (name := _declared(each, declared, _FILES)))
    found = evolve(known, reads=reads, searches=searches, lists=lists, writes=writes)
    return found if found != ToolTraits() else None


def _declared(name: str | None, declared: Mapping[str, Any], others: tuple[str, ...]) -> str | None:
    if name is None or name in declared:
        return name
    return next((other for other in others if other in declared), None)
