"""Due times of crons, in a process that performs no runs: each is fired by the test."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from server_tests.gateway.worlds import KEYS, settings
from thalweg.database.jobs import Job, JobSql
from thalweg.errors import BusyError, ConfigError, StorageError
from thalweg_server.api.graph_runs import NewCron
from thalweg_server.app import App, open_app
from thalweg_server.app import crons as module
from thalweg_server.app.configured import Assistant, TenantAssistants
from thalweg_server.app.runs import TEMPORARY
from thalweg_server.runs.base import CRON, RunKey, now_ms
from thalweg_server.runs.crons import CronRecord, PostponedError
from thalweg_server.runs.running import ProcessRuns, RunOutcome
from thalweg_server.runs.tables import CREATED_AT
from thalweg_server.settings import Settings

pytestmark = pytest.mark.anyio
DAY_MS = 86_400_000


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """Open an application whose owner Bob may have one run at a time."""
    keys = [KEYS[0], {**KEYS[1], "limits": {"runs_at_once": 1}}]
    own = [{"name": "counting", "graph": "server_tests.gateway.own_graphs:counting"}]
    given = settings(tmp_path).model_dump(mode="json")
    made = Settings.from_mapping({**given, "gateway": {"keys": keys}, "agents": own})
    async with open_app(made, home=tmp_path, role="api") as opened:
        yield opened


async def due(
    app: App,
    owner: str = "ada",
    thread: str = "",
    due_ms: int | None = None,
    **fields: Any,  # noqa: ANN401 (as JSON)
) -> CronRecord:
    """Store a cron that is due, without a check of its fields."""
    body = {"assistant_id": "counting", "schedule": "0 0 * * *", "input": {"count": 1}, **fields}
    at_ms = now_ms() - 1_000 if due_ms is None else due_ms
    cron = CronRecord(owner, "11111111-1111-4111-8111-111111111111", thread, at_ms, "", 1, 1)
    cron = replace(cron, body=json.dumps(body))
    assert await app.parts.journal.put_cron(cron)
    return cron


async def thread_with_run(app: App, owner: str, thread: str) -> RunKey:
    """Make a thread with a run that another process performs."""
    journal = app.parts.journal
    app.parts.registry.touch(owner, thread, now_ms())
    run = RunKey(owner, thread, "r1")
    await journal.create(run, "{}")
    assert await journal.claim(run) is not None
    return run


async def test_a_thread_of_the_user_is_never_temporary(app: App) -> None:
    """An update cannot make it so, nor can a row that an earlier version wrote."""
    await thread_with_run(app, "ada", "t1")
    crons = app.tenant("ada").crons
    new = NewCron(assistant_id="counting", schedule="0 0 1 1 *")
    made = await crons.create("t1", new)
    assert made is not None
    changed = await crons.update(made.record.id, {"on_run_completed": "delete"})
    assert changed is not None
    assert changed.new.on_run_completed is None
    cron = await due(app, thread="t1", on_run_completed="delete")
    await crons.fire(cron.job)
    assert len(await app.parts.journal.list("ada", "t1")) == 2
    assert app.parts.registry.documents.list("ada", TEMPORARY) == []


async def test_a_slow_database_skips_no_due_time(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that a run may take to end is no limit of the others' work."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    cron = await due(app)
    await app.tenant("ada").crons.fire(cron.job)
    assert len(await app.parts.journal.list("ada")) == 1


async def test_a_run_that_does_not_end_postpones(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cron keeps its due time."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.1)
    await thread_with_run(app, "ada", "t1")
    cron = await due(app, thread="t1", multitask_strategy="interrupt")
    with pytest.raises(BusyError, match="has not ended"):
        await app.tenant("ada").crons.fire(cron.job)
    assert await app.parts.journal.crons("ada") == [cron]


@pytest.mark.parametrize("late_ms", [1_000, 2 * DAY_MS])
async def test_an_unknown_time_zone_keeps_the_due_time(app: App, late_ms: int) -> None:
    """A machine may have no tables of time zones; another one fires it."""
    cron = await due(app, due_ms=now_ms() - late_ms, timezone="Mars/Olympus")
    with pytest.raises(ConfigError, match="timezone"):
        await app.tenant("ada").crons.fire(cron.job)
    assert await app.parts.journal.crons("ada") == [cron]


async def test_a_cron_whose_thread_is_gone_is_deleted(app: App) -> None:
    """It would have no run ever again."""
    cron = await due(app, thread="gone")
    await app.tenant("ada").crons.fire(cron.job)
    assert await app.parts.journal.crons("ada") == []


def change_meanwhile(
    monkeypatch: pytest.MonkeyPatch, app: App, old: CronRecord, new: CronRecord
) -> None:
    """Change a cron after it is read to fire it, as another process does."""
    find = TenantAssistants.get

    async def changed(self: TenantAssistants, id_: str) -> Assistant:
        await app.parts.journal.put_cron(new, old)
        return await find(self, id_)

    monkeypatch.setattr(TenantAssistants, "get", changed)


@pytest.mark.parametrize("changes", [{"due_ms": 1 << 50}, {"updated_ms": 2}])
async def test_a_changed_cron_cancels_no_run(
    app: App, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """The run may be the one that another process submitted for this due time."""
    run = await thread_with_run(app, "ada", "t1")
    cron = await due(app, thread="t1", multitask_strategy="interrupt")
    change_meanwhile(monkeypatch, app, cron, replace(cron, **changes))
    with pytest.raises(BusyError, match="was changed"):
        await app.tenant("ada").crons.fire(cron.job)
    (state,) = (await app.parts.journal.states([run])).values()
    assert not state.cancel_requested


@pytest.mark.parametrize(("changes", "left"), [({"due_ms": 0}, 0), ({"updated_ms": 2}, 1)])
async def test_a_changed_cron_keeps_a_thread_that_it_needs(
    app: App, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], left: int
) -> None:
    """A cron with the same due time will use the thread; otherwise it is deleted."""
    cron = await due(app)
    change_meanwhile(monkeypatch, app, cron, replace(cron, **changes))
    await app.tenant("ada").crons.fire(cron.job)
    assert len(app.parts.registry.names("ada")) == left


async def test_a_limit_of_runs_postpones_up_to_the_next_due_time(app: App) -> None:
    """From then on the due time is skipped."""
    await thread_with_run(app, "bob", "t1")
    crons, journal = app.tenant("bob").crons, app.parts.journal
    cron = await due(app, "bob")
    with pytest.raises(BusyError, match="runs_at_once: 1 is reached"):
        await crons.fire(cron.job)
    assert await journal.crons("bob") == [cron]
    every_second = replace(cron, body=cron.body.replace("0 0 * * *", "* * * * * *"))
    due_ms = now_ms() // 1_000 * 1_000 - 5_000
    every_second = replace(every_second, due_ms=due_ms)
    assert await journal.put_cron(every_second, cron)
    await crons.fire(every_second.job)
    assert [one.due_ms for one in await journal.crons("bob")] == [due_ms + 1_000]
    assert len(await journal.list("bob")) == 1


async def test_the_rate_of_runs_postpones_a_cron(app: App) -> None:
    """Runs that ended count, too; those of more than a minute ago do not."""
    limited = {**KEYS[0], "limits": {"runs_per_minute": 1}}
    given = app.settings.model_dump(mode="json")
    app._source = Settings.from_mapping({**given, "gateway": {"keys": [limited]}})  # noqa: SLF001
    cron, crons, journal = await due(app), app.tenant("ada").crons, app.parts.journal
    run = RunKey("ada", "t1", "r1")
    await journal.create(run, "{}")
    with pytest.raises(BusyError, match="runs_per_minute: 1 is reached"):
        await crons.fire(cron.job)
    assert await journal.crons("ada") == [cron]
    await app.parts.runs.cancel(run)
    assert (await journal.existing(run)).status == "cancelled"
    with pytest.raises(BusyError, match="runs_per_minute: 1 is reached"):
        await crons.fire(cron.job)
    earlier = (datetime.now(UTC) - timedelta(minutes=2)).isoformat(timespec="milliseconds")
    await journal.change_queue(JobSql("UPDATE runs SET created = ? RETURNING 1", (earlier,)))
    await crons.fire(cron.job)
    assert len(await journal.list("ada")) == 2


async def test_the_rate_of_runs_is_read_from_an_index(app: App) -> None:
    """Runs of an owner are not sorted for each cron that is due."""
    plan = await app.parts.journal._read(  # noqa: SLF001 (as the journal asks)
        "ada", f"EXPLAIN QUERY PLAN {CREATED_AT}", ("ada", 599)
    )
    assert [row[3] for row in plan] == ["SEARCH runs USING INDEX runs_of_owner (owner=?)"]


async def test_crons_due_at_the_same_time_keep_a_limit(app: App) -> None:
    """All check it before one of them starts a run; the others are postponed."""
    first, crons, journal = await due(app, "bob"), app.tenant("bob").crons, app.parts.journal
    every = [first, *(replace(first, id=str(UUID(int=number))) for number in range(4))]
    for one in every[1:]:
        assert await journal.put_cron(one)
    ended = await asyncio.gather(*(crons.fire(one.job) for one in every), return_exceptions=True)
    assert ended.count(None) == 1
    assert sum(isinstance(one, PostponedError) and one.is_limit for one in ended) == 4
    assert len(await journal.list("bob")) == 1
    assert sum(one.due_ms == first.due_ms for one in await journal.crons("bob")) == 4


LIMIT = PostponedError("c1", "c1", "a limit is reached", is_limit=True)
CHANGED = PostponedError("c1", "c1", "the cron was changed")
FAILED = StorageError("runs.db", "the disk is full", "make room")


@pytest.mark.parametrize(
    ("error", "late_s", "pause_s"),
    [
        (LIMIT, 0, 1),
        (LIMIT, 100, 100),
        (LIMIT, DAY_MS, 300),
        (CHANGED, 7_200, 1),
        (FAILED, 7_200, 1),
    ],
)
async def test_a_cron_at_a_limit_is_retried_as_late_again_as_it_is(
    app: App, error: Exception, late_s: int, pause_s: int
) -> None:
    """Many crons would else ask a database each second, or all at once."""

    async def postpone(_: RunKey) -> None:
        raise error

    async def perform(*_: object) -> RunOutcome:
        raise AssertionError

    runs = ProcessRuns(app.parts.journal, perform, perform_chore=postpone)
    job = Job(1, "", 1)
    key = RunKey("ada", "c1", f"{CRON} {now_ms() - 1_000 * late_s}")
    found = {await runs._chore(key, job) for _ in range(5)}  # noqa: SLF001 (without a queue)
    assert all(one is not None and 0.7 * pause_s <= one < pause_s + 30 for one in found)
    assert (len(found) > 1) == (error is LIMIT)
