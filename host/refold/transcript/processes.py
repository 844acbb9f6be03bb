"""Which process is which: a pid is given again, a pid with its birth is not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import lru_cache
from pathlib import Path


def host_name() -> str:
    """The machine (or container): a pid of another one says nothing here."""
    return socket.gethostname()


def birth(pid: int) -> str | None:
    """When the process started, as its system tells it; None: there is none; empty: it exists, more is not known."""
    if sys.platform == "win32":
        return ""  # os.kill(pid, 0) would end it; leases expire
    if Path("/proc/self/stat").exists():
        return _birth_in_proc(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip()


def _birth_in_proc(pid: int) -> str | None:
    """Field 22 of proc(5) stat, in ticks since the boot, with the boot's id. The name before it may hold anything."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""
    if fields[0] in (b"Z", b"X"):
        return None
    return f"{_boot()}:{fields[19].decode()}"


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
