"""Who owns which tables: store names checked against each other, and migrations run. Pure but for the callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from refold.registry.contributions import Extension, words

Migrate = Callable[[str, str, Sequence[str]], object]
"""Brings an extension's tables up to date: id, store name, scripts oldest first. Raises when it cannot."""


def broken_stores(extensions: Mapping[str, Extension], in_order: Sequence[str], migrate: Migrate) -> dict[str, str]:
    """Who cannot run for its tables' sake, and why: a store that is taken, or a migration that failed.

    Every healthy extension is migrated, on or off, without scripts too: its tables may be newer than its code.
    """
    broken: dict[str, str] = {}
    kept: list[Extension] = []
    for each in (extensions[ext] for ext in in_order if ext in extensions):
        if taken := next((other for other in kept if _overlap(other, each)), None):
            broken[each.id] = (
                f"its store {each.manifest.tables} overlaps the store {taken.manifest.tables} of {taken.id},"
                f" and neither requires the other"
            )
            continue
        try:
            migrate(each.id, each.manifest.tables, each.migrations)
        except Exception as error:
            broken[each.id] = f"its tables could not be brought up to date: {words(error)}"
            continue
        kept.append(each)
    return broken


def _overlap(one: Extension, other: Extension) -> bool:
    """Whether a table's name could belong to both. One store may be shared by two of which one requires the other."""
    a, b = one.manifest.tables, other.manifest.tables
    if a == b:
        return other.id not in one.manifest.requires and one.id not in other.manifest.requires
    return a.startswith(f"{b}_") or b.startswith(f"{a}_")
