"""The threads of each owner: their titles and times of use, small documents, and search.

The archive has the messages of a thread, but neither its title nor the time of its last use; and
the cost of fact extraction is in no log. Both are small rows here, in the same database. Documents
hold what a client of the gateway stores: metadata of threads, assistants, items of a store.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from thalweg.archive import Archive, Passage, ThreadKey, is_thread_id
from thalweg.archive.base import Extent
from thalweg.archive.threads.finding import newest_import, thread_title
from thalweg.archive.threads.journal import read_page, read_pages
from thalweg.database.base import POSTGRES_SCHEMES, Database, Rows, decode, encode
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.engine.edits import Fold
from thalweg.engine.extras import needs_extra
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import (
    EmptyThreadError,
    NoSuchThreadError,
    RecordedThreadError,
    StorageError,
    ThreadExistsError,
)


@dataclass(frozen=True, slots=True)
class Document:
    """One document. Times are milliseconds since 1970."""

    name: str
    body: Mapping[str, Any]
    created: int
    updated: int


class Documents:
    """The documents of all owners. Calls block; each is atomic.

    Args:
        database: The database of the threads.

    Raises (all methods):
        StorageError: The database failed.
    """

    def __init__(self, database: Database[Rows]) -> None:
        self._database = database

    def get(self, owner: str, kind: str, name: str) -> Document | None:
        """Return one document."""
        with self._database.reading(owner) as rows:
            found = _document_rows(
                rows, f"{_SELECT} AND name = ?", (encode(owner), kind, encode(name))
            )
        return found[0] if found else None

    def list(self, owner: str, kind: str) -> Sequence[Document]:
        """Return all documents of a kind, by name."""
        with self._database.reading(owner) as rows:
            return _document_rows(rows, f"{_SELECT} ORDER BY name", (encode(owner), kind))

    def put(self, owner: str, kind: str, name: str, body: Mapping[str, Any], now: int) -> Document:
        """Store a document in place of the one with its name."""
        return self.change(owner, kind, name, lambda _: body, now)

    def change(
        self,
        owner: str,
        kind: str,
        name: str,
        change: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        now: int,
    ) -> Document:
        """Replace a document by what a function makes of it; a missing one is empty.

        Args:
            owner: The owner.
            kind: The kind.
            name: The name.
            change: Returns the new body, which JSON can represent.
            now: The time in milliseconds.
        """
        key = (encode(owner), kind, encode(name))
        with self._database.writing(owner) as rows:
            found = _document_rows(rows, f"{_SELECT} AND name = ?", key)
            body = change(found[0].body if found else {})
            values = (*key, json.dumps(body, ensure_ascii=True).encode(), now, now)
            return _document_rows(rows, _PUT, values)[0]

    def delete(self, owner: str, kind: str, name: str) -> bool:
        """Delete a document; return False if there is none."""
        with self._database.writing(owner) as rows:
            return bool([*rows.rows(_DELETE, (encode(owner), kind, encode(name)))])


_DOCUMENT_COLUMNS = "name, body, created, updated"
_SELECT = f"SELECT {_DOCUMENT_COLUMNS} FROM app_document WHERE owner = ? AND kind = ?"  # noqa: S608 (ours)
_PUT = (
    "INSERT INTO app_document (owner, kind, name, body, created, updated)"  # noqa: S608 (ours)
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (owner, kind, name)"
    f" DO UPDATE SET body = excluded.body, updated = excluded.updated RETURNING {_DOCUMENT_COLUMNS}"
)
_DELETE = "DELETE FROM app_document WHERE owner = ? AND kind = ? AND name = ? RETURNING 1"


def _document_rows(
    rows: Rows, statement: str, values: Sequence[int | bytes | str]
) -> list[Document]:
    return [
        Document(decode(bytes(name)), json.loads(bytes(body)), created, updated)
        for name, body, created, updated in rows.rows(statement, values)
    ]


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread at a glance. Times are milliseconds since 1970."""

    thread: str
    title: str
    created: int
    updated: int


