"""Runs in a file of SQLite, for one machine; any number of its processes may share the file."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from thalweg.errors import BusyError, ClaimLostError, RunExistsError, StorageError
from thalweg.runs.base import Claim, Event, Run, RunKey
from thalweg.runs.sqlite_schema import COLUMNS, SCHEMA
from thalweg.runs.tables import Heard, State, Write

T = TypeVar("T")
POLL_S = 0.1
"""How often this process looks whether another one wrote, while somebody waits for that."""
_PATIENCE_S = 30.0
_GET = f"SELECT {COLUMNS} FROM runs WHERE owner = ? AND thread = ? AND run = ?"  # noqa: S608 (a constant)


class SqliteTables:
    """The tables in one file: one thread writes, another reads, each on its own connection."""

    def __init__(self, path: Path, *, poll_s: float = POLL_S) -> None:
        self.place = str(path)
        self._path = path
        self._poll_s = poll_s
        self._writer = _Thread(path, "thalweg-runs-writer")
        self._reader = _Thread(path, "thalweg-runs-reader")
        self._poller: asyncio.Task[None] | None = None

    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """See `Tables.open`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        await self._writer.run(_make)
        self._poller = asyncio.create_task(self._poll(heard, is_awaited), name="thalweg-runs-poll")

    async def create(self, key: RunKey, request: str, work: str) -> Run:
        """See `Tables.create`."""
        return await self._writer.run(lambda database: _create(database, key, request, work))

    async def get(self, key: RunKey) -> Run | None:
        """See `Tables.get`."""
        return await self._reader.run(lambda database: _get(database, key))

    async def list(
        self, owner: str, thread: str | None, limit: int, before: str | None
    ) -> Sequence[Run]:
        """See `Tables.list`."""
        statement = f"SELECT {COLUMNS} FROM runs WHERE owner = ?"  # noqa: S608 (a constant)
        values: list[str | int] = [owner]
        if thread is not None:
            statement += " AND thread = ?"
            values.append(thread)
        if before is not None:
            statement += " AND number < (SELECT number FROM runs WHERE owner = ? AND run = ?)"
            values += [owner, before]
        statement += " ORDER BY number DESC LIMIT ?"
        values.append(limit)
        return await self._reader.run(
            lambda database: [_run(row) for row in database.execute(statement, values)]
        )

    async def claim(self, key: RunKey) -> Run | None:
        """See `Tables.claim`."""
        return await self._writer.run(lambda database: _claim(database, key))

    async def release(self, claim: Claim) -> bool:
        """See `Tables.release`."""
        statement = (
            "UPDATE runs SET status = 'queued', handed = handed + 1 WHERE owner = ?"
            " AND thread = ? AND run = ? AND attempt = ? AND status = 'running'"
        )
        values = (*_columns(claim.key), claim.attempt)
        return await self._writer.run(
            lambda database: database.execute(statement, values).rowcount == 1
        )

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncIterator[None]:
        """See `Tables.hold`.

        It is seen once that the claim is good. On one machine nobody is taken for dead who
        lives, and who is begun again in his own process is stopped first.
        """
        states = await self.states([claim.key])
        if claim.key not in states or states[claim.key].voids(claim):
            raise ClaimLostError(claim.key.run, claim.attempt)
        yield

    async def write(self, writes: Sequence[Write]) -> Sequence[bool]:
        """See `Tables.write`."""
        return await self._writer.run(lambda database: _write(database, writes))

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
        """See `Tables.states`."""
        return await self._reader.run(lambda database: _states(database, keys))

    async def read(self, key: RunKey, after: int, limit: int) -> Sequence[Event]:
        """See `Tables.read`."""
        return await self._reader.run(lambda database: _read(database, key, after, limit))

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """See `Tables.read_each`."""
        return await self._reader.run(
            lambda database: {key: _read(database, key, seq, limit) for key, seq in after.items()}
        )

    async def ask_cancel(self, key: RunKey) -> bool:
        """See `Tables.ask_cancel`."""
        statement = (
            "UPDATE runs SET cancel_asked = 1 WHERE owner = ? AND thread = ? AND run = ?"
            " AND status IN ('queued', 'running')"
        )
        return await self._writer.run(
            lambda database: database.execute(statement, _columns(key)).rowcount == 1
        )

    async def delete(self, owner: str, thread: str) -> int:
        """See `Tables.delete`."""
        return await self._writer.run(lambda database: _delete(database, owner, thread))

    async def close(self) -> None:
        """See `Tables.close`."""
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait([self._poller])
        await self._reader.close()
        await self._writer.close()

    async def _poll(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """Look at a number that changes when another connection than the writer's commits."""
        seen = None
        while True:
            await asyncio.sleep(self._poll_s)
            if not is_awaited():
                continue
            try:
                found = await self._writer.run(_version)
            except StorageError:
                continue
            if found != seen:
                heard(None)
            seen = found


class _Thread:
    """A thread with a connection of its own; what it is asked is a transaction."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._database: sqlite3.Connection | None = None

    async def run(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Ask it something.

        Raises:
            StorageError: The database failed; nothing was changed.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._transact, ask)

    async def close(self) -> None:
        """Close the connection, in its thread, and end that."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._leave)
        self._pool.shutdown()

    def _transact(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._connected() as database:
                return ask(database)
        except sqlite3.Error as error:
            mend = "check that the disk is not full and that the file may be written"
            raise StorageError(str(self._path), str(error), mend) from error

    def _connected(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = sqlite3.connect(self._path, timeout=_PATIENCE_S)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.isolation_level = "IMMEDIATE"
        return self._database

    def _leave(self) -> None:
        if self._database is not None:
            self._database.close()


def _make(database: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        database.execute(statement)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA data_version").fetchone()[0])


def _create(database: sqlite3.Connection, key: RunKey, request: str, work: str) -> Run:
    database.execute("BEGIN IMMEDIATE")
    if database.execute(
        "SELECT 1 FROM runs WHERE owner = ? AND run = ?", (key.owner, key.run)
    ).fetchone():
        raise RunExistsError(key.run)
    busy = "SELECT run FROM runs WHERE owner = ? AND thread = ? AND status IN ('queued', 'running')"
    if (row := database.execute(busy, (key.owner, key.thread)).fetchone()) is not None:
        raise BusyError(key.thread, row[0])
    insert = (
        "INSERT INTO runs (owner, thread, run, request, work, created) VALUES (?, ?, ?, ?, ?, ?)"
    )
    database.execute(insert, (*_columns(key), request, work, _now()))
    return _run(database.execute(_GET, _columns(key)).fetchone())


def _get(database: sqlite3.Connection, key: RunKey) -> Run | None:
    row = database.execute(_GET, _columns(key)).fetchone()
    return None if row is None else _run(row)


def _claim(database: sqlite3.Connection, key: RunKey) -> Run | None:
    statement = (
        "UPDATE runs SET status = 'running', attempt = attempt + 1,"
        " started = coalesce(started, ?) WHERE owner = ? AND thread = ? AND run = ?"
        " AND status IN ('queued', 'running')"
    )
    if not database.execute(statement, (_now(), *_columns(key))).rowcount:
        return None
    return _get(database, key)


def _write(database: sqlite3.Connection, writes: Sequence[Write]) -> Sequence[bool]:
    rows: list[tuple[str | int, ...]] = []
    good = []
    statement = (
        "UPDATE runs SET last_seq = ?, status = coalesce(?, status), ended = ?, error = ?"
        " WHERE owner = ? AND thread = ? AND run = ?"
        " AND attempt = ? AND status = 'running' AND last_seq = ?"
    )
    for write in writes:
        end, claim = write.end, write.claim
        ends = (None, None, None) if end is None else (end.status, _now(), end.error)
        key = _columns(claim.key)
        values = (write.last, *ends, *key, claim.attempt, write.after)
        good.append(database.execute(statement, values).rowcount == 1)
        if good[-1]:
            drafts = enumerate(write.drafts, start=write.after + 1)
            rows += [(*key, seq, draft.type, draft.data) for seq, draft in drafts]
    database.executemany("INSERT INTO run_events VALUES (?, ?, ?, ?, ?, ?)", rows)
    return good


def _states(database: sqlite3.Connection, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
    statement = (
        "SELECT status, attempt, last_seq, cancel_asked FROM runs"
        " WHERE owner = ? AND run = ? AND thread = ?"
    )
    states = {}
    for key in keys:
        row = database.execute(statement, (key.owner, key.run, key.thread)).fetchone()
        if row is not None:
            states[key] = State(row[0], row[1], row[2], bool(row[3]))
    return states


def _read(database: sqlite3.Connection, key: RunKey, after: int, limit: int) -> Sequence[Event]:
    statement = (
        "SELECT seq, type, data FROM run_events"
        " WHERE owner = ? AND thread = ? AND run = ? AND seq > ? ORDER BY seq LIMIT ?"
    )
    rows = database.execute(statement, (*_columns(key), after, limit))
    return [Event(*row) for row in rows]


def _delete(database: sqlite3.Connection, owner: str, thread: str) -> int:
    database.execute("BEGIN IMMEDIATE")
    busy = "SELECT run FROM runs WHERE owner = ? AND thread = ? AND status IN ('queued', 'running')"
    if (row := database.execute(busy, (owner, thread)).fetchone()) is not None:
        raise BusyError(thread, row[0])
    database.execute("DELETE FROM run_events WHERE owner = ? AND thread = ?", (owner, thread))
    deleted = database.execute("DELETE FROM runs WHERE owner = ? AND thread = ?", (owner, thread))
    return deleted.rowcount


def _columns(key: RunKey) -> tuple[str, str, str]:
    return key.owner, key.thread, key.run


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _run(row: Sequence[Any]) -> Run:
    owner, thread, run, status, request, created, started, ended, error, *rest = row
    attempt, handed, last_seq, cancel_asked, work = rest
    return Run(
        key=RunKey(owner, thread, run),
        status=status,
        request=request,
        created=datetime.fromisoformat(created),
        started=None if started is None else datetime.fromisoformat(started),
        ended=None if ended is None else datetime.fromisoformat(ended),
        error=error,
        attempt=attempt,
        handed=handed,
        last_seq=last_seq,
        cancel_asked=bool(cancel_asked),
        work=work,
    )
