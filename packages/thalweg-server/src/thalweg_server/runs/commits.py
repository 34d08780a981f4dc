"""Group commit: the concurrent writes of many runs share one transaction."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.errors import ClaimLostError, StorageError
from thalweg_server.runs.base import Claim, Draft
from thalweg_server.runs.drafts import joined
from thalweg_server.runs.tables import RunEnd, RunState, RunWrite, Tables

Written = Callable[[RunWrite], None]
"""Called with every write once it is durable."""
LINGER_S = 0.002
"""How long the first of a batch waits for others, at least."""
MOST_LINGER_S = 0.02
"""Likewise, at most; in between it is twice the time of the last commit, which bounds their CPU."""
_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Between attempts to write while the database fails."""


@dataclass(slots=True)
class _PendingCommit:
    """The drafts of one append."""

    drafts: Sequence[Draft]
    end: RunEnd | None
    done: asyncio.Future[int]


class GroupCommit:
    """Writes pending events, one transaction after the other.

    It tracks the number of the last event of each claim that writes here. So a transaction with an
    unknown outcome, whose commit failed, is completed: events that exist are not written again.
    """

    def __init__(self, tables: Tables, written: Written) -> None:
        self._tables = tables
        self._written = written
        self._parts: dict[Claim, list[_PendingCommit]] = {}
        self._in_flight: dict[Claim, list[_PendingCommit]] = {}
        fix = "open it again; the log has the cause"
        self._broken = StorageError("the journal of runs", "its writer ended", fix)
        self._last: dict[Claim, int] = {}
        self._wakeup = asyncio.Event()
        self._is_closing = False
        self._task: asyncio.Task[None] | None = None

    def claimed(self, claim: Claim, last_seq: int) -> None:
        """Note the last number of a run that was claimed here."""
        self._last[claim] = last_seq

    def let_go(self, claim: Claim) -> None:
        """Forget a claim."""
        self._last.pop(claim, None)

    async def add(self, claim: Claim, drafts: Sequence[Draft], end: RunEnd | None = None) -> int:
        """Have something written.

        Returns:
            The number of its last event, once it is durable.

        Raises:
            ClaimLostError: The claim is void.
            StorageError: The database failed for long.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="thalweg-journal-writer")
            self._task.add_done_callback(self._give_up)
        if self._task.done():
            raise self._broken
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._parts.setdefault(claim, []).append(_PendingCommit(drafts, end, done))
        self._wakeup.set()
        return await done

    async def close(self) -> None:
        """Write what waits and stop."""
        self._is_closing = True
        self._wakeup.set()
        if self._task is not None:
            await self._task

    async def _work(self) -> None:
        linger_s = LINGER_S
        while self._parts or not self._is_closing:
            await self._wakeup.wait()
            if not self._is_closing:
                await asyncio.sleep(linger_s)
            self._wakeup.clear()
            self._in_flight, self._parts = self._parts, {}
            if self._in_flight:
                began = time.monotonic()
                await self._flush(self._in_flight)
                linger_s = min(max(LINGER_S, 2 * (time.monotonic() - began)), MOST_LINGER_S)

    def _give_up(self, _: asyncio.Task[None]) -> None:
        """Release all waiters of a writer that has ended."""
        for waiting in [*self._in_flight.values(), *self._parts.values()]:
            _fail(waiting, self._broken)

    async def _flush(self, parts: dict[Claim, list[_PendingCommit]]) -> None:
        try:
            await self._learn([claim for claim in parts if claim not in self._last])
            batch = [self._write_of(claim, waiting) for claim, waiting in parts.items()]
            good = await self._written_through([write for write, _ in batch])
        except StorageError as error:
            for waiting in parts.values():
                _fail(waiting, error)
            return
        for (write, ends), waiting, is_good in zip(batch, parts.values(), good, strict=True):
            self._settle(write, ends if is_good else [], waiting)

    def _write_of(
        self, claim: Claim, waiting: Sequence[_PendingCommit]
    ) -> tuple[RunWrite, Sequence[int]]:
        """Join the pending writes of a claim; return also the last event of each of them."""
        waiting = _up_to_the_end(waiting)
        drafts, ends = joined(one.drafts for one in waiting)
        return RunWrite(claim, self._last.get(claim, -1), tuple(drafts), waiting[-1].end), ends

    def _settle(
        self, write: RunWrite, ends: Sequence[int], waiting: Sequence[_PendingCommit]
    ) -> None:
        """Answer the waiters of a write: `ends` are the last events of those that it contains."""
        claim = write.claim
        if ends:
            self._last[claim] = write.last
            self._written(write)
        if not ends or write.end is not None:
            self.let_go(claim)
        for one, end in zip(waiting, ends, strict=False):
            if not one.done.done():
                one.done.set_result(write.after + end)
        _fail(waiting[len(ends) :], ClaimLostError(claim.key.run, claim.attempt))

    async def _learn(self, unknown: Sequence[Claim]) -> None:
        if not unknown:
            return
        states = await self._tables.states([claim.key for claim in unknown])
        for claim in unknown:
            state = states.get(claim.key)
            if state is not None and not state.voids(claim):
                self._last[claim] = state.last_seq

    async def _written_through(self, writes: Sequence[RunWrite]) -> Sequence[bool]:
        """Write, again and again while the database fails."""
        write = self._tables.write
        for pause in _PAUSES_S:
            try:
                return await write(writes)
            except StorageError:
                await asyncio.sleep(pause)
                write = self._written_again
        return await write(writes)

    async def _written_again(self, writes: Sequence[RunWrite]) -> Sequence[bool]:
        states = await self._tables.states([write.claim.key for write in writes])
        was_done = [_is_done(write, states.get(write.claim.key)) for write in writes]
        if any(was_done):  # a transaction is done whole: what was not was void
            return was_done
        return await self._tables.write(writes)


def _is_done(write: RunWrite, state: RunState | None) -> bool:
    if state is None or state.attempt < write.claim.attempt:
        return False
    if write.end is None and not write.drafts:
        return False
    is_own = state.attempt == write.claim.attempt and state.last_seq == write.last
    return is_own and (write.end is None or state.status == write.end.status)


def _up_to_the_end(waiting: Sequence[_PendingCommit]) -> Sequence[_PendingCommit]:
    for position, one in enumerate(waiting, start=1):
        if one.end is not None:
            return waiting[:position]
    return waiting


def _fail(waiting: Sequence[_PendingCommit], error: Exception) -> None:
    for one in waiting:
        if not one.done.done():
            one.done.set_exception(error)
