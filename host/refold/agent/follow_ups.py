"""User words for the turn that runs."""

from __future__ import annotations

import threading

from refold.values.rows import Row


class FollowUps:
    """A queue that takes rows only while a turn runs, so that none is left behind. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[Row] | None = None

    def open(self) -> None:
        """A turn begins."""
        with self._lock:
            self._rows = []

    def offer(self, row: Row) -> bool:
        """Adds a row to the turn that runs; false when none does."""
        with self._lock:
            if self._rows is None:
                return False
            self._rows.append(row)
            return True

    def take(self) -> list[Row]:
        """The rows that wait, oldest first."""
        with self._lock:
            taken, self._rows = self._rows or [], []
            return taken

    def close_if_empty(self) -> bool:
        """Ends the turn for followers, unless somebody still waits."""
        with self._lock:
            if self._rows:
                return False
            self._rows = None
            return True

    def close(self) -> list[Row]:
        """Ends the turn for followers whatever waits, and returns it."""
        with self._lock:
            left, self._rows = self._rows or [], None
            return left
