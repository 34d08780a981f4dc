"""Workers take jobs from the store, at once but never two of one thread, and stop on request."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from memory_tests.learning import Clock, answer, learner, say
from thalweg.errors import ConfigError, StorageError
from thalweg.testing import ScriptedModel
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from thalweg_memory.jobs.learner import Worker, background
from thalweg_memory.store.records import Job, utc_now
from thalweg_memory.store.tables import MemoryStore

FOREVER_S = 60
OWNERS = [Scope(f"owner {n}") for n in range(8)]
AT_ONCE = MemorySettings(debounce_seconds=0, max_wait_seconds=0, profile=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path / "memory.db") as opened:
        yield opened


def test_a_store_that_is_closed_ends_its_learner_first(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The active job ends; it failed on a closed store, and its answer was lost."""
    asked, may_answer = threading.Event(), threading.Event()

    def script(messages: Sequence[BaseMessage]) -> str:
        asked.set()
        assert may_answer.wait(FOREVER_S)
        return answer(messages)

    store = open_memory(tmp_path / "memory.db")
    worker = background(store, ScriptedModel(script=script), AT_ONCE)
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    worker.wake()
    assert asked.wait(FOREVER_S)
    closing = threading.Thread(target=store.close)
    closing.start()
    may_answer.set()
    closing.join(FOREVER_S)

    assert not closing.is_alive()
    assert not worker.is_at_work
    assert not caplog.records
    with open_memory(tmp_path / "memory.db") as again:
        assert len(again.facts(OWNERS[0])) == 1


def test_nothing_is_done_before_a_thread_is_quiet(store: MemoryStore) -> None:
    """Thirty seconds after the last turn, and all at once."""
    clock = Clock()
    worker = Worker(store, learner(store, clock).learn, clock=clock)
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=clock)
    clock.forward(20)
    say(store, OWNERS[0], "I keep the key in drawer 2.", clock=clock)
    clock.forward(29)
    early = worker.run_due()
    clock.forward(1)

    assert (early, worker.run_due()) == (0, 1)
    assert store.learned(OWNERS[0], "t") == 2


def test_who_never_stops_writing_is_learned_from_after_the_longest_wait(
    store: MemoryStore,
) -> None:
    """Counted from the first turn that waits."""
    clock = Clock()
    worker = Worker(store, learner(store, clock).learn, clock=clock)
    for n in range(31):
        say(store, OWNERS[0], f"I keep the key in drawer {n}.", clock=clock)
        assert worker.run_due() == (n == 30)
        clock.forward(10)


def test_owners_are_served_at_once_and_a_thread_by_one_at_a_time(store: MemoryStore) -> None:
    """As many at once as there are threads; every job is done once."""
    inside: list[Job] = []
    most = 0
    lock, all_inside = threading.Lock(), threading.Barrier(4, timeout=20)
    does = learner(store, utc_now, settings=AT_ONCE).learn

    def learn(job: Job) -> None:
        nonlocal most
        with lock:
            assert (job.scope, job.thread) not in [(j.scope, j.thread) for j in inside]
            inside.append(job)
            most = max(most, len(inside))
        all_inside.wait()
        does(job)
        with lock:
            inside.remove(job)

    clock = Clock()
    for scope in OWNERS:
        say(store, scope, "I keep the key in drawer 1.", clock=clock, settings=AT_ONCE)
    worker = Worker(store, learn, threads=4)
    worker.start()

    assert worker.drain(30)
    assert most == 4
    assert all(len(store.facts(scope)) == 1 for scope in OWNERS)


def test_a_worker_that_is_woken_does_not_wait_for_its_next_look(store: MemoryStore) -> None:
    """Nor does it look all the time: it rests until it is woken."""
    rests = threading.Semaphore(0)
    learned = threading.Event()
    does = learner(store, utc_now, settings=AT_ONCE).learn

    def learn(job: Job) -> None:
        does(job)
        learned.set()

    def wait(event: threading.Event, seconds: float) -> None:
        assert seconds == 5
        rests.release()
        event.wait()

    worker = Worker(store, learn, threads=1, wait=wait)
    worker.start()
    assert rests.acquire(timeout=20)
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    worker.wake()

    assert learned.wait(20)
    assert worker.stop(20)


