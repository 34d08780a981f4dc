"""The index of memories: which items of a scope have which words, in a few plain tables.

A question reads a few rows by key, however many scopes there are. Words are kept as keyed hashes:
the index holds no content. The number of words of an item is a byte; those of the newest items are
in a short row.
"""

import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from thalweg.database.base import Rows
from thalweg_memory.facts.recall.found import WordOccurrences
from thalweg_memory.search.vectors import Vectors
from thalweg_memory.search.word_rows import (
    BLOCK,
    BLOCK_BITS,
    LENGTHS,
    RECENT,
    TOTALS,
    VECTORS,
    Posting,
    WordRow,
    WordRows,
    read_times,
    write_times,
)

MOST = 255
"""Maximum number of words of an item; longer items are stored with this."""
_BITS = 12
"""The lengths of 2**12 items are in a row of `memory_posting`."""
_IN_ROW = (1 << _BITS) - 1
FACTS = 0
"""The thread number of items that are facts; threads are numbered from 1."""
MOST_WORDS = 64
"""So many words of a question are looked up at most: those that the fewest items have."""
_STATE = struct.Struct("<qq")
_EMPTY = WordRow()


class ItemLengths:
    """The lengths of the items of one scope, in a transaction; 0 for deleted ones."""

    def __init__(self, db: Rows, scope: int, rows: WordRows) -> None:
        self._db = db
        self._scope = scope
        self._rows = rows

    def change(self, lengths: Mapping[int, int]) -> None:
        """Set lengths of items, by number."""
        row = self._rows.read((LENGTHS,)).get(LENGTHS, WordRow())
        recent = {**read_times(row.recent), **lengths}
        if len(recent) > RECENT:
            self._move(recent)
            recent = {}
        self._rows.put({LENGTHS: WordRow(0, write_times(recent))})

    def _move(self, lengths: Mapping[int, int]) -> None:
        rows = {block: bytearray(packed) for block, packed in self._blocks(lengths).items()}
        for number, length in lengths.items():
            row, at = rows.setdefault(number >> _BITS, bytearray()), number & _IN_ROW
            row.extend(bytes(max(0, at + 1 - len(row))))
            row[at] = length
        self._db.put(
            "memory_posting",
            ("scope", "word", "block"),
            ("items",),
            [(self._scope, LENGTHS, block, bytes(row)) for block, row in rows.items()],
        )

    def read(self, numbers: Collection[int], recent: WordRow) -> dict[int, int]:
        """Read lengths of items.

        Args:
            numbers: Of items that have words.
            recent: The row under `LENGTHS`.
        """
        known = read_times(recent.recent)
        blocks = self._blocks([number for number in numbers if number not in known])
        return {n: known.get(n) or blocks[n >> _BITS][n & _IN_ROW] for n in numbers}

    def _blocks(self, numbers: Iterable[int]) -> dict[int, bytes]:
        return dict(
            self._db.rows_by(
                "SELECT block, items FROM memory_posting WHERE scope = ? AND word = ? AND block",
                sorted({number >> _BITS for number in numbers}),
                (self._scope, LENGTHS),
            )
        )


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An item on its way into the index."""

    words: Sequence[str]
    """Its index terms: its `fact_words` or `turn_words` (`memory.facts.recall.found`)."""
    thread: int = FACTS
    seq: int = 0
    """Of the turn in its thread; for a fact its number in a table of facts."""
    start: int = 0
    stop: int = -1
    """Start and end of a piece of a turn; -1 for the end of the text."""


@dataclass(frozen=True, slots=True)
class _Totals:
    """The totals of a scope."""

    items: int = 0
    following: int = 1
    """Number of the next item; numbers are never reused."""
    words: int = 0
    """Of all items."""

    @classmethod
    def read(cls, row: WordRow) -> "_Totals":
        return cls(row.items, *_STATE.unpack(row.recent)) if row.recent else cls()

    def row(self) -> WordRow:
        return WordRow(self.items, _STATE.pack(self.following, self.words))


class Index:
    """The index of one scope, in a transaction.

    Who writes has locked the scope's row: two writers of one scope would undo each other.
    """

    def __init__(self, db: Rows, scope: int, secret: bytes) -> None:
        self._db = db
        self._scope = scope
        self._rows = WordRows(db, scope, secret)
        self._lengths = ItemLengths(db, scope, self._rows)
        self.vectors = Vectors(db, scope, self._rows)

    # -- writing -------------------------------------------------------------------------

    def add(self, entries: Sequence[IndexEntry]) -> list[int]:
        """Add items, oldest first, pieces of one turn in a row.

        Returns:
            Their numbers, which ascend and are never reused.
        """
        totals = self._totals()
        numbers = range(totals.following, totals.following + len(entries))
        places = self._next_places({entry.thread for entry in entries} - {FACTS})
        rows: list[tuple[int, ...]] = []
        for number, one in zip(numbers, entries, strict=True):
            place = places.get(one.thread, 0)
            places[one.thread] = place + 1
            rows.append((self._scope, number, one.thread, one.seq, place, one.start, one.stop))
        self._db.insert("memory_item", rows)
        self._change({n: one.words for n, one in zip(numbers, entries, strict=True)}, {}, totals)
        return [*numbers]

    def remove(self, items: Mapping[int, Sequence[str]]) -> None:
        """Take items out.

        Args:
            items: By number, the words they are indexed under.
        """
        self._change({}, items, self._totals())
        self.vectors.remove(items.keys())
        keys = [(self._scope, number) for number in items]
        self._db.run_each("DELETE FROM memory_item WHERE scope = ? AND number = ?", keys)

    def replace(self, number: int, old: Sequence[str], new: Sequence[str]) -> None:
        """Find an item by other words from now on, and no more by its vector."""
        self.vectors.remove((number,))
        self._change({}, {number: old}, self._totals())
        self._change({number: new}, {}, self._totals())

    def clear(self) -> None:
        """Take every item of the scope out."""
        totals = self._totals()
        self.vectors.clear()
        kept = self._rows.read((VECTORS,))
        for table in ("memory_item", "memory_word", "memory_posting"):
            self._db.run(f"DELETE FROM {table} WHERE scope = ?", (self._scope,))  # noqa: S608 (ours)
        self._rows.put(kept | {TOTALS: _Totals(following=totals.following).row()})

    def _totals(self) -> _Totals:
        return _Totals.read(self._rows.read((TOTALS,)).get(TOTALS, _EMPTY))

    def _next_places(self, threads: Collection[int]) -> dict[int, int]:
        """Return the next position for pieces of threads, after the last existing one."""
        places: dict[int, int] = {}
        for thread in threads:
            row = self._db.row(
                "SELECT place FROM memory_item WHERE scope = ? AND thread = ?"
                " ORDER BY seq DESC, place DESC LIMIT 1",
                (self._scope, thread),
            )
            places[thread] = row[0] + 1 if row else 0
        return places

    def _change(
        self,
        added: Mapping[int, Sequence[str]],
        gone: Mapping[int, Sequence[str]],
        totals: _Totals,
    ) -> None:
        self._rows.change(added, gone)
        lengths = {number: min(len(words), MOST) for number, words in added.items()}
        self._lengths.change(lengths | dict.fromkeys(gone, 0))
        changed = _Totals(
            totals.items + len(added) - len(gone),
            max(totals.following, max(added, default=0) + 1),
            totals.words + sum(map(len, added.values())) - sum(map(len, gone.values())),
        )
        self._rows.put({TOTALS: changed.row()})

    # -- reading -------------------------------------------------------------------------

    def find(
        self,
        words: Sequence[str],
        limit: int,
        most_words: int = MOST_WORDS,
        *,
        facts_only: bool = False,
    ) -> WordOccurrences:
        """Find items by words; see `MemoryStore.find`."""
        keys = {self._rows.key(word): word for word in words}
        rows = self._rows.read((TOTALS, LENGTHS, *keys))
        totals = _Totals.read(rows.pop(TOTALS, _EMPTY))
        lengths = rows.pop(LENGTHS, _EMPTY)
        rarest = sorted(rows, key=lambda key: rows[key].items)[:most_words]
        counts = {key: rows[key].items for key in rarest}
        blocks = self._rows.blocks({key: rows[key] for key in rarest})
        chosen = self._facts() if facts_only else _chosen(blocks, counts, limit)
        places: dict[int, dict[int, int]] = {key: {} for key in keys}
        for block, offsets in chosen.items():
            for key, posting in blocks[block].items():
                places[key].update(posting.among(offsets, block << BLOCK_BITS))
        numbers = set(chain.from_iterable(places.values()))
        return WordOccurrences(
            {word: places[key] for key, word in keys.items()},
            {word: rows.get(key, _EMPTY).items for key, word in keys.items()},
            self._lengths.read(numbers, lengths),
            totals.items,
            totals.words / max(1, totals.items),
            {},
        )

    def _facts(self) -> dict[int, set[int]]:
        """Return the offsets of all facts, by block."""
        facts: defaultdict[int, set[int]] = defaultdict(set)
        for (number,) in self._db.rows(
            "SELECT number FROM memory_item WHERE scope = ? AND thread = ?", (self._scope, FACTS)
        ):
            facts[number >> BLOCK_BITS].add(number & BLOCK - 1)
        return facts

    def neighbours(self, numbers: Sequence[int], reach: int) -> dict[int, list[int]]:
        """List for each piece of a turn those within `reach` of it in its thread, in order."""
        found: dict[int, list[int]] = {}
        for number, other in self._db.rows_by(
            "SELECT a.number, b.number FROM memory_item a JOIN memory_item b"
            " ON b.scope = a.scope AND b.thread = a.thread"
            " AND b.seq BETWEEN a.seq - ? AND a.seq + ?"
            " AND b.place BETWEEN a.place - ? AND a.place + ?"
            " WHERE a.scope = ? AND a.thread <> 0 AND b.number <> a.number AND a.number",
            numbers,
            (reach, reach, reach, reach, self._scope),
        ):
            found.setdefault(number, []).append(other)
        return {number: sorted(others) for number, others in found.items()}


def _chosen(
    blocks: Mapping[int, Mapping[int, Posting]], counts: Mapping[int, int], limit: int
) -> dict[int, set[int]]:
    """Choose the items with the rarest words, of equally rare ones the newest.

    Returns:
        Offsets of at most `limit` items, by block.
    """
    chosen: dict[int, set[int]] = {}
    for _, equal in groupby(sorted(counts, key=lambda key: counts[key]), counts.__getitem__):
        keys = [*equal]
        for block in sorted(blocks, reverse=True):
            if limit <= 0:
                return chosen
            postings = (blocks[block][key] for key in keys if key in blocks[block])
            there = {at for posting in postings for at in posting.offsets()}
            newest = sorted(there - chosen.get(block, set()), reverse=True)[:limit]
            chosen.setdefault(block, set()).update(newest)
            limit -= len(newest)
    return chosen
