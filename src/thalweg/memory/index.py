"""The index of memories: which items of a scope have which words, in a few plain tables.

A row of `memory_word` has a word's newest items; when those are many they move into the word's
rows in `memory_posting`, one for each block of items. A question reads a few rows by key, however
many scopes there are; an item that is new rewrites one short row for each of its words. Words
are kept as keyed hashes: the index holds no content.
"""

import hashlib
import struct
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thalweg.archive.database import Rows
from thalweg.facts.found import Found
from thalweg.memory.postings import BLOCK, BLOCK_BITS, MOST_TIMES, Posting, pack, unpack
from thalweg.memory.selection import heaviest, weights

FACTS = 0
"""What stands for the thread of an item that is a fact; threads are numbered from 1."""
MOST_WORDS = 32
"""So many words of a question are looked up at most: those that the fewest items have."""
_RECENT = 256
"""Newest items of a word that are kept in one short row."""
_TIMES = struct.Struct("<IB")
_TOTALS, _LENGTHS = 0, 1
"""Rows of `memory_word` that stand for no word."""
_STATE = struct.Struct("<qq")
_LENGTH_BITS = 12
"""Lengths of 2**12 items stand in one row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An item on its way into the index."""

    words: Sequence[str]
    """What it is found by: `facts.found.item_words`."""
    thread: int = FACTS
    seq: int = 0
    """Of the turn in its thread; for a fact its number in a table of facts."""
    start: int = 0
    stop: int = -1
    """Where a piece of a turn begins and ends; -1 for the end of the text."""


@dataclass(frozen=True, slots=True)
class Place:
    """What an item is a piece of; see `Entry`."""

    number: int
    thread: int
    seq: int
    start: int
    stop: int


@dataclass(slots=True)
class _Change:
    """What happens to the items of one word: how often it stands in some, and no more in others."""

    times: dict[int, int]
    gone: set[int]


