"""The tables of extensions: their scripts, run once each, inside their own store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from refold.transcript.database import Database, Reader, StoreWriter, Writer, quoted
from refold.transcript.guard import folded, owns
from refold.transcript.ownership import record, recorded
from refold.transcript.schema import SESSIONS
from refold.values.errors import Refused


def migrate(database: Database, id: str, store: str, scripts: Sequence[str]) -> int:
    """Brings the tables of extension `id` to version `len(scripts)`; returns how many scripts ran.

    Script n takes them from version n to n + 1, in one transaction each, restricted to names of `store`. Raises
    Refused when the tables are newer than the scripts, or when a script failed, touched what is not its own or left
    tables behind from which the host could not delete a session: it was undone, those before it stay.
    """
    ran = 0
    with database.read() as reader:
        version = _version(reader, id, scripts)
    while version < len(scripts):
        with database.write() as writer:
            version = _version(writer, id, scripts)  # another process may have been quicker
            if version < len(scripts):
                try:
                    others = _others(writer, store)
                    writer.store(store).script(scripts[version])
                    _check_others(others, _others(writer, store))
                    _check(writer, store)
                except (apsw.Error, Refused) as error:
                    raise Refused(
                        f"migration {version + 1} of {id} failed ({error}); its tables are as they were"
                    ) from error
                version, ran = version + 1, ran + 1
                record(writer, id, store, version)
    return ran


def _others(reader: Reader, store: str) -> set[tuple[Any, ...]]:
    """What the file holds under names that are not the store's, and how far their automatic ids came."""
    found = reader.all(
        "SELECT name, type, tbl_name, sql FROM sqlite_schema"
        " UNION ALL SELECT name, 'ids', NULL, seq FROM sqlite_sequence"
    )
    return {each for each in found if not owns(store, folded(each[0]))}


def _check_others(before: set[tuple[Any, ...]], after: set[tuple[Any, ...]]) -> None:
    """SQLite does not ask about the new name of a renamed table, and lets anybody write the automatic ids."""
    if changed := sorted({each[0] for each in before ^ after}):
        raise Refused(f"it made, changed or removed {', '.join(changed)}, which is not its own")


def _check(writer: Writer, store: str) -> None:
    """The host deletes a session's rows, so what follows from that, triggers and foreign keys, is looked at here.

    Raises Refused, or apsw.Error for a trigger that cannot run at all.
    """
    own = writer.store(store)
    found = writer.all("SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_schema WHERE type='table'")
    for table, virtual in found:
        if not owns(store, folded(table)):
            continue
        if virtual:
            own.all(f"SELECT * FROM {quoted(table)} LIMIT 1")  # compiles what it reads of the table that it indexes
        else:
            _check_references(writer, store, table)
            _check_triggers(writer, own, table)


def _check_references(writer: Writer, store: str, table: str) -> None:
    """A row that others hold on to cannot be deleted, and neither can a table that they refer to in vain."""
    for target, column, holder, action, required in writer.all(
        'SELECT lower(f."table"), lower(f."to"), f."from", f.on_delete, c."notnull" OR c.pk'
        ' FROM pragma_foreign_key_list(?1) f JOIN pragma_table_xinfo(?1) c ON lower(c.name)=lower(f."from")',
        table,
    ):
        if not owns(store, target) and (target, column) != (SESSIONS, "id"):
            raise Refused(f"{table}.{holder} refers to {target}; only sessions(id) and the store's own tables are let")
        if action != "CASCADE" and (action != "SET NULL" or required):
            raise Refused(
                f"{table}.{holder} would keep rows of {target} from being deleted; declare ON DELETE CASCADE, or SET"
                " NULL on a column that may be NULL"
            )


def _check_triggers(writer: Writer, own: StoreWriter, table: str) -> None:
    """Compiles, bound to the store, what fires every trigger of the table: their bodies may touch no more than it."""
    name = quoted(table)
    columns = [quoted(column) for (column,) in writer.all("SELECT name FROM pragma_table_info(?)", table)]
    own.all(f"INSERT INTO {name}({', '.join(columns)}) SELECT {', '.join(columns)} FROM {name} WHERE 0")
    own.all(f"UPDATE {name} SET {', '.join(f'{column}={column}' for column in columns)} WHERE 0")
    own.all(f"DELETE FROM {name} WHERE 0")


def _version(reader: Reader, id: str, scripts: Sequence[str]) -> int:
    found = recorded(reader).get(id)
    version = found.version if found else 0
    if version > len(scripts):
        raise Refused(
            f"the tables of {id} are newer (version {version}) than its code (version {len(scripts)});"
            " they were left as they are; upgrade the extension"
        )
    return version