class Registry:
    """The threads of all owners. Calls block; each is atomic.

    Args:
        database: The database of the threads.
    """

    def __init__(self, database: Database[Rows]) -> None:
        self._database = database
        self.documents = Documents(database)
        """Documents of owners, in the same database."""

    def create(self, owner: str, thread: str, title: str, now: int) -> ThreadRow:
        """Note a new thread.

        Raises:
            ThreadExistsError: There is one with that id.
        """
        values = (encode(owner), encode(thread), encode(title), now, now)
        with self._database.writing(owner) as rows:
            made = _thread_rows(
                rows, f"{_INSERT} ON CONFLICT DO NOTHING RETURNING {_COLUMNS}", values
            )
        if not made:
            raise ThreadExistsError(thread)
        return made[0]

    def touch(self, owner: str, thread: str, now: int, *, title: str = "") -> ThreadRow:
        """Record the use of a thread, and create its row if needed.

        Args:
            owner: The owner.
            thread: The thread's id.
            now: The time in milliseconds.
            title: Its title, if it has none yet.
        """
        values = (encode(owner), encode(thread), encode(title), now, now)
        with self._database.writing(owner) as rows:
            return _thread_rows(rows, f"{_INSERT} {_USED} RETURNING {_COLUMNS}", values)[0]

    def adopt(self, owner: str, found: Iterable[ThreadRow]) -> None:
        """Register threads that were created elsewhere; existing rows do not change."""
        values = [
            (encode(owner), encode(row.thread), encode(row.title), row.created, row.updated)
            for row in found
        ]
        with self._database.writing(owner) as rows:
            rows.run_each(f"{_INSERT} ON CONFLICT DO NOTHING", values)

    def rename(self, owner: str, thread: str, title: str) -> ThreadRow | None:
        """Set a thread's title; return `None` if there is no such thread."""
        change = f"UPDATE app_thread SET title = ? WHERE {_ONE} RETURNING {_COLUMNS}"  # noqa: S608 (ours)
        with self._database.writing(owner) as rows:
            changed = _thread_rows(rows, change, (encode(title), encode(owner), encode(thread)))
        return changed[0] if changed else None

    def get(self, owner: str, thread: str) -> ThreadRow | None:
        """Return one thread."""
        statement = f"SELECT {_COLUMNS} FROM app_thread WHERE {_ONE}"  # noqa: S608 (ours)
        with self._database.reading(owner) as rows:
            found = _thread_rows(rows, statement, (encode(owner), encode(thread)))
        return found[0] if found else None

    def names(self, owner: str) -> set[str]:
        """Name all threads of an owner."""
        with self._database.reading(owner) as rows:
            found = rows.rows("SELECT thread FROM app_thread WHERE owner = ?", (encode(owner),))
            return {decode(bytes(thread)) for (thread,) in found}

    def list(self, owner: str, limit: int, before: ThreadRow | None = None) -> Sequence[ThreadRow]:
        """Return threads, the most recently used first.

        Args:
            owner: The owner.
            limit: How many at most.
            before: Continue after this one.
        """
        statement = f"SELECT {_COLUMNS} FROM app_thread WHERE owner = ?"  # noqa: S608 (ours)
        values: tuple[int | bytes, ...] = (encode(owner),)
        if before is not None:
            statement += " AND (updated < ? OR (updated = ? AND thread < ?))"
            values = (*values, before.updated, before.updated, encode(before.thread))
        with self._database.reading(owner) as rows:
            return _thread_rows(
                rows, f"{statement} ORDER BY updated DESC, thread DESC LIMIT ?", (*values, limit)
            )

    def delete(self, owner: str, thread: str) -> None:
        """Remove a thread, with the record of the costs of learning from it."""
        key = encode(owner), encode(thread)
        with self._database.writing(owner) as rows:
            rows.run(f"DELETE FROM app_thread WHERE {_ONE}", key)  # noqa: S608 (ours)
            rows.run(f"DELETE FROM app_spent WHERE {_ONE}", key)  # noqa: S608 (ours)
            rows.run(_DELETE_METADATA, key)

    def forget(self, owner: str) -> None:
        """Delete every row of an owner: threads, documents and usage."""
        with self._database.writing(owner) as rows:
            for table in OWNER_TABLES:
                rows.run(f"DELETE FROM {table} WHERE owner = ?", (encode(owner),))  # noqa: S608 (ours)

    def spend(self, owner: str, thread: str, spent: Usage) -> None:
        """Add what learning from a thread cost."""
        key = encode(owner), encode(thread), encode(spent.model)
        counts = (spent.calls, spent.input, spent.cached, spent.written, spent.output)
        with self._database.writing(owner) as rows:
            rows.run(_SPEND, (*key, *counts))

    def spent(self, owner: str) -> dict[str, tuple[Usage, ...]]:
        """Return the usage of fact extraction, by thread, one entry for each model."""
        statement = (
            "SELECT thread, model, calls, input, cached, written, output"
            " FROM app_spent WHERE owner = ?"
        )
        sums: dict[str, tuple[Usage, ...]] = {}
        with self._database.reading(owner) as rows:
            for thread, model, calls, *counts in rows.rows(statement, (encode(owner),)):
                name, (read, cached, written, output) = decode(bytes(thread)), counts
                one = Usage(read, cached, written, output, calls=calls, model=decode(bytes(model)))
                sums[name] = (*sums.get(name, ()), one)
        return sums

    def charge(self, owner: str, spent: Usage) -> None:
        """Add the usage of a call, or a correction, to what an owner spent today."""
        counts = (spent.calls, spent.input, spent.cached, spent.written, spent.output)
        with self._database.writing(owner) as rows:
            rows.run(_CHARGE, (encode(owner), day_of(time.time()), encode(spent.model), *counts))

    def charged(self, owner: str, day: int) -> Sequence[Usage]:
        """Return what an owner spent in a day, one entry for each model."""
        statement = (
            "SELECT model, calls, input, cached, written, output"
            " FROM app_charge WHERE owner = ? AND day = ?"
        )
        with self._database.reading(owner) as rows:
            return [
                Usage(read, cached, written, output, calls=calls, model=decode(bytes(model)))
                for model, calls, read, cached, written, output in rows.rows(
                    statement, (encode(owner), day)
                )
            ]

    def close(self) -> None:
        """Release all connections."""
        self._database.close()


