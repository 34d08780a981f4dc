"""The index of memories: which items of a scope have which words, in a few plain tables.

A question reads a few rows by key, however many scopes there are. Words are kept as keyed hashes:
the index holds no content. The number of words of an item is a byte; those of the newest items are
in a short row.

A row of `memory_word` has eight words on average, as a row of its own would cost more than a word
that is rare. Linear hashing distributes them: with more words, one row at a time is split. A word's
newest items are in there. When they are many they are moved to the word's rows in `memory_posting`,
one for each block of items.
"""

import hashlib
import math
import struct
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, groupby, repeat

from thalweg.database.base import Rows
from thalweg_memory.facts.recall.ranking import WordOccurrences

BLOCK_BITS = 15
"""A block is 2**15 items with numbers in a row: a bitmap is at most 4 kB."""
BLOCK = 1 << BLOCK_BITS
MOST_TIMES = 255
"""Maximum count of a word in an item; higher ones are stored as this."""
_DENSE = 16
"""With more than one item for so many bytes of a bitmap, the bitmap is used. It is the larger
one then for a while, but read faster."""
_HEAD = struct.Struct("<?H")


@dataclass(frozen=True, slots=True)
class Posting:
    """The items of one block that contain a word, each as its offset in the block."""

    times: Mapping[int, int]
    """The count in each; items of the bitmap with a count of one are omitted."""
    bitmap: bytes = b""
    """Bit `i % 8` of byte `i // 8` is the item at offset `i`. Empty: `times` has all."""

    def bits(self) -> int:
        """Return the items as the bits of a number."""
        return int.from_bytes(self.bitmap or _bitmap_of(self.times), "little")

    def offsets(self) -> Collection[int]:
        """List the items."""
        return [*offsets_of(self.bits())] if self.bitmap else self.times

    def among(self, offsets: set[int], base: int = 0) -> dict[int, int]:
        """Return the counts of the word in those of some items that contain it.

        Args:
            offsets: Offsets of the items.
            base: Added to the returned offsets.
        """
        times = self.times
        if not self.bitmap:
            return {base + at: times[at] for at in offsets.intersection(times)}
        bitmap, end = self.bitmap, len(self.bitmap) << 3
        return {
            base + at: times.get(at, 1)
            for at in offsets
            if at < end and bitmap[at >> 3] >> (at & 7) & 1
        }

    def with_items(self, times: Mapping[int, int]) -> "Posting":
        """Take items in."""
        if not times:
            return self
        if not self.bitmap:
            return Posting({**self.times, **times})
        bits = self.bits() | int.from_bytes(_bitmap_of(times), "little")
        repeated = {at: often for at, often in times.items() if often > 1}
        return Posting({**self.times, **repeated}, _bytes_of(bits))

    def without(self, offsets: Collection[int]) -> "Posting":
        """Take items out; those that are not there are passed over."""
        if not offsets:
            return self
        left = {at: often for at, often in self.times.items() if at not in offsets}
        if not self.bitmap:
            return Posting(left)
        gone = int.from_bytes(_bitmap_of(offsets), "little")
        return Posting(left, _bytes_of(self.bits() & ~gone))

    def __bool__(self) -> bool:
        """Return whether any item contains the word."""
        return bool(self.times) or any(self.bitmap)


def pack(posting: Posting) -> bytes:
    """Write a posting as bytes.

    Example:
        >>> unpack(pack(Posting({3: 1, 9: 2}))).among({3, 4, 9}) == {3: 1, 9: 2}
        True
    """
    times, bitmap = posting.times, posting.bitmap
    if not bitmap and len(times) * _DENSE > max(times, default=0) >> 3:
        bitmap = _bitmap_of(times)
    repeated = [(at, often) for at, often in times.items() if often > 1]
    members = bitmap or _shorts(len(times)).pack(*sorted(times))
    return b"".join(
        (
            _HEAD.pack(bool(bitmap), len(repeated)),
            _shorts(len(repeated)).pack(*(at for at, _ in repeated)),
            bytes(often for _, often in repeated),
            members,
        )
    )


