"""The index format 2: a row of `memory_word` for each word."""

from thalweg.database.base import Rows
from thalweg_memory.search.index import SIZE, read_items, read_word, unpack_words, write_times


def as_format_2(db: Rows, scope: int) -> None:
    """Write a row for each word of a scope, with five bytes for each item."""
    select = "SELECT recent FROM memory_word WHERE scope = ? AND word > ?"
    shared = [*db.rows(select, (scope, SIZE))]
    db.run("DELETE FROM memory_word WHERE scope = ? AND word >= ?", (scope, SIZE))
    rows = [
        (scope, word, row.total, write_times(read_items(row.recent)))
        for (packed,) in shared
        for word, entry in unpack_words(packed).items()
        for row in [read_word(entry)]
    ]
    db.insert("memory_word", rows)
