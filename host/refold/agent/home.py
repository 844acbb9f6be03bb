"""Where a home is."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home_path(given: Path | str | None = None) -> Path:
    """The given folder, else `REFOLD_HOME`, else the platform's data folder for refold; absolute from here on."""
    chosen = given or os.environ.get("REFOLD_HOME") or platformdirs.user_data_dir("refold", appauthor=False)
    return Path(chosen).expanduser().absolute()
