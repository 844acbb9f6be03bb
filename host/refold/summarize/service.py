"""Older history -> one summary: the one service of all strategies.

It reads the material once, has it summarized in passes along a chain of summarizers, and accepts or refuses what
comes. What users said is no part of a summary: the host keeps it beside (`user_lines`). The service stores nothing: a
failure leaves everything as it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from refold.sizing.estimate import tokens
from refold.summarize.accept import Unacceptable, oversize, refusal, spoken
from refold.summarize.blocks import Step
from refold.summarize.choosing import offered, parted
from refold.summarize.clip import sound
from refold.summarize.flatten import Material, flatten
from refold.summarize.hollow import hollow
from refold.summarize.offline import Offline
from refold.summarize.passes import HALVINGS, LEAST, Course, PassCache, budget, content_key, newest_lines, taken
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply, Stopped, Summarizer, TooLarge, asked
from refold.summarize.user_lines import NO_CHOICE, Choice, Line
from refold.values.errors import SummaryFailed, SummaryRejected
from refold.values.outcome import Summary
from refold.values.rows import SourceRef

LIMIT = 2_048
"""Tokens of a summary when the strategy names no limit."""

_SHORTER = frozenset(("too_long", "cut_off", "not_smaller"))
_AGAIN = frozenset((*_SHORTER, "hollow"))


def summarize(
    material: Iterable[Material],
    *,
    summarizers: Sequence[Summarizer],
    previous: str = "",
    context: str = "",
    said: str = "",
    lines: Sequence[Line] = (),
    chosen: Callable[[Choice], object] | None = None,
    instructions: str = "",
    focus: str = "",
    limit: int | None = None,
    source_tokens: int | None = None,
    chunk: int | None = None,
    elided: Mapping[SourceRef, str] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[int, int], None] | None = None,
    cache: PassCache | None = None,
    reasoning: str | None = None,
    course: Course | None = None,
) -> Summary:
    """One summary of the material, oldest first, that replaces it and `previous`.

    `summarizers` are asked in order: the next one only when the one before failed. `previous` is carried and rewritten;
    `context` and `said`, what users said that stands beside the summary, are shown and not repeated; `instructions`
    are a strategy's own, in place of the usual ones; `focus` is what the user asks to keep. Of `lines`, what users said
    that does not all find room, a model is asked for the numbers of those to keep, and `chosen` hears its choice once
    its first text is accepted. Sizes are tokens: `limit` of the result (2,048), `source_tokens` of all that it replaces
    (estimated when None), `chunk` of the history in one pass. `elided` holds what the view shows for a row. `progress`
    hears how many of how many passes are done. `reasoning` is the level that the summarizers were made with: passes of
    another one are not taken from the `cache`. Summaries that share a `course` go on with the summarizer, and the size
    of a pass, that worked for the one before.

    Raises SummaryRejected when only unacceptable texts came or there is nothing to summarize, SummaryFailed when a
    provider failed, the deadline passed or the work was cancelled.

        summary = summarize(rows, previous=state.text, limit=800, summarizers=[Offline()])
    """
    if not summarizers:
        raise SummaryFailed("no summarizer is configured; the history stays as it was; name one in models.json")
    steps = [step for step in flatten(material, elided or {}) if step.blocks]
    if not steps:
        raise Unacceptable("nothing")
    source = source_tokens
    if source is None:
        source = tokens(previous) + sum(step.source for step in steps)
    work = _Work(
        queue=deque(steps),
        order=_Order(
            task=instructions,
            focus=focus,
            context=sound(context),
            said=sound(said),
            lines=lines,
            limit=max(1, min(LIMIT if limit is None else limit, source - 1)),
            source=source,
            chunk=chunk,
        ),
        carry=sound(previous).strip(),
        summarizers=summarizers,
        deadline=deadline or Deadline(),
        progress=progress or _nobody,
        cache=cache or PassCache(0),
        reasoning=reasoning,
        course=course or Course(),
        chosen=chosen,
    )
    return work.run()


def _nobody(done: int, total: int) -> None:
    """The progress of a work that nobody watches."""


@frozen
class _Order:
    """What was asked for."""

    task: str
    focus: str
    context: str
    said: str
    lines: Sequence[Line]
    limit: int
    source: int
    chunk: int | None


@define
class _Work:
    """One summary on its way: what is still to read, what was written, who is asked."""

    queue: deque[Step]
    order: _Order
    carry: str
    summarizers: Sequence[Summarizer]
    deadline: Deadline
    progress: Callable[[int, int], None]
    cache: PassCache
    reasoning: str | None
    course: Course
    chosen: Callable[[Choice], object] | None
    halved: int = 0
    done: int = 0
    failures: list[SummaryFailed] = field(factory=list)
    writers: list[str] = field(factory=list)

    def run(self) -> Summary:
        self.progress(0, self._passes())
        while self.queue:
            self.deadline.check()
            room = self._room()
            before = tuple(self.queue)
            steps = taken(self.queue, room)
            try:
                self.carry = self._ask(steps)
            except Stopped:
                raise
            except TooLarge as error:
                self.queue = deque(before)
                self._halve(error, min(room, sum(step.size for step in steps)))
            except SummaryFailed as error:
                self.queue = deque(before)
                self._fall_over(error)
            else:
                self.done += 1
                self.halved = 0
                name = self.summarizers[self.course.at].name
                if name not in self.writers:
                    self.writers.append(name)
                self.progress(self.done, self.done + self._passes())
        return Summary(self.carry, " + ".join(self.writers), self.done)

    def _room(self) -> int:
        """Tokens of history that the next pass may read."""
        overhead = sum(map(tokens, (self.carry, self._context(), self._said(), Prompt(()).system())))
        room = budget(self.order.chunk, self.summarizers[self.course.at].window, overhead, self.order.limit)
        return room if self.course.most is None else min(room, self.course.most)

    def _context(self) -> str:
        """The context for the summarizer that is asked: its newest lines, in at most a quarter of that one's window."""
        window = self.summarizers[self.course.at].window
        return self.order.context if window is None else newest_lines(self.order.context, window // 4)

    def _said(self) -> str:
        """What users said, in the same way, in at most an eighth."""
        window = self.summarizers[self.course.at].window
        return self.order.said if window is None else newest_lines(self.order.said, window // 8)

    def _lines(self) -> tuple[Line, ...]:
        """The lines that a model may choose from, with the first pass."""
        summarizer = self.summarizers[self.course.at]
        if self.done or not self.order.lines or isinstance(summarizer, Offline):
            return ()
        return offered(self.order.lines, summarizer.window)

    def _passes(self) -> int:
        """How many passes the rest takes, about."""
        return -(-sum(step.size for step in self.queue) // self._room())

    def _halve(self, error: TooLarge, tried: int) -> None:
        """A refused pass is read in halves, and so is what follows; a pass that cannot shrink is a failure."""
        if self.halved >= HALVINGS or tried <= LEAST:
            self._fall_over(error)
            return
        self.halved += 1
        half = tried // 2 if error.limit is None else min(tried // 2, error.limit // 2)
        self.course.most = max(LEAST, half)

    def _fall_over(self, error: SummaryFailed) -> None:
        """The next summarizer goes on where this one failed; passes that were accepted stay."""
        self.failures.append(error)
        self.course.next()
        self.halved = 0
        if self.course.at >= len(self.summarizers):
            self.course.at = 0  # whoever tries once more begins with the first
            raise _all_failed(self.failures) from error

    def _ask(self, steps: list[Step]) -> str:
        """One pass: the summary with these steps in it. A text that is too long or tells nothing gets one more try."""
        room = self.order.limit
        lines = self._lines()
        prompt = Prompt(
            blocks=tuple(block for step in steps for block in step.blocks),
            previous=self.carry,
            context=self._context(),
            said="" if lines else self._said(),
            lines=lines,
            task=self.order.task,
            focus=self.order.focus,
            words=max(30, room * 6 // 10),
        )
        try:
            return self._accepted(prompt, room)
        except Unacceptable as error:
            if error.reason not in _AGAIN:
                raise
            self.deadline.check()
            words = prompt.words if error.reason == "hollow" else max(20, room * 3 // 10)
            return self._accepted(evolve(prompt, words=words), room)

    def _accepted(self, prompt: Prompt, room: int) -> str:
        summarizer = self.summarizers[self.course.at]
        key = content_key(summarizer.name, self.reasoning, prompt, room)
        reply = self.cache.get(key)
        if reply is None:
            reply = asked(summarizer, prompt, room, self.deadline)
            self.deadline.check()
        choice, text = self._judged(reply, prompt)
        self.cache.put(key, reply)
        if prompt.lines and self.chosen is not None:
            self.chosen(choice)
        return text

    def _judged(self, reply: Reply, prompt: Prompt) -> tuple[Choice, str]:
        name = self.summarizers[self.course.at].name
        reason = refusal(reply)
        if reason is not None:
            raise Unacceptable(reason, by=name)
        said = spoken(sound(reply.text))
        choice, text = parted(said, prompt.lines) if prompt.lines else (NO_CHOICE, said)
        if not text:
            raise Unacceptable("empty", by=name)
        reason = oversize(text, self.order.limit, self.order.source)
        if reason is not None:
            bound = self.order.source if reason == "not_smaller" else self.order.limit
            raise Unacceptable(reason, by=name, size=tokens(text), source=bound)
        if not reply.copied and _hollow(text, prompt):
            raise Unacceptable("hollow", by=name)
        return choice, text


def _hollow(text: str, prompt: Prompt) -> bool:
    history = "\n".join(block.told for block in prompt.blocks)
    carried = "\n".join((prompt.said, *(line.text for line in prompt.lines)))
    return hollow(text, history, previous=prompt.previous, carried=carried, instructions=prompt.system())


def _all_failed(failures: Sequence[SummaryFailed]) -> SummaryFailed:
    """One error for a chain: the only one as it is, several in one line. Rejected only if all were rejected."""
    if len(failures) == 1:
        return failures[0]
    lines = "; ".join(" ".join(str(error).split()) for error in failures)
    kind = SummaryRejected if all(isinstance(error, SummaryRejected) for error in failures) else SummaryFailed
    return kind(f"no summarizer gave a summary: {lines}")
