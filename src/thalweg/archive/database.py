"""What is asked of a database that tables are in: by an archive, and by a memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

Value = int | str | bytes
"""What goes into a table. A `str` is ASCII; any other text goes as `blobs.encode` writes it."""


class Rows(Protocol):
    """A transaction. Statements are SQL that SQLite and PostgreSQL read alike, values as `?`."""

    for_update: str
    """Ends the `SELECT` of a row that other writers are to leave alone until the end."""

    def rows(self, statement: str, values: Sequence[Value | None] = (), /) -> Iterator[Any]:
        """Run a statement and give its rows."""
        ...

    def row(self, statement: str, values: Sequence[Value | None] = (), /) -> Any:  # noqa: ANN401 (a row is read where it is asked for)
        """Run a statement and give its first row, or `None`."""
        ...

    def rows_by(
        self, statement: str, values: Sequence[Value], /, given: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """Give the rows of `SELECT … WHERE column` whose column has any of many values.

        Args:
            statement: Ends in the column.
            values: What the column may have, in any number.
            given: The values of the `?` in the statement.
        """
        ...

    def run(self, statement: str, values: Sequence[Value] = (), /) -> None:
        """Run a statement that gives no rows."""
        ...

    def run_each(self, statement: str, values: Iterable[Sequence[Value]], /) -> None:
        """Run a statement once for each of many rows of values."""
        ...

    def insert(self, table: str, rows: Sequence[Sequence[Value]], /) -> None:
        """Add rows, a value for every column, to a table that has none of them."""
        ...

    def put(
        self,
        table: str,
        key: Sequence[str],
        rest: Sequence[str],
        rows: Sequence[Sequence[Value]],
        /,
    ) -> None:
        """Add rows, or put them in the place of those with the same key.

        Args:
            table: Its first columns are `key`, the others `rest`.
            key: Columns that no two rows have alike, neither in the table nor among `rows`.
            rest: The other columns.
            rows: A value for every column.
        """
        ...


class Database(Rows, Protocol):
    """A transaction on the tables of an archive."""

    bound: str
    """A column for the `SELECT` of a thread's row: with it, what the transaction reads and writes
    from there on is that thread's, where the database itself can see to it."""

    def drop_thread(self, thread: int, /, *tables: str) -> None:
        """Delete a thread's row, and its rows in some tables."""
        ...

    def list_words(self, listed: Iterable[tuple[int, str]], /) -> None:
        """List passages in the word index: each id with its words, separated by spaces."""
        ...

    def unlist_words(self, first: int, end: int, /) -> None:
        """Take passages out of the word index, while their rows still stand; `end` excluded."""
        ...

    def listed_under(self, words: Sequence[str], first: int, end: int, limit: int, /) -> list[int]:
        """Find the passages with all of some words, or forms of them.

        Returns:
            Ids from `first` to before `end`, at most `limit` of them, the highest first.
        """
        ...
