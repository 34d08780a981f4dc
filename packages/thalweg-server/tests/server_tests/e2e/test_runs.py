"""Runs in one process, on a real engine and a real journal."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from thalweg.database.jobs import LEASE_S, Job
from thalweg.errors import BusyError, ClaimLostError, ConfigError, RunExistsError, StorageError
from thalweg_server.runs.base import Draft, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.postgres_connections import RunConnections
from thalweg_server.runs.running import Perform, ProcessRuns, RunOutcome, fence
from thalweg_server.runs.sqlite import SqliteJournal

KEY = RunKey("ada", "t1", "r1")
DONE = RunOutcome("completed", "{}")


@asynccontextmanager
async def running(
    home: Path,
    perform: Perform,
    **given: Any,  # noqa: ANN401 (passed on)
) -> AsyncIterator[tuple[ProcessRuns, Journal]]:
    """Open all that performs runs."""
    place = home / "runs.db"
    async with (
        open_journal(place) as journal,
        ProcessRuns(journal, perform, **{"most_attempts": 2, **given}) as runs,
    ):
        yield runs, journal


async def types(journal: Journal, key: RunKey = KEY) -> list[str]:
    """Follow a run to its end."""
    async with asyncio.timeout(20):
        return [event.type async for event in journal.follow(key)]


async def first_of(journal: Journal) -> None:
    """Wait for the first event of a run."""
    async with asyncio.timeout(20):
        async for _ in journal.follow(KEY):
            return


async def greet(run: RunRecord, emit: Emit) -> RunOutcome:
    """Emit three words."""
    for word in ("a", "b", "c"):
        data = json.dumps({"message": run.key.run, "text": word})
        await emit(Draft("message.delta", data, joins="m"))
    return DONE


async def linger(_run: RunRecord, emit: Emit) -> RunOutcome:
    """Do nothing, for long."""
    await emit(Draft("notice", "{}"))
    await asyncio.sleep(60)
    return DONE


@pytest.mark.anyio
class TestRuns:
    """What `ProcessRuns` promises."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_a_run_whose_events_cannot_be_packed_ends(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """They remain as they are, and nothing is logged."""
        packed, full = asyncio.Event(), StorageError("runs.db", "the disk is full", "free space")

        async def broken(_journal: Journal, _key: RunKey) -> None:
            packed.set()
            raise full

        monkeypatch.setattr(SqliteJournal, "pack", broken)
        async with running(tmp_path, greet) as (runs, journal):
            await runs.start(KEY, "{}")
            assert (await types(journal))[-1] == "run.completed"
            assert (await runs.join(KEY)).status == "completed"
            await asyncio.wait_for(packed.wait(), 20)
        assert not caplog.records

    async def test_a_run_is_performed_and_told(self, tmp_path: Path) -> None:
        """Its events come in order, its end last."""
        async with running(tmp_path, greet) as (runs, journal):
            await runs.start(KEY, "{}")
            told = await types(journal)
            run = await runs.join(KEY)

            assert told[-1] == "run.completed"
            assert set(told[:-1]) == {"message.delta"}
            assert (run.status, run.attempt) == ("completed", 1)

    async def test_the_same_start_again_is_the_same_run(self, tmp_path: Path) -> None:
        """So a request can be sent again safely; another one needs another id."""
        async with running(tmp_path, greet) as (runs, _):
            await asyncio.gather(*(runs.start(KEY, "{}") for _ in range(5)))
            await runs.join(KEY)
            again = await runs.start(KEY, "{}")
            with pytest.raises(RunExistsError):
                await runs.start(KEY, '{"other": 1}')

            assert (again.status, again.attempt) == ("completed", 1)

    async def test_a_busy_thread_refuses_or_cancels(self, tmp_path: Path) -> None:
        """As the caller wishes."""
        second = RunKey("ada", "t1", "r2")
        async with running(tmp_path, linger) as (runs, journal):
            await runs.start(KEY, "{}")
            with pytest.raises(BusyError):
                await runs.start(second, "{}", if_busy="reject")
            await runs.start(second, "{}", if_busy="cancel")
            await runs.join(KEY)
            first = await journal.get(KEY)
            await runs.cancel(second)

            assert first is not None
            assert first.status == "cancelled"
            assert await types(journal, second) in (["run.cancelled"], ["notice", "run.cancelled"])

    async def test_a_run_that_has_hardly_begun_is_cancelled_for_another(
        self, tmp_path: Path
    ) -> None:
        """However far it came until then."""
        async with running(tmp_path, linger) as (runs, _), asyncio.timeout(120):
            for number in range(50):
                first = RunKey("ada", f"t{number}", f"first{number}")
                second = RunKey("ada", f"t{number}", f"second{number}")
                await runs.start(first, "{}")
                await asyncio.sleep(number / 2_000)
                await runs.start(second, "{}", if_busy="cancel")
                run = await runs.join(first)
                await runs.cancel(second)

                assert run is not None
                assert run.status == "cancelled"

    async def test_a_start_that_nobody_waits_for_leaves_no_run_without_work(
        self, tmp_path: Path
    ) -> None:
        """Such a run would never end, and nothing else could be asked in its thread."""
        second = RunKey("ada", "t1", "r2")
        async with running(tmp_path, greet) as (runs, _), asyncio.timeout(60):
            with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as busy:
                busy.execute("BEGIN IMMEDIATE")
                starting = asyncio.create_task(runs.start(KEY, "{}"))
                await asyncio.sleep(0.5)
                starting.cancel()
                await asyncio.wait([starting])
                await asyncio.sleep(0.5)
                busy.execute("COMMIT")
            await runs.start(second, "{}", if_busy="cancel")
            assert (await runs.join(second)).status == "completed"

    async def test_an_error_ends_the_run_with_a_problem(self, tmp_path: Path) -> None:
        """The thread of a failed run is free."""

        async def fail(_run: RunRecord, emit: Emit) -> RunOutcome:
            await emit(Draft("notice", "{}"))
            raise ConfigError("model", "the key is wrong", "set another")

        async with running(tmp_path, fail) as (runs, journal):
            await runs.start(KEY, "{}")
            told = await types(journal)
            run = await runs.join(KEY)

            assert told == ["notice", "run.failed"]
            assert json.loads(run.error or "")["code"] == "config"
            assert "the key is wrong" in json.loads(run.error or "")["detail"]

    async def test_the_last_attempt_of_a_run_is_performed(self, tmp_path: Path) -> None:
        """As many attempts are performed as are allowed; only one more fails."""
        async with open_journal(tmp_path / "runs.db") as journal:
            await journal.create(KEY, "{}")
            await journal.claim(KEY)
        async with running(tmp_path, greet) as (runs, _), asyncio.timeout(20):
            run = await runs.join(KEY)

            assert (run.status, run.attempt) == ("completed", 2)

    async def test_a_run_that_kills_its_processes_is_given_up(self, tmp_path: Path) -> None:
        """A run that kills its processes fails, and its error has the reason."""
        async with open_journal(tmp_path / "runs.db") as journal:
            await journal.create(KEY, "{}")
            for _ in range(2):
                await journal.claim(KEY)
        async with running(tmp_path, greet) as (runs, _), asyncio.timeout(20):
            run = await runs.join(KEY)

            assert run.status == "failed"
            assert json.loads(run.error or "")["code"] == "run.poison"

    async def test_who_lost_the_claim_stops_and_says_nothing(self, tmp_path: Path) -> None:
        """Neither an event nor an end; nor does it pass the fence."""
        fenced: list[bool] = []
        was_fenced = asyncio.Event()

        async def late(_run: RunRecord, emit: Emit) -> RunOutcome:
            await emit(Draft("notice", "{}"))
            try:
                await asyncio.sleep(60)
            finally:
                try:
                    async with fence():
                        fenced.append(False)
                except ClaimLostError:
                    fenced.append(True)
                was_fenced.set()
            return DONE

        async with running(tmp_path, late) as (runs, journal):
            await runs.start(KEY, "{}")
            await first_of(journal)
            claim = await journal.claim(KEY)
            assert claim is not None
            async with asyncio.timeout(20):
                await was_fenced.wait()
            await journal.finish(claim, "completed", [Draft("run.completed", "{}")])

            assert fenced == [True]
            assert await types(journal) == ["notice", "run.completed"]

    async def test_a_process_that_closes_gives_its_runs_back(self, tmp_path: Path) -> None:
        """Another process resumes them, and no attempt is counted as a death."""
        async with running(tmp_path, linger) as (runs, journal):
            await runs.start(KEY, "{}")
            await first_of(journal)
        async with running(tmp_path, greet) as (runs, journal):
            told = await types(journal)
            run = await runs.join(KEY)

            assert told[0] == "notice"
            assert told[-1] == "run.completed"
            assert (run.attempt, run.releases) == (2, 1)

    async def test_a_process_that_closes_leaves_the_jobs_of_its_runs(self, tmp_path: Path) -> None:
        """In their order: a later run of the thread does not overtake one that has begun."""
        later = RunKey(KEY.owner, KEY.thread, "r2")
        async with running(tmp_path, linger) as (runs, journal):
            await runs.start(KEY, "{}")
            await first_of(journal)
            await runs.start(later, "{}")
        async with open_journal(tmp_path / "runs.db") as journal:
            job = await journal.claim_job("other")
            assert job is not None
            assert (RunKey.of_job(job.key), job.attempt, job.crashes) == (KEY, 2, 0)

    async def test_a_run_whose_process_died_is_taken_over_when_its_lease_expires(
        self, tmp_path: Path
    ) -> None:
        """So is the run of an older Thalweg, which has no job."""
        older = RunKey("bob", "t2", "r2")
        async with open_journal(tmp_path / "runs.db") as journal:
            await journal.create(KEY, "{}")
            await journal.create(older, "{}")
            assert await journal.claim_job("dead", lease_s=0.3)
            await journal.claim(KEY)
            await journal.change_queue(journal.jobs.cancel(older.job))
        async with running(tmp_path, greet) as (runs, journal), asyncio.timeout(20):
            for key, attempt in ((KEY, 2), (older, 1)):
                run = await runs.join(key)
                assert (run.status, run.attempt) == ("completed", attempt)

    async def test_a_run_of_a_living_process_is_left_alone(self, tmp_path: Path) -> None:
        """It renews its lease, for longer than one lasts."""
        async with running(tmp_path, linger) as (first, journal):
            await first.start(KEY, "{}")
            await first_of(journal)
            async with running(tmp_path, greet):
                await asyncio.sleep(LEASE_S + 0.5)
            run = await journal.get(KEY)
            assert run is not None
            assert (run.status, run.attempt) == ("running", 1)

    async def test_a_process_performs_as_many_runs_as_it_may(self, tmp_path: Path) -> None:
        """The others wait, the one of higher priority for the shortest time."""
        performed: list[str] = []
        are_two, may_end = asyncio.Event(), asyncio.Event()

        async def wait(run: RunRecord, _emit: Emit) -> RunOutcome:
            performed.append(run.key.run)
            if len(performed) == 2:
                are_two.set()
            await may_end.wait()
            return DONE

        keys = [RunKey("ada", f"t{n}", f"r{n}") for n in range(4)]
        async with running(tmp_path, wait, limit=2) as (runs, _), asyncio.timeout(20):
            for priority, key in enumerate(keys[:3]):
                await runs.start(key, "{}", priority=priority)
            await are_two.wait()
            await runs.start(keys[3], "{}", priority=9)
            await asyncio.sleep(0.3)
            assert len(performed) == 2
            may_end.set()
            for key in keys:
                await runs.join(key)
            assert performed[2:3] == ["r3"]

    async def test_two_processes_share_runs_that_one_accepts(self, tmp_path: Path) -> None:
        """One that performs none has them performed by the others."""
        by: Counter[str] = Counter()

        def worker(name: str) -> Perform:
            async def perform(_run: RunRecord, _emit: Emit) -> RunOutcome:
                by[name] += 1
                await asyncio.sleep(1)
                return DONE

            return perform

        async with (
            running(tmp_path, worker("api"), limit=0) as (api, _),
            running(tmp_path, worker("one")),
            running(tmp_path, worker("two")),
            asyncio.timeout(60),
        ):
            keys = [RunKey("ada", f"t{n}", f"r{n}") for n in range(30)]
            await asyncio.gather(*(api.start(key, "{}") for key in keys))
            for key in keys:
                await api.join(key)
        assert sum(by.values()) == 30
        assert min(by["one"], by["two"]) >= 10

    async def test_a_failure_of_the_queue_ends_no_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither one of the database nor one that nobody expects: jobs are claimed later."""
        errors = [StorageError("runs", "it is gone", "try again"), ValueError("unexpected")]
        claim_job = Journal.claim_job

        async def fail(journal: Journal, worker: str, *, only_runs: bool = False) -> Job | None:
            if errors:
                raise errors.pop()
            return await claim_job(journal, worker, only_runs=only_runs)

        monkeypatch.setattr(SqliteJournal, "claim_job", fail)
        async with running(tmp_path, greet) as (runs, _), asyncio.timeout(30):
            await runs.start(KEY, "{}")
            assert (await runs.join(KEY)).status == "completed"
        assert not errors

    async def test_a_run_that_takes_too_long_fails(self, tmp_path: Path) -> None:
        """Its events remain, and its thread is free."""
        async with running(tmp_path, linger, time_limit_s=0.2) as (runs, journal):
            await runs.start(KEY, "{}")
            assert await types(journal) == ["notice", "run.failed"]
            run = await runs.join(KEY)
            assert json.loads(run.error or "")["code"] == "run.time_limit"

    async def test_a_run_that_waits_is_cancelled_at_once(self, tmp_path: Path) -> None:
        """Also if no process performs runs; its stream ends."""
        async with running(tmp_path, greet, limit=0) as (runs, journal):
            await runs.start(KEY, "{}")
            assert await runs.cancel(KEY)
            assert await types(journal) == ["run.cancelled"]
            assert not await runs.cancel(KEY)
            assert await journal.claim_job("none") is None

    async def test_a_start_that_was_refused_may_be_tried_again(self, tmp_path: Path) -> None:
        """A refused start can be retried with its id: the first try does not block it."""
        second = RunKey("ada", "t1", "r2")
        async with running(tmp_path, linger) as (runs, journal):
            await runs.start(KEY, "{}")
            for _ in range(2):
                with pytest.raises(BusyError):
                    await runs.start(second, "{}", if_busy="reject")
            await asyncio.sleep(0.2)
            await runs.cancel(KEY)
            await runs.join(KEY)
            await runs.start(second, "{}")
            await runs.cancel(second)

            assert (await types(journal, second))[-1] == "run.cancelled"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_statement_waits_while_all_connections_are_in_use(postgres_url: str) -> None:
    """However long, and fails if the server cannot be reached in the meantime."""
    connections = RunConnections(postgres_url, 1)
    pool = connections._asking  # noqa: SLF001
    pool.timeout = 0.05
    await connections.open(lambda _: None)
    try:
        async with connections.transaction(["ada"]):
            waiting = asyncio.create_task(connections.ask(["ada"], "SELECT 1", ()))
            await asyncio.sleep(0.3)
            assert not waiting.done()
        assert await waiting == [(1,)]
        async with connections.transaction(["ada"]):
            pool.conninfo = "postgresql://127.0.0.1:1/none"
            with pytest.raises(StorageError):
                await connections.ask(["ada"], "SELECT 1", ())
    finally:
        await connections.close()
