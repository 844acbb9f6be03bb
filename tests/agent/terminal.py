"""A terminal of POSIX with `refold chat` in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from pathlib import Path


class Terminal:
    """`refold chat` on a pseudo terminal."""

    def __init__(self, home: Path, *words: str) -> None:
        self.seen = ""
        env = {
            **os.environ,
            "REFOLD_HOME": str(home),
            "NO_PROXY": "127.0.0.1",
            "TERM": "xterm",
        }
        self.pid, self.end = pty.fork()
        if self.pid == 0:  # pragma: no cover
            os.execve(sys.executable, [sys.executable, "-m", "refold", "chat", *words], env)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def types(self, text: str) -> None:
        os.write(self.end, text.encode())

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other end is gone
            drawn = os.read(self.end, 65_536).decode("utf-8", "replace")
            self.seen += drawn
            if "\x1b[6n" in drawn:  # where is the cursor?
                self.types("\x1b[2;1R")

    def until(self, *texts: str, seconds: float = 30.0) -> str:
        """Waits until one of the texts was drawn; returns which."""
        until = time.monotonic() + seconds
        while not (drawn := [text for text in texts if text in self.seen]):
            assert time.monotonic() < until, f"{texts} never came; seen: {self.seen[-2000:]!r}"
            if select.select([self.end], [], [], 0.1)[0]:
                self._read()
        self.seen = self.seen[self.seen.index(drawn[0]) + len(drawn[0]) :]
        return drawn[0]

    def commands(self, command: str, shows: str) -> None:
        """Types a command, again while the turn before is not quite over."""
        self.types(f"{command}\r")
        while self.until("something runs", shows) != shows:
            time.sleep(0.1)
            self.types(f"{command}\r")

    def leaves(self, again: str = "") -> int:
        """Waits for the end; types `again` every three seconds, as a person does whose key came between two prompts."""
        with_end = time.monotonic() + 20
        next_key = time.monotonic() + 3
        while time.monotonic() < with_end:
            if again and time.monotonic() > next_key:
                self.types(again)
                next_key += 3
            if select.select([self.end], [], [], 0.05)[0]:
                self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"it did not leave: {self.seen[-2000:]!r}")
