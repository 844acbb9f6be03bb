"""Which extensions are installed, healthy and chosen, and the one immutable set that serves a session."""

from __future__ import annotations

from refold.registry.composition import Composition, Listed
from refold.registry.contributions import Extension
from refold.registry.proposals import Changes
from refold.registry.registry import Registry, Reloaded
from refold.registry.selection import Choices, Problem
from refold.registry.settings import CompactionSettings
from refold.registry.stores import Migrate

__all__ = [
    "Changes",
    "Choices",
    "CompactionSettings",
    "Composition",
    "Extension",
    "Listed",
    "Migrate",
    "Problem",
    "Registry",
    "Reloaded",
]
