"""Erasing deleted rows from SQLite files while they are in use.

A deleted row remains in three places: in free space of its page, in copies from when SQLite moved
rows between pages, and in the write-ahead log. `secure_delete` overwrites the first only, so the
whole file is rewritten, and the log is truncated.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from thalweg.database.migrations.sqlite import has_table

POSTGRES_REMAINS: Final = (
    "deleted rows in the files of its tables until VACUUM FULL rewrites them (VACUUM alone does "
    "not overwrite), the write-ahead log, replicas"
)
COPIES_ELSEWHERE: Final = (
    "copies outside of the database: backups, exports, logs of model providers"
)
MOST_BYTES: Final = 64 << 20
"""Bytes above which a file is not rewritten while it is in use: writes of other owners would wait
for more than a second."""
_BUSY_TIMEOUT_S: Final = 5.0
_OPTIMIZE_WORD_INDEX: Final = "INSERT INTO archive_words (archive_words) VALUES ('optimize')"
"""Has the word index drop the words of deleted passages, which it keeps until segments merge."""


def erase_file(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Rewrite a database and truncate its log.

    Returns:
        What remains to be done, or an empty text.
    """
    if not path.exists():
        return ""
    try:
        with closing(
            sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        ) as database:
            is_small = path.stat().st_size <= most_bytes
            if is_small:
                database.execute("PRAGMA temp_store = MEMORY")  # no copy goes to another file
                if has_table(database, "archive_words"):
                    database.execute(_OPTIMIZE_WORD_INDEX)
                database.execute("VACUUM")
            is_log_in_use, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        return (
            f"{path.name}: not erased ({error}); deleted rows remain in it until the next erasure"
        )
    if is_log_in_use:
        return f"{path.name}-wal: a reader prevents truncation; it is truncated when that ends"
    if not is_small:
        size = f"{path.stat().st_size >> 20} MiB"
        return f"{path.name}: deleted rows in free pages; a file of {size} is not rewritten"
    return ""
