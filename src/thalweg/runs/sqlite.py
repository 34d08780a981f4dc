"""Runs in a file of SQLite, for one machine; any number of its processes may share the file."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from thalweg.database.sqlite_files import as_storage_error
from thalweg.errors import BusyError, ClaimLostError, RunExistsError, StorageError
from thalweg.private_files import make_private_file, make_private_folder
from thalweg.runs.base import Claim, Event, Run, RunKey
from thalweg.runs.sqlite_schema import (
    ADD,
    COLUMNS,
    GOOD,
    MOVE,
    SCHEMA,
    STATES,
    TAKE_OVER,
    WORKERS,
)
from thalweg.runs.tables import Heard, State, Write

T = TypeVar("T")
POLL_S = 0.1
"""How often this process looks whether another one wrote, while somebody waits for that."""
_PATIENCE_S = 30.0
_TIDY_S = 1.0
"""How often what was written goes from the log of writes to its place."""
_LOG_PAGES = 10_000
"""So long is the log before a commit has to do that itself."""
_GET = f"SELECT {COLUMNS} FROM runs WHERE owner = ? AND thread = ? AND run = ?"  # noqa: S608 (a constant)


class SqliteTables:
    """The tables in one file: one thread writes, another reads, each on its own connection.

    A third brings what was written to its place, from the log of writes: events of many runs lie
    far apart, and a commit that did it by the way would hold up all streams.
    """

    def __init__(self, path: Path, *, poll_s: float = POLL_S) -> None:
        self.place = str(path)
        self._path = path
        self._poll_s = poll_s
        self._writer = _Thread(path, "thalweg-runs-writer")
        self._reader = _Thread(path, "thalweg-runs-reader")
        self._tidier = _Thread(path, "thalweg-runs-tidier")
        self._is_untidy = False
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """See `Tables.open`."""
        make_private_folder(self._path.parent)
        await self._writer.run(_make)
        self._tasks = [
            asyncio.create_task(self._poll(heard, is_awaited), name="thalweg-runs-poll"),
            asyncio.create_task(self._tidy(), name="thalweg-runs-tidy"),
        ]

    async def create(self, key: RunKey, request: str, worker: str) -> Run:
        """See `Tables.create`."""
        return await self._writer.run(lambda database: _create(database, key, request, worker))

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

    async def count_active(self, owner: str) -> int:
        """See `Tables.count_active`."""
        count = "SELECT count(*) FROM runs WHERE owner = ? AND status IN ('queued', 'running')"
        return await self._reader.run(
            lambda database: int(database.execute(count, (owner,)).fetchone()[0])
        )

    async def claim(self, key: RunKey) -> Run | None:
        """See `Tables.claim`."""
        return await self._writer.run(lambda database: _claim(database, key))

    async def workers(self) -> Collection[str]:
        """See `Tables.workers`."""
        return await self._reader.run(
            lambda database: {name for (name,) in database.execute(WORKERS)}
        )

    async def take_over(
        self, workers: Collection[str], worker: str, limit: int
    ) -> Sequence[RunKey]:
        """See `Tables.take_over`."""
        given = (worker, json.dumps(list(workers)), limit)
        return await self._writer.run(
            lambda database: [RunKey(*row) for row in database.execute(TAKE_OVER, given).fetchall()]
        )

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
        self._is_untidy = True
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
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._tidier.close()
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

    async def _tidy(self) -> None:
        """Move what was written to its place; nobody waits for that, and it waits for nobody."""
        while True:
            await asyncio.sleep(_TIDY_S)
            if self._is_untidy:
                self._is_untidy = False
                with suppress(StorageError):  # the log holds it as well
                    await self._tidier.run(_move_log)


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
            raise as_storage_error(str(self._path), error) from error

    def _connected(self) -> sqlite3.Connection:
        if self._database is None:
            make_private_file(self._path)
            self._database = sqlite3.connect(self._path, timeout=_PATIENCE_S)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            self._database.isolation_level = "IMMEDIATE"
        return self._database

    def _leave(self) -> None:
        if self._database is not None:
            self._database.close()


def _make(database: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        database.execute(statement)


def _move_log(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA data_version").fetchone()[0])


def _create(database: sqlite3.Connection, key: RunKey, request: str, worker: str) -> Run:
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
    database.execute(insert, (*_columns(key), request, worker, _now()))
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
    """Write for all runs in statements of one step each, however many they are.

    At each step this thread gives the interpreter away, and gets it back when the event loop,
    which has the most to do when there is much to write, lets go of it.
    """
    database.execute("BEGIN IMMEDIATE")
    claims = [(*_columns(one.claim.key), one.claim.attempt, one.after) for one in writes]
    good = set(json.loads(database.execute(GOOD, (json.dumps(claims),)).fetchone()[0]))
    runs: list[tuple[str | int | None, ...]] = []
    events: list[tuple[str | int, ...]] = []
    for number in sorted(good):
        write = writes[number]
        end, key = write.end, _columns(write.claim.key)
        ends = (None, None, None) if end is None else (end.status, _now(), end.error)
        runs.append((*key, write.last, *ends))
        drafts = enumerate(write.drafts, start=write.after + 1)
        events += [(*key, seq, draft.type, draft.data) for seq, draft in drafts]
    database.execute(MOVE, (json.dumps(runs),))
    database.execute(ADD, (json.dumps(events),))
    return [number in good for number in range(len(writes))]


def _states(database: sqlite3.Connection, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
    asked = json.dumps([_columns(key) for key in keys])
    found = json.loads(database.execute(STATES, (asked,)).fetchone()[0])
    return {
        keys[number]: State(status, attempt, last_seq, bool(cancel_asked))
        for number, status, attempt, last_seq, cancel_asked in found
    }


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
    attempt, handed, last_seq, cancel_asked, worker = rest
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
        worker=worker,
    )