def moment(milliseconds: int) -> datetime:
    """Return a time of the registry as a `datetime`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def day_of(seconds: float) -> int:
    """Return the number of a day in UTC since 1970."""
    return int(seconds // 86_400)


_COLUMNS = "thread, title, created, updated"
_ONE = "owner = ? AND thread = ?"
OWNER_TABLES = ("app_thread", "app_spent", "app_charge", "app_document")
"""Tables whose rows have an owner."""
THREAD_METADATA = "thread"
"""The kind of the documents that hold metadata of threads, by the id of the thread."""
_DELETE_METADATA = (
    f"DELETE FROM app_document WHERE kind = '{THREAD_METADATA}' AND owner = ? AND name = ?"  # noqa: S608
)
_INSERT = "INSERT INTO app_thread (owner, thread, title, created, updated) VALUES (?, ?, ?, ?, ?)"
_USED = """ON CONFLICT (owner, thread) DO UPDATE SET
    title = CASE WHEN length(app_thread.title) = 0 THEN excluded.title ELSE app_thread.title END,
    updated = CASE WHEN excluded.updated > app_thread.updated THEN excluded.updated
        ELSE app_thread.updated END"""
_SPEND = """INSERT INTO app_spent
    (owner, thread, model, calls, input, cached, written, output) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (owner, thread, model) DO UPDATE SET
    calls = app_spent.calls + excluded.calls, input = app_spent.input + excluded.input,
    cached = app_spent.cached + excluded.cached, written = app_spent.written + excluded.written,
    output = app_spent.output + excluded.output"""
_CHARGE = _SPEND.replace("app_spent", "app_charge").replace("thread", "day")


def _thread_rows(rows: Rows, statement: str, values: Sequence[int | bytes]) -> list[ThreadRow]:
    return [
        ThreadRow(decode(bytes(thread)), decode(bytes(title)), created, updated)
        for thread, title, created, updated in rows.rows(statement, values)
    ]


def open_registry(address: str) -> Registry:
    """Open the registry at an address: the path of a file, or `postgresql://…`.

    Raises:
        ConfigError: It cannot be opened, or the extra `postgres` is not installed.
        StorageError: Another process holds it, or the server cannot be reached.
    """
    if not address.startswith(POSTGRES_SCHEMES):
        return Registry(SqliteDatabase(address, "app", SqliteRows, _closed))
    with needs_extra("storage.url"):
        from thalweg.database.postgres import PostgresDatabase, PostgresRows  # noqa: PLC0415 (an extra)
    return Registry(PostgresDatabase(address, PostgresRows, _closed))


def _closed(place: str) -> StorageError:
    return StorageError(place, "it is closed", "open it again")


PAGE = 100
"""Threads that are read together."""
OWN = "own"
"""What a filter names instead of an agent: threads that no other agent recorded."""
_CACHED = 1 << 15
"""Threads about which each cache has an entry."""


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """The threads of a list; an empty field narrows nothing."""

    words: str = ""
    """Words of the title or of the messages."""
    agent: str = ""
    """The agent that recorded them, or `OWN`."""
    project: str = ""
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A thread of a list, with the passage that has the words of the filter."""

    row: ThreadRow
    passage: Passage | None = None


