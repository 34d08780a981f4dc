"""Old runs and threads out of use are deleted, and nothing else is."""

from pathlib import Path

import pytest

from server_tests.gateway.worlds import settings
from thalweg.errors import NoSuchRunError, NoSuchThreadError
from thalweg_server.api.runs import NewRun
from thalweg_server.app import App, open_app
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


async def test_old_runs_go_and_the_newest_and_the_messages_stay(tmp_path: Path) -> None:
    async with open_app(kept(tmp_path, runs_days=NOW)) as app:
        for run in ("r1", "r2", "r3"):
            await finished(app, "t1", run)
        await app.retention.schedule("ada", "t1")
        assert await app.retention.perform_due() == 1
        assert await app.retention.perform_due() == 0  # the next job is due in an hour
        tenant = app.tenant("ada")
        for run in ("r1", "r2"):
            with pytest.raises(NoSuchRunError):
                await tenant.runs.get("t1", run)
        assert (await tenant.runs.get("t1", "r3")).status == "completed"
        assert len((await tenant.threads.history("t1")).items) == 6


async def test_a_thread_out_of_use_is_deleted_by_a_process_that_did_not_run_it(
    tmp_path: Path,
) -> None:
    async with open_app(kept(tmp_path, threads_days=NOW)) as app:
        await finished(app, "t1", "r1")
        await app.retention.schedule("ada", "t1")
    async with open_app(kept(tmp_path, threads_days=NOW)) as app:
        assert await app.retention.perform_due() == 1
        with pytest.raises(NoSuchThreadError):
            await app.tenant("ada").threads.get("t1")


@pytest.mark.parametrize("ages", [{}, {"runs_days": 1.0, "threads_days": 1.0}])
async def test_what_is_not_old_stays(tmp_path: Path, ages: dict[str, float]) -> None:
    async with open_app(kept(tmp_path, **ages)) as app:
        await finished(app, "t1", "r1")
        await finished(app, "t1", "r2")
        await app.retention.schedule("ada", "t1")
        assert await app.retention.perform_due() == 0
        assert (await app.tenant("ada").runs.get("t1", "r1")).status == "completed"
