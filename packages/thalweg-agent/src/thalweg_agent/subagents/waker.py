"""Wake a parent's thread when its background tasks end, from any running process."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Final

from thalweg.errors import StorageError
from thalweg_agent.subagents.background import ACTIVE, AsyncTask
from thalweg_agent.subagents.pending_wakes import PendingWake, PendingWakes

_log = logging.getLogger("thalweg.subagents")
MOST_PAUSE_S: Final = 300.0
"""Longest pause between two attempts to wake a thread; it begins at two polls and doubles."""
Wake = Callable[[str, str], object]
"""Starts a run of a thread with a message; its arguments are the thread's id and the message."""


class Waker:
    """Polls the tasks of idle threads, and wakes a thread when one of its tasks has ended.

    A row is removed after its wake has returned, or after the thread's own run has reported the
    task: if the process is killed in between, the next one finds it.

    Args:
        pending: The tasks to wait for.
        wake: Starts a run of a thread. It is called again, later, if it raises.
        refresh: Returns a task with its present status.
        write: Returns the message that reports ended tasks.
        poll_s: Seconds between two polls.
    """

    def __init__(
        self,
        pending: PendingWakes,
        wake: Wake,
        refresh: Callable[[AsyncTask], AsyncTask],
        write: Callable[[Sequence[AsyncTask]], str],
        poll_s: float,
    ) -> None:
        self._pending = pending
        self._wake, self._refresh, self._write = wake, refresh, write
        self._poll_s = poll_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waking: set[str] = set()
        self._reported: dict[tuple[str, str], float] = {}
        self._failed: dict[str, tuple[int, float]] = {}

    def start(self) -> None:
        """Start polling if there is a thread to wake; it stops when there is none."""
        with self._lock:
            if self._thread is None and not self._stop.is_set() and self._pending.has_due():
                name = "thalweg-tasks"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop polling; the rows remain for the next process."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._pending.close()

    def expect(self, thread: str, tasks: Mapping[str, AsyncTask]) -> None:
        """Wait for tasks that a run of a thread has just started."""
        with _logged(thread):
            for task in tasks.values():
                if task["status"] in ACTIVE:
                    self._pending.add(thread, task)

    def run_started(self, thread: str) -> None:
        """Suspend the wakes of a thread during its own run, which reports its tasks."""
        with _logged(thread):
            if thread not in self._waking:
                self._pending.set_state(thread, "running")

    def run_ended(self, thread: str, tasks: Mapping[str, AsyncTask]) -> None:
        """Take over the tasks that outlive a thread's run; the run has reported the others."""
        ended = {name: task for name, task in tasks.items() if task["status"] not in ACTIVE}
        # Not removed yet: the checkpoint that holds the report may still be on its way.
        due = time.monotonic() + self._poll_s
        self._reported |= {(name, task["run_id"]): due for name, task in ended.items()}
        with _logged(thread):
            self._pending.set_state(thread, "idle")
            self.start()

    def _run(self) -> None:
        while not self._stop.wait(self._poll_s):
            try:
                self._poll()
                with self._lock:
                    if not self._pending.has_due() and not self._waking:
                        self._thread = None
                        return
            except StorageError as error:
                _log.warning("background tasks cannot be checked: %s", error)

    def _poll(self) -> None:
        now = time.monotonic()
        over = [key for key, due in list(self._reported.items()) if due <= now]
        self._pending.remove(over)
        for key in over:
            del self._reported[key]
        idle = [row for row in self._pending.held() if self._is_due(row)]
        for thread, rows in groupby(sorted(idle, key=_thread_of), key=_thread_of):
            tasks = [self._refresh(row.task) for row in rows]
            if ended := [task for task in tasks if task["status"] not in ACTIVE]:
                self._waking.add(thread)
                # A wake may last as long as the run that it starts; the leases must be renewed.
                waking = threading.Thread(
                    target=self._wake_one, args=(thread, ended), name="thalweg-wake", daemon=True
                )
                waking.start()

    def _is_due(self, row: PendingWake) -> bool:
        if row.state == "running" or row.thread in self._waking:
            return False
        _, retry_at = self._failed.get(row.thread, (0, 0.0))
        is_reported = (row.task["task_id"], row.task["run_id"]) in self._reported
        return not is_reported and retry_at <= time.monotonic()

    def _wake_one(self, thread: str, ended: Sequence[AsyncTask]) -> None:
        try:
            self._pending.set_state(thread, "waking")
            self._wake(thread, self._write(ended))
            self._pending.remove([(task["task_id"], task["run_id"]) for task in ended])
            self._failed.pop(thread, None)
        except Exception as error:  # noqa: BLE001  # any error of the wake
            times = self._failed.get(thread, (0, 0.0))[0] + 1
            pause = min(MOST_PAUSE_S, self._poll_s * 2**times)
            self._failed[thread] = times, time.monotonic() + pause
            _log.warning("thread %s was not resumed; retry in %.0f s: %s", thread, pause, error)
            with _logged(thread):
                self._pending.set_state(thread, "idle")
        finally:
            self._waking.discard(thread)


@contextmanager
def _logged(thread: str) -> Iterator[None]:
    """Log an error of the store: no run fails for it, and the next run reports the tasks."""
    try:
        yield
    except StorageError as error:
        _log.warning("thread %s cannot be resumed for its tasks: %s", thread, error)


def _thread_of(row: PendingWake) -> str:
    return row.thread
