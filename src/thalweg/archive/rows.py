"""The protocol of a transaction on an archive, beyond that of every package."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from thalweg.database.base import Rows


class ArchiveRows(Rows, Protocol):
    """A transaction on the tables of an archive."""

    bound: str
    """A column for the `SELECT` of a thread's row: it restricts later statements of the transaction
    to that thread, if the database supports it."""

    def drop_thread(self, thread: int, /, *tables: str) -> None:
        """Delete a thread's row, and its rows in some tables."""
        ...

    def list_words(self, listed: Iterable[tuple[int, str]], /) -> None:
        """Add passages to the word index: each id with its words, separated by spaces."""
        ...

    def unlist_words(self, first: int, end: int, /) -> None:
        """Remove passages from the word index, while their rows still exist; `end` excluded."""
        ...

    def listed_under(self, words: Sequence[str], first: int, end: int, limit: int, /) -> list[int]:
        """Return the passages with all of some words, or forms of them.

        Returns:
            Ids from `first` to before `end`, at most `limit` of them, the highest first.
        """
        ...
