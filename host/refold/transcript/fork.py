"""A new session that shares the rows of another up to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database, Reader, Writer
from refold.transcript.rows import fetch, fetch_newest, newest_seq, unanswered
from refold.transcript.sessions import Session
from refold.values.contexts import Fork
from refold.values.errors import Refused
from refold.values.rows import Row, SourceRef

STUB = "[not executed: the session was forked before this call was answered]"


@frozen
class ForkHook:
    """An extension that copies its state: its id, its store, and its `session_forked`."""

    extension: str
    store: str
    copy: Callable[[Fork], object]


@frozen
class ForkReport:
    """What a fork made. `rows` counts all of the branch, `unanswered` are the ids of calls that got a stub result;
    `failures` pairs the extensions that did not copy their state with the reason."""

    session: str
    rows: int
    first_seq: int
    last_seq: int
    unanswered: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]


def fork(
    database: Database, source: str, at: int, new_id: str | None = None, hooks: Sequence[ForkHook] = ()
) -> ForkReport:
    """Forks `source` after its row `at`, in one transaction. Rows keep their seq, bodies are shared.

    Calls that are open at the checkpoint get a result that says they were not executed. The session's choices, its
    head and the compactions before the checkpoint come along; requests, snapshot and lease do not. A child session
    that had not joined by `at` never joins the branch, so the branch does not wait for it. Each hook runs in its own
    savepoint. Raises NotFound for an unknown
    session, Refused for an unknown checkpoint, a checkpoint at a result whose call is absent, or a taken id.
    """
    with database.write() as writer:
        origin = sessions.find(writer, source)
        last = newest_seq(writer, origin.key)
        if not 1 <= at <= last:
            rows = f"its rows are 1 to {last}" if last else "it has no rows"
            raise Refused(f"session {source} has no row {at} to fork at; nothing was made; {rows}")
        stubs = _stubs(_open_calls(writer, origin, at))
        branch = _insert_branch(writer, origin, at, new_id)
        _copy(writer, origin, branch, at)
        append(writer, branch.id, stubs)
        failures = [failure for hook in hooks if (failure := _run(writer, hook, source, branch.id, at))]
    last = at + len(stubs)
    unanswered = tuple(stub.call_id or "" for stub in stubs)
    return ForkReport(branch.id, last, 1, last, unanswered, tuple(failures))


def _insert_branch(writer: Writer, origin: Session, at: int, new_id: str | None) -> Session:
    found = writer.one("SELECT family FROM sessions WHERE key=?", origin.key)
    family = int(found[0]) if found else origin.key
    return sessions.insert(
        writer, new_id, title=origin.title, model=origin.model, parent=origin.key, forked_at=at, family=family
    )


def _copy(writer: Writer, origin: Session, branch: Session, at: int) -> None:
    """Running totals count from row 1, so they are copied as they are."""
    writer.execute(
        "INSERT INTO refold_row SELECT ?, seq, body, kind, opens, turn, images, tokens FROM refold_row"
        " WHERE session=? AND seq<=? ORDER BY seq",
        branch.key,
        origin.key,
        at,
    )
    writer.execute(
        "INSERT INTO refold_picture SELECT ?, seq, n, key, type, width, height, owner FROM refold_picture"
        " WHERE session=? AND seq<=?",
        branch.key,
        origin.key,
        at,
    )
    writer.execute(
        "INSERT INTO refold_spawn SELECT ?, seq, child, joined FROM refold_spawn WHERE session=? AND joined<=?",
        branch.key,
        origin.key,
        at,
    )
    writer.execute(
        "INSERT INTO refold_compaction SELECT ?, n, strategy, demand, after, upto FROM refold_compaction"
        " WHERE session=? AND upto<=?",
        branch.id,
        origin.id,
        at,
    )
    writer.execute("UPDATE sessions SET compactions=? WHERE key=?", origin.compactions, branch.key)
    writer.execute(
        "INSERT INTO refold_choice SELECT ?, extension, enabled FROM refold_choice WHERE session=?",
        branch.id,
        origin.id,
    )
    writer.execute("INSERT INTO refold_head SELECT ?, body FROM refold_head WHERE session=?", branch.id, origin.id)


def _open_calls(reader: Reader, session: Session, at: int) -> list[str]:
    """The calls without a result at the checkpoint; of all rows only those of the last step are decoded.

    Calls that a later turn passed over stay as they are: the source goes on without their results, too.
    """
    rows = _step_before(reader, session, at)
    newest = next((row for row in reversed(rows) if row.kind != "event"), None)
    if newest is None or newest.opens:
        return []
    if newest.kind == "result" and not any(_answers(newest, row) for row in rows):
        _refuse_orphan(reader, session, rows, newest)
    if any(row.opens for row in rows[1:]):
        return []
    return [call.id for call in unanswered(rows)]


def _step_before(reader: Reader, session: Session, at: int) -> list[Row]:
    """The rows from the last assistant row at or before `at`; without one, the row at `at` alone."""
    last = fetch_newest(reader, session.key, "assistant", 0, at, 1)
    return fetch(reader, session.key, session.id, (last[0] if last else at) - 1, at)


def _answers(result: Row, row: Row) -> bool:
    return any(call.id == result.call_id for call in row.calls)


def _refuse_orphan(reader: Reader, session: Session, rows: list[Row], result: Row) -> None:
    """A late result may answer an older step of the same turn; nothing else does."""
    before = rows[0].ref.seq - 1
    while before > 0:
        step = _step_before(reader, session, before)
        if step[0].turn != result.turn:
            break
        if any(_answers(result, row) for row in step):
            return
        before = step[0].ref.seq - 1
    raise Refused(
        f"row {result.ref.seq} of session {session.id} is a result without its call; nothing was made;"
        f" fork at a row before it"
    )


def _stubs(calls: list[str]) -> list[Row]:
    return [Row(SourceRef("", 0), "result", 0, 0, text=STUB, call_id=call, ok=False) for call in calls]


def _run(writer: Writer, hook: ForkHook, source: str, target: str, at: int) -> tuple[str, str] | None:
    own = writer.store(hook.store)
    try:
        with writer.savepoint():
            hook.copy(Fork(source, target, at, own.all, own))
    except (Exception, SystemExit) as error:
        return hook.extension, " ".join(f"{type(error).__name__}: {error}".split())
    return None
