"""The tables of the SQLite archive, opening them, and what SQLite's errors mean."""

import sqlite3
import time
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from thalweg.archive.meta import (
    OTHER_TABLES,
    RESTART,
    VERSION,
    first_secret,
    is_older,
    refuse_newer,
    secret_of,
)
from thalweg.errors import ConfigError, StorageError
from thalweg.private_files import make_private_file

MEMORY = ":memory:"
_OURS = ("archive_", "memory_", "app_")
"""How names of tables begin that share the file `thalweg.db`."""

# No foreign keys: a thread's row goes first when it is deleted, which is what lets its log go.
_TABLES = """
CREATE TABLE IF NOT EXISTS archive_meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS archive_thread (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner BLOB NOT NULL,
    thread BLOB NOT NULL,
    length INTEGER NOT NULL DEFAULT 0,
    indexed INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, thread)
);
CREATE TABLE IF NOT EXISTS archive_log (
    thread INTEGER NOT NULL,
    position INTEGER NOT NULL,
    uid BLOB NOT NULL,
    body TEXT NOT NULL,
    holes TEXT NOT NULL,
    about BLOB NOT NULL,
    PRIMARY KEY (thread, position)
);
CREATE INDEX IF NOT EXISTS archive_log_uid ON archive_log (thread, uid);
CREATE TABLE IF NOT EXISTS archive_turn (
    thread INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    body BLOB NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (thread, turn)
);
CREATE TABLE IF NOT EXISTS archive_blob (
    hash BLOB PRIMARY KEY,
    data BLOB NOT NULL,
    packed INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS archive_holding (
    thread INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (thread, hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS archive_holding_hash ON archive_holding (hash);
CREATE TABLE IF NOT EXISTS archive_handle (
    thread INTEGER NOT NULL,
    handle TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    held INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (thread, handle)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS archive_summary (
    thread INTEGER NOT NULL,
    source BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (thread, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS archive_passage (
    id INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    about INTEGER NOT NULL,
    speaker BLOB NOT NULL,
    text BLOB NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS archive_words USING fts5 (
    words, content='', detail=none, columnsize=0, tokenize='porter unicode61'
);
CREATE TRIGGER IF NOT EXISTS archive_log_grows BEFORE INSERT ON archive_log
WHEN NEW.position IS NOT (SELECT length FROM archive_thread WHERE id = NEW.thread)
BEGIN SELECT RAISE(ABORT, 'the log grows at its end only'); END;
CREATE TRIGGER IF NOT EXISTS archive_log_counts AFTER INSERT ON archive_log
BEGIN UPDATE archive_thread SET length = length + 1 WHERE id = NEW.thread; END;
CREATE TRIGGER IF NOT EXISTS archive_log_stays BEFORE UPDATE ON archive_log
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS archive_log_lasts BEFORE DELETE ON archive_log
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the log goes only with its whole thread'); END;
CREATE TRIGGER IF NOT EXISTS archive_turn_stays BEFORE UPDATE ON archive_turn
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER IF NOT EXISTS archive_turn_lasts BEFORE DELETE ON archive_turn
WHEN EXISTS (SELECT 1 FROM archive_thread WHERE id = OLD.thread)
BEGIN SELECT RAISE(ABORT, 'the journal goes only with its whole thread'); END;
"""


_FORGET_INDEX = (
    "INSERT INTO archive_words (archive_words) VALUES ('delete-all')",
    "DELETE FROM archive_passage",
    "UPDATE archive_thread SET indexed = 0, passages = 0",
)
"""What is indexed is indexed again when it is searched."""


def connect(path: str, busy_timeout_s: float, *, is_shared: bool = False) -> sqlite3.Connection:
    """Open a database for the archive, safe against a power cut.

    A new file is for the user of this process alone. One that cannot be written is opened for
    reading; `is_read_only` says so.

    Args:
        path: The file.
        busy_timeout_s: How long to wait for other processes.
        is_shared: The file may hold tables of other programs, and ours are put beside them.

    Raises:
        ConfigError: The file cannot be opened, is no database, holds tables of another program,
            or was written by a newer version; then it is left as it was.
        StorageError: Another process holds it for longer than `busy_timeout_s`.
    """
    if path == MEMORY:
        return _connected_to_memory()
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(path, "the folder does not exist", "create it first")
    try:
        return _connected(path, busy_timeout_s, is_shared=is_shared)
    except sqlite3.Error as error:
        if not _is_unwritable(path, error):
            raise _unusable(path, error) from None
    try:
        return _connected_to_read(path, busy_timeout_s)
    except sqlite3.Error as error:
        raise _unusable(path, error) from None


