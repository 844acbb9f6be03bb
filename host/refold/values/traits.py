"""Traits of the tools of agents whose sessions refold imports, by tool name.

Argument names are those agents' own. Tools of host apps and extensions bring their own traits and win over this table.
"""

from __future__ import annotations

from collections.abc import Mapping

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
