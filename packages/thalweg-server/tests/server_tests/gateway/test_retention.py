"""Old runs and threads out of use are deleted, and nothing else is."""

import asyncio
import signal
import sqlite3
from asyncio import timeout
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import psycopg
import pytest

from core_tests import forking
from server_tests.gateway.worlds import settings
from thalweg.database.jobs import BACKGROUND, NEVER_MS
from thalweg.database.postgres import driver_statement
from thalweg.errors import BusyError, NoSuchRunError, NoSuchThreadError, StorageError
from thalweg_server.api.runs import NewRun
from thalweg_server.api.threads import NewThread
from thalweg_server.app import App, open_app
from thalweg_server.app.deletion import ThreadRemoval
from thalweg_server.runs.base import AGE, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.running import ProcessRuns, RunOutcome
from thalweg_server.settings import Settings

NOW = 1e-9
"""An age in days that everything has."""
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def kept(home: Path, **retention: float) -> Settings:
    given = settings(home)
    ages = given.retention.model_copy(update=retention)
    return given.model_copy(update={"retention": ages})


async def finished(app: App, thread: str, run: str) -> None:
    tenant = app.tenant("ada")
    await tenant.runs.start(thread, NewRun(id=run, message="hi"))
    await tenant.runs.wait(thread, run)


def queued(home: Path, change: str = "") -> list[tuple[str, int]]:
    """Change the jobs of the queue, then read their keys and claims."""
    with closing(sqlite3.connect(home / "runs.db", timeout=30)) as database:
        if change:
            database.execute(f"UPDATE queue_job SET {change}")  # noqa: S608 (a test's)
            database.commit()
        return database.execute("SELECT key, attempt FROM queue_job").fetchall()


def stored(home: Path) -> list[tuple[int]]:
    """Read the rows of events."""
    with closing(sqlite3.connect(home / "runs.db", timeout=30)) as database:
        return database.execute("SELECT seq FROM run_events").fetchall()


async def performed(home: Path) -> None:
    """Wait until the queue has no job, or the one for the next time."""
    while True:
        with closing(sqlite3.connect(home / "runs.db", timeout=30)) as database:
            due = (
                "SELECT 1 FROM queue_job"
                " WHERE due < 1000 * strftime('%s', 'now') + 50000 OR worker <> ''"
            )
            if database.execute(due).fetchone() is None:
                return
        await asyncio.sleep(0.02)


async def test_old_runs_go_and_the_newest_and_the_messages_stay(tmp_path: Path) -> None:
    async with open_app(kept(tmp_path, runs_days=NOW)) as app:
        for run in ("r1", "r2", "r3"):
            await finished(app, "t1", run)
        await app.retention.schedule("ada", "t1")
        await performed(tmp_path)
        queued(tmp_path, "due = 1")  # the last one, in place of an hour later
        await performed(tmp_path)
        tenant = app.tenant("ada")
        for run in ("r1", "r2"):
            with pytest.raises(NoSuchRunError):
                await tenant.runs.get("t1", run)
        assert (await tenant.runs.get("t1", "r3")).status == "completed"
        assert len((await tenant.threads.history("t1")).items) == 6
        assert len(queued(tmp_path)) == 1


