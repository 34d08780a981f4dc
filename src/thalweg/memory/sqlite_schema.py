"""Setting up a memory in a SQLite file."""

import secrets
import sqlite3

from thalweg.archive.sqlite_schema import as_storage_error
from thalweg.memory.meta import VERSION, refuse_newer, secret_of
from thalweg.memory.schema import UPGRADES, statements


def prepare(connection: sqlite3.Connection, path: str, secret: bytes | None) -> bytes:
    """Make the tables where they are missing, and return the secret of this memory.

    What the connection deletes from here on is overwritten, and no copy of it goes to a file
    of its own.

    Raises:
        ConfigError: It was written by a newer version, or has another secret; then it is left
            as it was.
        StorageError: It cannot be written, or another process holds it.
    """
    try:
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        connection.execute("PRAGMA temp_store = MEMORY")
        meta = _meta(connection)
        if meta is None:
            connection.execute("BEGIN IMMEDIATE")
            meta = _meta(connection) or _set_up(connection, secret)
            connection.execute("COMMIT")
        elif _version(meta) < VERSION:
            connection.execute("BEGIN IMMEDIATE")
            _upgrade(connection)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise as_storage_error(path, error) from None
    refuse_newer(path, meta)
    return secret_of(path, meta, secret)


def _meta(connection: sqlite3.Connection) -> dict[str, bytes] | None:
    there = "SELECT 1 FROM sqlite_master WHERE name = 'memory_meta'"
    if connection.execute(there).fetchone() is None:
        return None
    return dict(connection.execute("SELECT name, value FROM memory_meta").fetchall())


def _version(meta: dict[str, bytes]) -> int:
    return int(meta["version"])


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring the tables to this version, unless another process did while this one waited."""
    found = _version(_meta(connection) or {})
    for version in range(found, VERSION):
        for statement in UPGRADES[version]:
            connection.execute(statement)
    newest = str(max(found, VERSION)).encode()
    connection.execute("UPDATE memory_meta SET value = ? WHERE name = 'version'", (newest,))


def _set_up(connection: sqlite3.Connection, secret: bytes | None) -> dict[str, bytes]:
    for statement in statements():
        connection.execute(statement)
    meta = {"version": str(VERSION).encode(), "secret": secret or secrets.token_bytes(32)}
    connection.executemany("INSERT INTO memory_meta VALUES (?, ?)", list(meta.items()))
    return meta
