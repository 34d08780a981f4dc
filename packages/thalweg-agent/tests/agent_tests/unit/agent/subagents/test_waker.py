"""Threads that are woken when their background tasks end."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from thalweg.database.jobs import LEASE_S
from thalweg.errors import ConfigError, StorageError
from thalweg_agent.subagents.background import AsyncTask, Status, WakePlan, notice_key, plan_wake
from thalweg_agent.subagents.waker import Waker


def task(name: str = "a", run: str = "r1", status: Status = "running") -> AsyncTask:
    """Make a task."""
    return AsyncTask(
        task_id=name, agent_name="far", thread_id=name, run_id=run, status=status, created_at=""
    )


NOTICE = HumanMessage(f"Background {notice_key(task())} is now: success.", id="n1")
AGAIN = HumanMessage(NOTICE.text, id="n2")
ENDED = {"a": task(status="success")}
GO, DONE = HumanMessage("Go.", id="g"), AIMessage("Done.")


@pytest.mark.parametrize(
    ("messages", "tasks", "plan"),
    [
        ([], ENDED, None),
        ([GO], ENDED, None),
        ([GO, DONE], ENDED, None),
        ([GO, DONE, NOTICE], {}, None),
        ([GO, DONE, NOTICE], {"a": task(run="r2")}, None),
        ([GO, DONE, NOTICE], {"a": task()}, WakePlan((NOTICE,))),
        ([GO, DONE, NOTICE, AGAIN], {"a": task()}, WakePlan((NOTICE,), AGAIN)),
        ([GO, DONE, NOTICE, AGAIN], ENDED, WakePlan((NOTICE,), AGAIN)),
        ([GO, DONE, NOTICE, DONE, AGAIN], ENDED, WakePlan((), AGAIN, is_answered=True)),
        ([GO, DONE, AGAIN], ENDED, WakePlan((), AGAIN, is_answered=True)),
    ],
)
def test_a_notice_that_comes_again_is_not_shown_again(
    messages: Sequence[BaseMessage], tasks: dict[str, AsyncTask], plan: WakePlan | None
) -> None:
    """A run that was interrupted resumes without it; one that has answered is not begun."""
    assert plan_wake(messages, tasks) == plan


def test_wakes_of_an_older_file_are_carried_over(tmp_path: Path) -> None:
    """Of a thread that was idle; that of a run under way waits for the run."""
    with closing(sqlite3.connect(tmp_path / "wakes.db")) as raw, raw:
        raw.execute(
            "CREATE TABLE pending_wakes (task TEXT PRIMARY KEY, thread TEXT NOT NULL,"
            " run TEXT NOT NULL, detail TEXT NOT NULL, state TEXT NOT NULL, holder TEXT NOT NULL,"
            " held_until REAL NOT NULL)"
        )
        for thread, name, state in (("t", "a", "idle"), ("u", "b", "running")):
            row = (name, thread, "r1", json.dumps(task(name)), state, "dead", 0)
            raw.execute("INSERT INTO pending_wakes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    world = World(tmp_path / "wakes.db")
    world.statuses = {"a": "success", "b": "success"}
    world.waker.start()

    until(lambda: not world.waker.is_at_work)
    assert world.woken == [("t", "a")]
    world.waker.run_ended("u", {"b": task("b")})
    until(lambda: len(world.woken) == 2)
    world.waker.close()


def test_a_thread_is_woken_by_one_process_until_it_dies(tmp_path: Path) -> None:
    """Its lease expires, and another one wakes the thread."""
    first, second = World(tmp_path / "wakes.db"), World(tmp_path / "wakes.db")
    first.waker.expect("t", {"a": task()})
    assert first.waker.wait_s() is None
    first.waker.run_ended("t", {"a": task()})
    first.waker._worker.stop()  # noqa: SLF001
    until(lambda: second.waker.wait_s() == 0)
    job = first.waker.claim("dead")
    assert job is not None
    assert second.waker.claim("w") is None
    first.waker.renew("dead", job)
    until(lambda: second.waker.claim("w"), LEASE_S + 30)
    for world in (first, second):
        world.waker.close()


def test_a_later_run_of_a_task_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path / "wakes.db")
    world.waker.expect("t", {"a": task("a", "r1")})
    world.waker.expect("t", {"a": task("a", "r2")})
    with closing(sqlite3.connect(tmp_path / "wakes.db")) as raw:
        keys = raw.execute("SELECT key FROM queue_job").fetchall()
    assert [key.split("\x1f")[-1] for (key,) in keys] == ["r2"]
    world.waker.close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("These are no tables. " * 100)

    with pytest.raises(ConfigError, match="notes"):
        World(tmp_path / "notes")


def until(done: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


class World:
    """A thread that waits for tasks, and is woken."""

    def __init__(self, store: Path | None = None) -> None:
        self.statuses: dict[str, Status] = {}
        self.woken: list[tuple[str, str]] = []
        self.failures = 0
        self.on_look: Callable[[], object] = lambda: None
        self.on_wake: Callable[[], object] = lambda: None
        self.waker = Waker(store, self.wake, self.look, self.write, 0.005)

    def wake(self, thread: str, text: str) -> None:
        """Note the call, or fail."""
        if self.failures:
            self.failures -= 1
            raise ConnectionError("busy")
        self.on_wake()
        self.woken.append((thread, text))

    def look(self, one: AsyncTask) -> AsyncTask:
        """Return a task with its status."""
        self.on_look()
        return {**one, "status": self.statuses.get(one["task_id"], "running")}

    def write(self, tasks: Sequence[AsyncTask]) -> str:
        """Name the tasks."""
        return " ".join(sorted(one["task_id"] for one in tasks))

    def wait_for(self, thread: str, *tasks: str) -> dict[str, AsyncTask]:
        """End a run of a thread that has started tasks."""
        started = {name: task(name) for name in tasks}
        self.waker.run_started(thread)
        self.waker.expect(thread, started)
        self.waker.run_ended(thread, started)
        return started


@pytest.fixture
def world() -> Iterator[World]:
    """Yield one, and stop it."""
    made = World()
    yield made
    made.waker.close()


def test_a_thread_is_woken_for_all_its_tasks_that_ended_and_another_for_its_own(
    world: World,
) -> None:
    world.statuses = {"a": "success", "b": "error", "c": "timeout"}
    world.wait_for("t", "a", "b", "d")
    world.wait_for("u", "c")

    until(lambda: len(world.woken) == 2)

    assert sorted(world.woken) == [("t", "a b"), ("u", "c")]
    assert world.waker.is_at_work
    world.statuses["d"] = "success"
    until(lambda: not world.waker.is_at_work)
    assert world.woken[2:] == [("t", "d")]


def test_a_wake_that_raises_is_retried(world: World) -> None:
    world.failures = 3
    world.statuses = {"a": "success"}
    world.wait_for("t", "a")

    until(lambda: world.woken)
    until(lambda: not world.waker.is_at_work)
    assert world.woken == [("t", "a")]


def test_a_thread_whose_run_goes_on_is_not_woken_and_what_the_run_reported_is_not_repeated(
    world: World,
) -> None:
    """The run of `t` has seen the end of `a`; `u` shows that there was a look at all."""
    world.statuses = {"a": "success", "c": "success"}
    started = world.wait_for("t")
    world.waker.run_started("t")
    world.waker.expect("t", {"a": task("a")})
    world.wait_for("u", "c")
    until(lambda: world.woken)
    world.waker.run_ended("t", {**started, "a": task("a", status="success")})
    until(lambda: not world.waker.is_at_work)

    assert world.woken == [("u", "c")]


def test_a_run_that_begins_during_a_poll_is_not_woken(world: World) -> None:
    """It reports the task itself; the poll does not undo its suspension."""
    world.waker.start = lambda: None  # type: ignore[method-assign]  # polls by hand
    started = world.wait_for("t", "a", "b")
    until(lambda: world.waker.wait_s() == 0)
    job = world.waker.claim("w")
    assert job is not None
    world.on_look = lambda: world.waker.run_started("t")
    world.statuses = {"a": "success", "b": "success"}
    world.waker.perform(job)

    assert world.woken == []
    assert world.waker.wait_s() is None
    world.waker.run_ended("t", started)
    until(lambda: world.waker.wait_s() == 0)
    again = world.waker.claim("w")
    assert again is not None
    world.on_look = lambda: None
    world.waker.perform(again)
    assert world.woken == [("t", "a b")]
    assert world.waker.wait_s() is None


def test_a_task_that_is_expected_again_during_its_wake_is_reported_once(world: World) -> None:
    """The run that the wake starts lists its tasks, or sends one of them a further message."""
    world.statuses = {"a": "success"}
    world.on_wake = lambda: world.waker.expect("t", {"a": task("a")})
    world.wait_for("t", "a")
    until(lambda: world.woken)
    until(lambda: not world.waker.is_at_work)
    world.waker.run_ended("t", {})

    assert world.woken == [("t", "a")]
    assert world.waker.wait_s() is None


def test_a_closed_waker_starts_no_thread(world: World) -> None:
    """Also if the run that a wake has started ends meanwhile."""
    world.statuses = {"a": "success"}
    closing_now = threading.Thread(target=world.waker.close)

    def close() -> None:
        closing_now.start()
        until(lambda: world.waker._is_closed)  # noqa: SLF001

    world.on_wake = close
    world.wait_for("t", "a", "b")
    until(lambda: world.woken)
    closing_now.join()

    assert not world.waker.is_at_work


def test_a_status_that_cannot_be_read_is_read_again(world: World) -> None:
    """A poll that raises returns its job."""
    errors = [ConnectionError("busy"), ConnectionError("busy")]

    def fail() -> None:
        if errors:
            raise errors.pop()

    world.on_look = fail
    world.statuses = {"a": "success"}
    world.wait_for("t", "a")
    until(lambda: world.woken)

    assert world.woken == [("t", "a")]


def test_a_store_that_fails_ends_no_run(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.waker.close()

    with pytest.raises(StorageError):
        world.waker.wait_s()
    world.waker.run_started("t")
    world.waker.expect("t", {"a": task("a")})

    assert "thread t cannot be resumed" in caplog.text
