"""Who owns which tables, and migrations run, by what the extensions loaded say. Pure but for the two callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from refold.registry.contributions import Extension, words
from refold.transcript.ownership import Claim, Taken

ClaimStores = Callable[[Sequence[Claim]], Mapping[str, Taken]]
"""Records who owns which store; returns the claims that were refused, by id."""

Migrate = Callable[[str, str, Sequence[str]], object]
"""Brings an extension's tables up to date: id, store name, scripts oldest first. Raises when it cannot."""


def broken_stores(
    extensions: Mapping[str, Extension],
    in_order: Sequence[str],
    installed: Mapping[str, object],
    claim: ClaimStores,
    migrate: Migrate,
) -> dict[str, str]:
    """Who cannot run for its tables' sake, and why: a store that is another's, or a migration that failed.

    `extensions` are the healthy ones, `installed` all by id. Every healthy one claims its store and is migrated, on or
    off, without scripts too: its tables may be newer than its code. Of those that are new to the home, one that is
    named like its store comes first.
    """
    ready = [extensions[ext] for ext in in_order if ext in extensions]
    claims = [_claim(each, ready) for each in ready]
    try:
        taken = claim(sorted(claims, key=lambda each: each.id.replace("-", "_") != each.store))
    except Exception as error:
        return {each.id: f"its store could not be looked up: {words(error)}" for each in ready}
    broken = {each.id: _taken(each, taken[each.id], installed) for each in claims if each.id in taken}
    for each in ready:
        if each.id not in broken:
            try:
                migrate(each.id, each.manifest.tables, each.migrations)
            except Exception as error:
                broken[each.id] = f"its tables could not be brought up to date: {words(error)}"
    return broken


def _claim(extension: Extension, ready: Sequence[Extension]) -> Claim:
    """A store may be shared by two of which one requires the other."""
    dependents = (each.id for each in ready if extension.id in each.manifest.requires)
    return Claim(
        extension.id, extension.manifest.tables, frozenset(extension.manifest.requires) | frozenset(dependents)
    )


def _taken(claim: Claim, taken: Taken, installed: Mapping[str, object]) -> str:
    if taken.owner == claim.id:
        return f"its tables stand under the store {taken.store}, not {claim.store}: an extension keeps its store"
    if not taken.owner:
        return f"its store {claim.store} is the name of tables in this home that are not its own"
    text = f"its store {claim.store} overlaps the store {taken.store} of {taken.owner}"
    if taken.owner in installed:
        return f"{text}, which had it first, and neither requires the other"
    return f"{text}, which is not installed now; 'refold extensions forget {taken.owner}' drops its tables"