def recorded_by(archive: Archive, key: ThreadKey) -> str:
    """Return the agent whose imported session a thread is; empty for any other thread."""
    page = newest_import(archive, key)
    return "" if page is None else str(page.session["agent"])


def check_writable(archive: Archive, key: ThreadKey) -> None:
    """Refuse to change or to answer a thread that another agent recorded.

    Raises:
        RecordedThreadError: It is one.
    """
    if agent := recorded_by(archive, key):
        raise RecordedThreadError(key.thread, agent)


class Finder:
    """The threads of one owner: those that are registered, and those that the archive has."""

    def __init__(self, owner: str, archive: Archive, registry: Registry) -> None:
        self._owner = owner
        self._archive = archive
        self._registry = registry

    def get(self, thread: str) -> ThreadRow:
        """Return one thread; one that was created elsewhere is registered.

        Raises:
            NoSuchThreadError: There is none.
        """
        row, key = self._registry.get(self._owner, thread), ThreadKey(self._owner, thread)
        if row is None and is_thread_id(thread) and self._archive.length(key):
            self._registry.adopt(self._owner, [self._row(thread)])
            row = self._registry.get(self._owner, thread)
        if row is None:
            raise NoSuchThreadError(thread)
        return replace(row, title=self._session(row).get("title", row.title))

    def adopt(self) -> None:
        """Register threads that were made elsewhere: on the command line, by another program."""
        known = self._registry.names(self._owner)
        found = self._archive.threads(self._owner)
        new = [one for one in found if one not in known and is_thread_id(one)]
        if new:
            self._registry.adopt(self._owner, map(self._row, new))

    def find(
        self, only: ThreadFilter, limit: int, after: ThreadRow | None = None
    ) -> list[FoundThread]:
        """Return threads, the most recently used first.

        Args:
            only: Which ones.
            limit: How many at most.
            after: Continue after this one.
        """
        self.adopt()
        return [*islice(self._find(only, after), limit)]

    def _find(self, only: ThreadFilter, after: ThreadRow | None) -> Iterator[FoundThread]:
        words = only.words.split()
        hits = self._archive.find_threads(self._owner, only.words) if words else ()
        passages = {hit.thread: hit.passage for hit in hits}
        for row in self._rows(after):
            session, passage = self._session(row), passages.get(row.thread)
            title = str(session.get("title", row.title))
            is_named = all(_begins_in(word.casefold(), title.casefold()) for word in words)
            if (is_named or passage) and self._is_of(row, session, only):
                yield FoundThread(replace(row, title=title), passage)

    def _rows(self, after: ThreadRow | None = None) -> Iterator[ThreadRow]:
        while rows := self._registry.list(self._owner, PAGE, after):
            yield from rows
            after = rows[-1]

    def _is_of(self, row: ThreadRow, session: Mapping[str, Any], only: ThreadFilter) -> bool:
        """Return whether a thread has the agent, the project and the compactions of a filter."""
        agent, project = session.get("agent", OWN), session.get("project", "")
        if only.agent not in {"", agent} or only.project not in {"", project}:
            return False
        if not only.compacted or session.get("compactions"):
            return True
        key = ThreadKey(self._owner, row.thread)
        return _is_compacted(self._archive, key, self._archive.extent(key))  # type: ignore[arg-type, unused-ignore]  # hashable

    def origins(self) -> set[tuple[str, str]]:
        """Return the agents of the threads with their projects; `OWN` and none, of others."""
        sessions = map(self._session, self._rows())
        return {(one.get("agent", OWN), one.get("project", "")) for one in sessions}

    def _session(self, row: ThreadRow) -> Mapping[str, Any]:
        """Return the facts of a recorded session as of its newest import; empty for others."""
        key = ThreadKey(self._owner, row.thread)
        with suppress(EmptyThreadError):
            if _is_recorded(self._archive, key, row.created):  # type: ignore[arg-type, unused-ignore]  # hashable
                return _newest_session(self._archive, key, self._archive.extent(key))  # type: ignore[arg-type, unused-ignore]  # hashable
        return {}

    def _row(self, thread: str) -> ThreadRow:
        key = ThreadKey(self._owner, thread)
        count = self._archive.turn_count(key)
        now = time.time()
        first = read_page(self._archive, key, 0).at if count else now
        last = read_page(self._archive, key, count - 1).at if count else now
        session = page.session if (page := newest_import(self._archive, key)) else {}
        first, last = _time(session, "started_at", first), _time(session, "ended_at", last)
        title = thread_title(self._archive, key)
        return ThreadRow(thread, title, round(first * 1000), round(last * 1000))


