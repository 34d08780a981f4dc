"""A transaction on a SQLite file."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thalweg.archive.database import Value

_AT_ONCE = 500
"""Values that one statement takes."""


class SqliteRows:
    """A transaction on a SQLite file: it has the file to itself once it writes. See `Rows`."""

    for_update = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Value | None] = ()) -> Iterator[Any]:
        """See `Rows.rows`."""
        return self._connection.execute(statement, values)

    def row(self, statement: str, values: Sequence[Value | None] = ()) -> Any:  # noqa: ANN401 (as in `Rows`)
        """See `Rows.row`."""
        return self._connection.execute(statement, values).fetchone()

    def rows_by(
        self, statement: str, values: Sequence[Value], given: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """See `Rows.rows_by`."""
        for at in range(0, len(values), _AT_ONCE):
            some = values[at : at + _AT_ONCE]
            yield from self.rows(f"{statement} IN ({', '.join('?' * len(some))})", (*given, *some))

    def run(self, statement: str, values: Sequence[Value] = ()) -> None:
        """See `Rows.run`."""
        self._connection.execute(statement, values)

    def run_each(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """See `Rows.run_each`."""
        self._connection.executemany(statement, values)

    def insert(self, table: str, rows: Sequence[Sequence[Value]]) -> None:
        """See `Rows.insert`."""
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 (ours)

    def put(
        self, table: str, key: Sequence[str], rest: Sequence[str], rows: Sequence[Sequence[Value]]
    ) -> None:
        """See `Rows.put`."""
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            changes = ", ".join(f"{column} = excluded.{column}" for column in rest)
            self._connection.executemany(
                f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 (ours)
                f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
                rows,
            )