def unpack(packed: bytes) -> Posting:
    """Read what `pack` wrote."""
    is_bitmap, number = _HEAD.unpack_from(packed)
    at = _HEAD.size + 2 * number
    often, members = packed[at : at + number], packed[at + number :]
    repeated = zip(_shorts(number).unpack_from(packed, _HEAD.size), often, strict=True)
    if is_bitmap:
        return Posting(dict(repeated), members)
    times = dict.fromkeys(_shorts(len(members) // 2).unpack(members), 1)
    times.update(repeated)
    return Posting(times)


@cache
def _shorts(number: int) -> struct.Struct:
    return struct.Struct(f"<{number}H")


def _bitmap_of(offsets: Collection[int]) -> bytes:
    bitmap = bytearray((max(offsets, default=-1) >> 3) + 1)
    for at in offsets:
        bitmap[at >> 3] |= 1 << (at & 7)
    return bytes(bitmap)


def _bytes_of(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) >> 3, "little")


def offsets_of(bits: int) -> Iterator[int]:
    """Yield the bits that are set, the highest first.

    Example:
        >>> list(offsets_of(0b1000_0000_0101))
        [11, 2, 0]
    """
    words = (bits.bit_length() + 63) >> 6
    base = words << 6
    for word in struct.unpack(f">{words}Q", bits.to_bytes(words << 3, "big")):
        base -= 64
        left = word
        while left:
            highest = left.bit_length() - 1
            yield base + highest
            left ^= 1 << highest


TOTALS, LENGTHS, SIZE = 0, 1, 3
"""Rows of `memory_word` that have no words; `SIZE` counts the words and the rows that have them."""
_FIRST = 4
"""The key of the first row of words."""
WORDS_OF_ROW = 8
"""Words of a row on average."""
RECENT = 256
"""Maximum of the newest lengths in their short row."""
MOST_BYTES = 512
"""Maximum bytes of a word's newest items in its row."""
Blocks = dict[int, dict[int, Posting]]
"""For each block of items, the postings of words in it."""
_TIMES = struct.Struct("<IB")
_WORD = struct.Struct("<qH")
"""A word in its row: its key, and twice the bytes that follow, 1 added if the first four of them
are the number of its items in blocks."""
_MOVED = struct.Struct("<I")
_ROWS = struct.Struct("<q")


@dataclass(slots=True)
class WordRow:
    """A row of `memory_word` that has no words, or a word in a row."""

    items: int = 0
    """Of a word, the number of its items in blocks."""
    recent: bytes = b""
    """Of a word, its other items, as `write_items` wrote them."""

    @property
    def total(self) -> int:
        """Number of items that contain the word."""
        return self.items + len(read_items(self.recent))


_EMPTY = WordRow()


@dataclass(slots=True)
class _Change:
    """Changes of the items of a word: new counts of some, and removals."""

    times: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)


