"""mkdocs: the pages that stand in the repository's root are pages of the site too, and links lead to them."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the root's pages, with their links as the site has them."""
    root = Path(config.config_file_path).parent
    for source, target in PAGES.items():
        if (root / source).exists():
            files.append(File.generated(config, target, content=_linked((root / source).read_text("utf-8"))))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links from docs/ to a page of the root, as the site has them."""
    return re.sub(r"\]\(\.\./(\w+\.md)(#[\w-]*)?\)", _link, markdown)


def _linked(text: str) -> str:
    return re.sub(r"\]\((?:docs/)?([\w-]+\.md)(#[\w-]*)?\)", _link, text)


def _link(found: re.Match[str]) -> str:
    return f"]({PAGES.get(found[1], found[1])}{found[2] or ''})"
