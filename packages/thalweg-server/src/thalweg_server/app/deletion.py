"""Deletion of runs, of threads, and of everything that is stored of an owner.

What a crash broke off is completed by a job in the queue of runs.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from thalweg.archive import ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.archive.threads.finding import own_threads
from thalweg.database.jobs import BACKGROUND, BETWEEN
from thalweg.errors import BusyError, NoSuchRunError, NoSuchThreadError
from thalweg_memory import Scope
from thalweg_memory.store.records import NAME_IS_LEFT, utc_now
from thalweg_server.api.threads import DeletedThread
from thalweg_server.app.memory import memory_of
from thalweg_server.app.parts import AppParts, TenantPart
from thalweg_server.app.registry import recorded_by
from thalweg_server.runs.base import AGE, CHORE, RunKey, RunRecord, now_ms

_DELETE = f"{CHORE}delete"
"""The chore that completes a broken-off deletion: `…*delete MILLISECONDS FORGET`."""
COMPLETED_AFTER_MS = 60_000
_LEAST_MS = 3_600_000
"""Milliseconds between two jobs of a thread, at least."""
_DAY_MS = 86_400_000
_LEFT_WITHOUT_ERASURE = (
    "memory: what was learned from it; delete with memory=forget",
    "databases: deleted rows until SQLite or PostgreSQL overwrites them; the same erases them",
)
_LEFT_WITH_ITS_AGENT = (
    "the session's log, which its agent keeps: the next `thalweg record import` reads it again; "
    "`thalweg record forget` prevents that"
)
_LEFT_IN_SANDBOXES = (
    "sandboxes of sandbox.factory: those without `close`, and those of other processes, "
    "until their service ends them"
)
_log = logging.getLogger("thalweg.server")
_audit = logging.getLogger("thalweg.audit")


@asynccontextmanager
async def completed_elsewhere(parts: AppParts, key: RunKey) -> AsyncIterator[None]:
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


class ThreadRemoval(TenantPart):
    """Deletes threads of one owner."""

    async def delete(self, thread: str, *, forget: bool = False) -> DeletedThread:
        """Delete a thread: log, checkpoints, runs and files.

        Args:
            thread: The thread's id.
            forget: Whether facts learned from it are deleted, too, and its bytes are erased from
                the files of the databases.

        Returns:
            What may remain, and where.
        """
        await self._key(thread)
        chore = RunKey(self._owner, thread, f"{_DELETE} {now_ms()} {int(forget)}")
        async with completed_elsewhere(self._parts, chore):
            return await self.delete_now(thread, forget=forget)

    async def delete_now(self, thread: str, *, forget: bool = False) -> DeletedThread:
        """Delete a thread as `delete` does, inside a job that is repeated after a crash."""
        key, parts = await self._key(thread), self._parts
        is_recorded = bool(await asyncio.to_thread(recorded_by, parts.archive, key))
        left = await self.remove(thread, forget=forget)
        await parts.prune()
        if forget:  # the job names the thread
            age = RunKey(self._owner, thread, AGE).job
            await parts.journal.change_queue(parts.journal.jobs.cancel(age))
        left += await parts.erasure.erase() if forget else _LEFT_WITHOUT_ERASURE
        left += (_LEFT_WITH_ITS_AGENT,) if is_recorded else ()
        return DeletedThread(thread=thread, forgotten=forget, left=left)

    async def remove(self, thread: str, *, forget: bool = False) -> tuple[str, ...]:
        """Delete the rows and files of a thread, of which some may be gone; return copies left.

        Large texts that no other thread has remain until `Archive.prune`.
        """
        parts = self._parts
        await parts.journal.delete(self._owner, thread)  # first: it knows of runs under way
        await parts.checkpoints.of(self._owner).adelete_thread(thread)
        left = await asyncio.to_thread(self._delete, thread, forget=forget)
        await parts.end_sandbox(self._owner, thread)  # last: its service may take long
        is_custom = parts.settings().sandbox.use == "custom"
        return (*left, _LEFT_IN_SANDBOXES) if is_custom else left

    def _delete(self, thread: str, *, forget: bool) -> tuple[str, ...]:
        parts, left = self._parts, tuple[str, ...]()
        if forget:
            left = self._forget(thread)
        parts.places.forget(self._owner, thread)
        for one in own_threads(parts.archive, self._owner, thread):
            parts.archive.delete(ThreadKey(self._owner, one))
        parts.registry.delete(self._owner, thread)
        return left

    def _forget(self, thread: str) -> tuple[str, ...]:
        """Forget what any memory of the owner learned from a thread: agents may have their own."""
        parts, shared = self._parts, Scope(self._owner)
        others = [one for one in parts.memories.scopes(self._owner) if one != shared]
        receipts = [memory_of(one, parts).forget(threads=[thread]) for one in (shared, *others)]
        return tuple(dict.fromkeys(left for one in receipts for left in one.left))

    async def _key(self, thread: str) -> ThreadKey:
        await asyncio.to_thread(self._finder.get, thread)
        return ThreadKey(self._owner, thread)


class Retention:
    """Performs the chores of threads in the queue of runs.

    Args:
        parts: The parts of the application.
    """

    def __init__(self, parts: AppParts) -> None:
        self._parts = parts

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
            await ThreadRemoval(owner, self._parts).delete_now(thread, forget=forget)
            action = {"owner": owner, "operation": operation, "path": thread}
            _audit.info("%s", json.dumps({"at": datetime.now(UTC).isoformat(), **action}))
            return True
        return False

    async def _delete_runs(self, owner: str, thread: str, days: float) -> None:
        oldest = datetime.now(UTC) - timedelta(days=days)
        for key in await self._parts.journal.outlived(owner, thread, oldest):
            await self._parts.journal.delete(*key)


FORGET = f"{CHORE}forget"
"""The chore that deletes everything of an owner, `…*forget MILLISECONDS`; it names no thread."""
_ROUNDS = 3
"""How often runs and threads are listed: some may begin in the meantime."""
_PATIENCE_S = 10.0
"""How long a run that is cancelled may take to end."""
_AUDIT = "audit.jsonl of the gateway: names of the owner and of deleted threads, without content"


class OwnerDeletion(TenantPart):
    """Deletes everything of one owner.

    Args:
        owner: The owner.
        parts: The parts of the application.
    """

    def __init__(self, owner: str, parts: AppParts) -> None:
        super().__init__(owner, parts)
        self._threads = ThreadRemoval(owner, parts)

    async def delete(self) -> tuple[str, ...]:
        """Cancel the owner's runs, delete everything, and erase its bytes.

        After a crash in between, a process that performs runs completes it.

        Returns:
            What may remain, and where: one line each, without any content.

        Raises:
            BusyError: A run that was cancelled has not ended, for example of a process that was
                killed. Other threads are deleted: call it again when the run has ended.
            StorageError: A database failed; the deletion is completed later.
        """
        key = RunKey(self._owner, "", f"{FORGET} {now_ms()}")
        async with completed_elsewhere(self._parts, key):
            left = await self._delete_rows()
            submit = self._parts.journal.jobs.submit  # the job is deleted with the others
            due_ms = now_ms() + COMPLETED_AFTER_MS
            await self._parts.journal.change_queue(submit(key.job, key.lock, due_ms=due_ms))
            return await self._erase(left)

    async def complete(self, key: RunKey) -> None:
        """Complete a deletion that broke off, unless there was use after the request."""
        journal, request_ms = self._parts.journal, int(key.run.split()[-1])
        await journal.delete_crons(self._owner, request_ms)
        newest = await asyncio.to_thread(self._parts.registry.list, self._owner, 1)
        if (newest and newest[0].updated > request_ms) or await journal.crons(self._owner):
            _log.warning("owner %s is not deleted: there was use after the request", self._owner)
            return
        left = await self._erase(await self._delete_rows())
        _log.info("an owner was deleted; left: %s", "; ".join(left))

    async def _delete_rows(self) -> list[str]:
        parts, owner, left = self._parts, self._owner, list[str]()
        for _ in range(_ROUNDS):
            await parts.journal.delete_crons(owner)
            names = {
                *await parts.journal.unended_or_newest(owner),
                *await asyncio.to_thread(self._names),
            }
            if not names:
                break
            unended = [await parts.journal.unended(owner, thread) for thread in names]
            await asyncio.gather(*(self._end(run) for runs in unended for run in runs))
            for thread in sorted(names):
                with suppress(BusyError):
                    left += await self._threads.remove(thread)
        if runs := await parts.journal.list(owner, limit=1):
            raise BusyError(runs[0].key.thread, runs[0].key.run)
        left += await asyncio.to_thread(self._delete)
        jobs = parts.journal.jobs  # their keys name threads; the one that performs this ends itself
        await parts.journal.change_queue(jobs.discard(f"{owner}{BETWEEN}", held=False))
        await parts.journal.delete_crons(owner)  # those made since then have no jobs
        return left

    async def _erase(self, left: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*left, *await self._parts.erasure.erase(), _AUDIT)))

    async def _end(self, run: RunRecord) -> None:
        await self._parts.runs.cancel(run.key)
        with suppress(TimeoutError, NoSuchRunError):
            async with asyncio.timeout(_PATIENCE_S):
                await self._parts.runs.join(run.key)

    def _names(self) -> set[str]:
        logs = self._parts.archive.threads(self._owner)
        named = {log.partition(SUBAGENT_SEPARATOR)[0] for log in logs}
        return named | self._parts.registry.names(self._owner)

    def _delete(self) -> list[str]:
        parts, owner = self._parts, self._owner
        for log in parts.archive.threads(owner):  # with a name that only a library gave it
            parts.archive.delete(ThreadKey(owner, log))
        parts.archive.prune()
        parts.places.forget(owner)
        parts.registry.forget(owner)
        receipts = parts.memories.forget_owner(owner, now=utc_now())
        lines = [line for receipt in receipts for line in receipt.left]
        return [NAME_IS_LEFT, *lines] if receipts else []
