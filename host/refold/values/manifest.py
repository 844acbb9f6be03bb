"""Who an extension is."""

from __future__ import annotations

from attrs import frozen


@frozen
class Manifest:
    """An extension's own description.

    `id` equals its entry point's name. `default`: on unless a choice says otherwise. `assumed_window` (tokens)
    serves a strategy when no window is known. `requires` must be enabled; of `uses`, being installed is enough;
    `after` orders the registry. `store` is the name its tables begin with (default: the id, `-` as `_`); of two that
    name the same, or names of which one begins with the other, the first in a home has it, unless one requires the
    other. None begins with `refold`, `sessions` or a word of SQLite's own tables (`sqlite`, `pragma`). `settings`
    is a frozen attrs class: the section of `extensions.json` named by the id.
    """

    id: str
    title: str
    summary: str
    default: bool = False
    assumed_window: int | None = None
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    store: str | None = None
    settings: type | None = None

    @property
    def tables(self) -> str:
        """The store name: every table of the extension is named it, or begins with it and `_`."""
        return self.store or self.id.replace("-", "_")
