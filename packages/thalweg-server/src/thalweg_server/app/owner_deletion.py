"""Deletion of everything that is stored of an owner, through the deletions of its parts."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from thalweg.archive import ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.database.jobs import BETWEEN
from thalweg.errors import BusyError, NoSuchRunError
from thalweg_memory.store.records import NAME_IS_LEFT, utc_now
from thalweg_server.app.retention import COMPLETED_AFTER_MS, completed_elsewhere
from thalweg_server.app.runs import now_ms
from thalweg_server.app.threads import TenantThreads
from thalweg_server.runs.base import CHORE, RunKey, RunRecord

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

FORGET = f"{CHORE}forget"
"""The chore that deletes everything of an owner, `…*forget MILLISECONDS`; it names no thread."""
_ROUNDS = 3
"""How often runs and threads are listed: some may begin meanwhile."""
_PATIENCE_S = 10.0
"""How long a run that is cancelled may take to end."""
_AUDIT = "audit.jsonl of the gateway: names of the owner and of deleted threads, without content"
_log = logging.getLogger("thalweg.server")


class OwnerDeletion:
    """Deletes everything of one owner.

    Args:
        owner: The owner.
        parts: The parts of the application.
    """

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts
        self._threads = TenantThreads(owner, parts)

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
        parts, owner = self._parts, self._owner
        for _ in range(_ROUNDS):
            await parts.journal.delete_crons(owner)
            names = {*await parts.journal.newest(owner), *await asyncio.to_thread(self._names)}
            if not names:
                break
            unended = [await parts.journal.unended(owner, thread) for thread in names]
            await asyncio.gather(*(self._end(run) for runs in unended for run in runs))
            for thread in sorted(names):
                with suppress(BusyError):
                    await self._threads.remove(thread)
        if runs := await parts.journal.list(owner, limit=1):
            raise BusyError(runs[0].key.thread, runs[0].key.run)
        left = await asyncio.to_thread(self._delete)
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
