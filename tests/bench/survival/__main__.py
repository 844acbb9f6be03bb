"""How much of what was said still reaches the model after many compactions. A report, not a gate.

python -m tests.bench.survival                                  all strategies and windows
python -m tests.bench.survival --strategy lcm --window 8000 --sessions 3 --json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from .planted import GROUPS, kinds
from .rounds import ROUNDS, Tally, survive

STRATEGIES = ("rolling", "lcm", "chain", "window", "snapcompact")
WINDOWS = (8_000, 32_000, 128_000)


def main() -> None:
    options = _options()
    report = []
    for window in options.window or WINDOWS:
        for strategy in options.strategy or STRATEGIES:
            started = time.monotonic()
            tally = Tally()
            for number in range(options.sessions):
                tally.add(survive(strategy, window, number, options.home, options.rounds))
            taken = time.monotonic() - started
            print(f"{strategy} at {window:,}: {taken:.0f} s", file=sys.stderr)
            report.append(_document(strategy, window, tally, options))
    if options.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        print(brief(report) if options.brief else table(report))


def table(report: list[dict]) -> str:
    """The report as a Markdown table: percent that stand after each of the rounds; with `+`, the part on pages only."""
    rounds = report[0]["rounds"]
    head = ["window", "strategy", "kind", "rows", *(str(number) for number in range(1, rounds + 1))]
    lines = [_row(head), _row(["---:", "---", "---", "---:", *("---:" for _ in range(rounds))])]
    for each in report:
        for kind, found in each["kinds"].items():
            cells = [
                _cell(text, pages, rows)
                for rows, text, pages in zip(found["planted"], found["text"], found["pages"], strict=True)
            ]
            lines.append(_row([f"{each['window']:,}", each["strategy"], kind, str(found["planted"][0]), *cells]))
    notes = [f"{each['strategy']} at {each['window']:,}: {each['compactions']}" for each in report]
    faults = [f"{each['strategy']} at {each['window']:,}: {fault}" for each in report for fault in each["faults"]]
    return "\n".join([*lines, "", "Compactions by kind:", *notes, *(["", "Faults:", *faults] if faults else [])])


def brief(report: list[dict]) -> str:
    """The report as a short Markdown table: percent that stand after the last round, a line per window and strategy."""
    lines = [_row(["window", "strategy", *kinds()]), _row(["---:", "---", *("---:" for _ in kinds())])]
    for each in report:
        cells = [_cell(of["text"][-1], of["pages"][-1], of["planted"][-1]) for of in each["kinds"].values()]
        lines.append(_row([f"{each['window']:,}", each["strategy"], *cells]))
    return "\n".join(lines)


def _document(strategy: str, window: int, tally: Tally, options: argparse.Namespace) -> dict:
    ages = range(1, options.rounds + 1)
    return {
        "strategy": strategy,
        "window": window,
        "rounds": options.rounds,
        "sessions": options.sessions,
        "compactions": dict(tally.kinds),
        "faults": sorted(set(tally.faults)),
        "kinds": {
            kind: {
                "planted": [tally.planted[kind, age] for age in ages],
                "text": [tally.text[kind, age] for age in ages],
                "pages": [tally.pages[kind, age] for age in ages],
            }
            for kind in kinds()
        },
    }


def _cell(text: int, pages: int, planted: int) -> str:
    if not planted:
        return "-"
    shown = f"{100 * text / planted:.0f}"
    return f"{shown} +{100 * pages / planted:.0f}" if pages else shown


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.survival", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--strategy", action="append", choices=STRATEGIES, help="one strategy; may be repeated")
    parser.add_argument("--window", action="append", type=int, help="one window in tokens; may be repeated")
    parser.add_argument("--sessions", type=int, default=GROUPS, choices=range(1, GROUPS + 1), help="how many sessions")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many compactions each row lives through")
    parser.add_argument("--home", type=Path, help="a folder with models.json and extensions.json, for model summaries")
    parser.add_argument("--brief", action="store_true", help="the last round alone, a line per window and strategy")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
