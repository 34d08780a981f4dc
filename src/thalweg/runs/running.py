"""Runs: started once, performed by whoever lives, followed from anywhere."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from thalweg.api.events import RunCancelled, RunFailed
from thalweg.api.problems import Problem
from thalweg.durable.engine import Engine
from thalweg.errors import (
    BusyError,
    ClaimLostError,
    NoSuchRunError,
    RunError,
    RunExistsError,
    StorageError,
    ThalwegError,
)
from thalweg.runs.base import Claim, Draft, Event, Journal, Run, RunKey
from thalweg.runs.emitting import Emit

WORK = "run"
"""The name of the work, in every process."""
MOST_ATTEMPTS = 5
"""Attempts that may break off, with their process or a database; then the run fails."""
_STOP_S = 10.0
"""How long a run that is to stop may take over it."""
_LEAVE_S = 2.0
"""How long a process that stops waits for what its runs emitted."""
_PAUSE_S = 1.0
"""Before a run is taken up again whose database failed."""
_FENCE: ContextVar[Emit | None] = ContextVar("thalweg_run", default=None)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        data: The event that ends it, `run.` and the status: a JSON object.
    """

    status: Literal["completed", "interrupted", "failed", "cancelled"]
    data: str
    error: str | None = None
    """A problem, where it failed."""


Perform = Callable[[Run, Emit], Awaitable[Outcome]]
"""Performs a run. An attempt above the first goes on from the last checkpoint."""


def fence() -> AbstractAsyncContextManager[None]:
    """Keep the claim of the run that is performed here good for a moment.

    Raises (when entered):
        ClaimLostError: Another process performs the run.
    """
    emit = _FENCE.get()
    return nullcontext() if emit is None else emit.hold()


