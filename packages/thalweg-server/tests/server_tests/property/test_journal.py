"""A journal against a model of it: many processes, claims that come and go, readers throughout."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.errors import ClaimLostError
from thalweg_server.runs.base import Claim, Draft, Event, RunKey
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.opening import open_journal

KEY = RunKey("ada", "t", "r")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.integers(0, 1), st.integers(0, 0)),
        st.tuples(st.just("append"), st.integers(0, 4), st.integers(1, 4)),
        st.tuples(st.just("release"), st.integers(0, 4), st.integers(0, 0)),
        st.tuples(st.just("follow"), st.integers(0, 1), st.integers(0, 6)),
    ),
    max_size=14,
)


class Model:
    """What a journal is: a list, and the one claim that may add to it."""

    def __init__(self, journals: list[Journal]) -> None:
        self.journals = journals
        self.events: list[str] = []
        self.claims: list[tuple[Journal, Claim]] = []
        self.good: Claim | None = None
        self.readers: list[tuple[int, asyncio.Task[list[Event]]]] = []

    async def step(self, what: str, which: int, count: int) -> None:
        """Do the same to both, and see that they agree."""
        if what == "claim":
            journal = self.journals[which]
            self.good = await journal.claim(KEY)
            assert self.good is not None
            self.claims.append((journal, self.good))
        elif what == "follow":
            reader = asyncio.create_task(read(self.journals[which], count))
            self.readers.append((count, reader))
        elif self.claims:
            journal, claim = self.claims[which % len(self.claims)]
            if what == "release":
                assert await journal.release(claim) == (claim == self.good)
                self.good = None if claim == self.good else self.good
            else:
                await self._append(journal, claim, count)

    async def _append(self, journal: Journal, claim: Claim, count: int) -> None:
        kinds = [f"{len(self.events)}-{n}" for n in range(count)]
        try:
            last = await journal.append(claim, [Draft(kind, "{}") for kind in kinds])
        except ClaimLostError:
            assert claim != self.good
        else:
            assert claim == self.good
            self.events += kinds
            assert last == len(self.events)

    async def end(self) -> None:
        """End the run, and see what every reader saw."""
        await self.step("claim", 0, 0)
        assert self.good is not None
        await self.journals[0].finish(self.good, "completed", [Draft("end", "{}")])
        wanted = list(enumerate([*self.events, "end"], start=1))
        for after, reader in self.readers:
            async with asyncio.timeout(20):
                seen = [(event.seq, event.type) for event in await reader]
            assert seen == wanted[after:]


async def read(journal: Journal, after: int) -> list[Event]:
    """Follow to the end."""
    return [event async for event in journal.follow(KEY, after)]


async def play(steps: list[tuple[str, int, int]], home: Path) -> None:
    """Play on two journals over one file."""
    async with open_journal(home / "runs.db") as one, open_journal(home / "runs.db") as other:
        await one.create(KEY, "{}")
        model = Model([one, other])
        for which in (0, 1):
            await model.step("claim", which, 0)
        for what, which, count in steps:
            await model.step(what, which, count)
        await model.end()


@settings(max_examples=25)
@given(STEPS)
def test_a_journal_is_a_list_that_one_claim_adds_to(steps: list[tuple[str, int, int]]) -> None:
    """Under any actions of two processes, every reader sees the same list."""
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(play(steps, Path(home)))
