"""Older history -> one summary: the one service of all strategies.

It reads the material once, keeps what users set for the whole session by itself, has the rest summarized in passes
along a chain of summarizers, and accepts or refuses what comes. It stores nothing: a failure leaves everything as it
was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from refold.sizing.estimate import tokens
from refold.summarize.accept import Unacceptable, oversize, refusal, spoken
from refold.summarize.amend import amended
from refold.summarize.blocks import Step
from refold.summarize.flatten import Material, flatten, sound
from refold.summarize.passes import HALVINGS, LEAST, Course, PassCache, budget, content_key, newest_lines, taken
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply, Stopped, Summarizer, TooLarge
from refold.summarize.room import fitted
from refold.summarize.standing import Standing, defused, read
from refold.summarize.supersede import merged
from refold.values.errors import SummaryFailed, SummaryRejected
from refold.values.outcome import Summary
from refold.values.rows import SourceRef

LIMIT = 2_048
"""Tokens of a summary when the strategy names no limit."""

BATCH = 128
"""What a user set that is merged into the structured part at once, in lines; then the part is fitted again."""

_SHORTER = frozenset(("too_long", "cut_off", "not_smaller"))


def summarize(
    material: Iterable[Material],
    *,
    summarizers: Sequence[Summarizer],
    previous: str = "",
    context: str = "",
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

    `summarizers` are asked in order: the next one only when the one before failed. `previous` is carried and rewritten
    (its structured part word for word); `context` is shown and not repeated; `instructions` are a strategy's own, in
    place of the usual ones; `focus` is what the user asks to keep. Sizes are tokens: `limit` of the result (2,048),
    `source_tokens` of all that it replaces (estimated when None), `chunk` of the history in one pass. `elided` holds
    what the view shows for a row. `progress` hears how many of how many passes are done. `reasoning` is the level that
    the summarizers were made with: passes of another one are not taken from the `cache`. Summaries that share a
    `course` go on with the summarizer, and the size of a pass, that worked for the one before.

    Raises SummaryRejected when only unacceptable texts came or there is nothing to summarize, SummaryFailed when a
    provider failed, the deadline passed or the work was cancelled.

        summary = summarize(rows, previous=state.text, limit=800, summarizers=[Offline()])
    """
    if not summarizers:
        raise SummaryFailed("no summarizer is configured; the history stays as it was; name one in models.json")
    steps = [step for step in flatten(material, elided or {}) if step.blocks or step.said]
    if not steps:
        raise Unacceptable("nothing")
    source = source_tokens
    if source is None:
        source = tokens(previous) + sum(step.source for step in steps)
    standing, body = read(sound(previous))
    work = _Work(
        queue=deque(steps),
        order=_Order(
            task=instructions,
            focus=focus,
            context=sound(context),
            limit=max(1, min(LIMIT if limit is None else limit, source - 1)),
            source=source,
            chunk=chunk,
        ),
        carry=_Carry(standing, body),
        known=read(context)[0].keys,
        summarizers=summarizers,
        deadline=deadline or Deadline(),
        progress=progress or _nobody,
        cache=cache or PassCache(0),
        reasoning=reasoning,
        course=course or Course(),
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
    limit: int
    source: int
    chunk: int | None


@frozen
class _Carry:
    """The summary so far."""

    standing: Standing
    body: str

    def text(self) -> str:
        return "\n\n".join(filter(None, (self.standing.render(), self.body)))


@define
class _Work:
    """One summary on its way: what is still to read, what was written, who is asked."""

    queue: deque[Step]
    order: _Order
    carry: _Carry
    known: frozenset[str]
    summarizers: Sequence[Summarizer]
    deadline: Deadline
    progress: Callable[[int, int], None]
    cache: PassCache
    reasoning: str | None
    course: Course
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
        return Summary(self.carry.text(), " + ".join(self.writers), self.done)

    def _room(self) -> int:
        """Tokens of history that the next pass may read."""
        overhead = tokens(self.carry.text()) + tokens(self._context()) + tokens(Prompt(()).system())
        room = budget(self.order.chunk, self.summarizers[self.course.at].window, overhead, self.order.limit)
        return room if self.course.most is None else min(room, self.course.most)

    def _context(self) -> str:
        """The context for the summarizer that is asked: its newest lines, in at most a quarter of that one's window."""
        window = self.summarizers[self.course.at].window
        return self.order.context if window is None else newest_lines(self.order.context, window // 4)

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

    def _ask(self, steps: list[Step]) -> _Carry:
        """One pass: the summary with these steps in it. A text that is only too long gets one more try."""
        standing = self.carry.standing
        for step in steps:
            # In batches, so that each word meets no more lines than the part has room for.
            for at in range(0, len(step.said), BATCH):
                standing = fitted(merged(standing, step.said[at : at + BATCH]), self.order.limit)
        standing = standing.without(self.known)
        room = max(1, self.order.limit - standing.size() - 2)
        prompt = Prompt(
            blocks=tuple(block for step in steps for block in step.blocks),
            standing=standing,
            previous=self.carry.body,
            context=self._context(),
            task=self.order.task,
            focus=self.order.focus,
            words=max(30, room * 6 // 10),
        )
        heard = "\n".join(step.words for step in steps)
        try:
            return self._accepted(prompt, room, heard)
        except Unacceptable as error:
            if error.reason not in _SHORTER:
                raise
            self.deadline.check()
            return self._accepted(evolve(prompt, words=max(20, room * 3 // 10)), room, heard)

    def _accepted(self, prompt: Prompt, room: int, heard: str) -> _Carry:
        summarizer = self.summarizers[self.course.at]
        key = content_key(summarizer.name, self.reasoning, prompt, room)
        reply = self.cache.get(key)
        if reply is None:
            reply = summarizer.complete(prompt, room, self.deadline)
            self.deadline.check()
        carry = self._judged(reply, prompt.standing, heard)
        self.cache.put(key, reply)
        return carry

    def _judged(self, reply: Reply, standing: Standing, heard: str) -> _Carry:
        name = self.summarizers[self.course.at].name
        reason = refusal(reply)
        if reason is not None:
            raise Unacceptable(reason, by=name)
        read_back = amended(spoken(sound(reply.text)), standing, heard)
        carry = _Carry(fitted(read_back.standing.without(self.known), self.order.limit), defused(read_back.body))
        if not carry.body:
            raise Unacceptable("empty", by=name)
        text = carry.text()
        reason = oversize(text, self.order.limit, self.order.source)
        if reason is not None:
            bound = self.order.source if reason == "not_smaller" else self.order.limit
            raise Unacceptable(reason, by=name, size=tokens(text), source=bound)
        return carry


def _all_failed(failures: Sequence[SummaryFailed]) -> SummaryFailed:
    """One error for a chain: the only one as it is, several in one line. Rejected only if all were rejected."""
    if len(failures) == 1:
        return failures[0]
    lines = "; ".join(" ".join(str(error).split()) for error in failures)
    kind = SummaryRejected if all(isinstance(error, SummaryRejected) for error in failures) else SummaryFailed
    return kind(f"no summarizer gave a summary: {lines}")
