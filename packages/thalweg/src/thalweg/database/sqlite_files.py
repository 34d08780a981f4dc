"""Opening SQLite files so that they survive a power cut, and what SQLite's errors mean."""

import sqlite3
import time
from contextlib import ExitStack, closing, suppress
from functools import cache
from pathlib import Path
from typing import Literal

from thalweg.database.base import RESTART_FIX, SCHEMA_MISMATCH
from thalweg.database.migrations.schema import Component
from thalweg.database.migrations.sqlite import bring_up_to_date, has_table, refuse_newer_file
from thalweg.database.private_files import make_private_file
from thalweg.errors import ConfigError, StorageError

MEMORY = ":memory:"
PAGE_BYTES = 512
"""Page size of a new file. A turn of 4 kB changes some 45 pages, and SQLite writes whole pages:
25 kB, or 37 kB with pages of 1 kB (benchmarks/state.py). A search takes a tenth longer."""
_TABLE_PREFIXES = ("archive_", "memory_", "app_", "run_events", "thalweg_", "pending_wakes")
"""How names of tables begin, one of which every file of ours has."""


def connect(
    path: str,
    component: Component | None,
    busy_timeout_s: float,
    *,
    page_bytes: int = PAGE_BYTES,
) -> sqlite3.Connection:
    """Open a file with the tables of a component, which are created if they are missing.

    A new file is for the user of this process alone. One that cannot be written is opened for
    reading: see `Database.is_read_only`.

    Args:
        path: The file, or `MEMORY`.
        component: The component; `None` for a file in which a library has tables of its own.
        busy_timeout_s: How long to wait for other processes.
        page_bytes: Size of a page of a new file.

    Raises:
        ConfigError: The file cannot be opened, is no database, holds tables of another program,
            or was written by a newer version; then it is unchanged. Or it is read-only, and has
            no tables of the component.
        StorageError: Another process holds it for longer than `busy_timeout_s`.
    """
    if path == MEMORY and component is not None:
        return _open_in_memory(component)
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(path, "the folder does not exist", "create it first")
    try:
        connection = _open_connection(path, busy_timeout_s, page_bytes)
    except sqlite3.Error as error:
        if component is None or not _is_unwritable(path, error):
            raise _open_error(path, error) from None
        return _open_read_only(path, component, busy_timeout_s)
    try:
        if component is not None:
            bring_up_to_date(connection, component)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise _open_error(path, error) from None
        raise
    return connection


def _open_connection(path: str, busy_timeout_s: float, page_bytes: int) -> sqlite3.Connection:
    with suppress(OSError):  # opening it raises what is wrong
        make_private_file(path)
    connection = sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    with ExitStack() as cleanup:
        cleanup.callback(connection.close)
        refuse_newer_file(connection, path)
        _refuse_foreign_file(connection, path)
        _configure(connection, busy_timeout_s, page_bytes)
        cleanup.pop_all()
    return connection


def _open_in_memory(component: Component) -> sqlite3.Connection:
    """Open tables in memory from a finished image: each agent without a saver opens an archive."""
    connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
    connection.deserialize(_empty_image(component))
    connection.execute("PRAGMA recursive_triggers = ON")
    return connection


@cache
def _empty_image(component: Component) -> bytes:
    """Make the image of a file with the tables of a component, and nothing in them."""
    with closing(sqlite3.connect(MEMORY, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        bring_up_to_date(connection, component)
        return connection.serialize()


def _is_unwritable(path: str, error: sqlite3.Error) -> bool:
    """Return whether a file is there that can only be read: a backup, a mounted snapshot."""
    unwritable_errors = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
    return _error_name(error).startswith(unwritable_errors) and Path(path).is_file()


def _open_read_only(path: str, component: Component, busy_timeout_s: float) -> sqlite3.Connection:
    read_only_uri = f"{Path(path).absolute().as_uri()}?mode=ro"
    log = Path(f"{path}-wal")
    if not (log.exists() and log.stat().st_size):
        # Without a log, SQLite would still create one.
        read_only_uri += "&immutable=1"
    try:
        with ExitStack() as cleanup:
            connection = sqlite3.connect(
                read_only_uri,
                uri=True,
                timeout=busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
            )
            cleanup.callback(connection.close)
            connection.execute("PRAGMA query_only = ON")
            refuse_newer_file(connection, path)
            if not has_table(connection, f"{component}_meta"):
                problem = f"the file has no {component}, and is read-only"
                raise ConfigError(path, problem, "name another")
            cleanup.pop_all()
            return connection
    except sqlite3.Error as error:
        raise _open_error(path, error) from None


def has_component_tables(path: str, component: Literal["archive", "memory"]) -> bool:
    """Return whether an existing file has the tables of a component, without creating any.

    A file that is no database counts as having them: `connect` raises its error.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            return has_table(connection, f"{component}_meta")
    except sqlite3.DatabaseError:
        return True


def _refuse_foreign_file(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that holds tables and none of ours.

    Raises:
        ConfigError: It is the database of another program.
    """
    query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    names = [name for (name,) in connection.execute(query) if not name.startswith("sqlite_")]
    if names and not any(name.startswith(_TABLE_PREFIXES) for name in names):
        problem = f"it has tables of another program ({', '.join(names[:3])})"
        raise ConfigError(path, problem, "name another file")


def _configure(connection: sqlite3.Connection, busy_timeout_s: float, page_bytes: int) -> None:
    connection.execute(f"PRAGMA page_size = {page_bytes}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _use_wal(connection, time.monotonic() + busy_timeout_s)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("PRAGMA cache_size = -16000")


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    # SQLite does not wait its busy timeout when two processes switch the same new file to WAL.
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _error_name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _error_name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _open_error(path: str, error: sqlite3.Error) -> ConfigError | StorageError:
    name = _error_name(error)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR")):
        return ConfigError(path, f"not a usable SQLite database ({error})", "name another file")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return ConfigError(path, f"cannot be opened for writing ({error})", "check its permissions")
    return as_storage_error(path, error)


_SCHEMA_MISMATCH_CODES = {"SQLITE_ERROR", "SQLITE_SCHEMA", "SQLITE_CONSTRAINT_NOTNULL"}
"""Statements are constants: a failed one names a missing table or column, or lacks a new one."""


def as_storage_error(path: str, error: sqlite3.Error) -> StorageError:
    """Convert an error of SQLite to the error that states its meaning for the caller."""
    name = _error_name(error)
    if name.startswith("SQLITE_FULL"):
        return StorageError(path, "the disk is full", "free some space and try again")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageError(path, "another process has locked it", "try again when it has finished")
    if name.startswith("SQLITE_READONLY"):
        return StorageError(path, "it is read-only", "make the file and its folder writable")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StorageError(path, f"the file is damaged ({error})", "restore it from a backup")
    if name in _SCHEMA_MISMATCH_CODES:
        return StorageError(path, f"{SCHEMA_MISMATCH} ({error})", RESTART_FIX)
    return StorageError(path, f"the database failed ({error})", "check the disk and try again")
