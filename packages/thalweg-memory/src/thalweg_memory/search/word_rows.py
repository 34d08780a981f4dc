"""The rows of an index, with the postings of words.

A word's newest items are in its row of `memory_word`, which is short, so that a new item rewrites
little. When they are many they are moved to the word's rows in `memory_posting`, one for each block
of items.
"""

import hashlib
import struct
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from thalweg.database.base import Rows

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


TOTALS, LENGTHS, VECTORS = 0, 1, 2
"""Rows of `memory_word` that belong to no word."""
RECENT = 256
"""Maximum of a word's newest items in its short row."""
Blocks = dict[int, dict[int, Posting]]
"""For each block of items, the postings of words in it."""
_TIMES = struct.Struct("<IB")


@dataclass(slots=True)
class WordRow:
    """A row of `memory_word`."""

    items: int = 0
    """Number of items that contain the word."""
    recent: bytes = b""
    """Some of them, with counts; the others are in blocks."""

    @property
    def is_all(self) -> bool:
        """Whether the word has no other row."""
        return self.items * _TIMES.size == len(self.recent)


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
        """Return the rows of words; words without items are omitted."""
        rows = self._db.rows_by(
            "SELECT word, items, recent FROM memory_word WHERE scope = ? AND word",
            [*keys],
            (self._scope,),
        )
        return {word: WordRow(items, recent) for word, items, recent in rows}

    def blocks(self, rows: Mapping[int, WordRow]) -> Blocks:
        """Return the postings of words."""
        blocks: Blocks = defaultdict(dict)
        in_blocks = [key for key, row in rows.items() if not row.is_all]
        for key, block, packed in self._db.rows_by(
            "SELECT word, block, items FROM memory_posting WHERE scope = ? AND word",
            in_blocks,
            (self._scope,),
        ):
            blocks[block][key] = unpack(packed)
        for key, row in rows.items():
            for block, times in _in_blocks(read_times(row.recent)).items():
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
        rows = self.read(changes)
        moved: dict[int, _Change] = {}
        for word, change in changes.items():
            row = rows.setdefault(word, WordRow())
            elsewhere = _without(row, change.gone)
            row.items += len(change.times)
            row.recent += write_times(change.times)
            is_long = len(row.recent) > RECENT * _TIMES.size
            if is_long or elsewhere:
                moved[word] = _Change(read_times(row.recent) if is_long else {}, elsewhere)
                row.recent = b"" if is_long else row.recent
        for word, removed in self._change_blocks(moved).items():
            rows[word].items -= removed
        self.put({word: row for word, row in rows.items() if row.items})
        empty = [(self._scope, word) for word, row in rows.items() if not row.items]
        self._db.run_each("DELETE FROM memory_word WHERE scope = ? AND word = ?", empty)

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
    return key if key not in {TOTALS, LENGTHS, VECTORS} else -1


def read_times(packed: bytes) -> dict[int, int]:
    """Read what `write_times` wrote."""
    return dict(_TIMES.iter_unpack(packed))


def write_times(times: Mapping[int, int]) -> bytes:
    """Write numbers of items, and a small number for each."""
    return b"".join([_TIMES.pack(number, often) for number, often in times.items()])


def _without(row: WordRow, gone: set[int]) -> set[int]:
    """Take items out of a row; those that are not in it are returned."""
    if not gone:
        return gone
    left = read_times(row.recent)
    elsewhere = gone - left.keys()
    row.items -= len(gone) - len(elsewhere)
    row.recent = write_times({number: left[number] for number in left if number not in gone})
    return elsewhere


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
