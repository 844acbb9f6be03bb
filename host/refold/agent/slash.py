"""`/compact` as people type it. Pure: what is installed and configured comes in as arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from attrs import frozen

from refold.values.errors import Refused

USAGE = "Usage: /compact [-m MODEL] [-r LEVEL|default] [-s STRATEGY] [STRATEGY] [what to keep]"

_OPTIONS = {"-m": "model", "--model": "model", "-r": "reasoning", "--reasoning": "reasoning", "-s": "strategy"}
_OPTIONS["--strategy"] = "strategy"
_NEEDS = {"model": "a model id", "reasoning": "a level", "strategy": "a strategy's id"}


@frozen
class CompactCommand:
    """What `/compact` asks for; None: as it is. `instructions` are kept word for word."""

    strategy: str | None = None
    model: str | None = None
    reasoning: str | None = None
    instructions: str = ""


def parse_compact(text: str, strategies: Collection[str]) -> CompactCommand:
    """The command behind `/compact`, `text` being what follows it.

    Options come first, `--` ends them. The first word after them is a strategy only when it is exactly the id of an
    installed one; everything else is instructions. Raises Refused that names all mistakes at once.

    >>> parse_compact("rolling keep the table names", ["rolling", "lcm"])
    CompactCommand(strategy='rolling', model=None, reasoning=None, instructions='keep the table names')
    """
    found: dict[str, str] = {}
    mistakes: list[str] = []
    rest = text.strip()
    while rest:
        word, after = _word(rest)
        if word == "--":
            rest = after
            break
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            if not equals:
                value, after = _value(after)
            if value:
                found[_OPTIONS[name]] = value
            else:
                mistakes.append(f"{name} needs {_NEEDS[_OPTIONS[name]]}.")
        elif word.startswith("--"):
            mistakes.append(f"Unknown option: {name}.")
        else:
            break
        rest = after
    if mistakes:
        raise Refused(f"Nothing was compacted: {' '.join(mistakes)} {USAGE}")
    word, after = _word(rest)
    if word in strategies and "strategy" not in found:
        return CompactCommand(word, found.get("model"), found.get("reasoning"), after)
    if "strategy" in found and found["strategy"] not in strategies:
        names = ", ".join(sorted(strategies)) or "none"
        raise Refused(
            f"Nothing was compacted: {found['strategy']} is no installed strategy (installed: {names}). {USAGE}"
        )
    return CompactCommand(found.get("strategy"), found.get("model"), found.get("reasoning"), rest)


def match_model(name: str, configured: Sequence[str]) -> str:
    """The configured model that is meant: its full id, the id without its provider, or a part that only one has.

    Case does not matter. Raises Refused for an unknown or ambiguous name.

    >>> match_model("SMALL", ["local/small", "local/large"])
    'local/small'
    """
    wanted = name.casefold()
    rules = (
        [each for each in configured if each.casefold() == wanted],
        [each for each in configured if each.rpartition("/")[2].casefold() == wanted],
        [each for each in configured if wanted in each.casefold()],
    )
    for matches in rules:
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise Refused(f"ambiguous model {name!r}: {', '.join(matches)}; nothing was changed; name one of them")
    raise Refused(f"unknown model {name!r} (configured: {', '.join(configured) or 'none'}); nothing was changed")


def _word(text: str) -> tuple[str, str]:
    """The first word and what follows it, inner spaces and lines of which are kept."""
    match = re.match(r"(\S*)\s?(.*)\Z", text, re.DOTALL)
    assert match is not None
    return match.group(1), match.group(2).lstrip(" ") if match.group(2).startswith(" ") else match.group(2)


def _value(text: str) -> tuple[str, str]:
    word, after = _word(text.lstrip())
    return ("", text) if word.startswith("-") else (word, after)
