"""Whatever reads text of a transcript takes time in proportion to it, however the text is made."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from refold import Row, SourceRef
from refold.importers.agents.swe_agent import _command
from refold.importers.messages.sharegpt import _TAGGED
from refold.summarize.accept import spoken
from refold.summarize.blocks import Block
from refold.summarize.choosing import parted
from refold.summarize.clip import clipped
from refold.summarize.flatten import flatten
from refold.summarize.offline import Offline
from refold.summarize.prompt import Prompt, escaped
from refold.summarize.reply import Deadline
from refold.summarize.user_lines import Kept, Line, fitting

PIECES = {
    "spaces behind <": "<" + " " * 9_000,
    "spaces": " ",
    "< again and again": "< ",
    "combining accents": "e\u0301",
    "accents alone": "\u0301",
    "brackets": "[",
    "backticks": "`",
    "fences": "```bash\n",
    "digits": "0",
    "upper case": "A",
    "stops": ". ",
    "calls": "<tool_call>",
    "thoughts": "<think>",
    "patches": "*** Add File: a" + " " * 900,
    "dashes": "a-",
    "new lines": "\n",
}
DONE = (Block("assistant", "assistant", "The parser was split in two."),)
READERS: dict[str, Callable[[str], object]] = {
    "delimiters": escaped,
    "clipping": lambda text: clipped(text, 1_000),
    "a reply": spoken,
    "numbers in front of a reply": lambda text: parted(text, [Line(1, "a")]),
    "rows": lambda text: list(flatten([Row(SourceRef("s", 1), "result", 1, 1, text=text, call_id="c")], {})),
    "ranking": lambda text: fitting(Kept(tuple(Line(n, text[n::50]) for n in range(50))), 100),
    "an account": lambda text: Offline().complete(
        Prompt((*DONE, Block("call", "call bash", f"command: {text}"), Block("result", "result bash", text))),
        500,
        Deadline(),
    ),
    "calls in answers": _TAGGED.findall,
    "commands in answers": lambda text: _command({}, text, {}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("piece", PIECES)
def test_four_times_the_text_takes_about_four_times_as_long(reader: str, piece: str) -> None:
    def seconds(size: int) -> float:
        text = PIECES[piece] * max(1, size // len(PIECES[piece]))
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            READERS[reader](text)
            best = min(best, time.process_time() - started)
        return best

    # Twice that is left for noise; quadratic work would take sixteen times as long.
    assert seconds(80_000) <= 8 * seconds(20_000) + 0.02