@lru_cache(_CACHED)
def _is_recorded(archive: Archive, key: ThreadKey, created: int) -> bool:
    """Return whether the first record of a thread, which never changes, is an import.

    Raises:
        EmptyThreadError: It has no record yet; that is not cached.
    """
    del created  # another one after the thread was deleted and began again
    if not archive.turn_count(key):
        raise EmptyThreadError(key.thread)
    return "agent" in read_page(archive, key, 0).session


@lru_cache(_CACHED)
def _newest_session(archive: Archive, key: ThreadKey, extent: Extent) -> Mapping[str, Any]:
    """Return the facts of a recorded session with its title, as of the sizes of its thread."""
    del extent
    page = newest_import(archive, key)
    return {**page.session, "title": thread_title(archive, key)} if page else {}


@lru_cache(_CACHED)
def _is_compacted(archive: Archive, key: ThreadKey, extent: Extent) -> bool:
    """Return whether a thread was compacted, on any branch, as of its sizes."""
    del extent
    pages = read_pages(archive, key).values()
    return any(isinstance(edit, Fold) for page in pages for edit in page.edits)


def _time(session: Mapping[str, object], name: str, otherwise: float) -> float:
    """Return a time of a recorded session, in seconds since 1970."""
    try:
        return datetime.fromisoformat(str(session.get(name, ""))).timestamp()
    except ValueError:
        return otherwise


def _begins_in(word: str, title: str) -> bool:
    """Return whether a word of a title has this prefix or, in scripts without spaces, has it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", title) is not None