class WordRows:
    """The rows of one scope, in a transaction."""

    def __init__(self, db: Rows, scope: int, secret: bytes) -> None:
        self._db = db
        self._scope = scope
        self._secret = secret

    def key(self, word: str) -> int:
        """Name a word in the index."""
        return hashed(self._secret, word)

    def read(self, keys: Iterable[int]) -> dict[int, WordRow]:
        """Return rows by key; missing ones are omitted."""
        rows = self._db.rows_by(
            "SELECT word, items, recent FROM memory_word WHERE scope = ? AND word",
            [*keys],
            (self._scope,),
        )
        return {word: WordRow(items, recent) for word, items, recent in rows}

    def words(self, keys: Collection[int]) -> dict[int, WordRow]:
        """Return words by key; words without items are omitted."""
        _, rows = self._size()
        buckets = self._buckets({_row_of(key, rows) for key in keys})
        found = ((key, buckets[_row_of(key, rows)].get(key)) for key in keys)
        return {key: read_word(entry) for key, entry in found if entry is not None}

    def _size(self) -> tuple[int, int]:
        """Return the number of words, and of rows for them."""
        row = self.read((SIZE,)).get(SIZE)
        return (row.items, *_ROWS.unpack(row.recent)) if row else (0, 1)

    def _buckets(self, numbers: Collection[int]) -> dict[int, dict[int, bytes]]:
        """Return the entries of words in rows, by the rows' numbers from 0."""
        rows = self.read([_FIRST + number for number in numbers])
        return {n: unpack_words(rows.get(_FIRST + n, _EMPTY).recent) for n in numbers}

    def blocks(self, rows: Mapping[int, WordRow]) -> Blocks:
        """Return the postings of words."""
        blocks: Blocks = defaultdict(dict)
        in_blocks = [key for key, row in rows.items() if row.items]
        for key, block, packed in self._db.rows_by(
            "SELECT word, block, items FROM memory_posting WHERE scope = ? AND word",
            in_blocks,
            (self._scope,),
        ):
            blocks[block][key] = unpack(packed)
        for key, row in rows.items():
            for block, times in _in_blocks(read_items(row.recent)).items():
                old = blocks[block].get(key)
                blocks[block][key] = old.with_items(times) if old else Posting(times)
        return blocks

    def put(self, rows: Mapping[int, WordRow]) -> None:
        """Write rows of `memory_word`."""
        listed = [(self._scope, word, row.items, row.recent) for word, row in rows.items()]
        self._db.put("memory_word", ("scope", "word"), ("items", "recent"), listed)

    def change(self, added: Mapping[int, Sequence[str]], gone: Mapping[int, Sequence[str]]) -> None:
        """List items by number under their words, and others no more under theirs."""
        changes = self._changes(added, gone)
        size, rows = self._size()
        places = {word: _row_of(word, rows) for word in changes}
        buckets = self._buckets({*places.values()})
        before = sum(map(len, buckets.values()))
        moved: dict[int, _Change] = {}
        changed: dict[int, WordRow] = {}
        for word, change in changes.items():
            entry = buckets[places[word]].get(word)
            row = read_word(entry) if entry else WordRow()
            changed[word] = row
            elsewhere = _without(row, change.gone)
            row.recent = write_items(change.times, row.recent)
            is_long = len(row.recent) > MOST_BYTES
            if is_long or elsewhere:
                recent = read_items(row.recent) if is_long else {}
                moved[word] = _Change(recent, elsewhere)
                row.items += len(recent)
                row.recent = b"" if is_long else row.recent
        for word, removed in self._change_blocks(moved).items():
            changed[word].items -= removed
        for word, row in changed.items():
            bucket = buckets[places[word]]
            if row.items or row.recent:
                bucket[word] = write_word(word, row)
            else:
                bucket.pop(word, None)
        size += sum(map(len, buckets.values())) - before
        rows = self._split(buckets, rows, math.ceil(size / WORDS_OF_ROW))
        self.put(
            {
                _FIRST + n: WordRow(0, b"".join(words.values()))
                for n, words in buckets.items()
                if words
            }
            | {SIZE: WordRow(size, _ROWS.pack(rows))}
        )
        empty = [(self._scope, _FIRST + n) for n, words in buckets.items() if not words]
        self._db.run_each("DELETE FROM memory_word WHERE scope = ? AND word = ?", empty)

    def _split(self, buckets: dict[int, dict[int, bytes]], rows: int, enough: int) -> int:
        """Split rows in their order until there are enough; return how many there are."""
        sources = {new: new - (1 << new.bit_length() - 1) for new in range(rows, enough)}
        buckets |= self._buckets({n for n in sources.values() if n < rows} - buckets.keys())
        for new, source in sources.items():
            words = buckets[source]
            leaving = [word for word in words if _row_of(word, new + 1) == new]
            buckets[new] = {word: words.pop(word) for word in leaving}
        return max(rows, enough)

    def _changes(
        self, added: Mapping[int, Sequence[str]], gone: Mapping[int, Sequence[str]]
    ) -> dict[int, _Change]:
        changes: defaultdict[int, _Change] = defaultdict(_Change)
        for number, words in added.items():
            for word, often in Counter(words).items():
                changes[self.key(word)].times[number] = min(often, MOST_TIMES)
        for number, words in gone.items():
            for word in set(words):
                changes[self.key(word)].gone.add(number)
        return changes

    def _change_blocks(self, changes: Mapping[int, _Change]) -> dict[int, int]:
        """Change the blocks of words.

        Returns:
            For each word, from how many items it was taken.
        """
        removed = dict.fromkeys(changes, 0)
        for block, words in sorted(_by_block(changes).items()):
            found = self._block(block, words)
            rows: list[tuple[int, int, int, bytes]] = []
            empty: list[tuple[int, int, int]] = []
            for word, change in words.items():
                old = found.get(word, _NOTHING)
                removed[word] += len(old.among(change.gone))
                new = old.without(change.gone).with_items(change.times)
                if new:
                    rows.append((self._scope, word, block, pack(new)))
                elif old:
                    empty.append((self._scope, word, block))
            self._db.put("memory_posting", ("scope", "word", "block"), ("items",), rows)
            self._db.run_each(
                "DELETE FROM memory_posting WHERE scope = ? AND word = ? AND block = ?", empty
            )
        return removed

    def _block(self, block: int, words: Iterable[int]) -> dict[int, Posting]:
        rows = self._db.rows_by(
            "SELECT word, items FROM memory_posting WHERE scope = ? AND block = ? AND word",
            [*words],
            (self._scope, block),
        )
        return {word: unpack(packed) for word, packed in rows}


