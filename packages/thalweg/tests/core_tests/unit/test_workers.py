"""Workers of a queue: each of their threads ends when they are stopped."""

import threading

from thalweg.database.jobs import Job, JobWorker

FOREVER_S = 60.0


class EmptyQueue:
    """A queue without jobs."""

    def claim(self, worker: str) -> None:
        """Return no job."""

    def renew(self, worker: str, job: Job) -> None:
        """Do nothing."""

    def perform(self, job: Job) -> None:
        """Do nothing."""

    def fail(self, job: Job) -> None:
        """Do nothing."""

    def give_up(self, job: Job) -> None:
        """Do nothing."""

    def wait_s(self) -> None:
        """Return that there is no job."""


def test_a_thread_about_to_wait_is_stopped_though_another_one_cleared_the_signal() -> None:
    """Else it would wait for the next poll, and whoever stops it with it."""
    is_about_to_wait, is_other_ended = threading.Event(), threading.Event()
    stopped: list[bool] = []

    def wait(woken: threading.Event, _seconds: float) -> None:
        if threading.current_thread().name.endswith("-0"):
            woken.wait(FOREVER_S)
            return
        is_about_to_wait.set()
        assert is_other_ended.wait(FOREVER_S)
        stopped.append(woken.is_set())
        woken.set()

    worker = JobWorker[Job](EmptyQueue(), "test", wait=wait)
    worker.start()
    assert is_about_to_wait.wait(FOREVER_S)
    first = next(one for one in threading.enumerate() if one.name == "thalweg-test-0")
    ending = threading.Thread(target=worker.stop)
    ending.start()
    first.join(FOREVER_S)
    is_other_ended.set()
    ending.join(FOREVER_S)

    assert stopped[:1] == [True]
    assert not worker.is_at_work
