"""Writing of a performed run's events: immediate where possible, with a bounded queue."""

import asyncio
from contextlib import AbstractAsyncContextManager

from thalweg.errors import RunError, StorageError
from thalweg_server.runs.base import Claim, Draft
from thalweg_server.runs.journal import Journal

AHEAD = 256
"""Drafts that may wait to be durable; a further emit waits with them."""


class Emit:
    """Writes events of one claim, in order.

    Emitting does not wait for the disk: an event is shown when it is durable, and the next attempt
    emits the others again, under a message of its own.

    Raises (when called, and by `drain`):
        ClaimLostError: Another process performs the run.
        StorageError: The journal cannot be written.
    """

    def __init__(self, journal: Journal, claim: Claim) -> None:
        self._journal = journal
        self._claim = claim
        self._waiting: list[Draft] = []
        self._in_flight = 0
        self._wakeup = asyncio.Event()
        self._moved = asyncio.Event()
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        """Done when nothing can be written any more, with the reason."""
        self._pump = asyncio.create_task(self._write_on(), name="thalweg-run-emit")

    async def __call__(self, draft: Draft) -> None:
        """Emit an event; waits only where too much is waiting already."""
        self._waiting.append(draft)
        self._wakeup.set()
        await self._until(AHEAD)

    async def drain(self) -> None:
        """Wait until all that was emitted is durable."""
        await self._until(0)

    def hold(self) -> AbstractAsyncContextManager[None]:
        """Keep the claim good for a moment; see `Journal.hold`."""
        return self._journal.hold(self._claim)

    async def close(self) -> None:
        """Stop writing; events not yet passed to the journal are dropped."""
        self._pump.cancel()
        await asyncio.wait([self._pump])

    async def _until(self, most: int) -> None:
        while len(self._waiting) + self._in_flight > most:
            if self.failed.done():
                raise self.failed.result()
            self._moved.clear()
            await self._moved.wait()
        if self.failed.done():
            raise self.failed.result()

    async def _write_on(self) -> None:
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            drafts, self._waiting = self._waiting, []
            self._in_flight = len(drafts)
            try:
                if drafts:
                    await self._journal.append(self._claim, drafts)
            except (RunError, StorageError) as error:
                self.failed.set_result(error)
                return
            finally:
                self._in_flight = 0
                self._moved.set()
