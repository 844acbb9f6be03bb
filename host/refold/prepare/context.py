"""A session in one read snapshot, and that view bound to one extension at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from attrs import define, evolve, field, frozen

from refold.prepare.listen import listen
from refold.prepare.measure import RequestSizing
from refold.prepare.prior import compose
from refold.prepare.user_lines import UserLines
from refold.registry.answers import checked_all
from refold.registry.composition import Composition
from refold.registry.contributions import Extension
from refold.transcript import requests, search
from refold.transcript.database import Reader
from refold.transcript.history import StoredHistory
from refold.values.contexts import Delegate, Fold, History, Prior
from refold.values.errors import Refused
from refold.values.inputs import Projection, Section
from refold.values.messages import ToolSpec
from refold.values.outcome import Demand, Outcome
from refold.values.rows import RowRange, SourceRef
from refold.values.sizes import Measured, Model, Sizing, Window
from refold.values.tools import ToolTraits
from refold.values.traits import traits_by_name

T = TypeVar("T")


@frozen(eq=False)
class View:
    """One session in one read snapshot, as the host sees it.

    `compactions` counts those applied so far. `traits` are those of the host app's own tools, `booked` is the model's
    name in the record of requests. `tools` are those that the next request offers. `notices` collects what people
    should be told.
    """

    reader: Reader
    session: str
    compactions: int
    composition: Composition
    model: Model
    window: Window
    history: StoredHistory
    sizing: RequestSizing
    traits: dict[str, ToolTraits]
    booked: str
    notices: list[str]
    tools: tuple[ToolSpec, ...] = ()
    user_lines: UserLines = field(kw_only=True)

    def complete(self, sections: Sequence[Section]) -> tuple[Section, ...]:
        """What a strategy projected, with what users said in the rows that it does not show."""
        return self.user_lines.complete(sections)

    def folds(self, history: History, but: str | None = None) -> Prior:
        """The stored folds of every enabled fold plugin, those owned by `but` left out, and the rest."""
        offers = [each for each in self.composition.extensions if each.fold_plugin]
        return compose(history, [partial(self._listing, each, but) for each in offers])

    def _listing(self, extension: Extension, but: str | None, history: History) -> Sequence[Fold]:
        """One that fails lists none: it is told here, and the strategy that asks goes on."""
        call = partial(listed_folds, BoundContext(self, extension), history, but)
        return listen(self.notices, extension.id, "folds", call) or ()


@frozen(eq=False)
class CompleteSizing:
    """`Sizing` as strategies use it: a request is measured with what the host adds to its sections."""

    view: View

    def text(self, text: str) -> int:
        return self.view.sizing.text(text)

    def image(self, width: int, height: int) -> int:
        return self.view.sizing.image(width, height)

    def request(self, sections: Sequence[Section]) -> int:
        return self.view.sizing.request(self.view.complete(sections))

    def user_lines(self, sections: Sequence[Section]) -> int:
        return self.request(sections) - self.view.sizing.request(sections)


@define(eq=False)
class BoundContext:
    """`Context` of one extension over a view. It reads the extension's own tables and settings, and nothing more."""

    view: View
    extension: Extension

    @property
    def session(self) -> str:
        return self.view.session

    @property
    def strategy(self) -> str | None:
        return self.view.composition.strategy.id if self.view.composition.strategy else None

    @property
    def model(self) -> Model:
        return self.view.model

    @property
    def history(self) -> History:
        return self.view.history

    @property
    def window(self) -> Window:
        return self.view.window

    @property
    def fixed(self) -> int:
        return self.view.sizing.fixed

    @property
    def sizing(self) -> Sizing:
        return CompleteSizing(self.view)

    def user_lines(self, upto: int | None = None) -> int:
        if upto is None:
            prompt = self.view.history.prompt()
            upto = prompt.seq - 1 if prompt else self.view.history.range.upto
        return self.view.sizing.sizer.scale(self.view.user_lines.most(upto))

    def settings(self, cls: type[T]) -> T:
        found = self.view.composition.settings(self.extension.id)
        if not isinstance(found, cls):
            raise TypeError(f"{self.extension.id} names {cls.__name__} as its settings, its manifest another class")
        return found

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.view.reader.store(self.extension.manifest.tables).all(sql, *values)

    def prior(self) -> Prior:
        return self.view.folds(self.view.history, but=self.extension.id)

    def requests(self, after: int = 0) -> Sequence[Measured]:
        sent = requests.measured(self.view.reader, self.session, after)
        return [evolve(each, model=self.model.id) if each.model == self.view.booked else each for each in sent]

    def traits(self, tool: str) -> ToolTraits | None:
        own = {each.name: each.traits for _, each in self.view.composition.tools}
        given = self.view.traits.get(tool) or own.get(tool)
        declared = next((each.parameters for each in self.view.tools if each.name == tool), None)
        return given or traits_by_name(tool, declared)

    def search(
        self, text: str, after: int = 0, limit: int = 20, within: RowRange | None = None
    ) -> Sequence[tuple[SourceRef, str]]:
        hits = search.search(self.view.reader, self.session, text, after, limit, within)
        return [(SourceRef(self.session, hit.seq), hit.snippet) for hit in hits]

    def delegate(self, id: str) -> Delegate | None:
        other = next((each for each in self.view.composition.installed if each.id == id and each.strategy), None)
        return Projecting(BoundContext(self.view, other)) if other else None


def listed_folds(context: BoundContext, history: History, but: str | None = None) -> tuple[Fold, ...]:
    """The folds that an extension's fold plugin lists; none if they are owned by `but`.

    Raises TypeError or ValueError when they are no folds that could stand for rows, and whatever the plugin raises.
    """
    plugin = context.extension.fold_plugin
    if plugin is None or plugin.owner == but:
        return ()
    folds = checked_all(plugin.folds(context, history), Fold)
    blank = next((fold for fold in folds if not fold.text.strip()), None)
    if blank is not None:
        raise ValueError(f"fold {blank.id} holds no text")
    return folds


@frozen(eq=False)
class Projecting:
    """Another strategy inside a context that only reads."""

    context: BoundContext

    def project(self) -> Projection:
        strategy = self.context.extension.strategy
        assert strategy is not None
        return strategy.project(self.context)

    def compact(self, demand: Demand) -> Outcome:
        raise Refused(f"{self.context.extension.id} may compact inside compact only; nothing was changed")
