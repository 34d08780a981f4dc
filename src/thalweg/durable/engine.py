"""Durable work: functions that are started once, and finished by whoever lives.

Two rules: what was started is performed to its end, if need be by another process, so a function
must bear to be begun again; and this file alone knows dbos, on which the work stands.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from thalweg.durable.base import Presence
from thalweg.errors import ConfigError, StorageError
from thalweg.private_files import make_private_file

if TYPE_CHECKING:
    from dbos import DBOS

Work = Callable[..., Coroutine[Any, Any, None]]
"""What is performed; its arguments are strings and numbers."""
T = TypeVar("T")
VERSION = "1"
"""Work that another release left behind is taken up all the same."""
LOOK_S = 1.0
"""How often a process looks after the dead; others may look just then, so it varies."""
KEPT_S = 86_400.0
"""How long it is known that work was finished: for whoever looks into what went wrong."""
SCHEMA = "thalweg_jobs"
"""Of the engine's own tables, on PostgreSQL."""
_CONNECTIONS = 5
_THREADS = 64
_PATIENCE_S = 5.0
_MOMENT_S = 0.005
_FORGET_S = 600.0
"""Between looks for what is to be deleted."""
_MOST_DELETED = 500
_OVER = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
"""States of dbos in which nothing is done any more."""
_WHAT = "durable work"
_log = logging.getLogger(__name__)


class Engine:
    """Durable work over one database, for any number of processes.

    There is one open in a process at a time. It belongs to the event loop it is made in.
    """

    def __init__(self, address: str | Path, presence: Presence) -> None:
        self._place = str(address).rpartition("@")[2]
        self._file = None if isinstance(address, str) else address
        self._url = address if isinstance(address, str) else f"sqlite:///{address}"
        self._presence = presence
        self._works: dict[str, Work] = {}
        self._hops: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._name = ""
        self._dbos: DBOS | None = None
        self._looker: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def name(self) -> str:
        """The name of this process among those that live."""
        return self._name

    def register(self, name: str, work: Work) -> None:
        """Give work a name; before `open`, and the same in every process."""
        self._works[name] = work

    async def open(self) -> None:
        """Begin to perform work.

        Raises:
            ConfigError: The extra `server` is missing, or this process has an engine already.
            StorageError: The database cannot be opened.
        """
        if self._file is not None:
            await asyncio.to_thread(make_private_file, self._file)
        self._name = await self._presence.enter()
        try:
            self._dbos = await asyncio.to_thread(self._launch)
        except BaseException:
            await self._presence.leave()
            raise
        self._looker = asyncio.create_task(self._look_on(), name="thalweg-durable-look")

    async def start(self, name: str, work_id: str, *args: str | int) -> None:
        """Start work; it is durable when this returns. An id that was started is let be.

        It is known for a day after it was finished; then its rows are deleted.

        Raises:
            StorageError: The database failed.
        """
        from dbos import DBOS, SetWorkflowID  # noqa: PLC0415 (2 s of import)

        async def begin() -> None:
            with SetWorkflowID(work_id):
                await DBOS.start_workflow_async(self._hops[name], *args)

        await self._there(begin())

    async def recover(self) -> int:
        """Put work of the dead where the living take it from.

        Returns:
            How many processes were found dead.

        Raises:
            StorageError: The database failed.
        """
        owners = await asyncio.to_thread(self._guarded, self._owners)
        dead = sorted(await self._presence.dead(owners))
        if dead:
            await asyncio.to_thread(self._guarded, lambda: self._hand_over(dead))
        return len(dead)

    async def forget(self, seconds: float = KEPT_S) -> int:
        """Delete what is kept of work that was finished before so many seconds.

        Returns:
            Of how much work; at most so much that nobody waits for it long.

        Raises:
            StorageError: The database failed.
        """
        before = int((time.time() - seconds) * 1_000)
        return await asyncio.to_thread(self._guarded, lambda: self._delete(before))

    async def close(self) -> None:
        """Stop performing: work under way is cancelled here, and others take it up at once."""
        if self._looker is not None:
            self._looker.cancel()
            await asyncio.wait([self._looker])
        if self._dbos is None:
            return
        await asyncio.to_thread(self._stop_taking)
        await self._cancel_tasks()
        with suppress(StorageError):  # they find out by themselves that this process is gone
            await asyncio.to_thread(self._guarded, lambda: self._hand_over([self._name]))
        await asyncio.to_thread(_destroy)
        self._dbos = None
        await self._presence.leave()

    async def _perform(self, name: str, args: tuple[Any, ...]) -> None:
        task = asyncio.ensure_future(self._works[name](*args))
        self._tasks.add(task)
        try:
            await task
        finally:
            self._tasks.discard(task)

    async def _cancel_tasks(self) -> None:
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the loop of dbos, which keeps clear of this one."""
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (a part of the extra)

        loop = self._opened()._background_event_loop.target_loop()  # noqa: SLF001 (dbos has no other door)
        if loop is None:
            raise self._storage_error(RuntimeError("the engine is closing"))
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
        except SQLAlchemyError as error:
            raise self._storage_error(error) from error

    def _guarded(self, ask: Callable[[], T]) -> T:
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (a part of the extra)

        try:
            return ask()
        except SQLAlchemyError as error:
            raise self._storage_error(error) from error

    def _storage_error(self, error: Exception) -> StorageError:
        return StorageError(self._place, str(error).partition("\n")[0], "try again later")

    def _opened(self) -> "DBOS":
        if self._dbos is None:
            problem, mend = "the engine is not open", "call its `open` first"
            raise ConfigError(_WHAT, problem, mend)
        return self._dbos

    def _launch(self) -> "DBOS":
        try:
            from dbos import DBOS  # noqa: PLC0415 (2 s of import)
            from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (a part of the extra)
        except ImportError as error:
            mend = "pip install 'thalweg[server]'"
            problem = "dbos is not installed"
            raise ConfigError(_WHAT, problem, mend) from error
        _take_logs()
        if _Held.by is not None:
            problem, mend = "this process has an engine already", "close it first, or share it"
            raise ConfigError(_WHAT, problem, mend)
        _Held.by = self._name
        is_open = False
        try:
            dbos = DBOS(
                config={
                    "name": "thalweg",
                    "system_database_url": self._url,
                    "dbos_system_schema": SCHEMA,
                    "application_version": VERSION,
                    "executor_id": self._name,
                    "log_level": "ERROR",
                    "enable_otlp": False,
                    "sys_db_pool_size": _CONNECTIONS,
                    "max_executor_threads": _THREADS,
                    "use_listen_notify": False,
                    "scheduler_polling_interval_sec": 3600.0,
                }
            )
            for name in self._works:
                self._hops[name] = self._hop(name)
            DBOS.launch()
        except SQLAlchemyError as error:
            raise self._storage_error(error) from error
        else:
            is_open = True
            return dbos
        finally:
            if not is_open:
                _destroy()

    def _hop(self, name: str) -> Callable[..., Coroutine[Any, Any, None]]:
        """Register work with dbos: it hops from the loop of dbos into the one of `open`."""
        from dbos import DBOS  # noqa: PLC0415 (2 s of import)

        loop = self._loop

        async def hop(*args: Any) -> None:  # noqa: ANN401 (what `start` was given)
            performed = asyncio.run_coroutine_threadsafe(self._perform(name, args), loop)
            await asyncio.wrap_future(performed)

        return DBOS.workflow(name=name, max_recovery_attempts=None)(hop)

    def _owners(self) -> list[str]:
        """Give the processes that have work under way."""
        import sqlalchemy as sa  # noqa: PLC0415 (a part of the extra)

        database = self._opened()._sys_db  # noqa: SLF001 (its lists would read every row, arguments and all)
        status = database.tables.workflow_status
        asked = sa.select(status.c.executor_id).where(status.c.status == "PENDING").distinct()
        with database.engine.connect() as connection:
            return [name for (name,) in connection.execute(asked) if name]

    def _delete(self, before: int) -> int:
        import sqlalchemy as sa  # noqa: PLC0415 (a part of the extra)

        database = self._opened()._sys_db  # noqa: SLF001 (no other door deletes by age)
        status = database.tables.workflow_status
        is_over = status.c.status.in_(_OVER) & (status.c.updated_at < before)
        asked = sa.select(status.c.workflow_uuid).where(is_over).limit(_MOST_DELETED)
        with database.engine.connect() as connection:
            old = [work for (work,) in connection.execute(asked)]
        if old:
            database.delete_workflows(old)
        return len(old)

    def _hand_over(self, names: list[str]) -> None:
        self._opened()._recover_pending_workflows(names)  # noqa: SLF001 (what its own server calls)

    def _stop_taking(self) -> None:
        """End the threads that take work from the queues."""
        for event in self._opened().background_thread_stop_events:
            event.set()
        for thread in threading.enumerate():
            if thread.name.startswith("queue-worker-"):
                while thread.ident is None:  # it is being started: nobody can wait for it yet
                    time.sleep(_MOMENT_S)
                thread.join(_PATIENCE_S)

    async def _look_on(self) -> None:
        forget_at = 0.0
        while True:
            await asyncio.sleep(LOOK_S * random.uniform(0.7, 1.3))  # noqa: S311 (no secret)
            try:
                await self.recover()
                if time.monotonic() >= forget_at and not await self.forget():
                    forget_at = time.monotonic() + _FORGET_S
            except StorageError as error:
                _log.warning("cannot look after other processes: %s", error)


class _Held:
    """Who has the one dbos of this process."""

    by: str | None = None


def _destroy() -> None:
    from dbos import DBOS  # noqa: PLC0415 (2 s of import)

    try:
        DBOS.destroy(destroy_registry=True)
    finally:
        _Held.by = None


class _Ours(logging.Handler):
    """Passes on what dbos logs, under our name."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it here."""
        _log.handle(record)


