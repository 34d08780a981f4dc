"""Deletion of old runs and of threads: jobs of the threads in the queue of runs."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from thalweg.database.jobs import BACKGROUND
from thalweg.errors import BusyError, NoSuchThreadError
from thalweg_server.app.runs import now_ms
from thalweg_server.runs.base import AGE, CHORE, RunKey

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

_DELETE = f"{CHORE}delete"
"""The chore that completes a broken-off deletion: `…*delete MILLISECONDS FORGET`."""
COMPLETED_AFTER_MS = 60_000
_LEAST_MS = 3_600_000
"""Milliseconds between two jobs of a thread, at least."""
_DAY_MS = 86_400_000
_log = logging.getLogger("thalweg.server")
_audit = logging.getLogger("thalweg.audit")


def deletion_of(owner: str, thread: str, *, forget: bool) -> RunKey:
    """Return the chore that deletes a thread, unless it is used after this moment."""
    return RunKey(owner, thread, f"{_DELETE} {now_ms()} {int(forget)}")


@asynccontextmanager
async def completed_elsewhere(parts: "AppParts", key: RunKey) -> AsyncIterator[None]:
    """Perform a chore inside the context: if the process crashes there, another one completes it.

    Raises (when entered):
        StorageError: A database failed.
    """
    jobs, due_ms = parts.journal.jobs, now_ms() + COMPLETED_AFTER_MS
    await parts.journal.change_queue(jobs.submit(key.job, key.lock, due_ms=due_ms))
    try:
        yield
    except BusyError:  # the caller tries again; after any other error the job completes it
        await parts.journal.change_queue(jobs.cancel(key.job))
        raise
    await parts.journal.change_queue(jobs.cancel(key.job))


class Retention:
    """Performs the chores of threads in the queue of runs.

    Args:
        parts: The parts of the application.
        delete: Deletes a thread of an owner; if requested, what was learned from it, too.
    """

    def __init__(
        self, parts: "AppParts", delete: Callable[[str, str, bool], Awaitable[object]]
    ) -> None:
        self._parts = parts
        self._delete = delete

    async def schedule(self, owner: str, thread: str, *, wait_ms: int = 0) -> None:
        """Submit the job of a thread, unless one waits, or nothing is deleted by age.

        Raises:
            StorageError: A database failed.
        """
        retention, key = self._parts.settings().retention, RunKey(owner, thread, AGE)
        ages = [age for age in (retention.runs_days, retention.threads_days) if age is not None]
        if ages:
            due_ms = now_ms() + max(wait_ms, round(min(ages) * _DAY_MS))
            journal = self._parts.journal
            job = journal.jobs.submit(key.job, key.lock, due_ms=due_ms, priority=BACKGROUND)
            await journal.change_queue(job)

    async def perform(self, key: RunKey) -> None:
        """Perform a chore of a thread; the key's third part names it.

        Raises:
            BusyError: A run of the thread waits, which is newer than the chore.
            StorageError: A database failed.
        """
        owner, thread, chore = key
        if chore.startswith(_DELETE):
            _, requested_ms, forget = chore.split()
            row = await asyncio.to_thread(self._parts.registry.get, owner, thread)
            if row is None:  # it was broken off after the last row of the thread
                await self._parts.prune()
                if int(forget):
                    await self._parts.erasure.erase()
            elif row.updated > int(requested_ms):
                _log.warning("thread %s is not deleted: it was used after the request", thread)
            else:
                await self._delete_thread(owner, thread, "delete", forget=bool(int(forget)))
        elif await self._apply(owner, thread):
            await self.schedule(owner, thread, wait_ms=_LEAST_MS)

    async def _apply(self, owner: str, thread: str) -> bool:
        """Delete what is too old of a thread; return whether the thread is left."""
        retention, parts = self._parts.settings().retention, self._parts
        row = await asyncio.to_thread(parts.registry.get, owner, thread)
        if row is None:
            return False
        idle_ms = now_ms() - row.updated
        if retention.threads_days is not None and idle_ms >= retention.threads_days * _DAY_MS:
            with suppress(BusyError):
                return not await self._delete_thread(owner, thread, "retention")
        if retention.runs_days is not None:
            await self._delete_runs(owner, thread, retention.runs_days)
        await parts.journal.pack_missing(owner, thread)
        return True

    async def _delete_thread(
        self, owner: str, thread: str, operation: str, *, forget: bool = False
    ) -> bool:
        with suppress(NoSuchThreadError):
            await self._delete(owner, thread, forget)
            action = {"owner": owner, "operation": operation, "path": thread}
            _audit.info("%s", json.dumps({"at": datetime.now(UTC).isoformat(), **action}))
            return True
        return False

    async def _delete_runs(self, owner: str, thread: str, days: float) -> None:
        oldest = datetime.now(UTC) - timedelta(days=days)
        for key in await self._parts.journal.outlived(owner, thread, oldest):
            await self._parts.journal.delete(*key)
