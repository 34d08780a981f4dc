"""Runs: started once, performed by any live process, followed from any process."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Self

from thalweg.errors import (
    BusyError,
    ClaimLostError,
    NoSuchRunError,
    RunError,
    RunExistsError,
    StorageError,
    ThalwegError,
)
from thalweg_server.api.events import RunCancelled, RunFailed
from thalweg_server.api.problems import Problem
from thalweg_server.liveness.base import Liveness
from thalweg_server.runs.base import Claim, Draft, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.journal import Journal

RECOVERY_S = 1.0
"""How often a process looks for runs of dead ones; others may look just then, so it varies."""
MOST_TAKEN = 50
"""Runs that one process takes over at a time, so that others get some."""
MOST_ATTEMPTS = 5
"""Attempts that may break off, with their process or a database; then the run fails."""
_STOP_S = 10.0
"""How long a run that is to stop may take over it."""
_LEAVE_S = 2.0
"""Seconds that a process that stops waits for runs to be created, and for emitted events."""
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

    Example:
        ```python
        async with ProcessRuns(journal, presence, perform) as runs:
            await runs.start(RunKey("ada", "t1", "r1"), "{}")
        ```
    """

    def __init__(
        self,
        journal: Journal,
        presence: Liveness,
        perform: Perform,
        *,
        most_attempts: int = MOST_ATTEMPTS,
        on_end: Callable[[RunKey], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._journal = journal
        self._presence = presence
        self._perform = perform
        self._most_attempts = most_attempts
        self._on_end = on_end
        self.name = ""
        """The name of this process among those that live."""
        self._starting: set[asyncio.Task[RunRecord]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._working: dict[RunKey, asyncio.Task[Any] | None] = {}
        self._recovery: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to perform runs, and to take over those of processes that die.

        Raises:
            StorageError: The medium of the presence failed.
        """
        self.name = await self._presence.enter()
        self._recovery = asyncio.create_task(self._recover_forever(), name="thalweg-runs-takeover")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop performing: runs under way are cancelled here, and others take them over."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        if self._starting:
            await asyncio.wait(self._starting, timeout=_LEAVE_S)
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._presence.leave()

    async def recover(self) -> int:
        """Take over runs of processes that died.

        Returns:
            How many.

        Raises:
            StorageError: A database failed.
        """
        await self.promote()
        others = {*await self._journal.workers()} - {self.name}
        dead = await self._presence.dead(others) if others else ()
        if not dead:
            return 0
        taken = await self._journal.take_over(dead, self.name, MOST_TAKEN)
        for key in taken:
            self._begin(key)
        return len(taken)

    async def start(
        self, key: RunKey, request: str, *, if_busy: Literal["reject", "cancel"] = "reject"
    ) -> RunRecord:
        """Start a run; repeating the call returns the same run.

        Args:
            key: Its id is chosen by the caller.
            request: The request, a JSON object.
            if_busy: The action for a run of the thread that has not ended.

        Raises:
            BusyError: Another run of the thread has not ended.
            RunExistsError: The owner has another run with that id.
            StorageError: A database failed.
        """
        if (there := await self._journal.get(key)) is not None:
            return _same(there, request)
        try:
            return await self._start(key, request)
        except BusyError as busy:
            if if_busy == "reject":
                raise
            other = RunKey(key.owner, key.thread, busy.run)
        with suppress(NoSuchRunError):
            await self.cancel(other)
            await self.join(other)
        return await self._start(key, request)

    async def enqueue(self, key: RunKey, request: str, *, due_ms: int = 0) -> RunRecord:
        """Store a run that starts when it is due and those before it in its thread have ended.

        Any process performs it: the first that finds it ready.

        Args:
            key: Its id is chosen by the caller.
            request: The request, a JSON object.
            due_ms: The earliest start in milliseconds since 1970.

        Raises:
            RunExistsError: The owner has a run with that id.
            StorageError: A database failed.
        """
        run = await self._journal.create(key, request, due_ms=due_ms)
        await self.promote()
        return run

    async def promote(self) -> None:
        """Begin runs that waited, if their time has come."""
        for key in await self._journal.promote(self.name, MOST_TAKEN):
            self._begin(key)

    async def cancel(self, key: RunKey) -> bool:
        """Request the end of a run, in any process that performs it; False if it has ended."""
        return await self._journal.ask_cancel(key)

    async def join(self, key: RunKey) -> RunRecord:
        """Wait for the end of a run.

        Raises:
            NoSuchRunError: There is none, or it was deleted meanwhile.
        """
        run = await self._journal.get(key)
        async for _ in self._journal.follow(key, 0 if run is None else run.last_seq):
            pass
        if (run := await self._journal.get(key)) is None:
            raise NoSuchRunError(key.run)
        return run

    async def _start(self, key: RunKey, request: str) -> RunRecord:
        """Complete a start even if the caller is cancelled.

        A database completes a statement after the caller has stopped waiting: this process would
        own a run and not perform it.
        """
        starting = asyncio.create_task(self._started(key, request), name=f"start-{key.run}")
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        starting.add_done_callback(_retrieve_error)
        return await asyncio.shield(starting)

    async def _started(self, key: RunKey, request: str) -> RunRecord:
        """Create a run and begin to perform it.

        The row names this process from the beginning: if it dies, others take the run over.
        """
        try:
            run = await self._journal.create(key, request, worker=self.name)
        except RunExistsError:
            there = await self._journal.get(key)
            if there is None:
                raise
            return _same(there, request)
        except StorageError:
            self._begin(key)  # it may have been created nevertheless
            raise
        self._begin(key, run)
        return run

    def _begin(self, key: RunKey, run: RunRecord | None = None) -> None:
        task = asyncio.create_task(self._work(key, run), name=f"work-{key.run}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, key: RunKey, run: RunRecord | None = None) -> None:
        """Perform a run of this process; retry if a database fails."""
        while True:
            try:
                run = run or await self._journal.get(key)
                if run is not None and run.worker == self.name:
                    await self._alone(key)
            except StorageError as error:
                run = None
                _log.warning("run %s is retried: %s", key.run, error)
                await asyncio.sleep(_PAUSE_S)
            else:
                return

    async def _recover_forever(self) -> None:
        while True:
            try:
                await self.recover()
            except StorageError as error:
                _log.warning("cannot look for runs of crashed processes: %s", error)
            await asyncio.sleep(RECOVERY_S * random.uniform(0.7, 1.3))  # noqa: S311 (no secret)

    async def _alone(self, key: RunKey) -> None:
        """Perform a run when this process performs it no longer under another claim."""
        me = asyncio.current_task()
        before, self._working[key] = self._working.get(key), me
        try:
            if before is not None:  # its claim was taken for lost, and came back here
                before.cancel()
                await asyncio.wait([before])
            await self._attempt(key)
        finally:
            if self._working.get(key) is me:
                del self._working[key]

    async def _attempt(self, key: RunKey) -> None:
        """Perform a run to its end, unless it has ended or another process performs it."""
        claim = await self._journal.claim(key)
        if claim is None:
            return
        await self._perform_claim(claim)
        with suppress(StorageError):  # the next sweep finds it
            await self.promote()

    async def _perform_claim(self, claim: Claim) -> None:
        key = claim.key
        try:
            attempts = claim.attempt - claim.run.releases
            if attempts > self._most_attempts:
                await self._end(claim, _poison(attempts - 1))
            else:
                await self._go_on(claim)
        except ClaimLostError:
            now = await self._journal.get(key)
            if now is not None and now.status == "running" and now.attempt == claim.attempt:
                problem = "a valid claim was assumed to be lost"
                raise StorageError(key.run, problem, "it is retried") from None
            _log.info("run %s is performed by another process now", key.run)

    async def _go_on(self, claim: Claim) -> None:
        emit = Emit(self._journal, claim)
        try:
            outcome = await self._outcome(claim, emit)
            await emit.drain()
            await self._end(claim, outcome)
        except asyncio.CancelledError:
            await self._leave(claim, emit)
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
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            performing.cancel()
            await asyncio.wait([performing, watching], timeout=_STOP_S)
        if emit.failed.done():
            raise emit.failed.result()
        if not performing.done() or performing.cancelled():
            is_requested = not watching.cancelled() and watching.result()
            if watching.done() and not watching.cancelled() and not is_requested:
                raise ClaimLostError(claim.key.run, claim.attempt)
            return RunOutcome("cancelled", RunCancelled().model_dump_json())
        return _outcome_of(run, performing)

    async def _end(self, claim: Claim, outcome: RunOutcome) -> None:
        draft = Draft(f"run.{outcome.status}", outcome.data)
        await self._journal.finish(claim, outcome.status, [draft], error=outcome.error)
        if self._on_end is not None:
            task = asyncio.create_task(self._on_end(claim.key), name=f"ended-{claim.key.run}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _leave(self, claim: Claim, emit: Emit) -> None:
        """Release a run for other processes to resume."""
        with suppress(RunError, StorageError, TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await emit.drain()
        with suppress(StorageError):
            await self._journal.release(claim)


def _retrieve_error(done: asyncio.Task[RunRecord]) -> None:
    """Retrieve an error whose waiter may no longer exist."""
    if not done.cancelled():
        done.exception()


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


def _poison(died: int) -> RunOutcome:
    return _failed(
        "run.poison",
        f"{died} attempts at this run failed, because a process crashed or a database failed; "
        "it is not retried. Check the logs, or send another message",
    )


def _failed(code: str, detail: str) -> RunOutcome:
    problem = Problem(title="the run failed", status=500, detail=detail[:2_000], code=code)
    return RunOutcome.failed(problem)


def _same(there: RunRecord, request: str) -> RunRecord:
    if there.request != request:
        raise RunExistsError(there.key.run)
    return there
