"""Which session a word of a command means: by its id, its title, or the beginning of one."""

from __future__ import annotations

from collections.abc import Sequence

from refold.agent.host import Host
from refold.agent.session import Session
from refold.transcript import sessions
from refold.values.errors import NotFound, Refused
from refold.values.near import near_miss

_SHOWN = 5  # candidates that an error lists


def session_named(host: Host, word: str | None) -> Session:
    """The session that a word of a command means: by its id; else by its title, whatever its case; else by the
    beginning of one id; else by the beginning of one title. Without a word the newest.

    Raises NotFound for none, with the nearest ones, and Refused for several, with all of them.
    """
    if word is None:
        return host.session()
    try:
        return host.session(word)
    except NotFound as error:
        known = [each.session for each in host.sessions()]
        found = _matching(word, known)
        if len(found) == 1:
            return host.session(found[0].id)
        if found:
            raise Refused(f"{word!r} may be {_listed(found)}; nothing was done; name one by its id") from None
        names = {each.title or each.id: each.id for each in known} | {each.id: each.id for each in known}
        near = near_miss(word, names)
        raise NotFound(f"{error}{f'; did you mean {names[near]}?' if near else ''}") from None


def _matching(word: str, known: Sequence[sessions.Session]) -> list[sessions.Session]:
    wanted = word.casefold()
    rules = (
        [each for each in known if (each.title or "").casefold() == wanted],
        [each for each in known if each.id.startswith(word)],
        [each for each in known if (each.title or "").casefold().startswith(wanted)],
    )
    return next((matches for matches in rules if matches), []) if word else []


def _listed(found: Sequence[sessions.Session]) -> str:
    shown = [f"{each.id} ({each.title})" if each.title else each.id for each in found[:_SHOWN]]
    return ", ".join(shown) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
