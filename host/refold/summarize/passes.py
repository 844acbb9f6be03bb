"""Cache for now."""

from __future__ import annotations

from collections import OrderedDict

from refold.summarize.reply import Reply


class PassCache:
    """Finished passes by content, newest kept, so that a retry of a failed summary does not pay twice."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._replies: OrderedDict[str, Reply] = OrderedDict()

    def get(self, key: str) -> Reply | None:
        """The reply of that pass, if it is still kept."""
        reply = self._replies.get(key)
        if reply is not None:
            self._replies.move_to_end(key)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keeps the reply; the one that was used longest ago goes."""
        self._replies[key] = reply
        self._replies.move_to_end(key)
        while len(self._replies) > self._size:
            self._replies.popitem(last=False)
