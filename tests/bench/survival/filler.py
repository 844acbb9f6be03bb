"""Work that fills a window: prompts that set nothing, tool calls, results of many shapes, answers.

Equal seeds give equal work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

from refold import Call, Row, SourceRef

_NEW = SourceRef("", 0)


def _words(text: str) -> list[str]:
    return text.split()


_AREAS = _words(
    "router sorter planner ledger labels kiosk dock rates claims scanner manifest customs returns fleet yard"
)
_NOUNS = _words("batch lease parcel lane slot invoice quote shipment token cursor frame policy record window index")
_VERBS = _words("load store merge split parse close renew drain route assign validate encode schedule collect trim")
_SUFFIXES = ("py", "go", "ts", "rs", "java", "rb", "kt")
_WORDS = _words(
    "the a value of this that when caller returns before after each other still already first entry holds same "
    "order path check result state which new old never empty list from into reads writes keeps left over both"
)
_PROMPTS = (
    "go on with {file}",
    "and {file}?",
    "hm, what does {name} do when the {noun} is empty?",
    "ok next one",
    "can you run the tests of {area} again",
    "it still fails for me, look at {name} in {file} please",
    "looks good, what else calls {name}?",
    "show me how {name} and {other} differ",
    "weiter mit {file}",
    "was passiert in {name}, wenn der {noun} fehlt?",
    "et pour {file} ?",
    "sigue con {file}",
    "次は{file}を見てください",
    "теперь {file}",
    "继续看{file}",
    "I pulled, the {area} build is red now. what happened?",
    "where was {name} used before we moved it",
    "yes",
    "hmm why {other} and not {name} there",
    "thanks. then the {noun} thing in {area}",
    "is the warning about {noun} in {file} old or from us?",
    "same for {area}",
)
_ANSWERS = (
    "I read {file}. `{name}` walks the {noun}s and hands each to `{other}`; nothing else touches them.",
    "`{name}` is called from two places in {area}, both hold the {noun} already.",
    "The change in {file} is small: `{name}` now returns early when the {noun} is empty.",
    "The tests of {area} pass. The warning comes from `{other}`, which compares a {noun} with None.",
    "In {file} the {noun} is built twice. I moved that into `{other}` and ran the tests of {area}.",
    "Nothing to do in {file}: `{name}` does that since the {noun} moved to {area}.",
)


class Work:
    """Turns of work, one after the other."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._calls = 0

    def turn(self, characters: int) -> list[Row]:
        """A prompt, steps with calls and results, and an answer; about that many characters altogether."""
        rows = [Row(_NEW, "user", 0, 0, opens=True, text=self._told(_PROMPTS))]
        left = characters
        while left > 0:
            size = min(left, self._random.choice((300, 900, 1_500, 3_000, 6_000)))
            name, argument, text = self._result(size)
            rows += self.step(name, argument, text)
            left -= len(text) + 100
        return [*rows, Row(_NEW, "assistant", 0, 0, text=self._told(_ANSWERS))]

    def step(self, name: str, argument: str, text: str) -> Iterator[Row]:
        """A call and its result."""
        self._calls += 1
        key = "command" if name == "bash" else "pattern" if name == "grep" else "path"
        call = Call(f"call-{self._calls}", name, {key: argument})
        yield Row(_NEW, "assistant", 0, 0, text=self._random.choice(("", "", "Let me look.")), calls=(call,))
        yield Row(_NEW, "result", 0, 0, text=text, call_id=call.id)

    def answer(self) -> str:
        """What the model says at the end of a turn."""
        return self._told(_ANSWERS)

    def prompt(self) -> str:
        """What a user says at the beginning of one."""
        return self._told(_PROMPTS)

    def log(self, lines: int) -> str:
        """A log, as users paste one and tools print one."""
        return "\n".join(self._log_line() for _ in range(lines))

    def _result(self, size: int) -> tuple[str, str, str]:
        shapes: tuple[tuple[str, str, Callable[[], str]], ...] = (
            ("read", self._file(), self._code_line),
            ("bash", f"tail -200 /var/log/{self._pick(_AREAS)}.log", self._log_line),
            ("grep", self._name(), self._hit_line),
            ("bash", f"git diff -- {self._file()}", self._diff_line),
            ("bash", f"cat out/{self._pick(_AREAS)}.json", self._json_line),
            ("bash", f"pytest tests/{self._pick(_AREAS)} -v", self._test_line),
        )
        name, argument, line = self._random.choice(shapes)
        text: list[str] = []
        while sum(map(len, text)) + len(text) < size:
            text.append(line())
        return name, argument, "\n".join(text)

    def _told(self, templates: tuple[str, ...]) -> str:
        template = self._random.choice(templates)
        names = {"file": self._file(), "name": self._name(), "other": self._name()}
        return template.format(**names, noun=self._pick(_NOUNS), area=self._pick(_AREAS))

    def _pick(self, words: list[str]) -> str:
        return self._random.choice(words)

    def _file(self) -> str:
        return f"src/{self._pick(_AREAS)}/{self._pick(_NOUNS)}_{self._pick(_VERBS)}.{self._random.choice(_SUFFIXES)}"

    def _name(self) -> str:
        return f"{self._pick(_VERBS)}_{self._pick(_NOUNS)}"

    def _prose(self, words: int) -> str:
        return " ".join(self._random.choice(_WORDS) for _ in range(words))

    def _code_line(self) -> str:
        indent = "    " * self._random.randrange(4)
        line = self._random.choice(
            (
                f"{self._pick(_NOUNS)} = self.{self._name()}({self._pick(_NOUNS)}, {self._random.randrange(100)})",
                f"if not {self._pick(_NOUNS)}.{self._pick(_VERBS)}ed:",
                f"return {self._name()}({self._pick(_NOUNS)})",
                f"# {self._prose(9)}",
                f"for {self._pick(_NOUNS)} in {self._name()}(self.{self._pick(_NOUNS)}s):",
                "",
            )
        )
        return indent + line

    def _log_line(self) -> str:
        r = self._random
        time = f"{r.randrange(10, 24)}:{r.randrange(60):02}:{r.randrange(60):02}.{r.randrange(1000):03}"
        level = r.choice(("INFO", "INFO", "INFO", "DEBUG", "WARN"))
        where = f"{self._pick(_AREAS)}.{self._name()}"
        return f"{time} {level} {where} {self._pick(_NOUNS)}={r.getrandbits(32):x} took {r.randrange(900)}ms"

    def _hit_line(self) -> str:
        return f"{self._file()}:{self._random.randrange(1, 600)}:    {self._name()}({self._pick(_NOUNS)})"

    def _diff_line(self) -> str:
        return self._random.choice(("+", "-", " ", " ")) + self._code_line()

    def _json_line(self) -> str:
        return json.dumps({self._pick(_NOUNS): self._random.randrange(10**6), "area": self._pick(_AREAS), "ok": True})

    def _test_line(self) -> str:
        area = self._pick(_AREAS)
        return f"tests/{area}/test_{self._pick(_NOUNS)}.py::test_{self._name()} PASSED [{self._random.randrange(100)}%]"
