"""A session's next request as another process makes it: `python -m refold.testing.elsewhere HOME SESSION`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from refold.agent.host import Host
from refold.agent.session import Session
from refold.testing.steps import SYSTEM, TOOLS
from refold.testing.wire import encoded, written
from refold.values.errors import RefoldError


def ready(session: Session) -> Session:
    """The session with what the host app of this suite puts before the history."""
    session.system, session.tools = SYSTEM, TOOLS
    return session


def digests(session: Session) -> dict[str, str]:
    """A digest of the next request's bytes by protocol."""
    bodies = written(encoded(session.prepare().request, session.image_bytes))
    return {protocol: hashlib.sha256(body).hexdigest() for protocol, body in bodies.items()}


def digests_elsewhere(home: Path, session: str) -> dict[str, str]:
    """The same from a new process with another hash seed. Raises RefoldError with its last words."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "refold.testing.elsewhere", str(home), session],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefoldError(f"another process fails: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    """Prints the digests as JSON."""
    home, session = sys.argv[1:]
    with Host(home) as host:
        json.dump(digests(ready(host.session(session))), sys.stdout)


if __name__ == "__main__":
    main()
