"""A session's rows up to a boundary, as strategies see them (`refold.values.contexts.History`).

`turn`, `images` and `tokens` are running totals over a seq without gaps, so they only grow: sizes are differences,
and a cut, a turn's end or the n-th turn is a binary search. Only `rows` and `users` decode.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from itertools import accumulate
from typing import Literal, Self, overload

from refold.transcript.database import Reader
from refold.transcript.rows import PAGE, fetch, fetch_newest
from refold.transcript.sessions import find
from refold.values.errors import NotFound
from refold.values.rows import Cut, Image, Kind, Row, RowRange, SourceRef

_TURN, _IMAGES, _TOKENS = range(3)


class StoredHistory:
    """The rows with `after < seq <= upto`, in the snapshot of `reader`; of no use once that is over.

    `scale` turns raw tokens into the model's, `image_tokens` sizes a picture by width and height in pixels, `saved`
    says how many of the model's tokens reducers took off a row (by seq). `cache` keeps decoded rows of this session
    by seq. Raises NotFound for an unknown session.
    """

    def __init__(
        self,
        reader: Reader,
        session: str,
        after: int,
        upto: int,
        scale: Callable[[int], int],
        image_tokens: Callable[[int, int], int],
        saved: Mapping[int, int] | None = None,
        cache: MutableMapping[int, Row] | None = None,
    ) -> None:
        self._reader, self._session = reader, session
        self._after, self._upto = max(0, after), max(0, after, upto)
        self._scale, self._image_tokens = scale, image_tokens
        self._cache = cache
        self._key = find(reader, session).key
        self._totals: dict[int, tuple[int, int, int]] = {0: (0, 0, 0)}
        self._saved_at = sorted(saved or ())
        self._saved_sum = [0, *accumulate((saved or {})[seq] for seq in self._saved_at)]

    @property
    def range(self) -> RowRange:
        """Which rows this history holds."""
        return RowRange(self._session, self._after, self._upto)

    def since(self, seq: int) -> Self:
        """The history of the rows after `seq`, sharing what was looked up."""
        part = copy(self)
        part._after = min(max(self._after, seq), self._upto)
        return part

    def saving(self, saved: Mapping[int, int]) -> Self:
        """The same history with what reducers took off some rows, in the model's tokens by seq."""
        part = copy(self)
        part._saved_at = sorted(saved)
        part._saved_sum = [0, *accumulate(saved[seq] for seq in part._saved_at)]
        return part

    def rows(self, within: RowRange | None = None) -> Iterator[Row]:
        """The rows, oldest first, decoded a page at a time as they are taken."""
        after, upto = self._clip(within)
        while after < upto:
            page = min(after + PAGE, upto)
            yield from self._page(after, page)
            after = page

    def users(self, upto: int, count: int) -> Sequence[Row]:
        """The newest `count` user rows at or before seq `upto`, oldest first; only these are decoded."""
        if count <= 0:
            return []
        upto = min(upto, self._upto)
        seqs = fetch_newest(self._reader, self._key, "user", self._after, upto, count)
        return [row for seq in seqs for row in self._page(seq - 1, seq)]

    def user_rows(self, after: int, upto: int) -> Iterator[Row]:
        """The user rows with `after < seq <= upto`, oldest first, decoded as they are taken."""
        after, upto = max(after, self._after), min(upto, self._upto)
        for seq in fetch_newest(self._reader, self._key, "user", after, upto, upto - after):
            known = self._cache.get(seq) if self._cache is not None else None
            yield known or fetch(self._reader, self._key, self._session, seq - 1, seq)[0]

    def size(self, within: RowRange | None = None) -> int:
        """Tokens of the rows for the model at hand, without what reducers saved."""
        return self._size(*self._clip(within))

    def images(self, within: RowRange | None = None) -> Sequence[Image]:
        """The pictures in the rows, oldest first."""
        after, upto = self._clip(within)
        if self._total(upto, _IMAGES) == self._total(after, _IMAGES):
            return []
        found = self._reader.all(
            "SELECT p.key, p.type, p.width, p.height, p.owner FROM refold_picture p"
            " JOIN refold_row r USING(session, seq) WHERE p.session=? AND p.seq>? AND p.seq<=? AND r.kind<>'event'"
            " ORDER BY p.seq, p.n",
            self._key,
            after,
            upto,
        )
        return [Image(*values) for values in found]

    def cut(self, seq: int) -> Cut:
        """A cut at `seq`. Raises NotFound when the row is not in this history."""
        if seq not in self.range:
            raise NotFound(f"row {seq} of session {self._session} is not in this history; nothing was cut")
        return Cut(seq, self._total(seq, _TOKENS))

    def holds(self, cut: Cut) -> bool:
        """Whether the cut's row is in this history and carries the same total."""
        return cut.seq in self.range and self._total(cut.seq, _TOKENS) == cut.tokens

    def ends(self, at: Literal["turn", "step"]) -> Sequence[int]:
        """The last seq of every turn (rows before the first turn are turn 0), or of every step of the newest turn.

        A step ends with its last result, or with its assistant row when nothing answered; what follows up to the next
        assistant row belongs to no step.
        """
        return _TurnEnds(self) if at == "turn" else self._step_ends()

    def tail(self, budget: int, protect: SourceRef | None = None) -> int | None:
        """The earliest turn end that leaves at most `budget` tokens after it, else the last one before the newest
        turn, never at or behind `protect`. None: nothing is older."""
        ends = _TurnEnds(self)
        allowed = len(ends) - 1
        if protect is not None and protect.session == self._session and protect.seq <= self._upto:
            turn = self._total(max(protect.seq, self._after), _TURN) if protect.seq > self._after else ends.oldest
            allowed = min(allowed, turn - ends.oldest)
        if allowed <= 0:
            return None
        turn = self._total(max(self._fits(budget), self._after + 1), _TURN)
        return ends[min(turn - ends.oldest, allowed - 1)]

    def prompt(self) -> SourceRef | None:
        """The row that opened the newest turn; None when it is not in this history."""
        turn = self._total(self._upto, _TURN)
        if self._upto == self._after or turn == 0:
            return None
        # In a history that begins inside its newest turn the first row has the turn's number but did not open it.
        if self._total(self._after, _TURN) == turn:
            return None
        seq = self.first("turn", turn)
        return None if seq is None else SourceRef(self._session, seq)

    def open_join(self) -> int | None:
        """The last seq before the oldest `spawned` event without its `joined`; None when no child is open."""
        found = self._reader.one(
            "SELECT min(seq) FROM refold_spawn WHERE session=? AND seq>? AND seq<=? AND (joined IS NULL OR joined>?)",
            self._key,
            self._after,
            self._upto,
            self._upto,
        )
        return None if found is None or found[0] is None else int(found[0]) - 1

    def kind(self, seq: int) -> Kind:
        """The kind of one row; nothing is decoded. Raises NotFound."""
        found = self._reader.one("SELECT kind FROM refold_row WHERE session=? AND seq=?", self._key, seq)
        if found is None:
            raise NotFound(f"session {self._session} has no row {seq}; its history ends before it")
        kind: Kind = found[0]
        return kind

    def first(self, column: Literal["turn", "images", "tokens"], at_least: int) -> int | None:
        """The first row of this history whose running total is at least `at_least`; None when none is. O(log n)."""
        which = ("turn", "images", "tokens").index(column)
        if self._after == self._upto or self._total(self._upto, which) < at_least:
            return None
        low, high = self._after + 1, self._upto
        while low < high:
            middle = (low + high) // 2
            if self._total(middle, which) >= at_least:
                high = middle
            else:
                low = middle + 1
        return low

    def _fits(self, budget: int) -> int:
        """The smallest seq from `after` on that leaves at most `budget` tokens behind it. It looks ever further back
        from the end, so it costs what the tail holds (pictures are sized one by one), not what the session does."""
        if self._size(self._upto - 1, self._upto) > budget:
            return self._upto
        step, low, high = 1, self._after, self._upto
        while high > low:
            probe = max(low, self._upto - step)
            if self._size(probe, self._upto) > budget:
                low = probe + 1
                break
            high, step = probe, step * 2
        while low < high:
            middle = (low + high) // 2
            if self._size(middle, self._upto) <= budget:
                high = middle
            else:
                low = middle + 1
        return high

    def _size(self, after: int, upto: int) -> int:
        if after >= upto:
            return 0
        raw = self._total(upto, _TOKENS) - self._total(after, _TOKENS)
        saved = self._saved_before(upto) - self._saved_before(after)
        return max(0, self._scale(raw) + self._picture_tokens(after, upto) - saved)

    def _saved_before(self, seq: int) -> int:
        return self._saved_sum[bisect_right(self._saved_at, seq)]

    def _picture_tokens(self, after: int, upto: int) -> int:
        if self._total(upto, _IMAGES) == self._total(after, _IMAGES):
            return 0
        found = self._reader.all(
            "SELECT p.width, p.height, count(*) FROM refold_picture p JOIN refold_row r USING(session, seq)"
            " WHERE p.session=? AND p.seq>? AND p.seq<=? AND r.kind<>'event' GROUP BY p.width, p.height",
            self._key,
            after,
            upto,
        )
        return sum(count * self._image_tokens(width, height) for width, height, count in found)

    def _total(self, seq: int, which: int) -> int:
        known = self._totals.get(seq)
        if known is None:
            found = self._reader.one(
                "SELECT turn, images, tokens FROM refold_row WHERE session=? AND seq=?", self._key, seq
            )
            if found is None:
                raise NotFound(f"session {self._session} has no row {seq}; its history ends before it")
            self._totals[seq] = known = (found[0], found[1], found[2])
        return known[which]

    def _step_ends(self) -> list[int]:
        turn = self._total(self._upto, _TURN)
        found = self._reader.all(
            "SELECT seq, kind FROM refold_row WHERE session=? AND seq>=? AND seq<=? AND kind IN ('assistant', 'result')"
            " ORDER BY seq",
            self._key,
            self.first("turn", turn) or self._after + 1,
            self._upto,
        )
        ends: list[int] = []
        for seq, kind in found:
            if kind == "assistant":
                ends.append(seq)
            elif ends:
                ends[-1] = seq
        return ends

    def _page(self, after: int, upto: int) -> list[Row]:
        """Decoded rows of a short range: from the cache, and the missing ones in as few queries as runs of them."""
        if self._cache is None:
            return fetch(self._reader, self._key, self._session, after, upto)
        cache, page, start = self._cache, list[Row](), after
        while start < upto:
            known = cache.get(start + 1)
            if known is not None:
                page.append(known)
                start += 1
                continue
            stop = start + 1
            while stop < upto and stop + 1 not in cache:
                stop += 1
            fresh = fetch(self._reader, self._key, self._session, start, stop)
            cache.update((row.ref.seq, row) for row in fresh)
            page += fresh
            start = stop
        return page

    def _clip(self, within: RowRange | None) -> tuple[int, int]:
        if within is None:
            return self._after, self._upto
        if within.session != self._session:
            raise NotFound(f"rows of session {within.session} are not in the history of session {self._session}")
        after = min(max(self._after, within.after), self._upto)
        return after, max(after, min(self._upto, within.upto))


class _TurnEnds(Sequence[int]):
    """The last seq of every turn of a history, each looked up when it is asked for."""

    def __init__(self, history: StoredHistory) -> None:
        self._history = history
        span = history.range
        self.oldest = history._total(span.after + 1, _TURN) if len(span) else 0
        self._count = history._total(span.upto, _TURN) - self.oldest + 1 if len(span) else 0

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(index)
        after = self._history.first("turn", self.oldest + index + 1)
        return self._history.range.upto if after is None else after - 1
