"""The rows of an index, with the postings of words.

A word's newest items are in its row of `memory_word`, which is short, so that a new item rewrites
little. When they are many they are moved to the word's rows in `memory_posting`, one for each block
of items.
"""

import hashlib
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from thalweg.database.base import Rows
from thalweg_memory.search.postings import BLOCK, BLOCK_BITS, MOST_TIMES, Posting, pack, unpack

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
