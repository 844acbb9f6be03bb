"""The entry point: runs one command, and answers for everything that goes wrong in it.

Nothing but the standard library is imported outside of `run`, so a Ctrl-C in the first imports is answered for too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_COMPLETE = "_REFOLD_COMPLETE"  # how a shell asks for completions


def run(words: Sequence[str]) -> int:
    """Runs the command that the words name, and returns its exit code. No error leaves this function."""
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    try:
        from refold.cli.program import program
        from refold.cli.root import root

        _speak_utf8()
        answer = root.main(args=list(words), prog_name=program(), complete_var=_COMPLETE, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except SystemExit as left:  # click's own answer to a shell that completes a word, or to a closed pipe
        if _COMPLETE in os.environ:
            return left.code if isinstance(left.code, int) else 0
        return _pipe_closed()
    except (Exception, KeyboardInterrupt) as error:
        from refold.cli.failure import tell

        try:
            return tell(error, as_json)
        except BrokenPipeError:
            return _pipe_closed()
    return answer if isinstance(answer, int) else 0


def main() -> None:
    """`refold` in a shell."""
    sys.exit(run(sys.argv[1:]))


def _speak_utf8() -> None:
    """What a terminal's encoding lacks is shown as an escape; it never stops a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    """Whoever read has had enough (`| head`). The interpreter must not flush into the closed pipe at its end."""
    from refold.cli.failure import FAILED

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
