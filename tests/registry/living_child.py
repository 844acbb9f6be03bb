"""A process that stays alive while packages come and go around it. One JSON document a line, in and out.

It runs in an environment of its own, with a real SQLite file for the migrations of extensions.
"""

from __future__ import annotations

import gc
import json
import sys
from functools import partial
from pathlib import Path

from attrs import asdict

out = sys.stdout


class Child:
    def __init__(self, home: str) -> None:
        from refold.registry import Registry
        from refold.transcript.database import Database
        from refold.transcript.migrations import migrate
        from refold.transcript.ownership import claim_stores

        database = Database(Path(home) / "refold.db")
        self.registry = Registry(Path(home), partial(claim_stores, database), partial(migrate, database))

    def list(self, session=None):
        composition = self.registry.composition(session or {})
        return {
            "strategy": composition.strategy.id if composition.strategy else None,
            "enabled": [each.id for each in composition.extensions],
            "installed": [each.id for each in composition.installed],
            "rows": {each.id: asdict(each) for each in composition.listing},
            "problems": [[each.id, each.text] for each in composition.problems],
            "settings": {each.id: repr(composition.settings(each.id)) for each in composition.installed},
            "compaction": asdict(composition.compaction),
        }

    def reload(self):
        return asdict(self.registry.reload())

    def choose(self, changes):
        self.registry.choose(changes)

    def propose(self, changes, session):
        return self.registry.propose(changes, session)

    def unloaded(self, session=None):
        return {each.id: asdict(each) for each in self.registry.listing_without_loading(session)[0]}

    def modules(self, prefix):
        return sorted(name for name in sys.modules if name.startswith(prefix))

    def python(self, code):
        names = {"child": self, "registry": self.registry}
        exec(code, names)
        return names.get("answer")

    def alive(self, name):
        """How many module objects of that name still exist."""
        gc.collect()
        return sum(type(each) is type(sys) and each.__name__ == name for each in gc.get_objects())


def main() -> None:
    child = Child(sys.argv[1])
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = {"answer": getattr(child, name)(**arguments)}
        except Exception as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        out.write(json.dumps(answer) + "\n")
        out.flush()


main()
