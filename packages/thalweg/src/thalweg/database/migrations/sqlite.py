"""The history in a SQLite file, which has the tables of some components only."""

import sqlite3
from collections.abc import Iterator

from thalweg.database.migrations.schema import (
    HEAD,
    SQLITE,
    VERSION_TABLE,
    Component,
    Schema,
    in_dialect,
    refuse_newer,
)


def version_of(connection: sqlite3.Connection, component: Component) -> str:
    """Return the version of a component's tables in a file; empty if the file has none."""
    if not has_table(connection, VERSION_TABLE):
        return ""
    query = f"SELECT version FROM {VERSION_TABLE} WHERE component = ?"  # noqa: S608 (ours)
    row = connection.execute(query, (component,)).fetchone()
    return "" if row is None else str(row[0])


def refuse_newer_file(connection: sqlite3.Connection, path: str) -> None:
    """Check the versions and formats in a file, before anything is written to it.

    Raises:
        ConfigError: A newer Thalweg wrote it.
    """
    schema = _SqliteSchema(connection)
    if schema.has(VERSION_TABLE):
        schema.version = str(schema.value(f"SELECT MAX(version) FROM {VERSION_TABLE}") or "")  # noqa: S608 (ours)
    refuse_newer(schema, path)


def bring_up_to_date(connection: sqlite3.Connection, component: Component) -> None:
    """Make the tables of a component that are missing, and bring the others to the newest version.

    All of it or nothing; where several processes begin at once, one does it.

    Args:
        connection: To the file; outside of any transaction.
        component: Whose tables.

    Raises:
        sqlite3.Error: The file cannot be written.
    """
    if version_of(connection, component) == HEAD:
        return
    from thalweg.database.migrations.history import VERSIONS  # noqa: PLC0415 (seldom needed)

    connection.execute("BEGIN IMMEDIATE")
    try:
        schema = _SqliteSchema(connection, version_of(connection, component), component)
        for version in VERSIONS:
            if schema.version < version.NUMBER:
                version.upgrade(schema)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE}"
            " (component TEXT PRIMARY KEY, version TEXT NOT NULL)"
        )
        connection.execute(
            f"INSERT OR REPLACE INTO {VERSION_TABLE} VALUES (?, ?)",  # noqa: S608 (ours)
            (component, HEAD),
        )
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def has_table(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether a file has a table."""
    there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(there, (table,)).fetchone() is not None


class _SqliteSchema(Schema):
    """The tables of one component in a file."""

    formats = {"archive": 2, "memory": 2}  # noqa: RUF012 (a constant)

    def __init__(
        self, connection: sqlite3.Connection, version: str = "", component: Component | None = None
    ) -> None:
        self._connection, self.version, self._component = connection, version, component

    def make(self, component: Component, statements: str) -> None:
        """See `Schema.make`."""
        if component == self._component:
            for statement in _split_statements(in_dialect(statements, SQLITE)):
                self._connection.execute(statement)

    def add_column(self, component: Component, table: str, column: str) -> None:
        """See `Schema.add_column`."""
        name = column.split(maxsplit=1)[0]
        query = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
        if (
            component == self._component
            and not self._connection.execute(query, (table, name)).fetchone()
        ):
            self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")

    def in_sqlite(self, component: Component, statements: str) -> None:
        """See `Schema.in_sqlite`."""
        self.make(component, statements)

    def has(self, table: str) -> bool:
        """See `Schema.has`."""
        return has_table(self._connection, table)

    def value(self, query: str) -> bytes | int | None:
        """See `Schema.value`."""
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]


def _split_statements(text: str) -> Iterator[str]:
    """Split statements; `executescript` would commit the transaction."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
