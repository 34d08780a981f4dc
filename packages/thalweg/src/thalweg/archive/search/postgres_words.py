"""The word index of the PostgreSQL archive: for each word, the passages with it.

A row lists them for one word and one block of consecutive passages. A search then reads a few rows
by key, for any size of the database, and an append rewrites short ones.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence

import psycopg

from thalweg.archive.search.index import PASSAGE_BITS
from thalweg.database.postgres import PostgresRows
from thalweg.engine.words import stem

_BLOCK_BITS = 11
"""Passages of one block: 2**11. Each takes two bytes of a row, so that a row has less than 4 kB."""
_BLOCK = 1 << _BLOCK_BITS


class WordRows(PostgresRows):
    """A transaction with the word index; see `ArchiveRows`."""

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(connection)
        self._rows_by_query: dict[tuple[int, str, int, int], dict[int, bytes]] = {}

    def list_words(self, listed: Iterable[tuple[int, str]]) -> None:
        """Add passages of one thread, each with its words, after the existing ones."""
        blocks: dict[tuple[int, int], defaultdict[str, bytearray]] = {}
        existing_blocks: list[tuple[int, int]] = []
        for passage, words in listed:
            thread, offset = _split_id(passage)
            block, place = divmod(offset, _BLOCK)
            if (thread, block) not in blocks:
                blocks[thread, block] = defaultdict(bytearray)
                existing_blocks += [(thread, block)] if place else []
            rows, packed_place = blocks[thread, block], _pack_places([place])
            for word in {stem(word) for word in words.split()}:
                rows[word] += packed_place
        for thread, block in existing_blocks:
            rows = blocks.pop((thread, block))
            self._connection.execute(
                "INSERT INTO archive_words SELECT %s, %s, * FROM unnest(%s::text[], %s::bytea[])"
                " ON CONFLICT (thread, block, word)"
                " DO UPDATE SET passages = archive_words.passages || EXCLUDED.passages",
                (thread, block, list(rows), list(rows.values())),
            )
        self._insert_words(
            (thread, block, word, rows[word])
            for (thread, block), rows in blocks.items()
            for word in sorted(rows)
        )

    def _insert_words(self, rows: Iterable[tuple[int, int, str, bytes | bytearray]]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)]
        if columns:
            self._connection.execute(
                "INSERT INTO archive_words"
                " SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::bytea[])",
                columns,
            )

    def unlist_words(self, first: int, end: int) -> None:
        """Remove the passages from `first` on, which are the last before `end`."""
        thread, offset = _split_id(first)
        _, last = _split_id(end - 1)
        block, place = divmod(offset, _BLOCK)
        split_rows = self._connection.execute(
            "SELECT word, passages FROM archive_words WHERE thread = %s AND block = %s",
            (thread, block),
        ).fetchall()
        self._connection.execute(
            "DELETE FROM archive_words WHERE thread = %s AND block BETWEEN %s AND %s",
            (thread, block, last >> _BLOCK_BITS),
        )
        remaining = [
            (thread, block, word, packed)
            for word, passages in split_rows
            if (
                packed := _pack_places(
                    [
                        listed_place
                        for listed_place in _unpack_places(passages)
                        if listed_place < place
                    ]
                )
            )
        ]
        self._insert_words(remaining)

    def count_listed(self, word: str, first: int, end: int, limit: int) -> tuple[int, int]:
        """Count the passages with a word, all of them: the blocks of its range know how many."""
        del limit
        rows_by_block = self._rows_by_block(stem(word), first, end)
        return sum(len(packed) // 2 for packed in rows_by_block.values()), first

    def listed_under(
        self,
        words: Sequence[str],
        first: int,
        end: int,
        limit: int,
        *,
        any_of: Sequence[str] = (),
    ) -> list[int]:
        """Return the passages with all of some words, the highest id first."""
        required_rows = [self._rows_by_block(stem(word), first, end) for word in words]
        alternative_rows = [self._rows_by_block(stem(word), first, end) for word in any_of]
        found: list[int] = []
        for block in sorted(set.intersection(*map(set, required_rows)), reverse=True):
            start = (first >> PASSAGE_BITS << PASSAGE_BITS) + (block << _BLOCK_BITS)
            places = set.intersection(
                *(set(_unpack_places(rows_of_word[block])) for rows_of_word in required_rows)
            )
            if alternative_rows:
                places &= {
                    listed_place
                    for rows_of_word in alternative_rows
                    for listed_place in _unpack_places(rows_of_word.get(block, b""))
                }
            ids = (start + place for place in sorted(places, reverse=True))
            found += [passage for passage in ids if first <= passage < end]
            if len(found) >= limit:
                break
        return found[:limit]

    def _rows_by_block(self, word: str, first: int, end: int) -> dict[int, bytes]:
        """Return the rows of a word, by block."""
        thread, offset = _split_id(first)
        _, last = _split_id(end - 1)
        key = (thread, word, offset >> _BLOCK_BITS, last >> _BLOCK_BITS)
        if key not in self._rows_by_query:
            # Each block by its key: a range scan would read the rows of all words.
            rows = self._connection.execute(
                "SELECT block, passages FROM archive_words"
                " WHERE thread = %s AND block = ANY(%s) AND word = %s",
                (thread, list(range(key[2], key[3] + 1)), word),
                binary=True,
            )
            self._rows_by_query[key] = dict(rows.fetchall())
        return self._rows_by_query[key]


def _split_id(passage: int) -> tuple[int, int]:
    """Return the thread of a passage and its number in it."""
    return passage >> PASSAGE_BITS, passage & ((1 << PASSAGE_BITS) - 1)


def _pack_places(places: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(places)}H", *places)


def _unpack_places(passages: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(passages) // 2}H", passages)
