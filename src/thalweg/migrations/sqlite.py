"""The history in a SQLite file, which has the tables of some rooms only."""

import sqlite3
from collections.abc import Iterator

from thalweg.errors import ConfigError
from thalweg.migrations.schema import HEAD, SQLITE, TABLE, Room, spelled

_FORMATS = {"archive": 2, "memory": 2}
"""What tables say of themselves at most: files that were made before there was a history have
that alone."""


def version_of(connection: sqlite3.Connection, room: Room) -> str:
    """Return the version of a room's tables in a file; empty where the file has none."""
    if not has_table(connection, TABLE):
        return ""
    found = f"SELECT version FROM {TABLE} WHERE room = ?"  # noqa: S608 (ours)
    row = connection.execute(found, (room,)).fetchone()
    return "" if row is None else str(row[0])


def refuse_newer(connection: sqlite3.Connection, path: str) -> None:
    """Look at the versions and formats in a file, before anything is written to it.

    Raises:
        ConfigError: A newer Thalweg wrote it.
    """
    if has_table(connection, TABLE):
        newest = connection.execute(f"SELECT MAX(version) FROM {TABLE}").fetchone()[0] or ""  # noqa: S608 (ours)
        if newest > HEAD:
            problem = f"its tables are at version {newest}, this Thalweg knows them up to {HEAD}"
            raise ConfigError(path, problem, "update thalweg")
    for room, known in _FORMATS.items():
        if not has_table(connection, f"{room}_meta"):
            continue
        said = f"SELECT value FROM {room}_meta WHERE name = 'version'"  # noqa: S608 (ours)
        row = connection.execute(said).fetchone()
        if row is not None and int(row[0]) > known:
            problem = f"it has {room} format {int(row[0])}, this version reads {known}"
            raise ConfigError(path, problem, "update thalweg")


def bring_up_to_date(connection: sqlite3.Connection, room: Room) -> None:
    """Make the tables of a room that are missing, and bring the others to the newest version.

    All of it or nothing; where several processes begin at once, one does it.

    Args:
        connection: To the file; outside of any transaction.
        room: Whose tables.

    Raises:
        sqlite3.Error: The file cannot be written.
    """
    if version_of(connection, room) == HEAD:
        return
    from thalweg.migrations.history import after  # noqa: PLC0415 (seldom needed)

    connection.execute("BEGIN IMMEDIATE")
    try:
        schema = _Schema(connection, room)
        for version in after(version_of(connection, room)):
            version.upgrade(schema)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {TABLE} (room TEXT PRIMARY KEY, version TEXT NOT NULL)"
        )
        connection.execute(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?)", (room, HEAD))  # noqa: S608 (ours)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def has_table(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether a file has a table."""
    there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(there, (table,)).fetchone() is not None


class _Schema:
    """See `Schema`: the tables of one room in a file."""

    def __init__(self, connection: sqlite3.Connection, room: Room) -> None:
        self._connection = connection
        self._room = room

    def make(self, room: Room, statements: str) -> None:
        """See `Schema.make`."""
        if room == self._room:
            for statement in _statements(spelled(statements, SQLITE)):
                self._connection.execute(statement)

    def add_column(self, room: Room, table: str, column: str) -> None:
        """See `Schema.add_column`."""
        name = column.split(maxsplit=1)[0]
        there = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
        if room == self._room and not self._connection.execute(there, (table, name)).fetchone():
            self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")

    def in_postgres(self, statements: str) -> None:
        """See `Schema.in_postgres`."""

    def in_sqlite(self, room: Room, statements: str) -> None:
        """See `Schema.in_sqlite`."""
        self.make(room, statements)

    def has(self, table: str) -> bool:
        """See `Schema.has`."""
        return has_table(self._connection, table)

    def value(self, query: str) -> bytes | int | None:
        """See `Schema.value`."""
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]


def _statements(text: str) -> Iterator[str]:
    """Part statements; `executescript` would commit the transaction."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
