"""A transaction on a PostgreSQL database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg

from thalweg.archive.blobs import encode
from thalweg.archive.database import Value


def as_owner(owner: str) -> str:
    r"""Write the statement that makes a transaction an owner's: it sees no rows of others.

    Example:
        >>> as_owner("ada")
        " SET LOCAL thalweg.owner = E'\\\\x616461'"
    """
    return f" SET LOCAL thalweg.owner = E'\\\\x{encode(owner).hex()}'"


class PostgresRows:
    """A transaction on a PostgreSQL database. See `Rows`."""

    for_update = " FOR UPDATE"

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Value | None] = ()) -> Iterator[Any]:
        """See `Rows.rows`."""
        return iter(self._connection.execute(_marked(statement), values, binary=True))

    def row(self, statement: str, values: Sequence[Value | None] = ()) -> Any:  # noqa: ANN401 (as in `Rows`)
        """See `Rows.row`."""
        return self._connection.execute(_marked(statement), values, binary=True).fetchone()

    def rows_by(
        self, statement: str, values: Sequence[Value], given: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """See `Rows.rows_by`."""
        query = _marked(f"{statement} = ANY(?)")
        return iter(self._connection.execute(query, (*given, list(values)), binary=True))

    def run(self, statement: str, values: Sequence[Value] = ()) -> None:
        """See `Rows.run`."""
        self._connection.execute(_marked(statement), values)

    def run_each(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """See `Rows.run_each`."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_marked(statement), values)

    def insert(self, table: str, rows: Sequence[Sequence[Value]]) -> None:
        """See `Rows.insert`. Where rows are secured, they cannot be copied in."""
        if rows:
            columns = ", ".join(f"%b::{_ARRAYS[type(value)]}" for value in rows[0])
            values = [list(column) for column in zip(*rows, strict=True)]
            statement = f"INSERT INTO {table} SELECT * FROM unnest({columns})"  # noqa: S608 (ours)
            self._connection.execute(statement.encode(), values)

    def put(
        self, table: str, key: Sequence[str], rest: Sequence[str], rows: Sequence[Sequence[Value]]
    ) -> None:
        """See `Rows.put`."""
        if rows:
            columns = ", ".join(f"%b::{_ARRAYS[type(value)]}" for value in rows[0])
            changes = ", ".join(f"{column} = excluded.{column}" for column in rest)
            statement = (
                f"INSERT INTO {table} SELECT * FROM unnest({columns})"  # noqa: S608 (ours)
                f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
            )
            values = [list(column) for column in zip(*rows, strict=True)]
            self._connection.execute(statement.encode(), values)


_ARRAYS = {int: "bigint[]", str: "text[]", bytes: "bytea[]"}


def _marked(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()
