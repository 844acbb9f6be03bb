"""A fresh Python environment with the host in it, packages made on the spot, and processes that live in it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import venv
from importlib import metadata
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("living_child.py")
HOST = Path(__file__).parents[2] / "host"

PREAMBLE = """\
from refold import Manifest, Nothing, Observation, Projection, Tool, Command, Importer, hookimpl
class Whole:
    def project(self, context): return Projection((), None, Observation("whole", "test"))
    def compact(self, context, demand): return Nothing("test")
"""


def source(id: str, body: str = "", **manifest: object) -> str:
    """A module that is an extension."""
    words = ", ".join(f"{name}={value!r}" for name, value in {"title": id, "summary": id, **manifest}.items())
    return f"{PREAMBLE}@hookimpl\ndef manifest(): return Manifest(id={id!r}, {words})\n{textwrap.dedent(body)}"


STRATEGY = "@hookimpl\ndef compaction_strategy(): return Whole()\n"


class Living:
    """A child process and its answers."""

    def __init__(self, python: Path, home: Path, **environ: str) -> None:
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "REFOLD"))}
        self.errors = open(home / "stderr.txt", "a+")  # noqa: SIM115 - closed in `close`
        self.process = subprocess.Popen(
            [python, "-P", CHILD, home],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**environment, **environ},
            cwd=home,
        )

    def __getattr__(self, name: str):
        def call(*values: object, **arguments: object):
            if values:
                (arguments["code" if name == "python" else "name" if name == "alive" else "prefix"],) = values
            self.process.stdin.write(json.dumps([name, arguments]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            assert line, f"the child died:\n{self.stderr()}"
            answer = json.loads(line)
            if "error" in answer:
                raise ChildError(f"{answer['error']}: {answer['text']}")
            return answer["answer"]

        return call

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
        self.errors.close()


class ChildError(Exception):
    """What a call in the child raised."""


class Environment:
    """A virtual environment that tests may change; everything a test adds to it is taken out again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        asked = [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        self.site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
        for name in needed("refold", "hatchling"):
            copy(metadata.distribution(name), self.site)
        self.pip("install", "--no-deps", "--no-build-isolation", HOST)
        self.clean = set(self.site.iterdir())

    def pip(self, *arguments: object) -> None:
        """Runs the environment's own pip, without any index."""
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "--quiet", *map(str, arguments)]
        if arguments[0] == "install":
            command.append("--no-index")
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PIP_NO_CACHE_DIR": "1"})
        assert done.returncode == 0, done.stdout + done.stderr

    def put(
        self,
        id: str,
        code: str,
        version: str = "1",
        *,
        distribution: str = "",
        module: str = "",
        requires: tuple[str, ...] = (),
        entry_points: str | bytes | None = None,
        record: bool = True,
    ) -> Path:
        """Lays a package into the environment as an installer would, in a millisecond. Returns its module."""
        distribution = distribution or f"refold-{id}"
        module = module or f"t_{re.sub('[^a-z0-9]', '_', id)}"
        path = self.site / f"{module}.py"
        path.write_text(code)
        info = self.site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        for old in self.site.glob(f"{distribution.replace('-', '_')}-*.dist-info"):
            shutil.rmtree(old)
        info.mkdir()
        needs = "".join(f"Requires-Dist: {name}\n" for name in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{needs}\n")
        points = f"[refold.extensions]\n{id} = {module}\n" if entry_points is None else entry_points
        (info / "entry_points.txt").write_bytes(points if isinstance(points, bytes) else points.encode())
        if record:
            digest = hashlib.sha256(code.encode()).hexdigest()
            names = ("METADATA", "entry_points.txt", "RECORD")
            lines = [f"{module}.py,sha256={digest},{len(code)}", *(f"{info.name}/{name},," for name in names)]
            (info / "RECORD").write_text("\n".join(lines) + "\n")
        return path

    def remove(self, distribution: str) -> None:
        """Takes such a package out again."""
        (info,) = self.site.glob(f"{distribution.replace('-', '_')}-*.dist-info")
        for line in (info / "RECORD").read_text().splitlines():
            (self.site / line.partition(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(info)

    def reset(self) -> None:
        for path in set(self.site.iterdir()) - self.clean:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def needed(*names: str) -> set[str]:
    """The distributions that these depend on, `refold` itself and extras left out."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        for text in metadata.distribution(name).requires or ():
            other = re.match(r"[\w.-]+", text)[0].lower()
            if "extra ==" in text or other in found:
                continue
            try:
                metadata.distribution(other)
            except metadata.PackageNotFoundError:
                continue  # for another platform
            found.add(other)
            todo.append(other)
    return found | (set(names) - {"refold"})


def copy(distribution: metadata.Distribution, site: Path) -> None:
    """The very files that are installed here, so that no index is asked."""
    for file in distribution.files or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)


@pytest.fixture(scope="session")
def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    if sys.platform == "win32":
        pytest.skip("files in use cannot be exchanged there")
    pytest.importorskip("ensurepip", reason="this Python makes no environments with pip")
    return Environment(tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture
def environment(shared_environment: Environment):
    """The environment with nothing but the host in it."""
    yield shared_environment
    shared_environment.reset()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def living(environment: Environment, home: Path):
    """Starts processes in the environment; all share one home."""
    started: list[Living] = []

    def start(**environ: str) -> Living:
        started.append(Living(environment.python, home, **environ))
        return started[-1]

    yield start
    for each in started:
        each.close()
