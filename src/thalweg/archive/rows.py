"""What an archive asks of a transaction, beside what every room asks."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from thalweg.database.base import Rows


class ArchiveRows(Rows, Protocol):
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
