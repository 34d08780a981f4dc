"""How many words each item of an index has: a byte for each, the newest ones' in a short row."""

from collections.abc import Collection, Iterable, Mapping

from thalweg.database.base import Rows
from thalweg_memory.search.word_rows import (
    LENGTHS,
    RECENT,
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
