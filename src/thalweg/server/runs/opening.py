"""Journals are opened by address: a file, or a PostgreSQL server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from thalweg.database.base import SERVERS
from thalweg.server.runs.journal import Journal


@asynccontextmanager
async def open_journal(address: str | Path) -> AsyncIterator[Journal]:
    """Open a journal for the running event loop, and close it in the end.

    Args:
        address: The path of a file, or `postgresql://…`.

    Raises:
        ConfigError: The extra `postgres` is not installed.
        StorageError: The database cannot be opened.
    """
    journal = await _journal_at(address).open()
    try:
        yield journal
    finally:
        await journal.close()


def _journal_at(address: str | Path) -> Journal:
    if isinstance(address, str) and address.startswith(SERVERS):
        from thalweg.server.runs.postgres import PostgresJournal  # noqa: PLC0415 (psycopg: an extra)

        return PostgresJournal(address)
    from thalweg.server.runs.sqlite import SqliteJournal  # noqa: PLC0415 (the other of the two)

    return SqliteJournal(Path(address))
