"""How a performed run writes its events: at once as far as it can tell, and never far ahead."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from thalweg.api.events import RunResumed
from thalweg.errors import RunError, StorageError
from thalweg.runs.base import Claim, Draft, Event, Journal
from thalweg.runs.messages import ABOUT_MESSAGES, untold, withdrawals

AHEAD = 256
"""Drafts that may wait to be durable; whoever emits more waits with them."""

_PAGE = 2_000


class Emit:
    """Writes events of one claim, in order.

    Emitting does not wait for the disk: what was emitted is shown when it is durable, and what
    was not is emitted again by the next attempt, under a message of its own.
    """

    def __init__(self, journal: Journal, claim: Claim, *, ahead: int = AHEAD) -> None:
        self._journal = journal
        self._claim = claim
        self._ahead = ahead
        self._waiting: list[Draft] = []
        self._in_flight = 0
        self._stirred = asyncio.Event()
        self._moved = asyncio.Event()
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        """Done when nothing can be written any more, with the reason."""
        self._pump = asyncio.create_task(self._write_on(), name="thalweg-run-emit")

    async def __call__(self, draft: Draft) -> None:
        """Emit an event; waits only where too much is waiting already.

        Raises:
            ClaimLostError: Another process performs the run.
            StorageError: The journal cannot be written.
        """
        self._waiting.append(draft)
        self._stirred.set()
        await self._until(self._ahead)

    async def resume(self, kept: Sequence[str]) -> list[str]:
        """Take the stream up again where another attempt left it.

        It tells that this attempt goes on, and takes back the messages that were told of and
        are not kept: their model calls are made again.

        Args:
            kept: Ids of the model's messages of this run that a checkpoint has, or an archive.

        Returns:
            Those of `kept` that were never told to be complete, be it that they were never told
            of at all: it is for the caller to emit `message.completed` for each.

        Raises:
            ClaimLostError: Another process performs the run.
            StorageError: The journal cannot be read or written.
        """
        seen: list[Event] = []
        after = 0
        while page := await self._journal.read(self._claim.key, after, _PAGE):
            after = page[-1].seq
            seen += [event for event in page if event.type.startswith(ABOUT_MESSAGES)]
        if after:
            told = RunResumed(attempt=self._claim.attempt).model_dump_json()
            await self(Draft("run.resumed", told))
        for draft in withdrawals(seen, kept):
            await self(draft)
        return untold(seen, kept)

    async def drain(self) -> None:
        """Wait until all that was emitted is durable.

        Raises:
            ClaimLostError: Another process performs the run.
            StorageError: The journal cannot be written.
        """
        await self._until(0)

    def hold(self) -> AbstractAsyncContextManager[None]:
        """Keep the claim good for a moment; see `Journal.hold`."""
        return self._journal.hold(self._claim)

    async def close(self) -> Sequence[Draft]:
        """Stop writing.

        Returns:
            What was not handed to the journal.
        """
        self._pump.cancel()
        await asyncio.wait([self._pump])
        return self._waiting

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
            await self._stirred.wait()
            self._stirred.clear()
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
