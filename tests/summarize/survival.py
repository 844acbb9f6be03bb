"""Ten compactions in a row, and what of the planted sentences is left after each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from refold import Row
from refold.summarize.offline import Offline
from refold.summarize.service import summarize
from refold.summarize.standing import normal

from .planted import CHANGES, CHANGES_HELD_OUT, CHANGES_SEEN, HELD_OUT, KNOWN, SEEN
from .planted_again import AGAIN, CHANGES_AGAIN
from .planted_last import CHANGES_LAST, LAST
from .sessions import Session, real

ROUNDS = 10
KEPT = ("rule", "limit", "goal", "preference")
Survival = dict[tuple[str, int], tuple[int, int]]


def compacted(rounds: Sequence[Sequence[Row]], limit: int) -> list[str]:
    """The summary after each round; each carries the one before."""
    texts = []
    previous = ""
    for rows in rounds:
        previous = summarize(rows, previous=previous, limit=limit, chunk=8_000, summarizers=[Offline()]).text
        texts.append(previous)
    return texts


def measured(
    sentences: dict[str, list[str]], seeds: range, limit: int = 2_048, among: Sequence[Row] = ()
) -> tuple[Survival, list[str]]:
    """Found and planted by (kind, rounds since planted), and the sentences of kept kinds that were lost.

    Every session plants four sentences of each kind in its first five rounds; `among` are rows of a real session that
    are spread over the rounds.
    """
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    lost: list[str] = []
    for seed in seeds:
        session = Session(seed)
        planted: list[list[tuple[str, str]]] = [[] for _ in range(ROUNDS)]
        for kind, texts in sentences.items():
            for offset in range(4):
                text = texts[(seed * 4 + offset) % len(texts)]
                planted[session.random.randrange(5)].append((kind, text))
        share = len(among) // ROUNDS
        rounds = [
            [*among[at * share : (at + 1) * share], *session.round([text for _, text in planted[at]])]
            for at in range(ROUNDS)
        ]
        summaries = [normal(text) for text in compacted(rounds, limit)]
        for since, entries in enumerate(planted):
            for kind, text in entries:
                for at in range(since, ROUNDS):
                    found = normal(text) in summaries[at]
                    counts[kind, at - since + 1][0] += found
                    counts[kind, at - since + 1][1] += 1
                if kind in KEPT and normal(text) not in summaries[-1]:
                    lost.append(text)
    return {key: (found, total) for key, (found, total) in counts.items()}, lost


def report(title: str, survival: Survival) -> str:
    """A table: kinds down, rounds since planted across, percent found."""
    ages = sorted({age for _, age in survival})
    lines = [f"| {title} | " + " | ".join(str(age) for age in ages) + " |", "| --- |" + " ---: |" * len(ages)]
    for kind in KNOWN:
        cells = []
        for age in ages:
            found, total = survival.get((kind, age), (0, 0))
            cells.append(f"{100 * found // total}" if total else "")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def changed(pairs: Sequence[tuple[str, str]], seeds: range) -> list[tuple[str, str]]:
    """The pairs of which, after ten rounds, the earlier word still stands or the later one is gone."""
    wrong = []
    for seed in seeds:
        for earlier, later in pairs:
            session = Session(seed)
            rounds = [session.round([text] if text else []) for text in [earlier, "", later, *[""] * (ROUNDS - 3)]]
            final = compacted(rounds, 2_048)[-1]
            lines = [normal(line.partition(": ")[2]) for line in final.splitlines()]
            if any(line.endswith(normal(earlier)) for line in lines) or normal(later) not in normal(final):
                wrong.append((earlier, later))
    return wrong


def figures() -> str:
    """The tables of docs/summaries.md."""
    parts = []
    for name, among in (("synthetic", ()), ("real", real())):
        for title, sentences in (
            ("known", KNOWN),
            ("seen", SEEN),
            ("held out", HELD_OUT),
            ("again", AGAIN),
            ("last", LAST),
        ):
            for limit in (2_048, 819):
                found, lost = measured(sentences, range(6), limit, among)
                parts.append(report(f"{title}, {name}, {limit} tokens", found) + f"\nlost: {sorted(set(lost))}")
    for title, pairs in (
        ("known", CHANGES),
        ("seen", CHANGES_SEEN),
        ("held out", CHANGES_HELD_OUT),
        ("again", CHANGES_AGAIN),
        ("last", CHANGES_LAST),
    ):
        parts.append(f"changes not taken, {title}: {changed(pairs, range(2))} of {len(pairs)}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(figures())
