"""The archive in one SQLite file, for any number of processes on one machine."""

import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from thalweg.archive import search as searching
from thalweg.archive.base import Extent, ThreadKey
from thalweg.archive.table_rows import thread_values
from thalweg.archive.tables import Archive, closed_error
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.database.sqlite_files import MEMORY

_FORMAT = 2
"""Version of the file's format. A passage can be removed from the index only by the words it was
added with, so a change of `words_of` needs a migration that deletes the index, as 0011 does."""


class SqliteArchive(Archive):
    """The log of every thread, in an SQLite file or in memory.

    The methods are documented in `Archive`, concurrent use in `SqliteDatabase`. A file that cannot
    be written, such as a backup, is opened for reading: methods that change it raise
    `StorageError`, and searches do not index it.
    """

    _database: "SqliteDatabase[Transaction]"

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        secret: bytes | None = None,
        busy_timeout_s: float = 10.0,
    ) -> None:
        database = SqliteDatabase(
            path,
            "archive",
            Transaction,
            closed_error,
            busy_timeout_s=busy_timeout_s,
        )
        super().__init__(database, secret, version=_FORMAT)
        self.outlives_process = database.place != MEMORY

    def extent(self, key: ThreadKey) -> Extent:
        """Return the generation and the sizes of a thread, by one statement."""
        return Extent(*(self._database.row(_EXTENT, thread_values(key)) or ()))

    def prune(self) -> int:
        """Delete unreferenced blobs; return bytes freed."""
        with self._database.writing(None) as rows:
            (freed,) = rows.row(
                f"SELECT COALESCE(SUM(LENGTH(data)), 0) FROM archive_blob WHERE {_UNREFERENCED}"  # noqa: S608 (fixed text)
            )
            rows.run(f"DELETE FROM archive_blob WHERE {_UNREFERENCED}")  # noqa: S608 (fixed text)
            rows.run("DELETE FROM archive_handle WHERE held = 0")
        with self._database.connection() as db:
            db.execute("PRAGMA incremental_vacuum").fetchall()
            if self.outlives_process:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return int(freed)

    def erase(self) -> str:
        """Rewrite the file; return what may remain."""
        from thalweg.database.erasure import erase_file  # noqa: PLC0415 (seldom needed)

        if not self.outlives_process:
            return ""
        # The path that it was opened by may be relative to a folder that was left since.
        with self._database.connection() as db:
            _, _, file = db.execute("PRAGMA database_list").fetchone()
        return erase_file(Path(file), sys.maxsize)


_EXTENT = (
    "SELECT id, length, (SELECT COALESCE(MAX(turn) + 1, 0) FROM archive_turn WHERE thread = id)"
    " FROM archive_thread WHERE owner = ? AND thread = ?"
)
_UNREFERENCED = (
    "NOT EXISTS (SELECT 1 FROM archive_holding WHERE archive_holding.hash = archive_blob.hash)"
)


class Transaction(SqliteRows):
    """A transaction on the archive's tables.

    The word index is FTS5's, by stems, including those of English words.
    """

    bound = "0"

    def drop_thread(self, thread: int, *tables: str) -> None:
        """Delete a thread's row first, which permits deleting its log, then its other rows."""
        self.run("DELETE FROM archive_thread WHERE id = ?", (thread,))
        for table in tables:
            self.run(f"DELETE FROM {table} WHERE thread = ?", (thread,))  # noqa: S608 (ours)

    def list_words(self, listed: Iterable[tuple[int, str]]) -> None:
        """Add passages to the word index."""
        self.connection.executemany(
            "INSERT INTO archive_words (rowid, words) VALUES (?, ?)", listed
        )

    def unlist_words(self, first: int, end: int) -> None:
        """Remove passages from the word index, which needs their words again to do so."""
        for row in searching.rows_between(self, first, end):
            self.connection.execute(
                "INSERT INTO archive_words (archive_words, rowid, words) VALUES ('delete', ?, ?)",
                (row.id, searching.words_of(row.speaker, row.text)),
            )

    def count_listed(self, word: str, first: int, end: int, limit: int) -> tuple[int, int]:
        """Count the newest passages with a word; return the lowest id, too."""
        count, lowest = self.row(_COUNT_MATCHES, (f'"{word}"', first, end, limit))
        return int(count), int(lowest)

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
        match = " AND ".join(f'"{word}"' for word in words)
        if any_of:
            match += " AND ({})".format(" OR ".join(f'"{word}"' for word in any_of))
        rows = self.connection.execute(
            f"SELECT rowid {_MATCHING_ROWS} ORDER BY rowid DESC LIMIT ?", (match, first, end, limit)
        )
        return [row for (row,) in rows]


_MATCHING_ROWS = "FROM archive_words WHERE archive_words MATCH ? AND rowid >= ? AND rowid < ?"
_COUNT_MATCHES = (
    "SELECT COUNT(*), COALESCE(MIN(rowid), 0) FROM (SELECT rowid FROM archive_words"
    " WHERE archive_words MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?)"
)
