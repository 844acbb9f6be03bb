"""The tables of extensions: their scripts, run once each, inside their own store."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from refold.transcript.database import Database, Reader
from refold.values.errors import Refused


def migrate(database: Database, id: str, store: str, scripts: Sequence[str]) -> int:
    """Brings the tables of extension `id` to version `len(scripts)`; returns how many scripts ran.

    Script n takes them from version n to n + 1, in one transaction each, restricted to names of `store`. Raises
    Refused when the tables are newer than the scripts, or when a script failed: it was undone, those before it stay.
    """
    ran = 0
    with database.read() as reader:
        version = _version(reader, id, scripts)
    while version < len(scripts):
        with database.write() as writer:
            version = _version(writer, id, scripts)  # another process may have been quicker
            if version < len(scripts):
                try:
                    writer.store(store).script(scripts[version])
                except (apsw.Error, Refused) as error:
                    raise Refused(
                        f"migration {version + 1} of {id} failed ({error}); its tables are as they were"
                    ) from error
                version, ran = version + 1, ran + 1
                writer.execute(
                    "INSERT INTO extension_schema(id, version) VALUES(?, ?)"
                    " ON CONFLICT(id) DO UPDATE SET version=excluded.version",
                    id,
                    version,
                )
    return ran


def _version(reader: Reader, id: str, scripts: Sequence[str]) -> int:
    found = reader.one("SELECT version FROM extension_schema WHERE id=?", id)
    version = int(found[0]) if found else 0
    if version > len(scripts):
        raise Refused(
            f"the tables of {id} are newer (version {version}) than its code (version {len(scripts)});"
            " they were left as they are; upgrade the extension"
        )
    return version