class Index:
    """The index of one scope, in a transaction.

    Who writes has locked the scope's row: two writers of one scope would undo each other.
    """

    def __init__(self, db: Rows, scope: int, secret: bytes) -> None:
        self._db = db
        self._scope = scope
        self._secret = secret

    # -- writing -------------------------------------------------------------------------

    def add(self, entries: Sequence[Entry]) -> list[int]:
        """Take items in, oldest first, pieces of one turn in a row.

        Returns:
            Their numbers, which ascend and are never given twice.
        """
        total, first, words = self._totals()
        numbers = list(range(first, first + len(entries)))
        places = self._next_places({entry.thread for entry in entries} - {FACTS})
        rows = []
        for number, entry in zip(numbers, entries, strict=True):
            place = places[entry.thread]
            places[entry.thread] += entry.thread != FACTS
            rows.append(
                (self._scope, number, entry.thread, entry.seq, place, entry.start, entry.stop)
            )
        self._db.insert("memory_item", rows)
        listed = {number: entry.words for number, entry in zip(numbers, entries, strict=True)}
        self._change(listed, {})
        words += sum(len(entry.words) for entry in entries)
        self._set_totals(total + len(entries), first + len(entries), words)
        return numbers

    def remove(self, items: Mapping[int, Sequence[str]]) -> None:
        """Take items out.

        Args:
            items: By number, the words they are indexed under.
        """
        total, first, words = self._totals()
        self._change({}, items)
        keys = [(self._scope, number) for number in items]
        self._db.run_each("DELETE FROM memory_item WHERE scope = ? AND number = ?", keys)
        self._db.run_each("DELETE FROM memory_vector WHERE scope = ? AND number = ?", keys)
        self._set_totals(total - len(items), first, words - sum(map(len, items.values())))

    def replace(self, number: int, old: Sequence[str], new: Sequence[str]) -> None:
        """Find an item by other words from now on; its vector is taken out."""
        total, first, words = self._totals()
        self._change({}, {number: old})
        self._change({number: new}, {})
        self._db.run(
            "DELETE FROM memory_vector WHERE scope = ? AND number = ?", (self._scope, number)
        )
        self._set_totals(total, first, words + len(new) - len(old))

    def clear(self) -> None:
        """Take every item of the scope out."""
        _, first, _ = self._totals()
        for table in ("memory_item", "memory_word", "memory_posting", "memory_vector"):
            self._db.run(f"DELETE FROM {table} WHERE scope = ?", (self._scope,))  # noqa: S608 (ours)
        self._set_totals(0, first, 0)

    def _totals(self) -> tuple[int, int, int]:
        """Tell how many items there are, the number of the next one, and the words of all."""
        row = self._db.row(
            "SELECT items, recent FROM memory_word WHERE scope = ? AND word = ?",
            (self._scope, _TOTALS),
        )
        return (row[0], *_STATE.unpack(row[1])) if row else (0, 1, 0)

    def _set_totals(self, total: int, following: int, words: int) -> None:
        self._put("memory_word", [(self._scope, _TOTALS, total, _STATE.pack(following, words))])

    def _put(self, table: str, rows: Sequence[tuple[int, int, int, bytes]]) -> None:
        key, value = _COLUMNS[table]
        self._db.put(table, key, value, rows)

    def _next_places(self, threads: Collection[int]) -> dict[int, int]:
        """Number the pieces of threads on from where they are."""
        places = dict.fromkeys(threads, 0) | {FACTS: 0}
        for thread in threads:
            row = self._db.row(
                "SELECT place FROM memory_item WHERE scope = ? AND thread = ?"
                " ORDER BY seq DESC, place DESC LIMIT 1",
                (self._scope, thread),
            )
            places[thread] = row[0] + 1 if row else 0
        return places

    def _change(
        self, added: Mapping[int, Sequence[str]], gone: Mapping[int, Sequence[str]]
    ) -> None:
        changes: defaultdict[int, _Change] = defaultdict(lambda: _Change({}, set()))
        for number, words in added.items():
            for word, often in Counter(words).items():
                changes[self._key(word)].times[number] = min(often, MOST_TIMES)
        for number, words in gone.items():
            for word in set(words):
                changes[self._key(word)].gone.add(number)
        self._rewrite(changes)
        self._set_lengths(
            {number: min(len(words), 255) for number, words in added.items()}
            | dict.fromkeys(gone, 0)
        )

    def _key(self, word: str) -> int:
        return hashed(self._secret, word)

    def _rewrite(self, changes: Mapping[int, _Change]) -> None:
        """Change the rows of words."""
        known = {word: (items, recent) for word, items, recent in self._words(changes)}
        moved: dict[int, _Change] = {}
        kept: dict[int, tuple[int, bytes]] = {}
        for word, change in changes.items():
            items, recent = known.get(word, (0, b""))
            if change.gone:
                left = dict(_TIMES.iter_unpack(recent))
                elsewhere = {number for number in change.gone if left.pop(number, None) is None}
                items += len(left) - len(recent) // _TIMES.size
                recent = _packed(left)
                if elsewhere:
                    moved[word] = _Change({}, elsewhere)
            recent += _packed(change.times)
            items += len(change.times)
            if len(recent) > _RECENT * _TIMES.size:
                moved.setdefault(word, _Change({}, set())).times = dict(_TIMES.iter_unpack(recent))
                recent = b""
            kept[word] = (items, recent)
        for word, removed in self._move(moved).items():
            items, recent = kept[word]
            kept[word] = (items - removed, recent)
        self._put(
            "memory_word",
            [(self._scope, word, items, recent) for word, (items, recent) in kept.items() if items],
        )
        empty = [(self._scope, word) for word, (items, _) in kept.items() if not items]
        self._db.run_each("DELETE FROM memory_word WHERE scope = ? AND word = ?", empty)

    def _words(self, words: Iterable[int]) -> Iterable[tuple[int, int, bytes]]:
        return self._db.rows_by(
            "SELECT word, items, recent FROM memory_word WHERE scope = ? AND word",
            list(words),
            (self._scope,),
        )

    def _move(self, changes: Mapping[int, _Change]) -> dict[int, int]:
        """Change the blocks of words.

        Returns:
            Of each word, in how many items it no longer stands.
        """
        removed = dict.fromkeys(changes, 0)
        for block, words in sorted(_by_block(changes).items()):
            found = {
                word: unpack(packed)
                for word, packed in self._db.rows_by(
                    "SELECT word, items FROM memory_posting WHERE scope = ? AND block = ? AND word",
                    list(words),
                    (self._scope, block),
                )
            }
            rows, empty = [], []
            for word, change in words.items():
                old = found.get(word, _NOTHING)
                removed[word] += len(old.among(change.gone))
                new = old.without(change.gone) if change.gone else old
                new = new.with_items(change.times) if change.times else new
                if new:
                    rows.append((self._scope, word, block, pack(new)))
                elif old:
                    empty.append((self._scope, word, block))
            self._put("memory_posting", rows)
            self._db.run_each(
                "DELETE FROM memory_posting WHERE scope = ? AND word = ? AND block = ?", empty
            )
        return removed

    def _set_lengths(self, lengths: Mapping[int, int]) -> None:
        recent = {}
        for _, _, packed in self._words((_LENGTHS,)):
            recent = dict(_TIMES.iter_unpack(packed))
        recent.update(lengths)
        if len(recent) > _RECENT:
            rows = self._lengths(recent)
            changed = {
                block: bytearray(rows.get(block, b""))
                for block in {number >> _LENGTH_BITS for number in recent}
            }
            for number, length in recent.items():
                row, at = changed[number >> _LENGTH_BITS], number & (1 << _LENGTH_BITS) - 1
                row.extend(bytes(max(0, at + 1 - len(row))))
                row[at] = length
            self._put(
                "memory_posting",
                [(self._scope, _LENGTHS, block, bytes(row)) for block, row in changed.items()],
            )
            recent = {}
        self._put("memory_word", [(self._scope, _LENGTHS, 0, _packed(recent))])

    def _lengths(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Read the rows with the lengths of items."""
        return dict(
            self._db.rows_by(
                "SELECT block, items FROM memory_posting WHERE scope = ? AND word = ? AND block",
                sorted({number >> _LENGTH_BITS for number in numbers}),
                (self._scope, _LENGTHS),
            )
        )

    # -- reading -------------------------------------------------------------------------

    def find(self, words: Sequence[str], limit: int) -> Found:
        """Find items by words; see `MemoryStore.find`."""
        keys = {self._key(word): word for word in words}
        rows = {
            word: (items, recent) for word, items, recent in self._words((_TOTALS, _LENGTHS, *keys))
        }
        total, state = rows.pop(_TOTALS, (0, _STATE.pack(1, 0)))
        _, recent_lengths = rows.pop(_LENGTHS, (0, b""))
        _, in_all = _STATE.unpack(state)
        counts = {word: rows[key][0] if key in rows else 0 for key, word in keys.items()}
        rare = sorted(rows, key=lambda key: rows[key][0])[:MOST_WORDS]
        blocks = self._read({key: rows[key] for key in rare})
        chosen = _chosen(blocks, {key: rows[key][0] for key in rare}, total, limit)
        places: dict[str, dict[int, int]] = {word: {} for word in words}
        for block, offsets in chosen.items():
            base = block << BLOCK_BITS
            for key, posting in blocks[block].items():
                places[keys[key]].update(
                    [(base + at, often) for at, often in posting.among(offsets)]
                )
        return Found(
            places,
            counts,
            self._lengths_of(chosen, recent_lengths),
            total,
            in_all / max(1, total),
            {},
        )

    def _read(self, rows: Mapping[int, tuple[int, bytes]]) -> dict[int, dict[int, Posting]]:
        """Read where words stand, by block."""
        blocks: defaultdict[int, dict[int, Posting]] = defaultdict(dict)
        moved = [key for key, (items, recent) in rows.items() if items * _TIMES.size > len(recent)]
        if moved:
            for key, block, packed in self._db.rows_by(
                "SELECT word, block, items FROM memory_posting WHERE scope = ? AND word",
                moved,
                (self._scope,),
            ):
                blocks[block][key] = unpack(packed)
        for key, (_, recent) in rows.items():
            for block, times in _in_blocks(dict(_TIMES.iter_unpack(recent))).items():
                old = blocks[block].get(key)
                blocks[block][key] = old.with_items(times) if old else Posting(times)
        return blocks

    def _lengths_of(self, chosen: Mapping[int, set[int]], recent: bytes) -> dict[int, int]:
        numbers = [
            (block << BLOCK_BITS) + at for block, offsets in chosen.items() for at in offsets
        ]
        known = dict(_TIMES.iter_unpack(recent))
        rows = self._lengths(numbers)
        mask = (1 << _LENGTH_BITS) - 1
        return {
            number: known[number]
            if number in known
            else rows[number >> _LENGTH_BITS][number & mask]
            for number in numbers
        }

    def places(self, numbers: Sequence[int]) -> list[Place]:
        """Tell what items are; numbers that name nothing are left out."""
        return [
            Place(*row)
            for row in self._db.rows_by(
                "SELECT number, thread, seq, start, stop FROM memory_item WHERE scope = ? AND number",
                numbers,
                (self._scope,),
            )
        ]

    def beside(self, numbers: Sequence[int], reach: int) -> dict[int, list[int]]:
        """List for each piece of a turn those within `reach` of it in its thread, in order."""
        found: dict[int, list[int]] = {}
        for number, other in self._db.rows_by(
            "SELECT a.number, b.number FROM memory_item a JOIN memory_item b"
            " ON b.scope = a.scope AND b.thread = a.thread"
            " AND b.seq BETWEEN a.seq - ? AND a.seq + ? AND b.place BETWEEN a.place - ? AND a.place + ?"
            " WHERE a.scope = ? AND a.thread > 0 AND b.number <> a.number AND a.number",
            numbers,
            (reach, reach, reach, reach, self._scope),
        ):
            found.setdefault(number, []).append(other)
        return {number: sorted(others) for number, others in found.items()}


_NOTHING = Posting({})
_COLUMNS = {
    "memory_word": (("scope", "word"), ("items", "recent")),
    "memory_posting": (("scope", "word", "block"), ("items",)),
}


@lru_cache(maxsize=1 << 16)
def hashed(secret: bytes, word: str) -> int:
    """Name a word in the index, so that the name does not tell the word."""
    digest = hashlib.blake2b(word.encode(), digest_size=8, key=secret[:64]).digest()
    key = int.from_bytes(digest, "little", signed=True)
    return key if key not in {_TOTALS, _LENGTHS} else -1


def _packed(times: Mapping[int, int]) -> bytes:
    return b"".join(_TIMES.pack(*one) for one in times.items())


def _in_blocks(times: Mapping[int, int]) -> dict[int, dict[int, int]]:
    blocks: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for number, often in times.items():
        blocks[number >> BLOCK_BITS][number & BLOCK - 1] = often
    return blocks


def _by_block(changes: Mapping[int, _Change]) -> dict[int, dict[int, _Change]]:
    blocks: defaultdict[int, dict[int, _Change]] = defaultdict(dict)
    for word, change in changes.items():
        times = _in_blocks(change.times)
        gone = _in_blocks(dict.fromkeys(change.gone, 0))
        for block in times.keys() | gone.keys():
            blocks[block][word] = _Change(times.get(block, {}), set(gone.get(block, ())))
    return blocks


def _chosen(
    blocks: Mapping[int, Mapping[int, Posting]], counts: Mapping[int, int], total: int, limit: int
) -> dict[int, set[int]]:
    if sum(counts.values()) <= limit:
        return {
            block: set().union(*(posting.times for posting in postings.values()))
            for block, postings in blocks.items()
        }
    weight = dict(zip(counts, weights(list(counts.values()), total), strict=True))
    bits = {
        block: [(posting.bits(), weight[key]) for key, posting in postings.items()]
        for block, postings in blocks.items()
    }
    return heaviest(bits, limit)
