"""The registry of threads: their titles, times of use, and usage outside of their logs.

The archive has the messages of a thread, but neither its title nor the time of its last use; and
the cost of fact extraction is in no log. Both are small rows here, in the same database.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import time

from thalweg.database.base import POSTGRES_SCHEMES, Database, Rows, decode, encode
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.engine.extras import needs_extra
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import StorageError, ThreadExistsError
from thalweg_server.app.documents import Documents


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
            made = _all(rows, f"{_INSERT} ON CONFLICT DO NOTHING RETURNING {_COLUMNS}", values)
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
            return _all(rows, f"{_INSERT} {_USED} RETURNING {_COLUMNS}", values)[0]

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
            changed = _all(rows, change, (encode(title), encode(owner), encode(thread)))
        return changed[0] if changed else None

    def get(self, owner: str, thread: str) -> ThreadRow | None:
        """Return one thread."""
        statement = f"SELECT {_COLUMNS} FROM app_thread WHERE {_ONE}"  # noqa: S608 (ours)
        with self._database.reading(owner) as rows:
            found = _all(rows, statement, (encode(owner), encode(thread)))
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
            return _all(
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
            rows.run(_CHARGE, (encode(owner), day_of(time()), encode(spent.model), *counts))

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


def _all(rows: Rows, statement: str, values: Sequence[int | bytes]) -> list[ThreadRow]:
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
