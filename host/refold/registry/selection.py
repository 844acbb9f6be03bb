"""Which extensions are on, and which one strategy is in force. Pure, and total over every state that can be stored."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

Choices = Mapping[str, bool]


@frozen
class Installed:
    """What selection needs to know of an installed extension; the fields are those of its manifest."""

    id: str
    strategy: bool = False
    default: bool = False
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@frozen
class Problem:
    """One line for people about an extension; `id` None: about the installation as a whole."""

    id: str | None
    text: str


@frozen
class Selection:
    """The enabled extensions in registry order, the strategy in force (None: none can run), and what to show."""

    enabled: tuple[str, ...]
    strategy: str | None
    problems: tuple[Problem, ...]


@frozen
class Order:
    """Registry order. A cycle is a problem of each of its members."""

    ids: tuple[str, ...]
    problems: tuple[Problem, ...]


def order(installed: Iterable[Installed]) -> Order:
    """Ids sorted by name, each behind those that its `after`, `requires` and `uses` name.

    Inside a cycle these wishes do not count, so its members stand in name order.

        >>> order([Installed("a", after=("b",)), Installed("b")]).ids
        ('b', 'a')
    """
    known = {each.id: each for each in installed}
    behind = {
        ext: {name for name in (*each.after, *each.requires, *each.uses) if name in known and name != ext}
        for ext, each in known.items()
    }
    reach = _closure(behind)
    cycles = {ext: {other for other in reach[ext] if ext in reach[other]} for ext in known if ext in reach[ext]}
    waits = {ext: behind[ext] - cycles.get(ext, set()) for ext in known}
    ready = [ext for ext, names in waits.items() if not names]
    heapq.heapify(ready)
    ids: list[str] = []
    while ready:
        ids.append(placed := heapq.heappop(ready))
        for ext, names in waits.items():
            if placed in names:
                names.discard(placed)
                if not names:
                    heapq.heappush(ready, ext)
    problems = tuple(
        Problem(ext, f"its order is a cycle ({', '.join(sorted(members))}); name order is used")
        for ext, members in sorted(cycles.items())
    )
    return Order(tuple(ids), problems)


def resolve(
    installed: Sequence[Installed], global_choices: Choices, session_choices: Choices, broken: Mapping[str, str]
) -> Selection:
    """The extensions in force for these choices; `broken` maps an id to the reason why it cannot run.

    An extension is on by the session's choice, else the global one, else its default. One strategy runs: those that
    can run are ranked (named by the session, named globally, default not switched off, default, any), ties go by
    registry order. When a requirement of every strategy is switched off, it stays on and a problem says so: a session
    is never left without a strategy while a healthy one is installed. It answers for unknown ids, cycles and
    contradicting choices; to refuse a change beforehand is the business of `proposals`.
    """
    known = {each.id: each for each in installed}
    ordered = order(known.values())
    unfit = _quarantine(known, broken)
    chosen = {**global_choices, **session_choices}
    wanted = {
        ext for ext, each in known.items() if ext not in unfit and not each.strategy and chosen.get(ext, each.default)
    }
    strategies = [ext for ext in ordered.ids if known[ext].strategy and ext not in unfit]

    def rank(id: str) -> int:
        default = known[id].default
        if chosen.get(id):
            return 0 if id in session_choices else 1
        return 4 if not default else 2 if chosen.get(id, True) else 3

    able = [ext for ext in strategies if ext in _standing(known, wanted | {ext})]
    strategy = min(able or strategies, key=rank, default=None)
    picked = set() if strategy is None else {strategy}
    forced = set() if able or strategy is None else _needs(known, strategy) - wanted - picked
    enabled = _standing(known, wanted | picked | forced)

    problems = [
        *ordered.problems,
        *(Problem(ext, reason) for ext, reason in unfit.items()),
        *(Problem(ext, f"is off by choice, but {strategy} requires it and no other one can run") for ext in forced),
        *(Problem(ext, _requirement_off(known[ext], enabled)) for ext in wanted - enabled),
        *_not_in_force(known, strategies, strategy, chosen, rank, enabled, unfit),
        *(
            Problem(ext, "is chosen but not installed; the choice is kept and works again once it is installed")
            for ext, on in chosen.items()
            if on and ext not in known and ext not in broken
        ),
        *(
            Problem(
                ext,
                f"uses {other}, which {'does not work' if other in known else 'is not installed'}; it runs without it",
            )
            for ext in enabled
            for other in known[ext].uses
            if other not in known or other in unfit
        ),
    ]
    position = {ext: place for place, ext in enumerate(ordered.ids)}
    problems.sort(key=lambda each: (position.get(each.id or "", len(position)), each.id or "", each.text))
    return Selection(tuple(ext for ext in ordered.ids if ext in enabled), strategy, tuple(problems))


def _closure(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Everything that can be reached from each node, itself only through a cycle."""
    reach: dict[str, set[str]] = {}
    for start, first in edges.items():
        seen: set[str] = set()
        todo = list(first)
        while todo:
            if (node := todo.pop()) not in seen:
                seen.add(node)
                todo.extend(edges.get(node, ()))
        reach[start] = seen
    return reach


def _needs(known: Mapping[str, Installed], id: str) -> set[str]:
    """What an extension requires, directly or through others."""
    return _closure({each: set(facts.requires) for each, facts in known.items()})[id] - {id}


def _quarantine(known: Mapping[str, Installed], broken: Mapping[str, str]) -> dict[str, str]:
    """Who cannot run whatever is chosen, and why: the broken, and whoever requires what cannot run beside it."""
    unfit = dict(broken)
    for ext, each in known.items():
        if each.strategy and ext not in unfit:
            rivals = sorted(other for other in _needs(known, ext) if other in known and known[other].strategy)
            if rivals:
                unfit[ext] = f"requires {rivals[0]}, which is a strategy too, and only one strategy runs"
    while found := {
        ext: reason for ext, each in known.items() if ext not in unfit and (reason := _lacks(each, known, unfit))
    }:
        unfit |= found
    return unfit


def _lacks(each: Installed, known: Mapping[str, Installed], unfit: Mapping[str, str]) -> str:
    """What an extension requires in vain; empty: nothing."""
    for need in each.requires:
        if need in unfit:
            return f"requires {need}, which does not work"
        if need not in known:
            return f"requires {need}, which is not installed"
    return ""


def _standing(known: Mapping[str, Installed], on: set[str]) -> set[str]:
    """Those of `on` whose requirements are all on."""
    standing = set(on)
    while fallen := {ext for ext in standing if not standing.issuperset(known[ext].requires)}:
        standing -= fallen
    return standing


def _requirement_off(each: Installed, enabled: set[str]) -> str:
    return f"requires {next(need for need in each.requires if need not in enabled)}, which is off"


def _not_in_force(
    known: Mapping[str, Installed],
    strategies: Sequence[str],
    strategy: str | None,
    chosen: Choices,
    rank: Callable[[str], int],
    enabled: set[str],
    unfit: Mapping[str, str],
) -> Iterable[Problem]:
    """Named strategies that should be in force and are not. One that a nearer scope overruled is no problem."""
    for ext, each in known.items():
        if not each.strategy or not chosen.get(ext) or ext == strategy:
            continue
        if strategy is not None and rank(ext) > rank(strategy):
            continue
        off = [need for need in each.requires if need not in enabled and need != ext]
        why = f" because {ext} requires {off[0]}, which is off" if off and ext not in unfit else ""
        yield Problem(ext, f"is chosen, but {strategy or 'no strategy'} is in force{why}")
