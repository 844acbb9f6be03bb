"""Which extension owns which store. Who was there first keeps it, whatever is installed later, and in any environment
that opens the home: the tables stand in the file, so the file remembers whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import frozen

from refold.transcript.database import Database, Reader, Writer, quoted
from refold.transcript.guard import folded, owns
from refold.values.errors import NotFound


@frozen
class Claim:
    """An extension that wants to own the tables of `store`, which it may share with `partners`: those that it requires
    and those that require it."""

    id: str
    store: str
    partners: frozenset[str] = frozenset()


@frozen
class Recorded:
    """What the file says of an extension: its store (None: a home of an older refold did not note it), and how many
    of its migrations ran."""

    store: str | None
    version: int


@frozen
class Taken:
    """Why a claim is refused: `owner` has `store`, which is the same or overlaps. The owner is the claimant itself
    when its tables stand under another name, and empty when nobody knows whose tables these are."""

    owner: str
    store: str


def settle(recorded: Mapping[str, Recorded], tables: Collection[str], wanted: Iterable[Claim]) -> dict[str, Taken]:
    """The claims that are refused, by id. `tables` are the names in the file, folded.

    What is recorded stands; then come the extensions of older homes, then the others, each in the order of `wanted`.
    """
    held = [(id, each.store) for id, each in recorded.items() if each.store is not None]
    refused: dict[str, Taken] = {}
    for claim in sorted(wanted, key=lambda each: each.id not in recorded):
        known = recorded.get(claim.id)
        if known is not None and known.store == claim.store:
            continue
        if known is not None and known.store is not None and known.version:
            refused[claim.id] = Taken(claim.id, known.store)
            continue
        others = (Taken(id, store) for id, store in held if id != claim.id and _collides(claim, id, store))
        if taken := next(others, None):
            refused[claim.id] = taken
            continue
        if known is None and all(store != claim.store for _, store in held) and _any_of(claim.store, tables):
            refused[claim.id] = Taken("", claim.store)
            continue
        held.append((claim.id, claim.store))
    return refused


def claim_stores(database: Database, wanted: Sequence[Claim]) -> dict[str, Taken]:
    """Records who owns which store from now on; returns the claims that were refused, by id."""
    with database.read() as reader:
        known = recorded(reader)
    if all(each.id in known and known[each.id].store == each.store for each in wanted):
        return {}
    with database.write() as writer:
        tables = [folded(name) for (name,) in writer.all("SELECT name FROM sqlite_schema")]
        refused = settle(recorded(writer), tables, wanted)
        for each in wanted:
            if each.id not in refused:
                record(writer, each.id, each.store)
    return refused


def recorded(reader: Reader) -> dict[str, Recorded]:
    """What the file says of every extension that ever had a store in it."""
    found = reader.all("SELECT id, store, version FROM refold_extension ORDER BY id")
    return {id: Recorded(store, version) for id, store, version in found}


def record(writer: Writer, id: str, store: str, version: int | None = None) -> None:
    """Notes an extension's store, and how many of its migrations ran (None: as many as before)."""
    writer.execute(
        "INSERT INTO refold_extension(id, store, version) VALUES(?1, ?2, coalesce(?3, 0))"
        " ON CONFLICT(id) DO UPDATE SET store=?2, version=coalesce(?3, version)",
        id,
        store,
        version,
    )


def owner_of(recorded: Mapping[str, Recorded], table: str) -> str | None:
    """The store that a table belongs to; None: it is the host's, or nobody's."""
    stores = (each.store for each in recorded.values() if each.store is not None)
    return next((store for store in stores if owns(store, folded(table))), None)


def forget(database: Database, id: str) -> list[str]:
    """Drops the tables of an extension, and what is recorded of it; returns the names of the tables.

    A store that it shares keeps its tables. Raises NotFound when the file knows no such extension.
    """
    with database.write() as writer:
        known = recorded(writer)
        if id not in known:
            raise NotFound(f"this home holds nothing of an extension {id}; nothing was changed")
        store = known.pop(id).store
        writer.execute("DELETE FROM refold_extension WHERE id=?", id)
        if store is None or any(each.store == store for each in known.values()):
            return []
        writer.execute("DELETE FROM refold_revision WHERE store=?", store)
        writer.execute("PRAGMA defer_foreign_keys=ON")  # they refer to each other, and all of them go
        return _drop(writer, store)


def _drop(writer: Writer, store: str) -> list[str]:
    """Virtual tables go first: they take their shadow tables with them."""
    own, dropped = writer.store(store), []
    for kind, virtual in (("view", False), ("table", True), ("table", False)):
        found = writer.all(
            "SELECT name FROM sqlite_schema WHERE type=? AND (sql LIKE 'CREATE VIRTUAL%')=? ORDER BY name",
            kind,
            virtual,
        )
        for (name,) in found:
            if owns(store, folded(name)):
                own.script(f"DROP {kind} {quoted(name)}")
                dropped.append(name)
    return dropped


def _collides(claim: Claim, id: str, store: str) -> bool:
    if claim.store == store:
        return id not in claim.partners
    return owns(claim.store, store) or owns(store, claim.store)


def _any_of(store: str, tables: Iterable[str]) -> bool:
    return any(owns(store, table) for table in tables)
