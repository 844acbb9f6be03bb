"""What an offline summary costs, on a megabyte of a coding session and where users write a lot."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from refold import Call, Row, SourceRef
from refold.summarize.offline import Offline
from refold.summarize.service import summarize
from refold.summarize.user_lines import Kept, fitting, lines_of

WORDS = """
    the parser reads every header before it writes a row and the exporter sends the file to the bucket when users ask
    for their orders while the nightly job counts what is left in the queue of the second region
    """.strip()
VOCABULARY = re.findall(r"\w+", WORDS)


def prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(VOCABULARY) + (". Then" if chance.random() < 0.1 else "") for _ in range(words)) + "."


def session(users: int) -> list[Row]:
    """About a megabyte: turns with `users` words of the user, four calls each, and results of 4 kB."""
    chance = random.Random(7)
    rows: list[Row] = []
    size = turn = 0
    while size < 1_000_000:
        turn += 1
        rows.append(Row(SourceRef("s", len(rows) + 1), "user", turn, 0, opens=True, text=prose(chance, users)))
        for step in range(1, 5):
            call = Call(f"c{len(rows)}", "bash", {"command": f"pytest tests/test_{chance.randrange(90)}.py"})
            text = "\n".join(f"{n:04} value_{chance.randrange(10**6)} = compute({n})" for n in range(110))
            rows.append(
                Row(SourceRef("s", len(rows) + 1), "assistant", turn, step, text=prose(chance, 20), calls=(call,))
            )
            rows.append(Row(SourceRef("s", len(rows) + 1), "result", turn, step, text=text, call_id=call.id))
        size += sum(len(row.text) for row in rows[-9:])
    return rows


def both(rows: list[Row]) -> None:
    """What a compaction costs beside the database: the account of the work, and users' lines."""
    summarize(rows, summarizers=[Offline()])
    fitting(Kept(tuple(lines_of(rows))), 12_800)


def test_a_megabyte_of_a_coding_session(benchmark: Callable[..., Any]) -> None:
    benchmark(both, session(40))


def test_a_megabyte_in_which_users_write_a_fifth(benchmark: Callable[..., Any]) -> None:
    """At most twice what the one before takes."""
    benchmark(both, session(1_000))
