"""A journal over tables: group commit for writers, feeds for followers.

A feed is the state that the followers of one run in this process share: its newest events, in
memory.
"""

import asyncio
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from thalweg.database.jobs import Job
from thalweg.errors import NoSuchRunError, StorageError
from thalweg_server.runs.base import JOB, Claim, Draft, Event, RunKey, Status
from thalweg_server.runs.commits import GroupCommit
from thalweg_server.runs.crons import CronTables
from thalweg_server.runs.drafts import sound
from thalweg_server.runs.tables import RunEnd, RunState, RunWrite

MOST_EVENTS = 512
MOST_CHARS = 256_000
"""Maximum characters in a feed. A follower with a greater lag reads the journal."""
REFRESH_S = 2.0
"""Seconds between this process's own polls, in case a notification was lost."""
PAGE = 500
"""Events that are read at a time."""
_KEYS = 500
"""Runs that are asked after at a time."""


class RunFeed:
    """The newest events of one run in a row without gap, for any number of followers.

    A feed never waits for a follower: old events are dropped when there are too many.

    Example:
        >>> feed = RunFeed()
        >>> feed.push([Event(3, "a", "{}"), Event(4, "b", "{}")])
        >>> [event.seq for event in feed.behind(3)], feed.behind(1), feed.last
        ([4], None, 4)
    """

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._chars = 0
        self._waiting: list[asyncio.Future[None]] = []
        self.followers = 0
        self.last = 0
        """The number of the last durable event."""
        self.end: int | None = None
        """The number of the last event, once the run has ended."""
        self.is_known = False
        """Whether it was looked how far the run is."""
        self.is_gone = False
        """Whether the run was deleted."""

    def behind(self, after: int) -> Sequence[Event] | None:
        """Return the events here after a number; `None` if the journal has to be read."""
        if after >= self.last:
            return ()
        if not self._events or not self._events[0].seq - 1 <= after < self._events[-1].seq:
            return None
        first = self._events[0].seq
        return tuple(self._events[at] for at in range(after + 1 - first, len(self._events)))

    def push(self, events: Sequence[Event]) -> None:
        """Take events that are durable; those that are here already are passed over."""
        for event in events:
            newest = self._events[-1].seq if self._events else event.seq - 1
            if event.seq <= newest:
                continue
            if event.seq > newest + 1:
                self._events.clear()
                self._chars = 0
            self._events.append(event)
            self._chars += len(event.data)
        while len(self._events) > MOST_EVENTS or self._chars > MOST_CHARS:
            self._chars -= len(self._events.popleft().data)
        if events:
            self.know(events[-1].seq)

    def know(self, last: int, *, has_ended: bool = False) -> None:
        """Take note of how far the run is."""
        is_news = last > self.last or (has_ended and self.end is None)
        self.last = max(self.last, last)
        if has_ended:
            self.end = self.last
        if is_news:
            self.wake()

    def take(self, state: RunState | None) -> None:
        """Apply the state read from the journal; `None` if the run was not found."""
        self.is_known = True
        if state is None:
            self.is_gone = True
            self.wake()
        else:
            self.know(state.last_seq, has_ended=state.has_ended)

    def wake(self) -> None:
        """Let every follower look."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def news(self) -> None:
        """Wait for a notification."""
        one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(one)
        await one


class Journal(CronTables):
    """Keeps runs and their events in the tables of a database.

    It belongs to the event loop that it was opened in.

    Raises (all methods):
        StorageError: The database failed.
    """

    def __init__(self) -> None:
        self._commits = GroupCommit(self, self._written)
        self._feeds: dict[RunKey, RunFeed] = {}
        self._awaited: dict[Claim, asyncio.Future[bool]] = {}
        self._names: dict[str, Counter[RunKey]] = {}
        self._changed_keys: set[RunKey] = set()
        self._is_all_changed = False
        self._wakeup = asyncio.Event()
        self.job_available = asyncio.Event()
        """Set when a job of a run may be claimed; a process that claims jobs clears it."""
        self.change = asyncio.Event()
        """Set at the next change of any run, in any process; then there is another event."""
        self._refresher: asyncio.Task[None] | None = None

    @abstractmethod
    async def _connect(self) -> None:
        """Create missing tables, and call `_on_changes` with changes by other processes."""

    @abstractmethod
    async def _disconnect(self) -> None:
        """Stop listening and release connections."""

    async def __aenter__(self) -> Self:
        """Create the tables if they are missing, and begin to listen."""
        await self._connect()
        self._refresher = asyncio.create_task(
            self._refresh_forever(), name="thalweg-journal-reader"
        )
        return self

    async def claim(self, key: RunKey) -> Claim | None:
        """Claim a run to perform it; see `Tables.claim`."""
        claim = await super().claim(key)
        if claim is not None:
            self._signal_change()
            self._commits.claimed(claim, claim.run.last_seq)
            if claim.attempt > 1:  # an earlier claim may be awaited here, and is void now
                self._note([key])
        return claim

    async def release(self, claim: Claim, job: Job | None = None) -> bool:
        """Release a claim and its job for another process; return False if it was void."""
        is_given_back = await super().release(claim, job)
        self._commits.let_go(claim)
        self._note([claim.key])
        return is_given_back

    async def cancel_queued(self, key: RunKey, last: Draft) -> bool:
        """End a run that has not begun; see `Tables.cancel_queued`."""
        is_ended = await super().cancel_queued(key, last)
        self._note([key])
        return is_ended

    async def ask_cancel(self, key: RunKey) -> bool:
        """Request cancellation of a run; return False if it has ended."""
        is_requested = await super().ask_cancel(key)
        self._note([key])
        return is_requested

    async def append(self, claim: Claim, drafts: Sequence[Draft]) -> int:
        """Write events durably, in order.

        Returns:
            The number of the last one.

        Raises:
            ClaimLostError: Another process has claimed the run, or it has ended.
        """
        return await self._commits.add(claim, _checked(drafts))

    async def finish(
        self, claim: Claim, status: Status, drafts: Sequence[Draft], *, error: str | None = None
    ) -> None:
        """Write the last events and the end of a run, both or neither.

        Raises:
            ClaimLostError: Another process has claimed the run, or it has ended.
        """
        end = RunEnd(status, None if error is None else sound(error))
        await self._commits.add(claim, _checked(drafts), end)

    async def follow(self, key: RunKey, after: int = 0) -> AsyncIterator[Event]:
        """Yield events after a number as they are written, up to the end of the run.

        Any process may perform the run.

        Raises:
            NoSuchRunError: There is none, or it was deleted meanwhile.
        """
        with self._following(key) as feed:
            while feed.end is None or after < feed.end:
                if feed.is_gone:
                    raise NoSuchRunError(key.run)
                events = feed.behind(after)
                if events is None:
                    events = await self.read(key, after, PAGE)
                    if not events:  # it was deleted: the looker finds that out
                        self._note([key])
                        await feed.news()
                elif not events:
                    await feed.news()
                for event in events:
                    after = event.seq
                    yield event

    async def called_off(self, claim: Claim) -> bool:
        """Wait until the process that performs a run has to stop.

        Returns:
            True if cancellation was requested, False if the claim is void.
        """
        done = self._awaited.get(claim)
        if done is None:
            done = asyncio.get_running_loop().create_future()
            self._awaited[claim] = done
            self._name(claim.key)
            self._note([claim.key])
        try:
            return await asyncio.shield(done)
        finally:
            if self._awaited.get(claim) is done:
                del self._awaited[claim]
                self._unname(claim.key)

    async def __aexit__(self, *_: object) -> None:
        """Release all connections."""
        await self._commits.close()
        if self._refresher is not None:
            self._refresher.cancel()
            await asyncio.wait([self._refresher])
        await self._disconnect()

    def _written(self, write: RunWrite) -> None:
        feed = self._feeds.get(write.claim.key)
        if feed is not None:
            rows = enumerate(write.drafts, start=write.after + 1)
            feed.push([Event(seq, draft.type, draft.data) for seq, draft in rows])
            feed.know(write.last, has_ended=write.end is not None)

    @contextmanager
    def _following(self, key: RunKey) -> Iterator[RunFeed]:
        feed = self._feeds.setdefault(key, RunFeed())
        feed.followers += 1
        self._name(key)
        if not feed.is_known:
            self._note([key])
        try:
            yield feed
        finally:
            feed.followers -= 1
            self._unname(key)
            if not feed.followers:
                del self._feeds[key]

    def _name(self, key: RunKey) -> None:
        self._names.setdefault(key.mark, Counter())[key] += 1

    def _unname(self, key: RunKey) -> None:
        named = self._names[key.mark]
        named[key] -= 1
        if not named[key]:
            del named[key]
        if not named:
            del self._names[key.mark]

    def _on_changes(self, marks: Sequence[str] | None) -> None:
        """Take note of the marks of runs that changed; `None`: any may have."""
        self._signal_change()
        if marks is None or JOB in marks:
            self.job_available.set()
        if marks is None:
            self._is_all_changed = True
            self._wakeup.set()
            return
        self._note(key for one in marks for key in self._names.get(one, ()))

    def _signal_change(self) -> None:
        self.change.set()
        self.change = asyncio.Event()

    def _note(self, keys: Iterable[RunKey]) -> None:
        self._changed_keys.update(keys)
        if self._changed_keys:
            self._wakeup.set()

    async def _refresh_forever(self) -> None:
        """Poll the runs of notifications, and from time to time all runs."""
        loop = asyncio.get_running_loop()
        all_at = loop.time() + REFRESH_S
        while True:
            try:
                async with asyncio.timeout_at(all_at):
                    await self._wakeup.wait()
            except TimeoutError:
                self._is_all_changed = True
                self._signal_change()
            self._wakeup.clear()
            keys, self._changed_keys = self._changed_keys, set()
            if self._is_all_changed:
                keys = {key for named in self._names.values() for key in named}
                self._is_all_changed = False
                all_at = loop.time() + REFRESH_S
            try:
                await self._refresh(sorted(keys, key=lambda key: key.mark))
            except StorageError:
                self._is_all_changed = True
                await asyncio.sleep(min(REFRESH_S, 0.5))

    async def _refresh(self, keys: Sequence[RunKey]) -> None:
        for first in range(0, len(keys), _KEYS):
            some = [key for key in keys[first : first + _KEYS] if key.mark in self._names]
            if some:
                await self._take(await self.states(some), some)

    async def _take(self, states: Mapping[RunKey, RunState], keys: Sequence[RunKey]) -> None:
        self._call_off(states)
        behind = {}
        for key in keys:
            if (feed := self._feeds.get(key)) is not None:
                state = states.get(key)
                if feed.is_known and state is not None and state.last_seq > feed.last:
                    behind[key] = feed.last
                else:
                    feed.take(state)
        read = await self.read_each(behind, PAGE) if behind else {}
        for key in behind:
            if (feed := self._feeds.get(key)) is not None:
                feed.push(read.get(key, ()))
                feed.take(states[key])

    def _call_off(self, states: Mapping[RunKey, RunState]) -> None:
        for claim, done in self._awaited.items():
            state = states.get(claim.key)
            if state is None or done.done() or state.attempt < claim.attempt:
                continue  # it was looked at before the run was claimed
            if state.voids(claim):
                done.set_result(False)
            elif state.cancel_requested:
                done.set_result(True)


def _checked(drafts: Sequence[Draft]) -> Sequence[Draft]:
    return [replace(draft, data=sound(draft.data)) for draft in drafts]
