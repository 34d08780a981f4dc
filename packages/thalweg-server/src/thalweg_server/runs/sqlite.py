"""Runs in a file of SQLite, for one machine; any number of its processes may share the file.

A statement may be about many runs at once: lists are passed and returned as JSON.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from thalweg.database.jobs import JobQueue, JobSql
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.errors import BusyError, ClaimLostError, StorageError
from thalweg_server.runs.base import Claim, Event, RunKey
from thalweg_server.runs.crons import DELETE_CRONS
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.tables import READ, RunState, RunWrite, events_of, read_values

GOOD = """
    SELECT json_group_array(given.key) FROM json_each(?) AS given CROSS JOIN runs
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
        AND runs.attempt = json_extract(given.value, '$[3]')
        AND runs.last_seq = json_extract(given.value, '$[4]')
        AND runs.status = 'running'
"""
"""Which claims (owner, thread, run, attempt, last number) are good."""
MOVE = """
    UPDATE runs SET
        last_seq = json_extract(given.value, '$[3]'),
        status = coalesce(json_extract(given.value, '$[4]'), status),
        ended = iif(json_extract(given.value, '$[4]') IS NULL, NULL,
            strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')),
        error = json_extract(given.value, '$[5]')
    FROM json_each(?) AS given
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
"""
"""Moves runs on (owner, thread, run, last number, status, error)."""
ADD = """
    INSERT INTO run_events SELECT
        json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
        json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]')
    FROM json_each(?)
"""
"""Adds events, column by column."""
STATES = """
    SELECT json_group_array(json_array(
        given.key, runs.status, runs.attempt, runs.last_seq, runs.cancel_asked
    ))
    FROM json_each(?) AS given CROSS JOIN runs
    WHERE runs.owner = json_extract(given.value, '$[0]')
        AND runs.thread = json_extract(given.value, '$[1]')
        AND runs.run = json_extract(given.value, '$[2]')
"""
"""The states of runs (owner, thread, run), each with its index in the list."""
SUBMIT_MISSING = """
    WITH given (separator) AS (VALUES (?)), wanted AS (
        SELECT owner, thread AS place, run AS job, due, 0 AS priority, number
        FROM runs WHERE status IN ('queued', 'running')
        UNION ALL SELECT owner, cron, '*cron ' || due, due, -1, 0 FROM run_cron WHERE due > 0
    )
    INSERT INTO queue_job (queue, key, lock, due, priority)
    SELECT 'run', owner || separator || place || separator || job,
        owner || separator || place, wanted.due, wanted.priority
    FROM wanted, given WHERE NOT EXISTS (
        SELECT 1 FROM queue_job
        WHERE queue = 'run' AND lock = owner || separator || place
            AND key = owner || separator || place || separator || job
    ) ORDER BY number RETURNING id
"""
"""Submits jobs of unended runs, and of crons that are due, that have none."""
R = TypeVar("R")
T = TypeVar("T")
POLL_S = 0.1
"""Seconds between polls for writes of other processes, while a caller waits for one."""
_PATIENCE_S = 30.0
_TIDY_S = 1.0
"""Seconds between checkpoints of the write-ahead log."""
LOG_PAGES = 10_000
"""So long is the log before a commit has to do that itself."""
PAGE_BYTES = 4096
"""Of a new file: events of a turn fill whole pages, and so does a checkpoint."""


class SqliteJournal(Journal):
    """A journal in one file: one thread writes, another reads, each on its own connection.

    A third checkpoints the write-ahead log: events of many runs are on pages far apart, and a
    commit that also did the checkpoint would delay all streams.
    """

    now = "strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')"
    jobs = JobQueue("run", "sqlite")
    submit_missing = SUBMIT_MISSING

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._writer = _Thread(path, "thalweg-runs-writer")
        self._reader = _Thread(path, "thalweg-runs-reader")
        self._tidier = _Thread(path, "thalweg-runs-tidier")
        self._is_untidy = False
        self._tasks: list[asyncio.Task[None]] = []

    async def _connect(self) -> None:
        make_private_folder(self._path.parent)
        await self._writer.read(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        self._tasks = [
            asyncio.create_task(self._poll(), name="thalweg-runs-poll"),
            asyncio.create_task(self._tidy(), name="thalweg-runs-tidy"),
        ]

    async def _disconnect(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for thread in (self._tidier, self._reader, self._writer):
            await thread.close()

    async def _read(self, owner: str, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        del owner  # the statement names it
        return await self._reader.read(statement, values)

    async def _change(
        self,
        owner: str,
        statement: str,
        values: Sequence[Any],
        *,
        notified: RunKey | None = None,
        locked: str = "",
        before: JobSql | None = None,
        then: Sequence[JobSql] = (),
    ) -> Sequence[Any]:
        """See `Tables`. A transaction has the file to itself; other processes notice that."""
        del owner, notified, locked

        def change(rows: SqliteRows) -> Sequence[Any]:
            if before is not None:
                rows.run(*before)
            changed = [*rows.rows(statement, values)]
            for one in then if changed else ():
                rows.run(*one)
            return changed

        changed = await self._writer.change(change)
        if then:
            self.job_available.set()
        return changed

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncIterator[None]:
        """Check a claim once; see `Tables.hold`.

        On one machine no live process is treated as crashed, and a run that restarts in its own
        process is stopped first.
        """
        states = await self.states([claim.key])
        if claim.key not in states or states[claim.key].voids(claim):
            raise ClaimLostError(claim.key.run, claim.attempt)
        yield

    async def write(self, writes: Sequence[RunWrite]) -> Sequence[bool]:
        """Write all or, if the database fails, nothing; a void claim's part is skipped."""
        self._is_untidy = True
        return await self._writer.change(lambda rows: _write(rows, writes))

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, RunState]:
        """Return the states of runs; missing runs are omitted."""
        return await self._reader.use(lambda database: _states(database, keys))

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """Return the events of many runs, after a number each; at most `limit` of each."""
        return await self._reader.use(
            lambda database: {key: _events(database, key, seq, limit) for key, seq in after.items()}
        )

    async def delete(self, owner: str, thread: str, run: str | None = None) -> int:
        """Delete the runs of a thread, or one of them, events and all."""
        return await self._writer.change(lambda rows: _delete(rows, owner, thread, run))

    async def _poll(self) -> None:
        """Look at a number that changes when another connection than the writer's commits."""
        seen = None
        while True:
            await asyncio.sleep(POLL_S)
            try:
                found = await self._writer.read("PRAGMA data_version")
            except StorageError:
                continue
            if found != seen:
                self._on_changes(None)
            seen = found

    async def _tidy(self) -> None:
        """Checkpoint the write-ahead log; neither side waits for the other."""
        while True:
            await asyncio.sleep(_TIDY_S)
            if self._is_untidy:
                self._is_untidy = False
                with suppress(StorageError):  # the log holds it as well
                    await self._tidier.read("PRAGMA wal_checkpoint(PASSIVE)")