def _connected(path: str, busy_timeout_s: float, *, is_shared: bool) -> sqlite3.Connection:
    with suppress(OSError):  # opening it says what is wrong
        make_private_file(path)
    connection = sqlite3.connect(
        path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        _check_format(connection, path)
        if not is_shared:
            _refuse_foreign(connection, path)
        _configure(connection, busy_timeout_s)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected_to_memory() -> sqlite3.Connection:
    """Open an archive in memory from a finished image: each new agent without a saver opens one."""
    connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
    connection.deserialize(_empty())
    connection.execute("PRAGMA recursive_triggers = ON")
    return connection


def _is_unwritable(path: str, error: sqlite3.Error) -> bool:
    """Return whether a file is there that can only be read: a backup, a mounted snapshot."""
    unwritable = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
    return _name(error).startswith(unwritable) and Path(path).is_file()


def _connected_to_read(path: str, busy_timeout_s: float) -> sqlite3.Connection:
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    log = Path(f"{path}-wal")
    if not (log.exists() and log.stat().st_size):
        # Without a log, SQLite would still create one beside the file.
        address += "&immutable=1"
    connection = sqlite3.connect(
        address, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        _check_format(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def is_read_only(connection: sqlite3.Connection) -> bool:
    """Return whether `connect` opened a file for reading only."""
    return bool(connection.execute("PRAGMA query_only").fetchone()[0])


def _refuse_foreign(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that holds tables and none of ours.

    Raises:
        ConfigError: It is the database of another program.
    """
    listed = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    names = [name for (name,) in connection.execute(listed) if not name.startswith("sqlite_")]
    if names and not any(name.startswith(_OURS) for name in names):
        problem = f"it holds tables of another program ({', '.join(names[:3])})"
        raise ConfigError(path, problem, "name another file")


def _check_format(connection: sqlite3.Connection, path: str) -> int | None:
    tables = "SELECT 1 FROM sqlite_master WHERE name = 'archive_meta'"
    if connection.execute(tables).fetchone() is None:
        return None
    found = connection.execute("SELECT value FROM archive_meta WHERE name = 'version'").fetchone()
    version = None if found is None else found[0]
    refuse_newer(path, version)
    return None if version is None else int(version)


def _configure(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    # Of a new file. A turn of 4 kB changes some 45 pages, of which SQLite writes the whole: 25 kB
    # instead of 37 with pages of 1 kB (benchmarks/state.py). A search takes a tenth longer.
    connection.execute("PRAGMA page_size = 512")
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
            if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def prepare(connection: sqlite3.Connection, path: str, secret: bytes | None) -> bytes:
    """Make the tables where they are missing, and return the secret of this archive.

    An index that an older version made is left to the next searches to make anew.

    Raises:
        ConfigError: It was written by a newer version, or has another secret; or it is read-only
            and holds no archive.
    """
    if path == MEMORY:
        own = first_secret(secret)
        connection.execute("INSERT INTO archive_meta VALUES ('secret', ?)", (own,))
        return own
    try:
        if is_read_only(connection):
            return secret_of(path, _meta(connection, path), secret)
        connection.execute("BEGIN IMMEDIATE")
        if _check_format(connection, path) != VERSION or not _has_summaries(connection):
            _make_tables(connection)
        first = ("secret", first_secret(secret))
        connection.execute("INSERT OR IGNORE INTO archive_meta VALUES (?, ?)", first)
        found = dict(connection.execute("SELECT name, value FROM archive_meta"))
        if is_older(found.get("version")):
            for statement in _FORGET_INDEX:
                connection.execute(statement)
            renewed = "UPDATE archive_meta SET value = ? WHERE name = 'version'"
            connection.execute(renewed, (VERSION,))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise _unusable(path, error) from None
    return secret_of(path, found, secret)


def _has_summaries(connection: sqlite3.Connection) -> bool:
    """Return whether the table is there that was added last, in the same format."""
    table = "SELECT 1 FROM sqlite_master WHERE name = 'archive_summary'"
    return connection.execute(table).fetchone() is not None


def _meta(connection: sqlite3.Connection, path: str) -> dict[str, bytes]:
    if _check_format(connection, path) is None:
        raise ConfigError(path, "the file holds no archive, and it is read-only", "name another")
    return dict(connection.execute("SELECT name, value FROM archive_meta"))


@cache
def _empty() -> bytes:
    """Make the file of an archive without a secret: an agent's first call need not make tables."""
    with closing(sqlite3.connect(MEMORY, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _make_tables(connection)
        return connection.serialize()


def _make_tables(connection: sqlite3.Connection) -> None:
    statement = ""
    for line in _TABLES.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    version = ("version", VERSION)
    connection.execute("INSERT OR IGNORE INTO archive_meta VALUES (?, ?)", version)


def _name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _unusable(path: str, error: sqlite3.Error) -> ConfigError | StorageError:
    name = _name(error)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR")):
        return ConfigError(path, f"not a usable SQLite database ({error})", "name another file")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return ConfigError(path, f"cannot be opened for writing ({error})", "check its permissions")
    return as_storage_error(path, error)


_OTHER_TABLES = {"SQLITE_ERROR", "SQLITE_SCHEMA", "SQLITE_CONSTRAINT_NOTNULL"}
"""Statements are constants: one that SQLite cannot run names a table or column that is gone, or
lacks one that was added."""


def as_storage_error(path: str, error: sqlite3.Error) -> StorageError:
    """Say what an error of SQLite means to the caller."""
    name = _name(error)
    if name.startswith("SQLITE_FULL"):
        return StorageError(path, "the disk is full", "free some space and try again")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageError(path, "another process holds it", "try again when it is done")
    if name.startswith("SQLITE_READONLY"):
        return StorageError(path, "it is read-only", "make the file and its folder writable")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StorageError(path, f"the file is damaged ({error})", "restore it from a backup")
    if name in _OTHER_TABLES:
        return StorageError(path, f"{OTHER_TABLES} ({error})", RESTART)
    return StorageError(path, f"the database failed ({error})", "check the disk and try again")
