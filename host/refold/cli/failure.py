"""What went wrong, in one line for people and one document for programs."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import click
from attrs import evolve, frozen

from refold.cli.output import print_json
from refold.cli.program import runnable
from refold.cli.visible import visible, visible_lines
from refold.values.errors import RefoldError

FAILED, USAGE, INTERRUPTED = 1, 2, 130


@frozen
class Failure:
    """An exit code with what to say; `code` is for programs."""

    exit: int
    code: str
    message: str

    def document(self) -> Mapping[str, Any]:
        """What `--json` prints."""
        return {"error": {"code": self.code, "message": self.message}}


def failure(error: BaseException) -> Failure:
    """What to say of an error; the commands in it work as they stand.

    >>> failure(KeyboardInterrupt()).message
    'interrupted; what was committed is kept'
    """
    said = _failure(error)
    return evolve(said, message=runnable(said.message))


def _failure(error: BaseException) -> Failure:
    match error:
        case click.UsageError():
            where = f"; '{error.ctx.command_path} --help' shows how" if error.ctx else ""
            return Failure(USAGE, "usage", error.format_message().rstrip(".") + where)
        case click.Abort() | KeyboardInterrupt():
            return Failure(INTERRUPTED, "interrupted", "interrupted; what was committed is kept")
        case click.ClickException():
            return Failure(FAILED, "failed", error.format_message())
        case UnicodeEncodeError(reason="surrogates not allowed"):  # how Python hands over foreign bytes of a command
            return Failure(FAILED, "refused", "a word of the command is not UTF-8; nothing was changed")
        case OSError(errno=errno.ENOSPC | errno.EIO):
            return Failure(
                FAILED, "output", f"the output cannot be written ({error.strerror}); what was committed is kept"
            )
        case RefoldError():
            return Failure(FAILED, error.code, str(error))
        case _:
            words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Failure(
                FAILED, "internal", f"unexpected {words[:300]}; what was committed is kept; REFOLD_TRACE=1 shows where"
            )


def tell(error: BaseException, as_json: bool) -> int:
    """Says the error on standard error, and with `as_json` on standard output too; returns the exit code."""
    said = failure(error)
    if said.code == "internal" and os.environ.get("REFOLD_TRACE"):
        sys.stderr.write(visible_lines("".join(traceback.format_exception(error))))
    sys.stderr.write(f"refold: error: {visible(said.message)}\n")
    if as_json:
        print_json(said.document())
    return said.exit
