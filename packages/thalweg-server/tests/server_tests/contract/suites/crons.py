"""The contract of a table of crons."""

import asyncio
from dataclasses import replace

import pytest

from server_tests.contract.suites.runs import Journals
from thalweg.errors import BusyError
from thalweg_server.runs.base import RunKey
from thalweg_server.runs.crons import MOST_CRONS, CronRecord, Limits
from thalweg_server.runs.journal import Journal

CRON = CronRecord("ada", "c1", "t1", 1_000, "{}", 1, 1)
RUN = RunKey("ada", "t1", "r1")


async def waiting(journal: Journal) -> list[str]:
    """Return the third parts of the keys of all jobs that are due, in their order."""
    found = []
    while (job := await journal.claim_job("worker")) is not None:
        found.append(RunKey.of_job(job.key).run)
        await journal.finish_job(job)
    return found


@pytest.mark.anyio
class CronContract:
    """The contract of crons, as tests; see `JournalContract`."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio, as every journal does."""
        return "asyncio"

    async def test_a_due_time_has_one_run(self, journals: Journals) -> None:
        """Of processes that fire it at once, one submits the run and the next job."""
        async with journals() as journal, journals() as other:
            assert await journal.put_cron(CRON)
            fired = await asyncio.gather(
                *(one.fire(CRON, 2_000, RUN, "{}") for one in (journal, other, journal))
            )
            assert sorted(fired) == [False, False, True]
            assert await other.crons("ada") == [replace(CRON, due_ms=2_000)]
            assert [run.key for run in await journal.list("ada")] == [RUN]
            assert not await journal.fire(CRON, 3_000, RunKey("ada", "t1", "r2"), "{}")
            assert await waiting(journal) == ["*cron 1000", "r1", "*cron 2000"]

    @pytest.mark.parametrize("limits", [(3, None), (None, 3)])
    async def test_a_limit_holds_for_crons_fired_at_once(
        self, journals: Journals, limits: Limits
    ) -> None:
        """Each process saw before that another run may start; another owner's runs are none."""
        crons = [replace(CRON, id=f"c{number}") for number in range(8)]
        async with journals() as journal, journals() as other:
            await journal.create(RUN._replace(owner="bob"), "{}")
            for one in crons:
                await journal.put_cron(one)

            async def fire(number: int) -> bool:
                process, key = (
                    (journal, other)[number % 2],
                    RunKey("ada", f"t{number}", f"{number}"),
                )
                return await process.fire(crons[number], 2_000, key, "{}", limits)

            assert sum(await asyncio.gather(*map(fire, range(len(crons))))) == 3
            assert len(await journal.list("ada")) == 3
            assert (
                sorted(one.due_ms for one in await journal.crons("ada"))
                == [1_000] * 5 + [2_000] * 3
            )

    async def test_a_lost_job_is_submitted_again(self, journals: Journals) -> None:
        """A queue that was emptied by hand would else end a cron; one that is off has no job."""
        off = replace(CRON, id="c2", due_ms=0)
        others = [replace(CRON, owner="bob"), off]
        async with journals() as journal, journals() as other:
            for one in (CRON, *others):
                assert await journal.put_cron(one)
            await other.submit_missing_jobs()
            assert await waiting(other) == ["*cron 1000", "*cron 1000"]
            await other.submit_missing_jobs()
            job = await journal.claim_job("worker")
            assert job is not None
            await other.submit_missing_jobs()
            await journal.finish_job(job)
            assert await waiting(other) == ["*cron 1000"]

    async def test_a_change_replaces_the_job(self, journals: Journals) -> None:
        """One of a cron that was changed since then changes nothing."""
        changed = replace(CRON, due_ms=1_500, body='{"a": 1}', updated_ms=2)
        async with journals() as journal:
            await journal.put_cron(CRON)
            assert await journal.put_cron(changed, CRON)
            assert not await journal.put_cron(replace(CRON, due_ms=9), CRON)
            assert not await journal.fire(CRON, 2_000, RUN, "{}")
            await journal.skip(CRON, 2_000)
            assert await journal.crons("ada", "c1") == [changed]
            assert await waiting(journal) == ["*cron 1500"]
            await journal.skip(changed, 0)
            assert await waiting(journal) == []
            assert (await journal.crons("ada"))[0].due_ms == 0

    async def test_an_owner_has_a_number_of_crons(self, journals: Journals) -> None:
        """It holds for processes that add crons at once, and not for another owner."""
        made = [replace(CRON, id=f"c{number}", due_ms=0) for number in range(MOST_CRONS + 10)]
        async with journals() as journal, journals() as other:
            stored = await asyncio.gather(
                *((journal, other)[n % 2].put_cron(one) for n, one in enumerate(made))
            )
            assert sum(stored) == len(await journal.crons("ada")) == MOST_CRONS
            assert await journal.put_cron(replace(CRON, owner="bob"))
            assert await waiting(journal) == ["*cron 1000"]

    async def test_a_deleted_cron_has_no_job(self, journals: Journals) -> None:
        """By itself, with its thread, or with its owner; others remain."""
        others = [replace(CRON, id="c2", thread=""), replace(CRON, owner="bob")]
        async with journals() as journal:
            for one in (CRON, *others):
                await journal.put_cron(one)
            assert await journal.crons("bob", "c2") == []
            await journal.delete_cron(others[0])
            await journal.create(RUN, "{}")
            with pytest.raises(BusyError):
                await journal.delete("ada", "t1")
            assert await journal.crons("ada") == [CRON]
            await journal.change_queue(journal.jobs.cancel(RUN.job))
            claim = await journal.claim(RUN)
            assert claim is not None
            await journal.finish(claim, "completed", [])
            await journal.delete("ada", "t1", "r1")
            assert await journal.crons("ada") == [CRON]
            await journal.delete("ada", "t1")
            assert await journal.crons("ada") == []
            await journal.delete_crons("bob", 0)
            assert len(await journal.crons("bob")) == 1
            await journal.delete_crons("bob", 1)
            assert await journal.crons("bob") == []
            assert not await journal.fire(CRON, 2_000, RUN, "{}")
