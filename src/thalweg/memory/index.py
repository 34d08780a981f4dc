"""The index of memories. A stand-in, which reads every item of the scope."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thalweg.archive.database import Rows
from thalweg.facts.found import Found

FACTS = 0
"""What stands for the thread of an item that is a fact; threads are numbered from 1."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An item on its way into the index."""

    words: Sequence[str]
    thread: int = FACTS
    seq: int = 0
    start: int = 0
    stop: int = -1


@dataclass(frozen=True, slots=True)
class Place:
    """What an item is a piece of; see `Entry`."""

    number: int
    thread: int
    seq: int
    start: int
    stop: int


class Index:
    """The index of one scope, in a transaction."""

    def __init__(self, db: Rows, scope: int, secret: bytes) -> None:
        self._db = db
        self._scope = scope
        self._secret = secret

    def add(self, entries: Sequence[Entry]) -> list[int]:
        """Take items in, and number them."""
        (first,) = self._db.row(
            "SELECT COALESCE(MAX(number) + 1, 1) FROM memory_item WHERE scope = ?", (self._scope,)
        )
        self._db.insert(
            "memory_item",
            [
                (self._scope, n, e.thread, e.seq, n, e.start, e.stop, " ".join(e.words).encode())
                for n, e in enumerate(entries, first)
            ],
        )
        return list(range(first, first + len(entries)))

    def remove(self, items: Mapping[int, Sequence[str]]) -> None:
        """Take items out, which are told with their words."""
        self._db.run_each(
            "DELETE FROM memory_item WHERE scope = ? AND number = ?",
            [(self._scope, number) for number in items],
        )

    def replace(self, number: int, old: Sequence[str], new: Sequence[str]) -> None:
        """Find an item by other words."""
        self._db.run(
            "UPDATE memory_item SET words = ? WHERE scope = ? AND number = ? AND words = ?",
            (" ".join(new).encode(), self._scope, number, " ".join(old).encode()),
        )

    def clear(self) -> None:
        """Take every item of the scope out."""
        self._db.run("DELETE FROM memory_item WHERE scope = ?", (self._scope,))

    def find(self, words: Sequence[str], limit: int) -> Found:
        """Find items by words."""
        listed = {
            number: bytes(told).decode().split()
            for number, told in self._db.rows(
                "SELECT number, words FROM memory_item WHERE scope = ?", (self._scope,)
            )
        }
        counted = {number: Counter(told) for number, told in listed.items()}
        places = {
            word: {number: told[word] for number, told in counted.items() if word in told}
            for word in words
        }
        found = sorted({number for items in places.values() for number in items})[-limit:]
        lengths = {number: min(255, len(listed[number])) for number in found}
        counts = {word: len(items) for word, items in places.items()}
        mean = sum(map(len, listed.values())) / max(1, len(listed))
        return Found(places, counts, lengths, len(listed), mean, {})

    def places(self, numbers: Sequence[int]) -> list[Place]:
        """Tell what items are."""
        rows = self._db.rows_by(
            "SELECT number, thread, seq, start, stop FROM memory_item WHERE scope = ? AND number",
            numbers,
            (self._scope,),
        )
        return [Place(*row) for row in rows]

    def beside(self, numbers: Sequence[int], reach: int) -> dict[int, list[int]]:
        """List for each piece of a turn those within `reach` of it in its thread."""
        found: dict[int, list[int]] = {}
        for place in self.places(numbers):
            rows = self._db.rows(
                "SELECT number FROM memory_item WHERE scope = ? AND thread = ? AND thread > 0"
                " AND seq BETWEEN ? AND ? AND number <> ? ORDER BY number",
                (self._scope, place.thread, place.seq - reach, place.seq + reach, place.number),
            )
            if place.thread:
                found[place.number] = [number for (number,) in rows]
        return found
