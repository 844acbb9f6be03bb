"""What a console shows of a turn: events become lines that stay, one live text that changes, and a footer."""

from __future__ import annotations

import json

from attrs import define, frozen

from refold.agent import events
from refold.agent.events import Event
from refold.cli.visible import visible, visible_lines
from refold.prepare.measure import SizeSource
from refold.values.outcome import Applied

_LONGEST = 200  # characters of a call on its line
_COUNTED: dict[SizeSource, str] = {
    "estimate": "estimated",
    "reported_usage": "as the provider reported",
    "count_endpoint": "counted by the provider",
}


@frozen
class Line:
    """A line that stays. `style` is a word: `prompt`, `answer`, `call`, `result`, `reply`, `note` or `error`."""

    style: str
    text: str


@define
class Screen:
    """The state of what is shown. Every text that is not ours is escaped here."""

    answer: str = ""
    """The line of the answer that is still being written."""
    status: str = ""
    """What goes on besides: a compaction, reasoning, a tool."""
    used: int | None = None
    window: int | None = None
    source: SizeSource = "estimate"

    @property
    def usage(self) -> str:
        """The context in use, in percent where the window is known, and who counted."""
        if self.used is None:
            return "context not measured yet"
        how = _COUNTED[self.source]
        if not self.window:
            return f"context {self.used:,} tokens, window unknown ({how})"
        return f"context {self.used * 100 // self.window} % of {self.window:,} ({how})"

    def hear(self, event: Event) -> list[Line]:
        """The lines that an event adds."""
        match event:
            case events.AnswerText(text=text):
                self.status = ""
                *whole, self.answer = (self.answer + text).split("\n")
                return [Line("answer", visible_lines(line)) for line in whole]
            case events.ReasoningText():
                self.status = "reasoning"
            case events.RowsAppended():
                return self.close()
            case events.CallStarted(call=call):
                lines = self.close()
                self.status = f"{visible(call.name)} runs"
                return [*lines, Line("call", _clipped(f"{call.name} {json.dumps(dict(call.arguments))}"))]
            case events.CallProgress(call=call, done=done, total=total, text=text):
                far = f"{done:,}" if total is None else f"{done:,} of {total:,}"
                self.status = visible(", ".join(filter(None, (f"{call.name}: {far}", text))))
            case events.CallFinished(text=text, ok=ok):
                self.status = ""
                return [Line("result" if ok else "error", _result(text, ok))]
            case events.CompactionStarted(rows=rows, tokens=tokens):
                lines = self.close()
                self.status = f"compacting rows {rows.after + 1}-{rows.upto}, {tokens:,} tokens"
                return lines
            case events.CompactionPass(done=done, total=total) if total:
                self.status = f"compacting: pass {min(done + 1, total)} of {total}"
            case events.CompactionFinished(stopped=True):
                return self.close()  # the end of the turn or command tells of the stop, once
            case events.CompactionFinished():
                self.status = ""
                return [*self.close(), _compacted(event)]
            case events.UsageChanged(used=used, size=window, source=source):
                self.used, self.window, self.source = used, window, source
            case events.Noticed(text=text):
                return [*self.close(), Line("note", visible(text))]
            case events.TurnFinished(stop=stop):
                lines = self.close()
                return lines if stop == "end" else [*lines, Line("note", _STOPS.get(stop, stop))]
        return []

    def close(self) -> list[Line]:
        """The answer goes on no further: its last line stays."""
        line, self.answer, self.status = self.answer, "", ""
        return [Line("answer", visible_lines(line))] if line.strip() else []


_STOPS = {
    "cancelled": "stopped; what came is kept",
    "length": "the answer was cut off by the output limit",
    "refusal": "the model refused to answer",
    "steps": "stopped after the allowed number of steps",
}


def _compacted(event: events.CompactionFinished) -> Line:
    match event.outcome:
        case None:
            return Line("error", visible(event.failure or "compaction failed; nothing was changed"))
        case Applied(covers=covers):
            return Line("note", f"compacted: {len(covers):,} rows, {event.before:,} -> {event.after:,} tokens")
        case other:
            return Line("note", f"nothing was compacted: {visible(other.reason)}")


def _result(text: str, ok: bool) -> str:
    lines = text.count("\n") + 1
    if ok and lines > 1:
        return f"{lines:,} lines"
    return _clipped(text)


def _clipped(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
