"""Deletion of old runs and of threads out of use: one job for each thread, in the queue of runs."""

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from thalweg.database.jobs import BETWEEN, Job
from thalweg.errors import BusyError, NoSuchThreadError, StorageError
from thalweg_server.app.runs import now_ms
from thalweg_server.runs.base import ENDED, RunRecord

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

POLL_S = 60.0
"""Seconds between two polls for due jobs; it varies, so that processes take turns."""
_LEAST_MS = 3_600_000
"""Milliseconds between two jobs of a thread, at least."""
_LEASE_S = 900.0
_PAGE = 1_000
_DAY_MS = 86_400_000
_log = logging.getLogger("thalweg.server.retention")
_audit = logging.getLogger("thalweg.audit")


class Retention:
    """Deletes what is older than the settings' ages, in any process.

    Args:
        parts: The parts of the application.
        delete: Deletes a thread of an owner, as a request of the owner would.
    """

    def __init__(self, parts: "AppParts", delete: Callable[[str, str], Awaitable[object]]) -> None:
        self._parts = parts
        self._delete = delete
        self._queue = parts.journal.jobs.named("retention")

    async def schedule(self, owner: str, thread: str, *, wait_ms: int = 0) -> None:
        """Submit the job of a thread, unless one waits, or nothing is deleted by age.

        Raises:
            StorageError: A database failed.
        """
        retention = self._parts.settings().retention
        ages = [age for age in (retention.runs_days, retention.threads_days) if age is not None]
        if ages:
            key = BETWEEN.join((owner, thread))
            due_ms = now_ms() + max(wait_ms, round(min(ages) * _DAY_MS))
            await self._parts.journal.change_queue(self._queue.submit(key, key, due_ms=due_ms))

    async def perform_due(self) -> int:
        """Perform the jobs that are due; return how many.

        Raises:
            StorageError: A database failed.
        """
        journal, count = self._parts.journal, 0
        claim = self._queue.claim(self._parts.runs.name, lease_s=_LEASE_S)
        while rows := await journal.change_queue(claim):
            job, count = Job(*rows[0]), count + 1
            owner, _, thread = job.key.partition(BETWEEN)
            is_left = await self._apply(owner, thread)
            await journal.change_queue(self._queue.finish(job))
            if is_left:
                await self.schedule(owner, thread, wait_ms=_LEAST_MS)
        return count

    async def run_forever(self) -> None:
        """Poll for due jobs until it is cancelled."""
        while True:
            await asyncio.sleep(POLL_S * random.uniform(0.5, 1.5))  # noqa: S311 (no secret)
            try:
                await self.perform_due()
            except StorageError as error:
                _log.warning("old runs and threads are not deleted now: %s", error)

    async def _apply(self, owner: str, thread: str) -> bool:
        """Delete what is too old of a thread; return whether the thread is left."""
        retention, parts = self._parts.settings().retention, self._parts
        row = await asyncio.to_thread(parts.registry.get, owner, thread)
        if row is None:
            return False
        idle_ms = now_ms() - row.updated
        if retention.threads_days is not None and idle_ms >= retention.threads_days * _DAY_MS:
            with suppress(BusyError, NoSuchThreadError):
                await self._delete(owner, thread)
                action = {"owner": owner, "operation": "retention", "path": thread}
                _audit.info("%s", json.dumps({"at": datetime.now(UTC).isoformat(), **action}))
                return False
        if retention.runs_days is not None:
            await self._delete_runs(owner, thread, retention.runs_days)
        return True

    async def _delete_runs(self, owner: str, thread: str, days: float) -> None:
        oldest = datetime.now(UTC) - timedelta(days=days)
        journal, runs = self._parts.journal, list[RunRecord]()
        while page := await journal.list(
            owner, thread, limit=_PAGE, before=runs[-1].key.run if runs else None
        ):
            runs += page
        for run in runs[1:]:  # the newest run shows the state of the thread
            if run.status in ENDED and run.ended is not None and run.ended <= oldest:
                await journal.delete(owner, thread, run.key.run)
