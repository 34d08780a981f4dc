"""Old runs and threads out of use are deleted, and nothing else is."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest

from core_tests import forking
from server_tests.gateway.worlds import settings
from thalweg.database.jobs import NEVER_MS
from thalweg.errors import NoSuchRunError, NoSuchThreadError
from thalweg_server.api.runs import NewRun
from thalweg_server.app import App, open_app
from thalweg_server.runs.base import RunKey
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
