"""Every stored fold of a session, for `show`, `tree` and `export`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from refold.prepare.context import BoundContext, View, listed_folds
from refold.prepare.listen import listen
from refold.registry.answers import checked
from refold.registry.contributions import Extension
from refold.values.contexts import Fold
from refold.values.inputs import Note, Projection, Section


def stored_folds(view: View, notices: list[str]) -> list[Fold]:
    """Folds in the order of their boundary: those of fold plugins, whether or not they compose, and what the strategy
    in force shows in place of rows. An extension that fails lists none, and a notice says so."""
    extensions, strategy = view.composition.extensions, view.composition.strategy
    found = [
        fold for each in extensions for fold in listen(notices, each.id, "folds", partial(_listed, view, each)) or ()
    ]
    if strategy is not None and strategy.id not in {fold.owner for fold in found}:
        found += listen(notices, strategy.id, "project", partial(_in_place_of_rows, view, strategy)) or ()
    return sorted(found, key=lambda fold: (fold.covers.upto, fold.owner, fold.id))


def _listed(view: View, extension: Extension) -> Sequence[Fold]:
    return listed_folds(BoundContext(view, extension), view.history)


def _in_place_of_rows(view: View, extension: Extension) -> list[Fold]:
    """The sections of a strategy that stand for rows without showing them; folds of others are not its own."""
    if extension.strategy is None:
        return []
    projection = checked(extension.strategy.project(BoundContext(view, extension)), Projection)
    return [
        Fold(extension.id, each.id, each.label, "\n".join(_words(each)), each.covers)
        for each in projection.sections
        if each.covers is not None and each.kind not in ("fold", "recap")
    ]


def _words(section: Section) -> list[str]:
    return [part.text for part in section.inputs if isinstance(part, Note)]
