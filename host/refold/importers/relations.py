"""How the sessions of one file hang together, learned while the file is read."""

from __future__ import annotations

from refold.values.tools import SessionFacts


def source_of(format: str, name: str) -> str:
    """How a foreign session is remembered. Names are only unique within a format."""
    return f"{format}:{name}"


class Relations:
    """Which sessions of a file are its conversations, and which are children of others.

    `title` is what to call a file whose conversations have no names.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._roots: dict[str, str] = {}
        self._parents: dict[str, str | None] = {}
        self._facts: dict[str, SessionFacts] = {}
        self._first: str | None = None

    def learn(self, facts: SessionFacts) -> None:
        """Takes what the file says of a session. What comes behind the session's first row comes too late."""
        self._facts.setdefault(facts.name, facts)

    def facts(self, name: str) -> SessionFacts:
        """What was learned of a session, or facts that say nothing."""
        return self._facts.get(name) or SessionFacts(name)

    def is_known(self, name: str) -> bool:
        """Whether the file names this session: in facts, in a row, or as a child."""
        return name in self._parents or name in self._facts

    def full(self, name: str) -> str:
        """A session's name with the file's own, where it has none of itself."""
        return f"{self._title}{name}" if name[:1] in ("", ".", "/") else name

    def parent(self, name: str) -> str | None:
        """The session of this file to which a session belongs; None for a conversation of its own."""
        if name not in self._parents:
            if self._first is None:
                self._first = name
            self._parents[name] = self._found(name)
        return self._parents[name]

    def is_first(self, name: str) -> bool:
        """Whether a session is the first that the file has a row of."""
        return name == self._first

    def root(self, name: str) -> str:
        """The conversation to which a session belongs."""
        if name not in self._roots:
            above, seen = name, {name}
            while (parent := self.parent(above)) is not None and parent not in seen:
                above = parent
                seen.add(above)
            self._roots[name] = above
        return self._roots[name]

    def names_child(self, root: str, text: str) -> bool:
        """Whether an event's text names a session of this file: one with facts, or, in files without, by its prefix."""
        return text in self._facts or (root not in self._facts and text.startswith(f"{root}/"))

    def outside(self, name: str) -> str | None:
        """The session of another file to which this one belongs."""
        wanted = self.facts(name).parent
        return wanted if wanted is not None and self.parent(name) is None else None

    def _found(self, name: str) -> str | None:
        if name in self._facts:
            wanted = self._facts[name].parent
            return wanted if wanted is not None and wanted != name and self.is_known(wanted) else None
        if name == self._first or (name.startswith(".") and "/" not in name):
            return None
        above = name.rpartition("/")[0]
        while above:
            if self.is_known(above):
                return above
            above = above.rpartition("/")[0]
        return self._first
