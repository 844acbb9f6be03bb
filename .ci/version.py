"""The one version that all distributions carry.

python .ci/version.py              prints it
python .ci/version.py 0.2.0        writes it into every pyproject.toml
python .ci/version.py --check 0.2.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(r'^version = "([^"]+)"$', re.M)
PUBLIC = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


def projects() -> list[Path]:
    """The pyproject.toml of every distribution; the workspace's own is none."""
    return [ROOT / "host/pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]


def versions() -> set[str]:
    """The versions that the distributions carry: one, or the release is broken."""
    return {version for project in projects() for version in LINE.findall(project.read_text("utf-8"))}


def write(version: str) -> None:
    """Gives every distribution this version."""
    for project in projects():
        project.write_text(LINE.sub(f'version = "{version}"', project.read_text("utf-8"), count=1), "utf-8")


def main(words: list[str]) -> str | None:
    """What is wrong; None when nothing is."""
    wanted = words[-1] if words else None
    if wanted is not None and not PUBLIC.fullmatch(wanted):
        return f"{wanted!r} is no version like 0.2.0; nothing was written"
    if words[:-1] == ["--check"]:
        return (
            None if versions() == {wanted} else f"the distributions carry {', '.join(sorted(versions()))}, not {wanted}"
        )
    if wanted is not None:
        write(wanted)
    print(", ".join(sorted(versions())))
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
