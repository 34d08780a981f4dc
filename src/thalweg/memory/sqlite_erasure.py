"""Erasing from a SQLite file, and from the log before it, what was deleted from tables.

SQLite's `secure_delete` overwrites a row where it is deleted. It does not overwrite the copies
that stay behind in a page when rows move to another one as pages are split and joined: of these
some are left after a few hundred writes. So the tables are written anew, whole pages of the old
ones being overwritten, and the log, which has it all, is cut to nothing.
"""

import sqlite3
from contextlib import suppress

from thalweg.database.base import Rows
from thalweg.memory.schema import CONTENT


def begin_erasure(rows: Rows) -> None:
    """Write the tables anew, in the transaction that deleted from them, and note what is left.

    The transaction has the file to itself; tables are copied through memory.
    """
    for table in CONTENT:
        rows.run(f"CREATE TEMP TABLE copied AS SELECT * FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"DELETE FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"INSERT INTO main.{table} SELECT * FROM copied")  # noqa: S608 (ours)
        rows.run("DROP TABLE temp.copied")
    rows.run("INSERT OR REPLACE INTO memory_meta VALUES ('unfinished', x'31')")


def is_unfinished(connection: sqlite3.Connection) -> bool:
    """Tell whether the log has still to be cut."""
    row = connection.execute("SELECT 1 FROM memory_meta WHERE name = 'unfinished'").fetchone()
    return row is not None


def finish_erasure(connection: sqlite3.Connection) -> bool:
    """Cut the log, once nobody reads what is in it any more, for as long as locks are waited for.

    Returns:
        Whether it could be done.
    """
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        return False
    # Where a writer is in the way the log is cut once more by the next one.
    with suppress(sqlite3.OperationalError):
        connection.execute("DELETE FROM memory_meta WHERE name = 'unfinished'")
    return True