_NOTHING = Posting({})


@lru_cache(maxsize=1 << 16)
def hashed(secret: bytes, word: str) -> int:
    """Return the key of a word, from which the word cannot be guessed without the secret."""
    digest = hashlib.blake2b(word.encode(), digest_size=8, key=secret[:64]).digest()
    key = int.from_bytes(digest, "little", signed=True)
    return key if key not in {TOTALS, LENGTHS} else -1


def read_times(packed: bytes) -> dict[int, int]:
    """Read what `write_times` wrote."""
    return dict(_TIMES.iter_unpack(packed))


def write_times(times: Mapping[int, int]) -> bytes:
    """Write numbers of items, and a small number for each."""
    return b"".join([_TIMES.pack(number, often) for number, often in times.items()])


def _row_of(word: int, rows: int) -> int:
    """Return the number of a word's row, of so many: by linear hashing."""
    doubled = 1 << (rows - 1).bit_length()
    at = word % doubled
    return at if at < rows else at - (doubled >> 1)


def write_word(word: int, row: WordRow) -> bytes:
    """Write the entry of a word in its row."""
    body = _MOVED.pack(row.items) + row.recent if row.items else row.recent
    return _WORD.pack(word, len(body) << 1 | bool(row.items)) + body


def read_word(entry: bytes) -> WordRow:
    """Read what `write_word` wrote."""
    if not entry[_WORD.size - 2] & 1:
        return WordRow(0, entry[_WORD.size :])
    (moved,) = _MOVED.unpack_from(entry, _WORD.size)
    return WordRow(moved, entry[_WORD.size + _MOVED.size :])


def unpack_words(packed: bytes) -> dict[int, bytes]:
    """Return the entry of each word of a row."""
    words: dict[int, bytes] = {}
    at, end, head, unpack_from = 0, len(packed), _WORD.size, _WORD.unpack_from
    while at < end:
        word, size = unpack_from(packed, at)
        start, at = at, at + head + (size >> 1)
        words[word] = packed[start:at]
    return words


def read_items(packed: bytes) -> dict[int, int]:
    """Read what `write_items` wrote."""
    return Counter(_numbers(packed))


def write_items(times: Mapping[int, int], before: bytes = b"") -> bytes:
    """Write the numbers of items, each as often as it contains a word, after others.

    A number has two bytes. If one of them needs more, all have four, and a byte precedes them.

    Example:
        >>> both = write_items({70_000: 1}, write_items({3: 2, 9: 1}))
        >>> read_items(both) == {3: 2, 9: 1, 70_000: 1}
        True
    """
    if not times:
        return before
    numbers = [*chain.from_iterable(map(repeat, times, times.values()))]
    if len(before) % 2 == 0 and max(times) < 1 << 16:
        return before + _shorts(len(numbers)).pack(*numbers)
    numbers = [*_numbers(before), *numbers]
    return b"\0" + struct.pack(f"<{len(numbers)}I", *numbers)


def _numbers(packed: bytes) -> tuple[int, ...]:
    if len(packed) % 2 == 0:
        return _shorts(len(packed) >> 1).unpack(packed)
    return struct.unpack(f"<{len(packed) >> 2}I", packed[1:])


def _without(row: WordRow, gone: set[int]) -> set[int]:
    """Take items out of a word; those that are not in its row are returned."""
    if not gone:
        return gone
    left = read_items(row.recent)
    row.recent = write_items({number: left[number] for number in left if number not in gone})
    return gone - left.keys()


