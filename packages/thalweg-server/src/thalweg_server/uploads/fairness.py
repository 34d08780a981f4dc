"""A few slots for many owners: none holds all of them, and those who wait take turns."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSlots:
    """Slots that owners share fairly.

    If there is more than one slot, one is always reserved for other owners; the waiting owner that
    was served longest ago gets a free slot.

    Args:
        slots: How many may be held at once, at least 1.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._most = max(1, slots - 1)
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def one(self, owner: str) -> AsyncIterator[None]:
        """Hold a slot inside; waits until there is one."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._serve()  # forgets it
            else:
                self._release(owner)
            raise
        try:
            yield
        finally:
            self._release(owner)

    def _serve(self) -> None:
        """Assign free slots to the owners whose turn it is."""
        for owner in tuple(self._waiting):
            if not self._free:
                return
            turns = self._waiting[owner]
            while turns and turns[0].done():
                turns.popleft()  # its task was cancelled and has not run since
            if turns and self._held[owner] < self._most:
                self._waiting.move_to_end(owner)
                self._free -= 1
                self._held[owner] += 1
                turns.popleft().set_result(None)
            if not turns:
                del self._waiting[owner]

    def _release(self, owner: str) -> None:
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._serve()
