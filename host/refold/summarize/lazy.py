"""Patterns that are compiled when they are first used: most commands of a program never summarize."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class Lazy:
    """A regular expression, compiled at its first use.

    >>> Lazy(r"a+").search("baa")[0]
    'aa'
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    # Kept as attributes: after the first use a call costs what a call of the pattern's own method costs.
    @cached_property
    def search(self) -> Callable[..., re.Match[str] | None]:
        return self._compiled.search

    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        return self._compiled.fullmatch

    @cached_property
    def findall(self) -> Callable[..., list[str]]:
        return self._compiled.findall

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        return self._compiled.finditer

    @cached_property
    def sub(self) -> Callable[..., str]:
        return self._compiled.sub

    @cached_property
    def split(self) -> Callable[..., list[str]]:
        return self._compiled.split


def either(*patterns: str) -> Lazy:
    """One pattern for all. Those that begin with a word boundary share it: it is tried once at each place, not once
    for each of them. Such a pattern has no bar outside of its groups."""
    words = "|".join(pattern.removeprefix(r"\b") for pattern in patterns if pattern.startswith(r"\b"))
    others = [f"(?:{pattern})" for pattern in patterns if not pattern.startswith(r"\b")]
    return Lazy("|".join([rf"\b(?:{words})"] * bool(words) + others))
