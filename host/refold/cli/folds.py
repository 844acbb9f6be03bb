"""Folds as documents: where a boundary is, and who drew it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from refold.values.contexts import Fold


def fold_documents(folds: Iterable[Fold]) -> list[dict[str, Any]]:
    """Each fold with the row behind which its boundary is."""
    return [{"after_seq": fold.covers.upto, "source": fold.owner, "label": fold.label} for fold in folds]