def _take_logs() -> None:
    theirs = logging.getLogger("dbos")
    if not any(isinstance(handler, _Ours) for handler in theirs.handlers):
        theirs.handlers[:] = [_Ours()]
        theirs.propagate = False


def migrate(url: str) -> None:
    """Make the engine's tables on a PostgreSQL server, or bring them to what this dbos needs.

    Raises:
        ModuleNotFoundError: dbos is not installed.
    """
    from dbos import DBOS  # noqa: PLC0415 (2 s of import)

    _take_logs()
    DBOS.migrate(url, schema=SCHEMA)


@asynccontextmanager
async def open_engine(address: str | Path, *, folder: Path | None = None) -> AsyncIterator[Engine]:
    """Make an engine, which performs nothing before `Engine.open`, and close it in the end.

    Args:
        address: The path of a file of SQLite, or `postgresql://…`.
        folder: Where processes that share a file show that they live; beside the file if not
            given.
    """
    engine = Engine(address, presence_at(address, folder))
    try:
        yield engine
    finally:
        await engine.close()


def presence_at(address: str | Path, folder: Path | None = None) -> Presence:
    """Make the presence that fits an address."""
    if isinstance(address, str):
        from thalweg.durable.server import ServerPresence  # noqa: PLC0415 (psycopg: an extra)

        return ServerPresence(address)
    from thalweg.durable.files import FilePresence  # noqa: PLC0415 (the other of the two)

    return FilePresence(folder or address.parent / "presence")
