"""The archive in a PostgreSQL database, for any number of processes on any machines."""

from thalweg.archive.search.postgres_words import WordRows
from thalweg.archive.tables import Archive, closed_error
from thalweg.database.erasure import POSTGRES_REMAINS
from thalweg.database.postgres import PostgresDatabase

_FORMAT = 3
"""Format 2 of the SQLite archive, with row-level security."""


class PostgresArchive(Archive):
    """The log of every thread, in the tables `archive_…` of a PostgreSQL database.

    Writers of one thread wait for each other up to `busy_timeout_s`, others not at all. The methods
    are documented in `Archive`, the connections in `PostgresDatabase`.
    """

    def __init__(
        self, url: str, *, secret: bytes | None = None, busy_timeout_s: float = 10.0
    ) -> None:
        database = PostgresDatabase(
            url, _ArchiveTransaction, closed_error, busy_timeout_s=busy_timeout_s
        )
        super().__init__(database, secret, version=_FORMAT)

    def prune(self) -> int:
        """Delete unreferenced blobs, of all owners; return bytes freed."""
        with self._database.writing(None) as rows:
            (freed,) = rows.row("SELECT archive_prune()")
        return int(freed)

    def erase(self) -> str:
        """Return what remains in the files of the server."""
        return f"PostgreSQL archive: {POSTGRES_REMAINS}"


class _ArchiveTransaction(WordRows):
    """A transaction on the archive's tables."""

    bound = "set_config('thalweg.thread', CAST(id AS text), true)"

    def drop_thread(self, thread: int, *tables: str) -> None:
        """Delete a thread's rows in one statement: access to the others needs the first."""
        deletions = ", ".join(
            f"{table}_ AS (DELETE FROM {table} WHERE thread = {thread})"  # noqa: S608 (ours)
            for table in tables
        )
        self.run(f"WITH {deletions} DELETE FROM archive_thread WHERE id = {thread}")  # noqa: S608 (ours)