def _in_blocks(times: Mapping[int, int]) -> dict[int, dict[int, int]]:
    blocks: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for number, often in times.items():
        blocks[number >> BLOCK_BITS][number & BLOCK - 1] = often
    return blocks


def _by_block(changes: Mapping[int, _Change]) -> dict[int, dict[int, _Change]]:
    blocks: defaultdict[int, defaultdict[int, _Change]] = defaultdict(lambda: defaultdict(_Change))
    for word, change in changes.items():
        for block, times in _in_blocks(change.times).items():
            blocks[block][word].times = times
        for block, gone in _in_blocks(dict.fromkeys(change.gone, 1)).items():
            blocks[block][word].gone = {*gone}
    return {block: dict(words) for block, words in blocks.items()}


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
    """Its index terms: its `fact_words` or `turn_words` (`facts.recall.ranking`)."""
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
        keys = [(self._scope, number) for number in items]
        self._db.run_each("DELETE FROM memory_item WHERE scope = ? AND number = ?", keys)

    def replace(self, number: int, old: Sequence[str], new: Sequence[str]) -> None:
        """Find an item by other words from now on."""
        self._change({}, {number: old}, self._totals())
        self._change({number: new}, {}, self._totals())

    def clear(self) -> None:
        """Take every item of the scope out."""
        totals = self._totals()
        for table in ("memory_item", "memory_word", "memory_posting"):
            self._db.run(f"DELETE FROM {table} WHERE scope = ?", (self._scope,))  # noqa: S608 (ours)
        self._rows.put({TOTALS: _Totals(following=totals.following).row()})

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
        facts: int | None = None,
    ) -> WordOccurrences:
        """Find items by words; see `MemoryStore.find`.

        With `facts`, which is how many facts there are at most, only facts are found.
        """
        keys = {self._rows.key(word): word for word in words}
        own = self._rows.read((TOTALS, LENGTHS))
        totals = _Totals.read(own.get(TOTALS, _EMPTY))
        rows = self._rows.words(keys)
        listed = {key: row.total for key, row in rows.items()}
        counts = {key: listed[key] for key in sorted(rows, key=listed.__getitem__)[:most_words]}
        blocks = self._rows.blocks({key: rows[key] for key in counts})
        if facts is None:
            chosen = _chosen(blocks, counts, limit)
        else:
            chosen = self._chosen_facts(blocks, counts, limit, facts)
        places: dict[int, dict[int, int]] = {key: {} for key in keys}
        for block, offsets in chosen.items():
            for key, posting in blocks[block].items():
                places[key].update(posting.among(offsets, block << BLOCK_BITS))
        numbers = set(chain.from_iterable(places.values()))
        return WordOccurrences(
            {word: places[key] for key, word in keys.items()},
            {word: listed.get(key, 0) for key, word in keys.items()},
            self._lengths.read(numbers, own.get(LENGTHS, _EMPTY)),
            totals.items,
            totals.words / max(1, totals.items),
        )

    def _chosen_facts(
        self, blocks: Blocks, counts: Mapping[int, int], limit: int, facts: int
    ) -> dict[int, set[int]]:
        """Choose facts as `_chosen` does items, and more of them rather than fewer.

        Few facts are all chosen. Of more, so many items are looked at that `limit` are facts.
        """
        most = limit
        while most < facts:
            chosen = _chosen(blocks, counts, most)
            numbers = [(block << BLOCK_BITS) + at for block in chosen for at in chosen[block]]
            # Not selected by thread: all facts have the same one, and would all be scanned.
            rows = self._db.rows_by(
                "SELECT number, thread FROM memory_item WHERE scope = ? AND number",
                numbers,
                (self._scope,),
            )
            found = _offsets(number for number, thread in rows if thread == FACTS)
            if len(numbers) < most or sum(map(len, found.values())) >= limit:
                return found
            most *= 4
        rows = self._db.rows(
            "SELECT number FROM memory_item WHERE scope = ? AND thread = 0", (self._scope,)
        )
        return _offsets(number for (number,) in rows)

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


def _offsets(numbers: Iterable[int]) -> dict[int, set[int]]:
    """Return the offsets of items by block."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for number in numbers:
        found[number >> BLOCK_BITS].add(number & BLOCK - 1)
    return found


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
