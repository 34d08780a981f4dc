"""Finding items by their words. A stand-in: it reads every item of the scope."""

from collections.abc import Sequence

from thalweg.archive.database import Rows
from thalweg.facts.found import Found, Item


def add(db: Rows, scope: int, items: Sequence[Item], vectors: Sequence[bytes] = ()) -> None:
    """Index items, whose rows in `memory_item` are made here, too.

    Args:
        db: A writing transaction.
        scope: Number of the scope.
        items: With the numbers that the store allotted.
        vectors: One for each item, or none at all.
    """


def remove(db: Rows, scope: int, items: Sequence[Item]) -> None:
    """Take items out, as they were when they were added; their rows in `memory_item` go, too."""


def find(
    db: Rows, scope: int, words: Sequence[str], vector: bytes = b"", limit: int = 2_000
) -> Found:
    """See `MemoryStore.find`."""
