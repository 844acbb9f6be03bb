"""Commands on a terminal of POSIX."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable


def on_terminal(start: Callable[[int], subprocess.Popen[str]]) -> tuple[subprocess.Popen[str], bytes]:
    """Starts a command with the end of a terminal for its streams; gives it and all that was drawn."""
    import pty

    above, below = pty.openpty()
    process = start(below)
    os.close(below)
    shown = b""
    while part := _read(above):
        shown += part
    os.close(above)
    return process, shown


def _read(end: int) -> bytes:
    try:
        return os.read(end, 65_536)
    except OSError:  # the other end is gone
        return b""
