"""The database of a checkpointer, as the address of an archive that shares it.

LangGraph's savers hold a connection, or a pool of connections. The archive opens its own
connections to the same database, so that both are backed up and moved together. The saver's
connection is used only to read its address.
"""

import asyncio
import logging
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode

from langgraph.checkpoint.base import BaseCheckpointSaver

from thalweg.database.sqlite_files import MEMORY
from thalweg.middleware.turn.effects import LOOP

if TYPE_CHECKING:
    import aiosqlite
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

_TIMEOUT_S = 10.0
_DATABASES = "PRAGMA database_list"
_log = logging.getLogger("thalweg.threads")
_TAKEN = (
    "%s: the archive is not stored in the checkpointer's database, because another application has "
    "a table %r there; name an archive (archive=…)"
)


def saver_address(saver: BaseCheckpointSaver[Any]) -> str | None:
    """Return the address for `open_archive` of the database that a saver writes to.

    Returns:
        The path of a file; `:memory:` for a SQLite database without one; `postgresql://…`, with
        the password. `None` for other savers; where the connection is closed or cannot be read
        from this thread; where Thalweg's PostgreSQL archive is not installed; and where another
        application has tables with the names of its tables.

    Raises:
        StorageError: The PostgreSQL server cannot be reached.

    Example:
        >>> from langgraph.checkpoint.sqlite import SqliteSaver
        >>> with SqliteSaver.from_conn_string(":memory:") as saver:
        ...     saver_address(saver)
        ':memory:'
    """
    if _is_a(saver, "langgraph.checkpoint.sqlite", "SqliteSaver"):
        return _file_of(cast("SqliteSaver", saver))
    if _is_a(saver, "langgraph.checkpoint.sqlite.aio", "AsyncSqliteSaver"):
        return _file_of_async(cast("AsyncSqliteSaver", saver))
    is_postgres = _is_a(saver, "langgraph.checkpoint.postgres", "PostgresSaver")
    if is_postgres or _is_a(saver, "langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver"):
        return _server_of(cast("PostgresSaver | AsyncPostgresSaver", saver))
    return None


def _is_a(saver: object, module: str, name: str) -> bool:
    """Return whether a saver is of a class of an extra, which is not imported for that."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(saver, kind)


def _file_of(saver: "SqliteSaver") -> str | None:
    try:
        with saver.lock, closing(saver.conn.cursor()) as cursor:
            cursor.row_factory = None
            return _main(cursor.execute(_DATABASES).fetchall())
    except sqlite3.Error:
        return None


def _file_of_async(saver: "AsyncSqliteSaver") -> str | None:
    loop = LOOP.get() or saver.loop
    if not loop.is_running() or loop is _running_loop():
        return None
    asked = asyncio.run_coroutine_threadsafe(_databases(saver.conn), loop)
    try:
        return _main(asked.result())
    except (sqlite3.Error, ValueError):  # a ValueError: aiosqlite's connection is closed
        return None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _databases(connection: "aiosqlite.Connection") -> Sequence[Any]:
    async with connection.execute(_DATABASES) as cursor:
        return [*await cursor.fetchall()]


def _main(databases: Sequence[Any]) -> str:
    """Return the file of a connection's main database, which SQLite lists first."""
    return str(tuple(databases[0])[2] or MEMORY)


def _server_of(saver: "PostgresSaver | AsyncPostgresSaver") -> str | None:
    if find_spec("psycopg") is None:  # the extra `postgres` is not installed
        return None
    import psycopg  # noqa: PLC0415 (an extra)

    try:
        given = _parameters(saver.conn)
    except psycopg.Error:
        return None
    if given is None:
        return None
    url = f"postgresql://?{urlencode(given, quote_via=quote)}"
    return None if _is_taken(url) else url


def _parameters(connection: Any) -> dict[str, str] | None:  # noqa: ANN401 (four kinds, of an extra)
    """Return what libpq needs to connect as a connection or a pool does."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 (an extra)
    from psycopg.pq import Conninfo  # noqa: PLC0415 (an extra)

    if (info := getattr(connection, "info", None)) is not None:
        password = {"password": info.password} if info.password else {}
        return {**info.get_parameters(), **password}
    address, settings = getattr(connection, "conninfo", None), getattr(connection, "kwargs", None)
    if not isinstance(address, str) or not isinstance(settings, dict | None):
        return None  # computed for each connection
    names = {option.keyword.decode() for option in Conninfo.get_defaults()}
    found = {**conninfo_to_dict(address), **(settings or {})}
    return {
        name: str(value) for name, value in found.items() if name in names and value is not None
    }


@cache
def _is_taken(url: str) -> bool:
    """Return whether another application's tables have the names of ours; asked once."""
    from thalweg.database.migrations.postgres import foreign_table  # noqa: PLC0415 (an extra)
    from thalweg.database.postgres_server import connect, place_of  # noqa: PLC0415 (an extra)

    place = place_of(url)
    with connect(url, place, _TIMEOUT_S) as connection:
        table = foreign_table(connection)
    if table is not None:
        _log.warning(_TAKEN, place, table)
    return table is not None
