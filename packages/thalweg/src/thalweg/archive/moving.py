"""Move an archive to another place, such as out of the database of a checkpointer.

The copy has the secret of the archive, so that references in contexts and checkpoint pointers in
states hold. The word index is not copied: the next search makes it.
"""

import hashlib
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from secrets import token_hex

from thalweg.archive.base import ThreadKey
from thalweg.archive.paths import open_archive, open_existing
from thalweg.archive.table_rows import (
    ArchiveRows,
    Blob,
    add_blob_references,
    find_thread,
    get_or_create_thread,
)
from thalweg.archive.tables import TableArchive
from thalweg.database.base import POSTGRES_SCHEMES
from thalweg.database.erasure import erase_file
from thalweg.database.migrations.schema import VERSION_TABLE
from thalweg.errors import ArchiveError, ConfigError

_COLUMNS = {
    "archive_log": ("position", "uid, body, holes, about"),
    "archive_turn": ("turn", "body, state"),
    "archive_handle": ("handle", "first, last, held"),
    "archive_summary": ("source", "body"),
}
"""The tables of a thread, without those of large texts: the key in it, and the other columns."""
_PAGED_TABLES = ("archive_log", "archive_turn")
_PAGE_ROWS = 500
"""Rows that are read and written at once."""


@dataclass(frozen=True, slots=True)
class ArchiveMove:
    """The moved threads and messages."""

    threads: int
    messages: int
    left: str = ""
    """What remains at the old place, if it was to be removed; empty if nothing does."""


def move_archive(source: str, target: str, *, removes: bool = False) -> ArchiveMove:
    """Copy an archive, compare the copy with it, and remove it at the old place if asked to.

    After an interruption, call it again: threads that were copied are compared. No agent may be
    running meanwhile.

    Args:
        source: The file, or `postgresql://…`, that has the archive among other tables.
        target: A new file, an empty database, or the copy of an interrupted move.
        removes: Whether the archive is removed at the old place. In a SQLite file its tables are
            dropped and the file is rewritten; in PostgreSQL its threads are deleted, and the empty
            tables remain.

    Raises:
        ConfigError: There is no archive, or the target is another one.
        ArchiveError: The target has other content in a thread; nothing was removed.
        StorageError: A database failed.
    """
    with _as_table_archive(open_existing(source)) as old:
        with _as_table_archive(_open_target(target, old)) as new:
            _refuse_same_archive(old, new)
            keys = old.keys()
            for key in keys:
                if not new.extent(key).generation:
                    _copy(old, new, key)
            for key in keys:
                _compare(old, new, key)
        moved = ArchiveMove(len(keys), sum(old.length(key) for key in keys))
        if removes and source.startswith(POSTGRES_SCHEMES):
            for key in keys:
                old.delete(key)
            old.prune()
            return ArchiveMove(moved.threads, moved.messages, "empty tables of Thalweg")
    if removes:
        return ArchiveMove(moved.threads, moved.messages, _drop_tables(Path(source)))
    return moved


def _as_table_archive(archive: object) -> TableArchive:
    assert isinstance(archive, TableArchive)  # noqa: S101 (all that an address opens)
    return archive


def _open_target(address: str, source: TableArchive) -> object:
    secret = source._secret  # noqa: SLF001 (the same archive, elsewhere)
    try:
        return open_archive(address, secret=secret)
    except ConfigError as error:
        if "another secret" not in str(error):
            raise
        fix = "name a new file or an empty database"
        raise ConfigError(error.what, "it is another archive", fix) from None


def _refuse_same_archive(source: TableArchive, target: TableArchive) -> None:
    """Check that a row written to one is not in the other: addresses have many spellings."""
    probe = f"move {token_hex(8)}"
    with target._database.writing(None) as db:  # noqa: SLF001 (its rows, as they are)
        db.run("INSERT INTO archive_meta VALUES (?, ?)", (probe, b""))
    try:
        with source._database.reading(None) as db:  # noqa: SLF001
            is_same = db.row("SELECT 1 FROM archive_meta WHERE name = ?", (probe,)) is not None
    finally:
        with target._database.writing(None) as db:  # noqa: SLF001
            db.run("DELETE FROM archive_meta WHERE name = ?", (probe,))
    if is_same:
        place = target._database.place  # noqa: SLF001
        raise ConfigError(place, "it is the place of the archive", "name another one")


