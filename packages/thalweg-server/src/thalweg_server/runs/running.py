"""Runs: started once, performed by any live process, followed from any process."""

import asyncio
import logging
import os
import random
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Self

from thalweg.database.jobs import BETWEEN, MOST_CRASHES, RENEW_S, Job
from thalweg.errors import (
    BusyError,
    ClaimLostError,
    RunError,
    RunExistsError,
    StorageError,
    ThalwegError,
)
from thalweg_server.api.events import RunCancelled, RunFailed
from thalweg_server.api.problems import Problem
from thalweg_server.runs.base import AGE, CHORE, CRON, Claim, Draft, RunKey, RunRecord
from thalweg_server.runs.crons import PostponedError
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.journal import Journal

POLL_S = 0.5
"""Seconds between two looks for a job without a notification: for delayed and expired ones."""
SWEEP_S = 30.0
"""Seconds between two submissions of runs without a job, such as those of an older version."""
MOST_RUNS = 100
"""Runs that a process performs at a time, by default."""
TIME_LIMIT_S = 3_600.0
"""Seconds that an attempt at a run may take, by default."""
_SPREAD_S = 0.003
"""For each run that a process performs, it waits so long for others to claim a job first."""
_MOST_SPREAD_S = 0.03
MOST_ATTEMPTS = 5
"""Attempts that may break off, with their process or a database; then the run fails."""
_CHORE_PAUSE_S = 300.0
"""Seconds until a chore is retried whose database failed, or whose thread has a run that waits."""
_LATER_S = 3_600.0
"""Likewise, after an error of another kind."""
_CRON_LATER_S = 60.0
"""Seconds until a cron is retried after an unexpected error."""
_GIVEN_UP_S = 86_400.0
"""Seconds until a deletion by age or a cron is retried after it ended the processes that performed
it."""
_STOP_S = 10.0
"""How long a run that is to stop may take over it."""
_LEAVE_S = 2.0
"""Seconds that a process that stops waits for emitted events."""
_PAUSE_S = 1.0
"""Before a run is taken up again whose database failed."""
_FENCE: ContextVar[Emit | None] = ContextVar("thalweg_run", default=None)
_log = logging.getLogger("thalweg.server.runs")


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        data: The event that ends it, `run.` and the status: a JSON object.
    """

    status: Literal["completed", "interrupted", "failed", "cancelled"]
    data: str
    error: str | None = None
    """A problem, if it failed."""

    @classmethod
    def failed(cls, problem: Problem) -> "RunOutcome":
        """Make the end of a run that failed."""
        data = RunFailed(problem=problem).model_dump_json()
        return cls("failed", data, problem.model_dump_json())


_POISON = (
    "{} attempts at this run failed, because a process crashed or a database failed; "
    "it is not retried. Check the logs, or send another message"
)
_CANCELLED = RunOutcome("cancelled", RunCancelled().model_dump_json())
IfBusy = Literal["enqueue", "reject", "cancel"]
Perform = Callable[[RunRecord, Emit], Coroutine[Any, Any, RunOutcome]]
"""Performs a run. An attempt after the first resumes from the last checkpoint."""


def fence() -> AbstractAsyncContextManager[None]:
    """Keep the claim of the run that is performed here good for a moment.

    Raises (when entered):
        ClaimLostError: Another process performs the run.
    """
    emit = _FENCE.get()
    return nullcontext() if emit is None else emit.hold()


class ProcessRuns:
    """The runs of one process: those it performs, and those it follows.

    Args:
        journal: The journal of all processes.
        perform: Performs a run.
        limit: The number of runs that are performed here at a time; 0 if others perform them.
        time_limit_s: Seconds that an attempt may take; then the run fails.
        most_attempts: See `MOST_ATTEMPTS`.
        on_end: Called with each run that ended here.
        perform_chore: Performs a job that is no run; see `CHORE`.

    Example:
        ```python
        async with ProcessRuns(journal, perform) as runs:
            await runs.start(RunKey("ada", "t1", "r1"), "{}")
        ```
    """

    def __init__(
        self,
        journal: Journal,
        perform: Perform,
        *,
        limit: int = MOST_RUNS,
        time_limit_s: float = TIME_LIMIT_S,
        most_attempts: int = MOST_ATTEMPTS,
        on_end: Callable[[RunKey], Coroutine[Any, Any, None]] | None = None,
        perform_chore: Callable[[RunKey], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._journal = journal
        self._perform = perform
        self._limit = limit
        self._time_limit_s = time_limit_s
        self._most_attempts = most_attempts
        self._on_end = on_end
        self._perform_chore = perform_chore
        self.name = f"{os.getpid()}-{secrets.token_hex(8)}"
        """The name of this process in the queue."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._jobs: dict[int, Job] = {}
        """Those that are performed here."""
        self._working: dict[RunKey, asyncio.Task[Any] | None] = {}
        self._loops: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Begin to perform runs, also those of processes that crash."""
        if self._limit:
            loops = ((self._claim_jobs, 0), (self._renew, RENEW_S), (self._sweep, SWEEP_S))
            self._loops = [
                asyncio.create_task(_forever(step, pause_s), name=f"thalweg-runs{step.__name__}")
                for step, pause_s in loops
            ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop performing: runs under way are cancelled here, and others take them over."""
        for loop in self._loops:
            loop.cancel()
        if self._loops:
            await asyncio.wait(self._loops)
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def drain(self, timeout_s: float) -> None:
        """Claim no more runs, and wait for those performed here to end."""
        self._limit = 0
        if self._tasks:
            await asyncio.wait([*self._tasks], timeout=timeout_s)

    async def start(
        self,
        key: RunKey,
        request: str,
        *,
        if_busy: IfBusy = "enqueue",
        due_ms: int = 0,
        priority: int = 0,
    ) -> RunRecord:
        """Start a run; repeating the call returns the same run.

        Any process performs it, the one with fewest runs first.

        Args:
            key: Its id is chosen by the caller.
            request: The request, a JSON object.
            if_busy: The action for a run of the thread that has not ended: the new one waits,
                is rejected, or the other one is cancelled.
            due_ms: The earliest start in milliseconds since 1970.
            priority: Runs of a higher one start first.

        Raises:
            BusyError: Another run of the thread has not ended.
            RunExistsError: The owner has another run with that id.
            StorageError: A database failed.
        """
        if (there := await self._journal.get(key)) is not None:
            return _same(there, request)
        if if_busy == "cancel":
            for run in await self._journal.unended(key.owner, key.thread):
                await self.cancel(run.key)
        rule: Literal["enqueue", "reject"] = "reject" if if_busy == "reject" else "enqueue"
        # A database completes a statement even if the caller stops waiting for it.
        try:
            return await self._journal.create(
                key, request, if_busy=rule, due_ms=due_ms, priority=priority
            )
        except RunExistsError:
            there = await self._journal.get(key)
            if there is None:
                raise
            return _same(there, request)

    async def cancel(self, key: RunKey) -> bool:
        """Request the end of a run, in any process that performs it; False if it has ended."""
        if await self._journal.cancel_queued(key, _end_of(_CANCELLED)):
            self._after_end(key)
            return True
        return await self._journal.ask_cancel(key)

    async def join(self, key: RunKey) -> RunRecord:
        """Wait for the end of a run.

        Raises:
            NoSuchRunError: There is none, or it was deleted meanwhile.
        """
        run = await self._journal.get(key)
        async for _ in self._journal.follow(key, 0 if run is None else run.last_seq):
            pass
        return await self._journal.existing(key)

    async def _claim_jobs(self) -> None:
        """Claim jobs one by one up to the limit, then wait for a notification."""
        available = self._journal.job_available
        available.clear()
        while len(self._jobs) < self._limit:
            # A process that performs less claims first.
            await asyncio.sleep(min(_MOST_SPREAD_S, _SPREAD_S * len(self._jobs)))
            # Deletions by age are performed one by one, for runs wait for their transactions.
            deletes = any(one.key.endswith(BETWEEN + AGE) for one in self._jobs.values())
            job = await self._journal.claim_job(self.name, only_runs=deletes)
            if job is None:
                break
            self._jobs[job.id] = job
            self._create_task(self._work(job), f"work-{job.id}")
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S * random.uniform(0.7, 1.3)):  # noqa: S311 (no secret)
                await available.wait()

    async def _renew(self) -> None:
        if self._jobs:
            await self._journal.renew_jobs(self.name, list(self._jobs))

    async def _sweep(self) -> None:
        await self._journal.submit_missing_jobs()
        self._journal.job_available.set()

    def _create_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, job: Job) -> None:
        """Perform the run or the chore of a job; retry if a database fails."""
        key, pause_s = RunKey.of_job(job.key), None
        try:
            while True:
                try:
                    if key.run.startswith(CHORE):
                        pause_s = await self._chore(key, job)
                    else:
                        await self._alone(key, job)
                    if pause_s is None:
                        await self._journal.finish_job(job)
                    else:
                        due_ms = round(1_000 * (time.time() + pause_s))
                        await self._journal.postpone_job(job, due_ms)
                except StorageError as error:
                    _log.warning("job %d is retried: %s", job.id, error)
                    await asyncio.sleep(_PAUSE_S)
                else:
                    return
        except asyncio.CancelledError:  # the process shuts down cleanly: it did not crash
            with suppress(StorageError):
                await self._journal.postpone_job(job, 0)
            raise
        finally:
            if self._jobs.get(job.id) is job:
                del self._jobs[job.id]
            self._journal.job_available.set()

    async def _chore(self, key: RunKey, job: Job) -> float | None:
        """Perform a chore, unless it ends the processes that perform it; an error is logged.

        Returns:
            Seconds until it is to be performed again; `None` if it is done or given up.
        """
        if self._perform_chore is None or job.crashes >= MOST_CRASHES:
            _log.error("%s of thread %s is given up: its processes ended", key.run, key.thread)
            return _GIVEN_UP_S if key.run.startswith((AGE, CRON)) else None
        try:
            await self._perform_chore(key)
        except (BusyError, StorageError) as error:
            pause_s = _CHORE_PAUSE_S
            if isinstance(error, PostponedError) and error.is_limit:
                # As long as it is late already, so the delay doubles; crons may share a due time.
                late_s = time.time() - int(key.run.split()[-1]) / 1_000
                pause_s = min(max(_PAUSE_S, late_s), _CHORE_PAUSE_S)
                pause_s *= random.uniform(0.7, 1)  # noqa: S311 (no secret)
            elif key.run.startswith(CRON):
                pause_s = _PAUSE_S
            problem = "%s of thread %s is retried in %.0f s: %s"
            _log.warning(problem, key.run, key.thread, pause_s, error)
            return pause_s
        except Exception:  # noqa: BLE001 (the queue goes on)
            _log.exception("%s of thread %s failed", key.run, key.thread)
            return _CRON_LATER_S if key.run.startswith(CRON) else _LATER_S
        return None

    async def _alone(self, key: RunKey, job: Job) -> None:
        """Perform a run when this process performs it no longer under another claim."""
        me = asyncio.current_task()
        before, self._working[key] = self._working.get(key), me
        try:
            if before is not None:  # its claim was taken for lost, and came back here
                before.cancel()
                await asyncio.wait([before])
            await self._attempt(key, job)
        finally:
            if self._working.get(key) is me:
                del self._working[key]

    async def _attempt(self, key: RunKey, job: Job | None = None) -> None:
        """Perform a run to its end, unless it has ended or another process performs it."""
        claim = await self._journal.claim(key)
        if claim is None:
            return
        try:
            attempts = claim.attempt - claim.run.releases
            if attempts > self._most_attempts:
                await self._end(claim, _failed("run.poison", _POISON.format(attempts - 1)))
            else:
                await self._go_on(claim, job)
        except ClaimLostError:
            now = await self._journal.get(key)
            if now is not None and now.status == "running" and now.attempt == claim.attempt:
                problem = "a valid claim was assumed to be lost"
                raise StorageError(key.run, problem, "it is retried") from None
            _log.info("run %s is performed by another process now", key.run)

    async def _go_on(self, claim: Claim, job: Job | None) -> None:
        emit = Emit(self._journal, claim)
        try:
            outcome = await self._outcome(claim, emit)
            await emit.drain()
            await self._end(claim, outcome)
        except asyncio.CancelledError:
            await self._leave(claim, emit, job)
            raise
        finally:
            await emit.close()

    async def _outcome(self, claim: Claim, emit: Emit) -> RunOutcome:
        run = claim.run
        _FENCE.set(emit)  # for the task that performs the run
        performing = asyncio.create_task(self._perform(run, emit), name=f"run-{run.key.run}")
        watching = asyncio.create_task(self._journal.called_off(claim))
        try:
            ends: list[asyncio.Future[Any]] = [performing, watching, emit.failed]
            await asyncio.wait(
                ends, timeout=self._time_limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            is_late = not any(end.done() for end in ends)
        finally:
            watching.cancel()
            performing.cancel()
            await asyncio.wait([performing, watching], timeout=_STOP_S)
        if emit.failed.done():
            raise emit.failed.result()
        if is_late:
            return _failed("run.time_limit", f"it took longer than {self._time_limit_s:g} s")
        if not performing.done() or performing.cancelled():
            is_requested = not watching.cancelled() and watching.result()
            if watching.done() and not watching.cancelled() and not is_requested:
                raise ClaimLostError(claim.key.run, claim.attempt)
            return _CANCELLED
        return _outcome_of(run, performing)

    async def _end(self, claim: Claim, outcome: RunOutcome) -> None:
        await self._journal.finish(claim, outcome.status, [_end_of(outcome)], error=outcome.error)
        self._after_end(claim.key)

    def _after_end(self, key: RunKey) -> None:
        self._create_task(self._pack(key), f"pack-{key.run}")
        if self._on_end is not None:
            self._create_task(self._on_end(key), f"ended-{key.run}")

    async def _pack(self, key: RunKey) -> None:
        """Pack the events of an ended run; if that fails, they stay as they are."""
        try:
            with suppress(StorageError):
                await self._journal.pack(key)
        except Exception:  # noqa: BLE001 (the run has ended)
            _log.exception("the events of run %s are not packed", key.run)

    async def _leave(self, claim: Claim, emit: Emit, job: Job | None) -> None:
        """Release a run for other processes to resume."""
        with suppress(RunError, StorageError, TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await emit.drain()
        with suppress(StorageError):
            await self._journal.release(claim, job)


async def _forever(step: Callable[[], Coroutine[Any, Any, None]], pause_s: float) -> None:
    """Repeat a step of the queue."""
    while True:
        try:
            await step()
        except StorageError as error:
            _log.warning("the queue of runs cannot be used: %s", error)
            await asyncio.sleep(_PAUSE_S)
        except Exception:  # noqa: BLE001 (a loop that ended would be missed by nobody)
            _log.exception("the queue of runs failed; it is tried again")
            await asyncio.sleep(_PAUSE_S)
        await asyncio.sleep(pause_s)


def _end_of(outcome: RunOutcome) -> Draft:
    return Draft(f"run.{outcome.status}", outcome.data)


def _outcome_of(run: RunRecord, performing: "asyncio.Task[RunOutcome]") -> RunOutcome:
    error = performing.exception()
    if error is None:
        return performing.result()
    if isinstance(error, (ClaimLostError, StorageError)):
        raise error
    _log.error("run %s failed", run.key.run, exc_info=error)
    if isinstance(error, ThalwegError):
        return _failed(error.code, str(error))
    return _failed("run.failed", f"{type(error).__name__}: {error}")


def _failed(code: str, detail: str) -> RunOutcome:
    problem = Problem(title="the run failed", status=500, detail=detail[:2_000], code=code)
    return RunOutcome.failed(problem)


def _same(there: RunRecord, request: str) -> RunRecord:
    if there.request != request:
        raise RunExistsError(there.key.run)
    return there
