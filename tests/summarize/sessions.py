"""Sessions to summarize: synthetic ones with planted sentences, and real ones where the sample files are present."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from refold import Call, Row, SourceRef

ASIDES = [
    "What does that function return?",
    "ok, looks good, thanks",
    "Why is the second request slower than the first?",
    "Can you show me where the header is parsed?",
    "I don't know why it fails here.",
    "It worked yesterday and now it doesn't.",
    "Hm, that was not the file I meant.",
    "Run it again and paste the output.",
    "Continue.",
    "I tried the other branch and it crashed the same way.",
]

CODE = [
    "```python\ndef load(path):\n    # never called in tests\n    return open(path).read()\n```",
    "```\nnpm ERR! must have a version\n    at Object.load (/srv/app/index.js:12:4)\n```",
    "    at Parser.next (/srv/app/parser.js:88:13)\n    at run (/srv/app/main.js:4:1)",
    '{"level": "error", "msg": "limit reached", "max": 30, "always": true}',
]


class Session:
    """Rows of one session, made in order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seq = 0
        self.turn = 0

    def ref(self) -> SourceRef:
        self.seq += 1
        return SourceRef("s", self.seq)

    def user(self, text: str) -> Row:
        self.turn += 1
        return Row(self.ref(), "user", self.turn, 0, opens=True, text=text)

    def work(self, step: int) -> list[Row]:
        """One step: an answer with a call, and its result."""
        path = f"/srv/app/module_{self.random.randrange(40)}.py"
        ok = self.random.random() > 0.15
        call = Call(
            f"c{self.seq}", self.random.choice(["read", "bash", "edit"]), {"path": path, "command": f"pytest {path}"}
        )
        output = "\n".join(f"{n}: value_{self.random.randrange(10**6)} = compute({n})" for n in range(30))
        return [
            Row(self.ref(), "assistant", self.turn, step, text=f"I look at {path} and its callers.", calls=(call,)),
            Row(
                self.ref(),
                "result",
                self.turn,
                step,
                text=output if ok else "TypeError: x is None",
                call_id=call.id,
                ok=ok,
            ),
        ]

    def round(self, planted: list[str], turns: int = 6) -> list[Row]:
        """Some turns, with the planted sentences at random places of their user texts."""
        texts = [[self.random.choice(ASIDES)] for _ in range(turns)]
        for sentence in planted:
            texts[self.random.randrange(turns)].append(sentence)
        rows: list[Row] = []
        for pieces in texts:
            rows.append(self.user(self._written(pieces)))
            for step in range(1, 4):
                rows.extend(self.work(step))
            rows.append(Row(self.ref(), "assistant", self.turn, 4, text="Done; the callers are consistent now."))
        return rows

    def _written(self, pieces: list[str]) -> str:
        """The sentences as people write them: in a paragraph, as a list, or between pasted code."""
        shape = self.random.randrange(4)
        if shape == 0:
            self.random.shuffle(pieces)
            return " ".join(pieces)
        if shape == 1:
            return "A few things:\n\n" + "\n".join(f"- {piece}" for piece in pieces)
        if shape == 2:
            return f"\n{self.random.choice(CODE)}\n".join(pieces)
        filler = " ".join(self.random.choice(ASIDES) for _ in range(40))
        return f"{filler} {' '.join(pieces)} {filler}"


def data() -> Path:
    """The folder of real sample sessions; it may be missing."""
    given = os.environ.get("REFOLD_TEST_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2].parent / "shared" / "data"


def real() -> list[Row]:
    """The rows of a long real session of a coding agent; none where the file is missing."""
    path = data() / "pi-before-compaction.jsonl"
    if not path.exists():
        return []
    session = Session(0)
    rows: list[Row] = []
    step = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line).get("message", {})
        content = message.get("content", "")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(part.get("text", "") for part in parts if part["type"] == "text")
        if message.get("role") == "user":
            rows.append(session.user(text))
            step = 0
        elif message.get("role") == "assistant":
            step += 1
            calls = tuple(Call(p["id"], p["name"], p["arguments"]) for p in parts if p["type"] == "toolCall")
            rows.append(Row(session.ref(), "assistant", session.turn, step, text=text, calls=calls))
        elif message.get("role") == "toolResult":
            ok = not message.get("isError")
            rows.append(
                Row(session.ref(), "result", session.turn, step, text=text, call_id=message["toolCallId"], ok=ok)
            )
    return rows
