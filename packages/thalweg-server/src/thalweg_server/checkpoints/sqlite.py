"""Checkpoints in a file of SQLite for an event loop: one trip to a thread for each call.

LangGraph's `AsyncSqliteSaver` makes a trip for each statement, commit and cursor: four for a
checkpoint. Each trip wakes a thread and the event loop, which costs more than the work itself.
"""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg.context.turn.thread_deletion import delete_namespaces
from thalweg.database.sqlite_files import as_storage_error, connect
from thalweg_server.checkpoints.batches import MOST_DELETED, BatchSaver, CheckpointWrite, Medium
from thalweg_server.runs.sqlite import LOG_PAGES, PAGE_BYTES

P = ParamSpec("P")
T = TypeVar("T")
BUSY_S = 30.0
"""How long a writer of the file waits for another process."""
_PAGE = 50
"""Checkpoints that are listed in one trip."""


def _in_thread(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the async variant of a method of a `ThreadedSqliteSaver`."""

    @wraps(method)
    async def run(self: "ThreadedSqliteSaver", /, *given: P.args, **named: P.kwargs) -> T:
        return await self._run(partial(method, self, *given, **named))

    return run


class _BatchFlag(threading.local):
    """Whether this thread is writing a batch, which is committed at its end alone."""

    is_open = False


class ThreadedSqliteSaver(SqliteSaver, BatchSaver):
    """LangGraph's saver for SQLite, whose async methods run the sync ones in one thread.

    The sync methods can be called from any thread.

    Args:
        connection: Opened with `check_same_thread=False`.
        pool: Has one thread.
    """

    def __init__(self, connection: sqlite3.Connection, pool: ThreadPoolExecutor) -> None:
        super().__init__(connection)
        self._pool = pool
        self._batch = _BatchFlag()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: str, *, busy_s: float = BUSY_S) -> AsyncIterator[Self]:
        """Open the file, create its tables if they are missing, and close it at the end.

        Args:
            path: Of the file, which has the journal of runs, too.
            busy_s: How long to wait for another process that writes.

        Raises:
            ConfigError: The file cannot be opened, or is no database.
            StorageError: Another process holds it.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="thalweg-checkpoints") as pool:
            connection = connect(path, "runs", busy_s, page_bytes=PAGE_BYTES)
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.isolation_level = "IMMEDIATE"  # LangGraph leaves transactions to the driver
            saver = cls(connection, pool)
            try:
                await saver._run(saver.setup)
                yield saver
            finally:
                await saver._run(connection.close)

    aget_tuple = _in_thread(SqliteSaver.get_tuple)
    aput = _in_thread(SqliteSaver.put)
    aput_writes = _in_thread(SqliteSaver.put_writes)
    adelete_thread = _in_thread(SqliteSaver.delete_thread)
    adelete_namespaces = _in_thread(delete_namespaces)
    aget_delta_channel_history = _in_thread(SqliteSaver.get_delta_channel_history)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.alist`; reads in pages, so that no lock is held between."""
        left = limit
        while left is None or left > 0:
            count = _PAGE if left is None else min(left, _PAGE)
            found = self.list(config, filter=filter, before=before, limit=count)
            page: list[CheckpointTuple] = await self._run(partial(list, found))
            for one in page:
                yield one
            if len(page) < count:
                return
            before = page[-1].config
            left = None if left is None else left - count

    async def awrite(self, batch: Sequence[CheckpointWrite]) -> object:
        """Store all writes, in order, or none of them; see `BatchSaver.awrite`."""
        return await self._run(lambda: self._write(batch))

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: FBT001, FBT002 (LangGraph's)
        """See `SqliteSaver.cursor`; within a batch nothing is committed."""
        with super().cursor(transaction and not self._batch.is_open) as cursor:
            yield cursor

    def delete_before(self, thread: str, checkpoint: str) -> bool:
        """Delete the youngest checkpoints of a thread's graph before one; see `WriteMethod`."""
        where = "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id"
        ids = f"SELECT checkpoint_id FROM checkpoints {where} < ? ORDER BY 1 DESC LIMIT ?"  # noqa: S608 (ours)
        with self.cursor() as cursor:
            youngest = cursor.execute(ids, (thread, checkpoint, MOST_DELETED)).fetchall()
            for table in ("checkpoints", "writes") if youngest else ():
                delete = f"DELETE FROM {table} {where} BETWEEN ? AND ?"  # noqa: S608 (ours)
                cursor.execute(delete, (thread, *youngest[-1], *youngest[0]))
        return len(youngest) == MOST_DELETED

    def _write(self, batch: Sequence[CheckpointWrite]) -> object:
        self._batch.is_open = True
        try:
            results = [write.apply(self) for write in batch]
            with self.lock:
                self.conn.commit()
            return results[-1]
        except BaseException:
            with self.lock:
                self.conn.rollback()
            raise
        finally:
            self._batch.is_open = False

    async def _run(self, do: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._transact, do)

    def _transact(self, do: Callable[[], T]) -> T:
        try:
            return do()
        except sqlite3.Error:
            with self.lock:
                self.conn.rollback()  # what follows must not join a transaction that failed
            raise


@asynccontextmanager
async def open_file(path: str) -> AsyncIterator[Medium]:
    """Open the checkpoints of all owners in a file; see `open_checkpoints`."""

    @contextmanager
    def converting_errors() -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise as_storage_error(path, error) from error

    async with ThreadedSqliteSaver.open(path) as saver:
        yield lambda _: saver, converting_errors