async def test_events_that_were_not_packed_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a process that was killed between the end of a run and that."""

    async def killed(runs: ProcessRuns, key: RunKey) -> None:
        del runs, key

    with monkeypatch.context() as without:
        without.setattr(ProcessRuns, "_pack", killed)
        async with open_app(kept(tmp_path, runs_days=1.0)) as app:
            await finished(app, "t1", "r1")
            await app.retention.perform(RunKey("ada", "t1", AGE))
            assert len(stored(tmp_path)) > 1  # its process may be packing it
            with closing(sqlite3.connect(tmp_path / "runs.db")) as runs, runs:
                runs.execute("UPDATE runs SET ended = '2026-01-01T00:00:00+00:00'")
            await app.retention.perform(RunKey("ada", "t1", AGE))
            assert len(stored(tmp_path)) == 1


async def test_a_thread_out_of_use_is_deleted_by_a_process_that_did_not_run_it(
    tmp_path: Path,
) -> None:
    async with open_app(kept(tmp_path, threads_days=1.0)) as app:
        await finished(app, "t1", "r1")
        await app.retention.schedule("ada", "t1")
    queued(tmp_path, "due = 1")
    async with open_app(kept(tmp_path, threads_days=NOW)) as app:
        await performed(tmp_path)
        with pytest.raises(NoSuchThreadError):
            await app.tenant("ada").threads.get("t1")
    assert queued(tmp_path) == []


@pytest.mark.parametrize("ages", [{}, {"runs_days": 1.0, "threads_days": 1.0}])
async def test_what_is_not_old_stays(tmp_path: Path, ages: dict[str, float]) -> None:
    async with open_app(kept(tmp_path, **ages)) as app:
        await finished(app, "t1", "r1")
        await finished(app, "t1", "r2")
        await app.retention.schedule("ada", "t1")
        await performed(tmp_path)
        assert len(queued(tmp_path, "due = 1")) == len(ages) / 2
        await performed(tmp_path)
        assert (await app.tenant("ada").runs.get("t1", "r1")).status == "completed"


async def test_a_deletion_whose_process_is_killed_is_completed_by_another_one(
    tmp_path: Path,
) -> None:
    async with open_app(settings(tmp_path)) as app:
        await finished(app, "t1", "r1")
        await performed(tmp_path)
    killed = forking.start("server_tests.gateway.deleting", tmp_path, stdin=PIPE, stdout=PIPE)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "half\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait(30)
    for pipe in (killed.stdin, killed.stdout):
        assert pipe is not None
        pipe.close()
    async with open_app(settings(tmp_path)) as app:
        assert (await app.tenant("ada").threads.get("t1")).id == "t1"
        assert len(queued(tmp_path, "due = 1")) == 1
        await performed(tmp_path)
        with pytest.raises(NoSuchThreadError):
            await app.tenant("ada").threads.get("t1")
    assert queued(tmp_path) == []


async def test_a_deletion_that_was_completed_spares_a_new_thread_of_that_id(tmp_path: Path) -> None:
    async with open_app(settings(tmp_path)) as app:
        await finished(app, "t1", "r1")
        key = RunKey("ada", "t1", "*delete 1 0")
        await app.parts.journal.change_queue(app.parts.journal.jobs.submit(key.job, key.lock))
        await performed(tmp_path)
        assert (await app.tenant("ada").threads.get("t1")).id == "t1"


async def test_a_chore_that_kills_its_processes_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_app(settings(tmp_path)) as app:
        await finished(app, "t1", "r1")
        await performed(tmp_path)
        key = RunKey("ada", "t1", "*delete 9999999999999 0")
        due = app.parts.journal.jobs.submit(key.job, key.lock, due_ms=NEVER_MS)
        await app.parts.journal.change_queue(due)
        queued(tmp_path, "due = 1, worker = 'killed', attempt = 5, crashes = 4, held_until = 0")
        await performed(tmp_path)
        assert (await app.tenant("ada").threads.get("t1")).id == "t1"
    assert "is given up" in caplog.text
    assert queued(tmp_path) == []


async def completed(run: RunRecord, emit: Emit) -> RunOutcome:
    del run, emit
    return RunOutcome("completed", "{}")


@pytest.mark.parametrize(
    "error", [StorageError("archive.db", "it is full", ""), BusyError("t1", "r9"), ValueError()]
)
async def test_a_chore_that_fails_lets_the_runs_of_its_thread_begin_and_is_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    chore, run = RunKey("ada", "t1", AGE), RunKey("ada", "t1", "r1")

    async def fail(key: RunKey) -> None:
        twin = journal.jobs.submit(key.job, key.lock, due_ms=NEVER_MS)
        await journal.change_queue(twin)
        raise error

    async with open_journal(tmp_path / "runs.db") as journal:
        await journal.change_queue(journal.jobs.submit(chore.job, chore.lock))
        await journal.create(run, "{}", if_busy="enqueue")
        assert await journal.queue_depth() == 1  # of runs
        async with ProcessRuns(journal, completed, perform_chore=fail) as runs:
            async with asyncio.timeout(60):
                assert (await runs.join(run)).status == "completed"
                await performed(tmp_path)
    assert queued(tmp_path) == [(chore.job, 1)]
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        text = "SELECT worker, due < ? FROM queue_job"
        assert database.execute(text, (NEVER_MS,)).fetchall() == [("", 1)]
    assert "*age of thread t1" in caplog.text


async def test_a_chore_of_a_process_that_shuts_down_cleanly_counts_no_crash(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def wait(key: RunKey) -> None:
        del key
        begun.set()
        await asyncio.Event().wait()

    key = RunKey("ada", "t1", AGE)
    async with open_journal(tmp_path / "runs.db") as journal:
        await journal.change_queue(journal.jobs.submit(key.job, key.lock))
        async with ProcessRuns(journal, completed, perform_chore=wait):
            await begun.wait()
        job = await journal.claim_job("other")
        assert job is not None
        assert (job.attempt, job.crashes) == (2, 0)


async def test_deletion_by_age_that_kills_its_processes_is_tried_again_the_next_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = RunKey("ada", "t1", AGE)
    async with open_app(settings(tmp_path)) as app:
        due = app.parts.journal.jobs.submit(key.job, key.lock, due_ms=NEVER_MS)
        await app.parts.journal.change_queue(due)
        queued(tmp_path, "due = 1, worker = 'killed', attempt = 5, crashes = 4, held_until = 0")
        await performed(tmp_path)
    assert "is given up" in caplog.text
    assert queued(tmp_path) == [(key.job, 6)]


async def test_runs_are_claimed_before_the_deletion_by_age_of_any_thread(tmp_path: Path) -> None:
    async with open_app(kept(tmp_path, runs_days=1.0), role="api") as app:
        await app.tenant("ada").threads.create(NewThread(id="t1"))
        await app.retention.schedule("ada", "t1")
        queued(tmp_path, "due = 1")
        await app.tenant("ada").runs.start("t1", NewRun(id="r1", message="hi", priority=-100))
        await app.tenant("ada").runs.start("t2", NewRun(id="r2", message="hi"))
        jobs = [await app.parts.journal.claim_job("one") for _ in range(3)]
        assert [job and RunKey.of_job(job.key).run for job in jobs] == ["r2", "r1", None]
        assert jobs[1] is not None
        await app.parts.journal.finish_job(jobs[1])
        job = await app.parts.journal.claim_job("one")
        assert job is not None
        assert RunKey.of_job(job.key).run == AGE


async def test_a_process_deletes_by_age_in_one_thread_at_a_time(tmp_path: Path) -> None:
    """Their transactions would delay those of runs."""
    begun: list[str] = []
    has_begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(key: RunKey) -> None:
        begun.append(key.thread)
        has_begun.set()
        await go_on.wait()

    async with open_journal(tmp_path / "runs.db") as journal:
        for thread in ("t1", "t2", "t3"):
            key = RunKey("ada", thread, AGE)
            job = journal.jobs.submit(key.job, key.lock, priority=BACKGROUND)
            await journal.change_queue(job)
        async with ProcessRuns(journal, completed, perform_chore=wait) as runs, timeout(60):
            await has_begun.wait()
            for name in ("r1", "r2", "r3"):  # each overtakes the deletion of its thread
                run = await runs.start(RunKey("ada", "t3", name), "{}")
                assert (await runs.join(run.key)).status == "completed"
            assert begun == ["t1"]
            go_on.set()
            await performed(tmp_path)
    assert begun == ["t1", "t2", "t3"]


async def test_two_claims_of_one_lock_on_a_server(plain_postgres_url: str) -> None:
    """The one that comes second finds no job, and no error."""
    url, waits = plain_postgres_url, b"SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with open_journal(url) as journal:
        key = RunKey("ada", "t1", AGE)
        await journal.change_queue(journal.jobs.submit(key.job, key.lock, priority=BACKGROUND))
        await journal.create(RunKey("ada", "t1", "r1"), "{}")
        other = await psycopg.AsyncConnection.connect(url)
        async with timeout(60), other, await psycopg.AsyncConnection.connect(url) as watch:
            claim = journal.jobs.claim("other")
            cursor = await other.execute(driver_statement(claim.text), claim.values)
            assert "r1" in str(await cursor.fetchone())
            second = asyncio.create_task(journal.claim_job("one"))
            while await (await watch.execute(waits)).fetchone() == (0,):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await other.commit()
            assert await second is None


async def test_a_chore_that_deletes_submits_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends its processes would else begin again, without its crashes."""
    found: list[list[tuple[str, int]]] = []
    delete = ThreadRemoval._delete  # noqa: SLF001 (observed)

    def observed(threads: ThreadRemoval, thread: str, *, forget: bool) -> tuple[str, ...]:
        found.append(queued(tmp_path))
        return delete(threads, thread, forget=forget)

    async with open_app(settings(tmp_path)) as app:
        await finished(app, "t1", "r1")
        await performed(tmp_path)
        monkeypatch.setattr(ThreadRemoval, "_delete", observed)
        key = RunKey("ada", "t1", "*delete 9999999999999 0")
        await app.parts.journal.change_queue(app.parts.journal.jobs.submit(key.job, key.lock))
        await performed(tmp_path)
        with pytest.raises(NoSuchThreadError):
            await app.tenant("ada").threads.get("t1")
    assert found == [[(key.job, 1)]]


