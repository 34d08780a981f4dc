"""Threads that are woken when their background tasks end."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from thalweg.errors import StorageError
from thalweg_agent.subagents.background import AsyncTask, Status, WakePlan, notice_key, plan_wake
from thalweg_agent.subagents.pending_wakes import PendingWakes
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


def names(pending: PendingWakes) -> list[str]:
    """Return the tasks that a process looks at now."""
    return sorted(row.task["task_id"] for row in pending.held())


def test_rows_are_leased_to_one_process_until_it_dies(tmp_path: Path) -> None:
    """Its leases run out, and another one has the rows."""
    path = tmp_path / "wakes.db"
    first, second = PendingWakes(path, 60.0), PendingWakes(path, 60.0)
    dying = PendingWakes(path, -1.0)
    first.add("t", task("a"))
    dying.add("u", task("b"))

    assert names(first) == ["a", "b"]
    assert names(second) == []
    second.set_state("t", "idle")  # a run of the thread ended there
    assert (names(first), names(second)) == (["b"], ["a"])


def test_a_later_run_of_a_task_is_waited_for_when_the_first_was_reported() -> None:
    pending = PendingWakes(None, 60.0)
    pending.add("t", task("a", "r1"))
    pending.add("t", task("a", "r2"))
    pending.remove([("a", "r1")])

    assert [row.task["run_id"] for row in pending.held()] == ["r2"]
    assert not pending.has_due()
    pending.set_state("t", "idle")
    assert pending.has_due()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("These are no tables. " * 100)

    with pytest.raises(StorageError, match="notes"):
        PendingWakes(tmp_path / "notes", 60.0)


def until(done: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


class World:
    """A thread that waits for tasks, and is woken."""

    def __init__(self) -> None:
        self.statuses: dict[str, Status] = {}
        self.woken: list[tuple[str, str]] = []
        self.failures = 0
        self.pending = PendingWakes(None, 60.0)
        self.waker = Waker(self.pending, self.wake, self.look, self.write, 0.005)

    def wake(self, thread: str, text: str) -> None:
        """Note the call, or fail."""
        if self.failures:
            self.failures -= 1
            raise ConnectionError("busy")
        self.woken.append((thread, text))

    def look(self, one: AsyncTask) -> AsyncTask:
        """Return a task with its status."""
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
    until(lambda: names(world.pending) == ["d"])


def test_a_wake_that_raises_is_retried(world: World) -> None:
    world.failures = 3
    world.statuses = {"a": "success"}
    world.wait_for("t", "a")

    until(lambda: world.woken)
    until(lambda: not world.pending.has_due())
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
    until(lambda: not world.pending.has_due())

    assert world.woken == [("u", "c")]


def test_a_store_that_fails_ends_no_run(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.pending.close()

    with pytest.raises(StorageError):
        world.pending.has_due()
    world.waker.run_started("t")
    world.waker.expect("t", {"a": task("a")})

    assert "thread t cannot be resumed" in caplog.text
