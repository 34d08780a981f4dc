"""A database of any kind: transactions on tables, a secret and text in them, its driver."""

import secrets
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Literal, Protocol, TypeVar

from thalweg.database.migrations.schema import refuse_newer_format
from thalweg.errors import ConfigError

Value = int | str | bytes
"""The values of a table.

A `str` is ASCII; any other text is stored as `encode` writes it: PostgreSQL accepts no NUL
character."""

SCHEMA_MISMATCH = "its tables do not match this process: another version migrated them"
RESTART_FIX = "restart this process with the newest version that uses the database"


class Rows(Protocol):
    """A transaction. Statements are SQL that SQLite and PostgreSQL read alike, values as `?`."""

    for_update: str
    """Ends the `SELECT` of a row that is locked until the end of the transaction."""

    def rows(self, statement: str, values: Sequence[Value | None] = (), /) -> Iterator[Any]:
        """Run a statement and return its rows."""
        ...

    def row(self, statement: str, values: Sequence[Value | None] = (), /) -> Any:  # noqa: ANN401 (a row is read where it is asked for)
        """Run a statement and return its first row, or `None`."""
        return next(self.rows(statement, values), None)

    def rows_by(
        self, statement: str, values: Sequence[Value], /, statement_values: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """Return the rows of `SELECT … WHERE column` whose column has any of many values.

        Args:
            statement: Ends in the column.
            values: Values that the column may have, in any number.
            statement_values: The values of the `?` in the statement.
        """
        ...

    def run(self, statement: str, values: Sequence[Value] = (), /) -> None:
        """Run a statement that returns no rows."""
        ...

    def run_each(self, statement: str, values: Iterable[Sequence[Value]], /) -> None:
        """Run a statement once for each of many rows of values."""
        ...

    def insert(self, table: str, rows: Sequence[Sequence[Value]], /) -> None:
        """Add rows, a value for every column, to a table that has none of them."""
        self._add(table, rows)

    def put(
        self,
        table: str,
        key_columns: Sequence[str],
        value_columns: Sequence[str],
        rows: Sequence[Sequence[Value]],
        /,
    ) -> None:
        """Add rows, or put them in the place of those with the same key.

        Args:
            table: Its first columns are `key_columns`, the others `value_columns`.
            key_columns: Columns that no two rows have alike, neither in the table nor among `rows`.
            value_columns: The other columns.
            rows: A value for every column.
        """
        assignments = ", ".join(f"{column} = excluded.{column}" for column in value_columns)
        self._add(
            table, rows, f" ON CONFLICT ({', '.join(key_columns)}) DO UPDATE SET {assignments}"
        )

    def _add(self, table: str, rows: Sequence[Sequence[Value]], conflict_clause: str = "") -> None:
        """Run an `INSERT` of rows, any of which may be missing, that ends in `conflict_clause`."""
        ...


R_co = TypeVar("R_co", bound=Rows, covariant=True)


class Database(ABC, Generic[R_co]):
    """A database in which every row belongs to an owner. Calls block.

    Raises (all transactions):
        ThalwegError: It was closed.
        StorageError: The database failed.
    """

    place: str
    """Its address, in words for people: without a password."""
    is_read_only: bool = False
    """Whether it was opened for reading alone: a file that cannot be written."""
    begin_read: str
    begin_write: str

    def reading(self, owner: str | None) -> AbstractContextManager[R_co]:
        """Begin a transaction that sees one state of an owner's rows throughout.

        Without an owner, only rows of no owner are visible, such as the queue of jobs.
        """
        return self._transaction(self.begin_read, owner)

    def writing(self, owner: str | None) -> AbstractContextManager[R_co]:
        """Begin a transaction that is durable when its block ends, or has no effect."""
        return self._transaction(self.begin_write, owner)

    @abstractmethod
    def _transaction(self, begin: str, owner: str | None) -> AbstractContextManager[R_co]:
        """Begin a transaction by a statement, and commit it or roll it back."""

    @abstractmethod
    def close(self) -> None:
        """Release connections. Closing twice is fine."""

    def close_with(self, holder: object) -> None:
        """Close when an object that uses this database is garbage-collected, at the latest at exit.

        For a database opened on behalf of a caller who need not close it, such as a middleware.

        Args:
            holder: An object that this database does not refer to.
        """
        weakref.finalize(holder, self.close)


def read_secret(
    database: Database[Rows],
    component: Literal["archive", "memory"],
    expected_secret: bytes | None,
    *,
    version: int,
) -> bytes:
    """Read the secret of a component's tables, which is set when they are first opened.

    Args:
        database: Has the table `ROOM_meta`.
        component: The component of the tables.
        expected_secret: The secret that the caller expects; `None` for any. New tables get it,
            or a random one.
        version: The format of new tables, the newest that is read.

    Raises:
        ConfigError: They have another secret, or a newer format.
        StorageError: The database failed.
    """
    new_meta = {
        "version": str(version).encode(),
        "secret": secrets.token_bytes(32) if expected_secret is None else expected_secret,
    }
    with database.reading(None) as rows:
        meta = _read_meta(rows, component)
    if not new_meta.keys() <= meta.keys():
        with database.writing(None) as rows:
            rows.run_each(
                f"INSERT INTO {component}_meta VALUES (?, ?) ON CONFLICT DO NOTHING",  # noqa: S608 (ours)
                new_meta.items(),
            )
            meta = _read_meta(rows, component)
    refuse_newer_format(database.place, component, int(meta["version"]), version)
    stored_secret = bytes(meta["secret"])
    if expected_secret is not None and expected_secret != stored_secret:
        problem = "it was made with another secret"
        raise ConfigError(database.place, problem, "open it with that secret, or with none")
    return stored_secret


def _read_meta(rows: Rows, component: str) -> dict[str, bytes]:
    return dict(rows.rows(f"SELECT name, value FROM {component}_meta"))  # noqa: S608 (ours)


def encode(text: str) -> bytes:
    """Write any `str`, NUL characters and lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Read what `encode` wrote."""
    return data.decode("utf-8", "surrogatepass")


POSTGRES_SCHEMES = ("postgresql://", "postgres://")
"""How addresses of PostgreSQL servers begin."""
