"""Every error that crosses the contract or reaches a host app.

RefoldError
├── NotFound             no such session, section, page or extension
├── Refused              a request or change that a rule forbids; nothing was changed
├── Busy                 another process or thread holds the session
├── CompactionFailed     a strategy could not compact; state, view and transcript are what they were
├── ProjectionFailed     a strategy could not project, or its view failed a check; nothing was sent
├── SummaryFailed        no summary was to be had
│   └── SummaryRejected  a text came, but it is too long, not smaller, or otherwise unacceptable
├── Superseded           the store moved between read and commit
└── Vetoed               an extension's `pre_compact` refused
"""

from __future__ import annotations

from typing import Self


class RefoldError(Exception):
    """One line for people: what happened, what was kept, what to do. `code` is for programs."""

    code = "failed"

    def adding(self, words: str) -> Self:
        """This error with more words in brackets at the end of its line."""
        self.args = (f"{self} ({words})", *self.args[1:])
        return self


class NotFound(RefoldError):
    """What was named does not exist."""

    code = "not_found"


class Refused(RefoldError):
    """A rule forbids it; nothing was changed."""

    code = "refused"


class Busy(RefoldError):
    """The session is held by somebody else; the message says who."""

    code = "busy"


class CompactionFailed(RefoldError):
    """A strategy could not compact. State, view and transcript are what they were."""

    code = "compaction_failed"


class ProjectionFailed(RefoldError):
    """A strategy could not project, or its view failed a check. Nothing was sent in its place."""

    code = "projection_failed"


class SummaryFailed(RefoldError):
    """No summary was to be had: the provider failed, was refused, or the call was cancelled."""

    code = "summary_failed"


class SummaryRejected(SummaryFailed):
    """A text came, but it is empty, cut off, over its limit, or not smaller than what it replaces.

    `reason` is a word for programs: `not_smaller`, `too_long`, `empty`, `cut_off` and others. `size` is the text's
    tokens where that is the reason, `source` the tokens that it had to stay below.
    """

    code = "summary_rejected"

    def __init__(self, message: str, reason: str = "", size: int | None = None, source: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.size = size
        self.source = source


class Superseded(RefoldError):
    """Another commit to the same store came first. Nothing was written."""

    code = "superseded"


class Vetoed(RefoldError):
    """An extension's `pre_compact` refused the compaction."""

    code = "vetoed"
