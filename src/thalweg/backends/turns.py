"""Taking turns at a key, for threads and tasks alike.

Two rules: whoever waits in a task never blocks its event loop; turns come in the order in
which they were asked for.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from threading import Lock


class Turns:
    """One at a time at each key.

    A lock of `threading` would stop a whole event loop, one of `asyncio` knows no threads,
    and a backend is called from both.

    Example:
        >>> turns = Turns()
        >>> with turns.take("a"), turns.take("b"):
        ...     len(turns)
        2
        >>> len(turns)
        0
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Hashable, deque[Future[None]]] = {}

    def __len__(self) -> int:
        """How many keys are taken now."""
        return len(self._waiting)

    @contextmanager
    def take(self, key: Hashable) -> Iterator[None]:
        """Wait for the turn at a key, and have it for the block."""
        turn = self._ask(key)
        try:
            turn.result()
        except BaseException:  # an interrupted wait must not keep the key for ever
            self._give_up(key, turn)
            raise
        try:
            yield
        finally:
            self._pass_on(key)

    @asynccontextmanager
    async def atake(self, key: Hashable) -> AsyncIterator[None]:
        """See `take`."""
        turn = self._ask(key)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            self._give_up(key, turn)
            raise
        try:
            yield
        finally:
            self._pass_on(key)

    def _ask(self, key: Hashable) -> Future[None]:
        turn: Future[None] = Future()
        with self._lock:
            queue = self._waiting.get(key)
            if queue is None:
                self._waiting[key] = deque()
                turn.set_result(None)
            else:
                queue.append(turn)
        return turn

    def _give_up(self, key: Hashable, turn: Future[None]) -> None:
        # It may have come while one was giving up waiting for it.
        if not turn.cancel():
            self._pass_on(key)

    def _pass_on(self, key: Hashable) -> None:
        while True:
            with self._lock:
                queue = self._waiting[key]
                if not queue:
                    del self._waiting[key]
                    return
                turn = queue.popleft()
            # One who gave up waiting is passed over.
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
                return