class _Thread:
    """A thread with a connection of its own, which is opened when it is first used.

    Raises (all methods):
        StorageError: The database failed; nothing was changed.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._database: SqliteDatabase[SqliteRows] | None = None

    async def use(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Run statements, each of which is a transaction."""
        return await self._run(lambda: self._opened().connection(), ask)

    async def read(self, statement: str, values: Sequence[Any] = ()) -> Sequence[Any]:
        """Run one statement and return its rows."""
        return await self.use(lambda database: database.execute(statement, values).fetchall())

    async def change(self, ask: Callable[[SqliteRows], T]) -> T:
        """Run a transaction that writes."""
        return await self._run(lambda: self._opened().writing(None), ask)

    async def close(self) -> None:
        """Close the connection, and end the thread."""
        # In its thread, after what still runs there: a use that was cancelled may open it only now.
        await asyncio.get_running_loop().run_in_executor(self._pool, self._close)
        self._pool.shutdown()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()

    async def _run(
        self, enter: Callable[[], AbstractContextManager[R]], ask: Callable[[R], T]
    ) -> T:
        def run() -> T:
            with enter() as entered:
                return ask(entered)

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def _opened(self) -> SqliteDatabase[SqliteRows]:
        if self._database is None:
            self._database = SqliteDatabase(
                self._path,
                "runs",
                SqliteRows,
                _closed,
                busy_timeout_s=_PATIENCE_S,
                page_bytes=PAGE_BYTES,
            )
        return self._database


def _closed(path: str) -> StorageError:
    return StorageError(path, "the journal of runs is closed", "open it again")


def _write(rows: SqliteRows, writes: Sequence[RunWrite]) -> Sequence[bool]:
    """Write for any number of runs in statements of one step each.

    At each step this thread releases the interpreter lock, and gets it back only when the event
    loop, which is busiest when there is much to write, releases it.
    """
    claims = [(*one.claim.key, one.claim.attempt, one.after) for one in writes]
    good = set(json.loads(rows.row(GOOD, (json.dumps(claims),))[0]))
    runs: list[tuple[str | int | None, ...]] = []
    events: list[tuple[str | int, ...]] = []
    for number in sorted(good):
        write = writes[number]
        end, key = write.end, write.claim.key
        ends = (None, None) if end is None else (end.status, end.error)
        runs.append((*key, write.last, *ends))
        drafts = enumerate(write.drafts, start=write.after + 1)
        events += [(*key, seq, draft.type, draft.data) for seq, draft in drafts]
    rows.run(MOVE, (json.dumps(runs),))
    rows.run(ADD, (json.dumps(events),))
    return [number in good for number in range(len(writes))]


def _states(database: sqlite3.Connection, keys: Sequence[RunKey]) -> Mapping[RunKey, RunState]:
    encoded = json.dumps(keys)
    found = json.loads(database.execute(STATES, (encoded,)).fetchone()[0])
    return {
        keys[number]: RunState(status, attempt, last_seq, bool(cancel_requested))
        for number, status, attempt, last_seq, cancel_requested in found
    }


def _events(database: sqlite3.Connection, key: RunKey, after: int, limit: int) -> Sequence[Event]:
    return events_of(database.execute(READ, read_values(key, after, limit)), after, limit)


def _delete(rows: SqliteRows, owner: str, thread: str, run: str | None) -> int:
    where, ids = "owner = ? AND thread = ?", [owner, thread]
    if run is not None:
        where, ids = f"{where} AND run = ?", [*ids, run]
    active = f"SELECT run FROM runs WHERE {where} AND status IN ('queued', 'running')"  # noqa: S608
    if (row := rows.row(active, ids)) is not None:
        raise BusyError(thread, row[0])
    if run is None:
        rows.run(DELETE_CRONS, ids)
    rows.run(f"DELETE FROM run_events WHERE {where}", ids)  # noqa: S608
    return len([*rows.rows(f"DELETE FROM runs WHERE {where} RETURNING 1", ids)])  # noqa: S608