class Runs:
    """The runs of one process: those it performs, and those it follows."""

    def __init__(
        self,
        journal: Journal,
        engine: Engine,
        perform: Perform,
        *,
        most_attempts: int = MOST_ATTEMPTS,
    ) -> None:
        self._journal = journal
        self._engine = engine
        self._perform = perform
        self._most_attempts = most_attempts
        self._starting: set[asyncio.Task[Run]] = set()
        self._creating: dict[str, asyncio.Future[Run | None]] = {}
        """Work that was started here, each with the run it is for once that is created."""
        self._working: dict[RunKey, asyncio.Task[Any] | None] = {}
        engine.register(WORK, self._work)

    async def start(
        self, key: RunKey, request: str, *, if_busy: Literal["reject", "cancel"] = "reject"
    ) -> Run:
        """Start a run; the same again is the same run.

        Args:
            key: Its id is the caller's to choose.
            request: What is asked, a JSON object.
            if_busy: What to do with a run of the thread that has not ended.

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

    def follow(self, key: RunKey, after: int = 0) -> AsyncIterator[Event]:
        """See `Journal.follow`."""
        return self._journal.follow(key, after)

    async def get(self, key: RunKey) -> Run | None:
        """See `Journal.get`."""
        return await self._journal.get(key)

    async def list(
        self, owner: str, thread: str | None = None, *, limit: int = 50, before: str | None = None
    ) -> Sequence[Run]:
        """See `Journal.list`."""
        return await self._journal.list(owner, thread, limit=limit, before=before)

    async def count_active(self, owner: str) -> int:
        """See `Journal.count_active`."""
        return await self._journal.count_active(owner)

    async def cancel(self, key: RunKey) -> bool:
        """Ask for the end of a run, wherever it is performed; False where it has ended."""
        return await self._journal.ask_cancel(key)

    async def join(self, key: RunKey) -> Run:
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

    async def _start(self, key: RunKey, request: str) -> Run:
        """See a start through, be the caller cancelled or not.

        A database goes on with what it was asked when nobody waits any more: the run would be
        noted behind the back of its work, which had looked for it in vain.
        """
        starting = asyncio.create_task(self._started(key, request), name=f"start-{key.run}")
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        starting.add_done_callback(_heard)
        return await asyncio.shield(starting)

    async def _started(self, key: RunKey, request: str) -> Run:
        """Note the work first: a run without work would never end, work without a run does.

        Every start is work of its own, and the run names the one that performs it: so it does
        not matter how often, where and how far the same start was tried before.
        """
        work = f"{WORK}-{uuid4().hex}"
        created = self._creating[work] = asyncio.get_running_loop().create_future()
        run: Run | None = None
        try:
            await self._engine.start(WORK, work, key.owner, key.thread, key.run, work)
            run = await self._journal.create(key, request, work=work)
        except RunExistsError:
            there = await self._journal.get(key)
            if there is None:
                raise
            return _same(there, request)
        else:
            return run
        finally:
            del self._creating[work]
            created.set_result(run)

    async def _work(self, owner: str, thread: str, name: str, work: str) -> None:
        key = RunKey(owner, thread, name)
        run: Run | None = None
        if (created := self._creating.get(work)) is not None:
            run = await created
        while True:
            try:
                run = run or await self._journal.get(key)
                if run is not None and run.work == work:
                    await self._alone(key)
            except StorageError as error:
                run = None
                _log.warning("run %s is begun again: %s", key.run, error)
                await asyncio.sleep(_PAUSE_S)
            else:
                return

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
        run = None if claim is None else claim.run or await self._journal.get(key)
        if claim is None or run is None:
            return
        try:
            if claim.attempt - run.handed > self._most_attempts:
                await self._end(claim, _poison(claim.attempt - run.handed - 1))
            else:
                await self._go_on(claim, run)
        except ClaimLostError:
            now = await self._journal.get(key)
            if now is not None and now.status == "running" and now.attempt == claim.attempt:
                problem = "a claim that is good was taken for lost"
                raise StorageError(key.run, problem, "it is begun again") from None
            _log.info("run %s is performed elsewhere now", key.run)

    async def _go_on(self, claim: Claim, run: Run) -> None:
        emit = Emit(self._journal, claim)
        try:
            outcome = await self._outcome(claim, run, emit)
            await emit.drain()
            await self._end(claim, outcome)
        except asyncio.CancelledError:
            await self._leave(claim, emit)
            raise
        finally:
            await emit.close()

    async def _outcome(self, claim: Claim, run: Run, emit: Emit) -> Outcome:
        performing = asyncio.create_task(self._performed(run, emit), name=f"run-{run.key.run}")
        watching = asyncio.create_task(self._journal.called_off(claim))
        try:
            ends: list[asyncio.Future[Any]] = [performing, watching, emit.failed]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not performing.done():
                await _stopped(performing)
        finally:
            watching.cancel()
            performing.cancel()
            await asyncio.wait([performing, watching], timeout=_STOP_S)
        if emit.failed.done():
            raise emit.failed.result()
        if not performing.done() or performing.cancelled():
            is_asked = not watching.cancelled() and watching.result()
            if watching.done() and not watching.cancelled() and not is_asked:
                raise ClaimLostError(claim.key.run, claim.attempt)
            return Outcome("cancelled", RunCancelled().model_dump_json())
        return _told(run, performing)

    async def _performed(self, run: Run, emit: Emit) -> Outcome:
        _FENCE.set(emit)
        return await self._perform(run, emit)

    async def _end(self, claim: Claim, outcome: Outcome) -> None:
        draft = Draft(f"run.{outcome.status}", outcome.data)
        await self._journal.finish(claim, outcome.status, [draft], error=outcome.error)

    async def _leave(self, claim: Claim, emit: Emit) -> None:
        """Give a run back for others to go on with."""
        with suppress(RunError, StorageError, TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await emit.drain()
        with suppress(StorageError):
            await self._journal.release(claim)


def _heard(done: asyncio.Task[Run]) -> None:
    """Take note of an error: whoever it is for may have gone."""
    if not done.cancelled():
        done.exception()


async def _stopped(performing: "asyncio.Task[Outcome]") -> None:
    performing.cancel()
    await asyncio.wait([performing], timeout=_STOP_S)


def _told(run: Run, performing: "asyncio.Task[Outcome]") -> Outcome:
    error = performing.exception()
    if error is None:
        return performing.result()
    if isinstance(error, (ClaimLostError, StorageError)):
        raise error
    _log.error("run %s failed", run.key.run, exc_info=error)
    return _failed(error)


def _failed(error: BaseException) -> Outcome:
    if isinstance(error, ThalwegError):
        code, detail = error.code, str(error)
    else:
        code, detail = "run.failed", f"{type(error).__name__}: {error}"
    return _problem(code, detail[:2_000])


def _poison(died: int) -> Outcome:
    return _problem(
        "run.poison",
        f"{died} attempts at this run broke off, be it that a process died or that a database "
        "failed; it is not begun again. Look into the logs, or ask again in other words",
    )


def _problem(code: str, detail: str) -> Outcome:
    problem = Problem(title="the run failed", status=500, detail=detail, code=code)
    data = RunFailed(problem=problem).model_dump_json()
    return Outcome("failed", data, problem.model_dump_json())


def _same(there: Run, request: str) -> Run:
    if there.request != request:
        raise RunExistsError(there.key.run)
    return there
