"""Prints docs/hooks.md from the hookspecs, so that the page and the code cannot disagree.

python docs/hooks.py > docs/hooks.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

from refold.hookspecs import Hooks

INTRODUCTION = """\
# Hooks

An extension is the object behind one entry point in the group `refold.extensions`; usually a module. It implements the
hooks it needs with `@hookimpl` and leaves the others out. `manifest` is the only one required. Each hook names when the
host calls it, what it may do, and shows an example. Take only the arguments you need; new ones may be added.

The values in these signatures are exported by `refold` and documented where they are defined (`help(refold.Section)`).
This page is generated: `python docs/hooks.py > docs/hooks.md`.

`host.reload()` picks up what was installed, upgraded or removed while the process lives, and waits for nobody. A turn
that runs goes on with the code it began with, beside turns that begin with the new code. For an author that means:

- Import your own modules at the top of your module. An `import` inside a function looks at the files that are there
  when it runs, and after an upgrade those are the new ones. Libraries may be imported late.
- Migrations run at the reload, so a turn that still runs meets the newer tables: add tables and columns, and drop
  nothing that the release before reads. What no longer fits fails by itself: a tool's call is an error result, a
  strategy ends the turn, and `refold resume` goes on with the new code.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [INTRODUCTION]
    for name, hook in vars(Hooks).items():
        if not name.startswith("_"):
            parts.append(f"## {name}{signature(hook)}\n\n{body(inspect.getdoc(hook) or '')}")
    return "\n".join(parts)


def signature(hook: Callable[..., object]) -> str:
    """The hook's signature as an extension writes it, without `self`."""
    whole = str(inspect.signature(hook)).replace("'", "")
    return whole.replace("(self, ", "(").replace("(self)", "()")


def body(text: str) -> str:
    """A docstring as Markdown: indented examples become code blocks."""
    lines: list[str] = []
    code = False
    for line in [*text.splitlines(), ""]:
        indented = line.startswith("    ")
        if indented and not code:
            lines.append("```python")
            code = True
        elif code and line and not indented:
            lines.append("```\n")
            code = False
        lines.append(line.removeprefix("    ") if code else line)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join([*lines, "```"] if code else lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
