"""A session in one read snapshot, and that view bound to one extension at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from attrs import frozen

from refold.prepare.measure import RequestSizing
from refold.prepare.prior import Provider, compose
from refold.registry.composition import Composition
from refold.registry.loading import Extension
from refold.transcript import search, state
from refold.transcript.database import Reader
from refold.transcript.history import StoredHistory
from refold.values.contexts import Delegate, Fold, History, Prior
from refold.values.errors import Refused
from refold.values.inputs import Projection
from refold.values.outcome import Demand, Outcome
from refold.values.rows import SourceRef
from refold.values.sizes import Measured, Model, Sizing, Window
from refold.values.tools import ToolTraits
from refold.values.traits import KNOWN_TOOLS

T = TypeVar("T")


@frozen
class View:
    """One session in one read snapshot, as the host sees it. `compactions` counts those applied so far."""

    reader: Reader
    session: str
    compactions: int
    composition: Composition
    model: Model
    window: Window
    history: StoredHistory
    sizing: RequestSizing

    def bound(self, extension: Extension) -> BoundContext:
        """The view as `extension` gets it."""
        return BoundContext(self, extension)

    def folds(self, history: History, but: str | None = None) -> Prior:
        """The stored folds of every enabled fold plugin, those owned by `but` left out, and the rest."""
        return compose(history, [self._provider(each) for each in self.composition.enabled if _offers(each, but)])

    def _provider(self, extension: Extension) -> Provider:
        def folds(history: History) -> Sequence[Fold]:
            assert extension.fold_plugin is not None
            return extension.fold_plugin.folds(self.bound(extension), history)

        return folds


def _offers(extension: Extension, but: str | None) -> bool:
    return extension.fold_plugin is not None and extension.fold_plugin.owner != but
