"""What a look at runs brings back may be older than what happened meanwhile."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg_server.runs.base import RunKey
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.sqlite import SqliteJournal
from thalweg_server.runs.tables import RunState

KEY = RunKey("ada", "t1", "r1")


class LateJournal(SqliteJournal):
    """Returns the states of runs only when released, as they were when requested."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, RunState]:
        """See `Tables.states`."""
        found = await super().states(keys)
        self.asked.set()
        await self.let.wait()
        return found


def test_a_look_from_before_a_claim_does_not_call_it_off(tmp_path: Path) -> None:
    """A reader that follows a run from its first moment looks it up while it is claimed."""

    async def follow(journal: Journal) -> None:
        async for _ in journal.follow(KEY):
            pass

    async def scene() -> None:
        async with LateJournal(tmp_path / "runs.db") as journal:
            await journal.create(KEY, "{}")
            following = asyncio.create_task(follow(journal))
            await journal.asked.wait()
            claim = await journal.claim(KEY)
            assert claim is not None
            watching = asyncio.create_task(journal.called_off(claim))
            await asyncio.sleep(0)
            journal.let.set()
            await journal.read(KEY)  # the looker has its answer by then
            await asyncio.sleep(0.05)
            assert not watching.done()
            await journal.finish(claim, "completed", [])
            await following
            watching.cancel()

    asyncio.run(scene())