def thread_digest(archive: TableArchive, key: ThreadKey) -> str:
    """Return a digest of all rows of a thread but for its index."""
    digest = hashlib.sha256()
    with archive._database.reading(key.owner) as db:  # noqa: SLF001 (its rows, as they are)
        thread, length = find_thread(db, key)
        digest.update(repr((key, length)).encode())
        for table, rows in _thread_rows(db, thread or 0):
            digest.update(table.encode())
            for row in rows:
                digest.update(repr(tuple(map(_as_bytes, row))).encode())
        for blob in _thread_blobs(db, thread or 0):
            digest.update(repr((blob.hash, blob.packed)).encode() + blob.data)
    return digest.hexdigest()


def _as_bytes(value: object) -> object:
    return bytes(value) if isinstance(value, (bytearray, memoryview)) else value


def _thread_rows(
    db: ArchiveRows, thread: int
) -> Iterator[tuple[str, Iterator[tuple[int | str | bytes, ...]]]]:
    """Yield the rows of a thread by table; each in the order of its key, without the thread."""
    for table, (key, rest) in _COLUMNS.items():
        yield table, _table_rows(db, table, f"{key}, {rest}", key, thread)


def _table_rows(
    db: ArchiveRows, table: str, columns: str, key: str, thread: int
) -> Iterator[tuple[int | str | bytes, ...]]:
    query = f"SELECT {columns} FROM {table} WHERE thread = ?"  # noqa: S608 (ours)
    if table not in _PAGED_TABLES:
        # Sorted here: databases order text differently.
        yield from sorted(tuple(row) for row in db.rows(query, (thread,)))
        return
    first = 0
    while page := list(
        db.rows(
            f"{query} AND {key} BETWEEN ? AND ? ORDER BY {key}",
            (thread, first, first + _PAGE_ROWS - 1),
        )
    ):
        yield from (tuple(row) for row in page)
        first += _PAGE_ROWS


def _thread_blobs(db: ArchiveRows, thread: int) -> Iterator[Blob]:
    """Yield the large texts of a thread, in the order of their hashes."""
    held_rows = db.rows("SELECT hash FROM archive_holding WHERE thread = ?", (thread,))
    hashes = sorted(bytes(digest) for (digest,) in held_rows)
    for digest in hashes:
        row = db.row("SELECT data, packed FROM archive_blob WHERE hash = ?", (digest,))
        if row is not None:
            yield Blob(digest, bytes(row[0]), bool(row[1]))


def _compare(source: TableArchive, target: TableArchive, key: ThreadKey) -> None:
    if thread_digest(source, key) != thread_digest(target, key):
        problem = (
            f"thread {key.thread!r} of owner {key.owner!r} differs in the copy; nothing was "
            "removed: stop the agents, and move the archive to a new place"
        )
        raise ArchiveError(problem)


def _copy(source: TableArchive, target: TableArchive, key: ThreadKey) -> None:
    """Copy one thread, all or nothing."""
    owner = key.owner
    with (
        source._database.reading(owner) as old,  # noqa: SLF001 (its rows, as they are)
        target._database.writing(owner) as new,  # noqa: SLF001
    ):
        thread, _ = find_thread(old, key)
        copied_thread, _ = get_or_create_thread(new, key)
        for blob in _thread_blobs(old, thread or 0):
            add_blob_references(new, copied_thread, [blob])
        for table, rows in _thread_rows(old, thread or 0):
            while page := list(islice(rows, _PAGE_ROWS)):
                new.insert(table, [(copied_thread, *row) for row in page])


def _drop_tables(path: Path) -> str:
    """Drop the archive's tables in a file that has others, too; return what remains."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        query = "SELECT type, name FROM sqlite_master WHERE name LIKE 'archive\\_%' ESCAPE '\\'"
        connection.execute("BEGIN IMMEDIATE")
        objects = connection.execute(query).fetchall()
        for kind in ("trigger", "table"):
            for name in (name for object_type, name in objects if object_type == kind):
                if not name.startswith("archive_words_"):  # of the word index, dropped with it
                    connection.execute(f"DROP {kind} {name}")
        connection.execute(f"DELETE FROM {VERSION_TABLE} WHERE component = 'archive'")  # noqa: S608 (ours)
        if connection.execute(f"SELECT 1 FROM {VERSION_TABLE}").fetchone() is None:  # noqa: S608 (ours)
            connection.execute(f"DROP TABLE {VERSION_TABLE}")
        connection.execute("COMMIT")
    return erase_file(path, sys.maxsize)