class FullDisk(ThreadRemoval):
    """Threads whose log and files cannot be deleted."""

    def _delete(self, thread: str, *, forget: bool) -> tuple[str, ...]:
        del thread, forget
        raise StorageError("archive.db", "it is full", "make room")


async def test_a_deletion_that_a_database_breaks_off_is_completed_later(tmp_path: Path) -> None:
    async with open_app(settings(tmp_path), role="api") as app:
        ada = app.tenant("ada")
        await ada.threads.create(NewThread(id="t1"))
        with pytest.raises(StorageError):
            await FullDisk("ada", app.parts).delete("t1")
        ((key, _),) = queued(tmp_path)
        assert RunKey.of_job(key).run.startswith("*delete ")
        await app.retention.perform(RunKey.of_job(key))
        with pytest.raises(NoSuchThreadError):
            await ada.threads.get("t1")


async def test_a_deletion_of_a_thread_with_a_run_leaves_no_job(tmp_path: Path) -> None:
    async with open_app(settings(tmp_path), role="api") as app:
        ada = app.tenant("ada")
        await ada.runs.start("t1", NewRun(id="r1", message="hi"))
        before = queued(tmp_path)
        with pytest.raises(BusyError):
            await ada.threads.delete("t1")
        assert queued(tmp_path) == before


async def test_a_deletion_that_was_broken_off_spares_a_thread_that_was_used_since(
    tmp_path: Path,
) -> None:
    async with open_app(settings(tmp_path)) as app:
        await finished(app, "t1", "r1")
        row = app.parts.registry.get("ada", "t1")
        assert row is not None
        await asyncio.sleep(0.01)
        await finished(app, "t1", "r2")
        await app.retention.perform(RunKey("ada", "t1", f"*delete {row.updated} 0"))
        assert (await app.tenant("ada").threads.get("t1")).id == "t1"


async def test_a_forgotten_thread_has_no_job_that_names_it(tmp_path: Path) -> None:
    async with open_app(kept(tmp_path, runs_days=1.0)) as app:
        await app.tenant("ada").threads.create(NewThread(id="named-thread"))
        await app.retention.schedule("ada", "named-thread")
        assert len(queued(tmp_path)) == 1
        await app.tenant("ada").threads.delete("named-thread", forget=True)
        assert queued(tmp_path) == []
