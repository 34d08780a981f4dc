"""Erasing deleted rows from a SQLite file, and from its write-ahead log.

SQLite's `secure_delete` overwrites a row in place when it is deleted. It does not overwrite the
copies that remain in a page when rows move to another one as pages are split and joined: some of
these exist after a few hundred writes. So the tables are rewritten, which overwrites whole pages of
the old ones, and the log, which contains everything, is truncated.
"""

import sqlite3
from contextlib import suppress

from thalweg.database.base import Rows
from thalweg_memory.store.schema import CONTENT


def begin_erasure(rows: Rows) -> None:
    """Rewrite the tables, in the transaction of the deletion, and record the pending work.

    The transaction locks the file exclusively; tables are copied through memory.
    """
    for table in CONTENT:
        rows.run(f"CREATE TEMP TABLE copied AS SELECT * FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"DELETE FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"INSERT INTO main.{table} SELECT * FROM copied")  # noqa: S608 (ours)
        rows.run("DROP TABLE temp.copied")
    rows.run("INSERT OR REPLACE INTO memory_meta VALUES ('unfinished', x'31')")


def is_unfinished(connection: sqlite3.Connection) -> bool:
    """Return whether the log has still to be truncated."""
    row = connection.execute("SELECT 1 FROM memory_meta WHERE name = 'unfinished'").fetchone()
    return row is not None


def finish_erasure(connection: sqlite3.Connection) -> bool:
    """Truncate the log once it has no readers, within the timeout of locks.

    Returns:
        Whether it was truncated.
    """
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        return False
    # Where a writer is in the way the log is cut once more by the next one.
    with suppress(sqlite3.OperationalError):
        connection.execute("DELETE FROM memory_meta WHERE name = 'unfinished'")
    return True
