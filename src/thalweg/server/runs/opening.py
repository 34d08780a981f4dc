"""Journals are opened by address: a file, or a PostgreSQL server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from thalweg.server.runs.journal import Journal
from thalweg.server.runs.tables import Tables


@asynccontextmanager
async def open_journal(address: str | Path) -> AsyncIterator[Journal]:
    """Open a journal for the running event loop, and close it in the end.

    Args:
        address: The path of a file, or `postgresql://…`.

    Raises:
        ConfigError: The extra `postgres` is not installed.
        StorageError: The database cannot be opened.
    """
    journal = await Journal(tables_at(address)).open()
    try:
        yield journal
    finally:
        await journal.close()


def tables_at(address: str | Path) -> Tables:
    """Make the tables of an address, unopened."""
    if isinstance(address, str) and address.startswith(("postgresql://", "postgres://")):
        from thalweg.server.runs.postgres import PostgresTables  # noqa: PLC0415 (psycopg: an extra)

        return PostgresTables(address)
    from thalweg.server.runs.sqlite import SqliteTables  # noqa: PLC0415 (the other of the two)

    return SqliteTables(Path(address))
