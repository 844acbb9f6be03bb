"""A change of choices, checked against every rule before anything is stored. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import field, frozen

from refold.registry.selection import Choices, Installed, Selection, resolve
from refold.values.errors import NotFound, Refused

Changes = Mapping[str, bool | None]
"""Per id: True enables, False disables, None drops the choice of this scope (inherit)."""

_KEPT = "nothing was changed"


@frozen
class Installation:
    """What is installed, what of it cannot run and why, and the strategies known of but not installed now."""

    extensions: Sequence[Installed] = ()
    broken: Mapping[str, str] = field(factory=dict)
    gone: Collection[str] = ()

    def resolve(self, global_choices: Choices, session_choices: Choices) -> Selection:
        """`selection.resolve` for this installation."""
        return resolve(self.extensions, global_choices, session_choices, self.broken)


def propose_session(
    installation: Installation, changes: Changes, global_choices: Choices, session_choices: Choices
) -> dict[str, bool]:
    """The session's choices after the change. Raises Refused or NotFound, naming what stands in the way."""
    stored = _changed(installation, changes, session_choices)
    before = installation.resolve(global_choices, session_choices)
    after = installation.resolve(global_choices, stored)
    _check(installation, changes, {**global_choices, **stored}, before, after)
    return stored


def propose_global(installation: Installation, changes: Changes, global_choices: Choices) -> dict[str, bool]:
    """The global choices after the change, checked for a session without choices of its own.

    Raises Refused or NotFound, naming what stands in the way.
    """
    stored = _changed(installation, changes, global_choices)
    before = installation.resolve(global_choices, {})
    after = installation.resolve(stored, {})
    _check(installation, changes, stored, before, after)
    return stored


def _changed(installation: Installation, changes: Changes, choices: Choices) -> dict[str, bool]:
    """The choices of one scope after the change, without looking at what follows from it."""
    known = {each.id: each for each in installation.extensions}
    for ext, on in changes.items():
        if ext not in known and ext not in installation.broken and (on or ext not in choices):
            names = ", ".join(sorted(known)) or "none"
            raise NotFound(f"no extension {ext} is installed; {_KEPT}; installed: {names}")
        if on and ext in installation.broken:
            raise Refused(f"{ext} cannot be enabled: {installation.broken[ext]}; {_KEPT}")
    picked = sorted(ext for ext, on in changes.items() if on and known[ext].strategy)
    if len(picked) > 1:
        raise Refused(f"{picked[0]} and {picked[1]} are both strategies and only one runs; {_KEPT}; name one")
    siblings = {ext for ext, each in known.items() if each.strategy} | set(installation.gone) if picked else set()
    stored = {ext: on for ext, on in choices.items() if ext not in changes and not (on and ext in siblings)}
    stored.update({ext: on for ext, on in changes.items() if on is not None})
    return stored


def _check(installation: Installation, changes: Changes, chosen: Choices, before: Selection, after: Selection) -> None:
    known = {each.id: each for each in installation.extensions}
    for ext, on in changes.items():
        if on and ext not in after.enabled:
            raise Refused(_why_off(installation, ext, after))
        if on is False and ext in after.enabled:
            raise Refused(_why_on(known, ext, after))
    for ext in before.enabled:
        if ext in after.enabled or changes.get(ext, True) is not True:
            continue
        for need in known[ext].requires:
            if need in changes and need not in after.enabled:
                raise Refused(f"{ext} requires {need}; {_KEPT}; disable {ext} first, or select another strategy")
            displaced = need not in after.enabled and known[need].strategy
            # A default must not stand in the way of a strategy that somebody names, a choice does.
            if displaced and chosen.get(ext):
                raise Refused(
                    f"{ext} requires {need}, which {after.strategy} would replace; {_KEPT}; disable {ext} first"
                )


def _why_off(installation: Installation, id: str, after: Selection) -> str:
    known = {each.id: each for each in installation.extensions}
    for need in known[id].requires:
        if need not in known:
            return f"{id} requires {need}, which is not installed; {_KEPT}; install {need} first"
        if need in installation.broken:
            return f"{id} requires {need}, which does not work: {installation.broken[need]}; {_KEPT}"
        if need not in after.enabled:
            rival = known[need].strategy and after.strategy
            state = f"a strategy, and {rival} is in force" if rival else "off"
            return f"{id} requires {need}, which is {state}; {_KEPT}; enable {need} first"
    reasons = [each.text for each in after.problems if each.id == id]
    return f"{id} would not be in force: {'; '.join(reasons) or 'another choice stands in its way'}; {_KEPT}"


def _why_on(known: Mapping[str, Installed], id: str, after: Selection) -> str:
    if not known[id].strategy:
        return f"{after.strategy} requires {id}; {_KEPT}; select another strategy first"
    others = sorted(other for other, each in known.items() if each.strategy and other != id)
    advice = f"enable one of {', '.join(others)} instead" if others else "no other strategy is installed"
    return f"{id} is the only strategy that is on; {_KEPT}; select another: {advice}"
