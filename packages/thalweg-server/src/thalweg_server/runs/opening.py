"""Journals are opened by address: a file, or a PostgreSQL server."""

from pathlib import Path

from thalweg.database.base import POSTGRES_SCHEMES
from thalweg_server.runs.journal import Journal


def open_journal(address: str | Path, direct: str | None = None) -> Journal:
    """Return a journal for the running event loop; `async with` opens and closes it.

    Args:
        address: The path of a file, or `postgresql://…`.
        direct: The address of the server itself, if `address` is a pooler in transaction mode.

    Raises (when entered):
        ConfigError: The extra `postgres` is not installed.
        StorageError: The database cannot be opened.
    """
    if isinstance(address, str) and address.startswith(POSTGRES_SCHEMES):
        from thalweg_server.runs.postgres import (  # noqa: PLC0415 (psycopg: an extra)
            PostgresJournal,
        )

        return PostgresJournal(address, direct)
    from thalweg_server.runs.sqlite import SqliteJournal  # noqa: PLC0415 (the other of the two)

    return SqliteJournal(Path(address))
