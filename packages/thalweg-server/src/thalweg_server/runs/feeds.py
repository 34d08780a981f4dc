"""State shared by the followers of one run in this process: its newest events, in memory."""

import asyncio
from collections import deque
from collections.abc import Sequence

from thalweg_server.runs.base import Event
from thalweg_server.runs.tables import RunState

MOST_EVENTS = 512
MOST_CHARS = 256_000
"""Maximum characters in a feed. A follower with a greater lag reads the journal."""


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