def test_stopping_ends_after_the_job_under_way_and_leaves_the_rest(store: MemoryStore) -> None:
    """The worker that starts next continues with it."""
    begun, go_on = threading.Event(), threading.Event()
    does = learner(store, utc_now, settings=AT_ONCE).learn

    def learn(job: Job) -> None:
        begun.set()
        assert go_on.wait(20)
        does(job)

    for scope in OWNERS:
        say(store, scope, "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    worker = Worker(store, learn, threads=1)
    worker.start()
    assert begun.wait(20)
    assert not worker.stop(0.01)
    go_on.set()
    assert worker.stop(20)

    done = [scope for scope in OWNERS if store.facts(scope)]
    assert len(done) == 1
    worker.start()
    assert worker.drain(20)
    assert all(store.facts(scope) for scope in OWNERS)


def test_a_store_that_fails_is_tried_again(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk does not end a worker."""
    failures = iter([True, True])
    lease = store.lease

    def failing(**arguments: Any) -> Job | None:  # noqa: ANN401
        if next(failures, False):
            raise StorageError("memory.db", "the disk is full", "make room")
        return lease(**arguments)

    monkeypatch.setattr(store, "lease", failing)
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    does = learner(store, utc_now, settings=AT_ONCE).learn
    worker = Worker(store, does, threads=1, poll_s=0.01)
    worker.start()
    while not store.facts(OWNERS[0]):
        worker.wake()

    assert worker.stop(20)


def test_a_job_that_cannot_begin_waits_longer_with_each_attempt(store: MemoryStore) -> None:
    """A learner that cannot be made: its job is returned, not claimed until its lease expires."""

    def learn(_: Job) -> None:
        raise ConfigError("models", "the key is missing", "set it")

    clock = Clock()
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=clock, settings=AT_ONCE)
    worker = Worker(store, learn, clock=clock)
    for wait_s in (30, 60, 120):
        with pytest.raises(ConfigError):
            worker.step()
        assert store.wait_s(clock()) == wait_s
        assert not worker.step()
        clock.forward(wait_s)


def wait_for(worker: Worker) -> None:
    patience = time.monotonic() + 60
    while worker.is_at_work:
        assert time.monotonic() < patience
        time.sleep(0.001)


def test_a_worker_that_rests_has_threads_only_while_there_are_jobs(store: MemoryStore) -> None:
    """Noting a turn wakes it; it continues until the last job is done, due or not."""
    clock = Clock()
    waited = threading.Event()
    does = learner(store, clock).learn

    def wait(event: threading.Event, seconds: float) -> None:
        del event, seconds
        clock.forward(10)
        waited.set()

    worker = Worker(store, does, threads=2, clock=clock, wait=wait, rests=True)
    for n in range(3):
        say(store, OWNERS[0], f"I keep the key in drawer {n}.", clock=clock)
        worker.wake()
        wait_for(worker)
        assert len(store.facts(OWNERS[0])) == n + 1

    assert waited.is_set()
    assert store.next_due() is None


def test_a_worker_that_rests_gives_up_on_a_store_that_is_gone(store: MemoryStore) -> None:
    """It is not looked at for ever after it was closed."""
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    does = learner(store, utc_now, settings=AT_ONCE).learn
    store.close()
    worker = Worker(store, does, poll_s=0.001, rests=True)
    worker.wake()

    wait_for(worker)


def test_agents_of_one_process_share_the_worker_of_their_store(store: MemoryStore) -> None:
    """A server that makes an agent for every request has no threads for each."""
    model = ScriptedModel(script=answer)
    one = background(store, model, AT_ONCE)
    two = background(store, model, AT_ONCE)
    with open_memory(":memory:") as other:
        assert background(other, model) is not one
    say(store, OWNERS[0], "I keep the key in drawer 1.", clock=Clock(), settings=AT_ONCE)
    two.wake()

    assert one is two
    assert one.drain(20)
    assert len(store.facts(OWNERS[0])) == 1
