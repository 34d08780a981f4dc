"""The queue of jobs, one table in the database of the rows that its jobs follow from; its workers.

Each operation is one statement, so that any driver runs it, and a job is submitted in the
transaction that it follows from; the user of a queue notifies other processes. A job is named by
ids alone. Its performer holds it by a lease of `LEASE_S` and renews it; an expired lease is the
only sign of a crashed process. A claim is counted (`Job.attempt`), and finishes its own job only.
A job that is due has the due time 0 from the next `promote` on: an index has those in their order.
`JobWorker` performs jobs on threads of this process; any number of processes may share a queue.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from thalweg.database.base import Value
from thalweg.errors import ThalwegError

LEASE_S: Final = 4.0
"""Seconds after which a job that was claimed and not renewed may be claimed by another process."""
RENEW_S: Final = 1.0
"""Seconds between two renewals."""
MOST_CRASHES: Final = 5
"""Processes that may end in a row while they perform a job; then it is taken for what ends them."""
BETWEEN: Final = "\x1f"
"""Separates the ids of a key; no id of an owner, a run or a thread has it."""
BACKGROUND: Final = -1_000
"""The highest priority of jobs that later ones of their lock with a higher priority overtake."""
NEVER_MS: Final = 1 << 52
"""A due time of jobs that wait for `JobQueue.postpone`."""


class JobSql(NamedTuple):
    """SQL with values as `?`."""

    text: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was claimed."""

    id: int
    key: str
    """The ids that name it; unique among the jobs of its queue that wait."""
    attempt: int
    """How often it was claimed; a later claim ends this one."""
    crashes: int = 0
    """Other processes in a row that ended while they performed it. Each one doubles the time until
    a job may be claimed again, which begins with the lease and 0, 1, 3 and 7 s."""


class JobQueue:
    """The statements of one queue.

    Example:
        >>> JobQueue("run", "sqlite").cancel("ada").values
        ('run', 'ada')
    """

    def __init__(self, name: str, dialect: Literal["sqlite", "postgres"]) -> None:
        self._name = name
        self._now, self._is_settled, self._locks = _DIALECTS[dialect]

    def at(self, now_ms: int) -> "JobQueue":
        """Return the queue with a time of the caller's clock, in place of the database's."""
        queue = copy(self)
        queue._now, queue._is_settled = str(int(now_ms)), "true"  # noqa: SLF001 (its own)
        return queue

    def submit(
        self, key: str, lock: str, *, due_ms: int = 0, priority: int = 0, latest_ms: int = 0
    ) -> JobSql:
        """Add a job; one with its key that waits becomes due later instead, up to its `latest_ms`.

        Args:
            key: See `Job.key`.
            lock: One job of a lock is performed at a time, in the order of submission.
            due_ms: The earliest start, in milliseconds since 1970.
            priority: Jobs of a higher one are claimed first.
            latest_ms: The latest time up to which repeated submissions move it.
        """
        return JobSql(_SUBMIT, (self._name, key, lock, due_ms, priority, latest_ms))

    def promote(self) -> JobSql:
        """Move delayed jobs that have become due among those that `claim` finds: run it before."""
        found = f"SELECT id FROM {_DELAYED} AND due <= {self._now}{self._locks}"  # noqa: S608 (constants)
        return JobSql(f"UPDATE queue_job SET due = 0 WHERE id IN ({found})", (self._name,))  # noqa: S608

    def pending(self) -> JobSql:
        """Select a row if a job may be claimed, or waits for its lock."""
        now = self._now
        text = (
            f"SELECT 1 WHERE EXISTS (SELECT 1 FROM {_READY} AND {_FREE_AT} < {now})"  # noqa: S608 (constants)
            f" OR EXISTS (SELECT 1 FROM {_DELAYED} AND due <= {now} AND {_FREE_AT} < {now})"
        )
        return JobSql(text, (self._name, self._name))

    def depth(self, excluded: str = "") -> JobSql:
        """Count the jobs that wait and are due, except those of keys like a pattern of SQL."""
        waits = f"{_WAITS} AND key NOT LIKE ?)"
        text = (
            f"SELECT (SELECT count(*) FROM {_READY}{waits}"  # noqa: S608 (constants)
            f" + (SELECT count(*) FROM {_DELAYED} AND due <= {self._now}{waits}"
        )
        return JobSql(text, (self._name, excluded, self._name, excluded))

    def waiting(self, prefix: str) -> JobSql:
        """Count the jobs that wait, due or not, of keys that begin with a prefix."""
        text = f"SELECT count(*) FROM queue_job WHERE {_PREFIXED}{_WAITS}"  # noqa: S608 (constants)
        return JobSql(text, self._range(prefix))

    def next_due(self) -> JobSql:
        """Select when the next job may be claimed, in milliseconds since 1970; NULL for never."""
        return JobSql(_NEXT_DUE, (self._name,) * 3)

    def wait(self) -> JobSql:
        """Select the milliseconds until the next job may be claimed, by the database's clock."""
        return JobSql(f"SELECT ({_NEXT_DUE}) - {self._now}", (self._name,) * 3)

    def claim(self, worker: str, *, lease_s: float = LEASE_S, above: int | None = None) -> JobSql:
        """Claim the next job that may start, or whose lease expired; `promote` comes first.

        Args:
            worker: The name of this process, which no other has.
            lease_s: Seconds until the job has to be renewed.
            above: If given, jobs of this priority or a lower one are not claimed.

        Returns:
            The statement; its row, if there is a job, has the fields of `Job`.
        """
        text = _CLAIM.format(
            now=self._now, is_settled=self._is_settled, locks=self._locks,
            preferred="" if above is None else f" AND priority > {int(above)}",
        )  # fmt: skip
        return JobSql(text, (round(1_000 * lease_s), worker, worker, self._name))

    def renew(self, worker: str, ids: Collection[int], *, lease_s: float = LEASE_S) -> JobSql:
        """Renew the leases of jobs that this process performs."""
        listed = ", ".join(map(str, map(int, ids)))
        text = (
            f"UPDATE queue_job SET held_until = {self._now} + ?"  # noqa: S608 (integers)
            f" WHERE worker = ? AND id IN ({listed}) RETURNING id"
        )
        return JobSql(text, (round(1_000 * lease_s), worker))

    def hold(self, job: Job) -> JobSql:
        """Select a row if a claim is valid; add the database's `for_update` to keep it so."""
        return JobSql(
            "SELECT 1 FROM queue_job WHERE id = ? AND attempt = ? AND worker <> ''",
            (job.id, job.attempt),
        )

    def withdraw(self, prefix: str) -> JobSql:
        """Void the claims of jobs whose keys begin with a prefix: others may claim them at once."""
        text = (
            "UPDATE queue_job SET worker = '-', attempt = attempt + 1, held_until = 0"  # noqa: S608 (constants)
            f" WHERE worker <> '' AND {_PREFIXED} RETURNING id"
        )
        return JobSql(text, self._range(prefix))

    def discard(self, prefix: str, *, held: bool = True) -> JobSql:
        """Remove the jobs of keys that begin with a prefix; if `held`, also performed ones."""
        text = f"DELETE FROM queue_job WHERE {_PREFIXED}{'' if held else _WAITS} RETURNING id"  # noqa: S608 (constants)
        return JobSql(text, self._range(prefix))

    def postpone(self, lock: str, due_ms: int) -> JobSql:
        """Set when the jobs of a lock are due, of one that is performed once it is released."""
        text = "UPDATE queue_job SET due = ? WHERE queue = ? AND lock = ? RETURNING id"
        return JobSql(text, (due_ms, self._name, lock))

    def scheduled(self, lock: str) -> JobSql:
        """Select the keys of a lock's jobs that become due without `postpone`, oldest first."""
        text = "SELECT key FROM queue_job WHERE queue = ? AND lock = ? AND due < ? ORDER BY id"
        return JobSql(text, (self._name, lock, NEVER_MS))

    def _range(self, prefix: str) -> tuple[Value, ...]:
        return self._name, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)

    def cancel(self, key: str) -> JobSql:
        """Remove a job that waits; its row is returned if there was one."""
        return JobSql(_CANCEL, (self._name, key))

    def make_way(self, job: Job) -> JobSql:
        """Remove the job that waits with a job's key, if that is still claimed: for `release`."""
        text = (
            "DELETE FROM queue_job WHERE queue = ? AND key = ? AND worker = '' AND EXISTS ("
            "SELECT 1 FROM queue_job AS held"
            " WHERE held.id = ? AND held.attempt = ? AND held.worker <> '') RETURNING id"
        )
        return JobSql(text, (self._name, job.key, job.id, job.attempt))

    def finish(self, job: Job) -> JobSql:
        """Remove a job, unless it was claimed again."""
        text = "DELETE FROM queue_job WHERE id = ? AND attempt = ? RETURNING id"
        return JobSql(text, (job.id, job.attempt))

    def release(self, job: Job, *, due_ms: int = 0) -> JobSql:
        """Return a job to the queue, unless it was claimed again.

        Args:
            job: The job; no other one with its key may wait.
            due_ms: See `submit`; a later time that `postpone` has set remains.
        """
        text = (
            "UPDATE queue_job SET worker = '', held_until = 0, crashes = 0,"
            " due = CASE WHEN due < ? THEN ? ELSE due END"
            " WHERE id = ? AND attempt = ? RETURNING id"
        )
        return JobSql(text, (due_ms, due_ms, job.id, job.attempt))


_DIALECTS: Final = {
    "sqlite": ("CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)", "true", ""),
    "postgres": (
        # As a subquery it is read once, and an index is searched for it.
        "(SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint))",
        # Leases expired while the server was down: their holders renew them first.
        f"pg_postmaster_start_time() < clock_timestamp() - interval '{LEASE_S + RENEW_S} s'",
        " FOR UPDATE SKIP LOCKED",
    ),
}
"""Of each database: milliseconds since 1970; whether an expired lease means a crashed process;
what ends the selection of a row that other claims skip."""
_SUBMIT = (
    "INSERT INTO queue_job (queue, key, lock, due, priority, latest) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (queue, key) WHERE worker = '' DO UPDATE SET due ="
    " CASE WHEN excluded.due < queue_job.latest THEN excluded.due ELSE queue_job.latest END"
    " WHERE excluded.due > queue_job.due AND queue_job.latest > queue_job.due RETURNING id"
)
_READY = "queue_job AS job WHERE queue = ? AND due = 0"
_DELAYED = "queue_job AS job WHERE queue = ? AND due > 0"
"""Each with the condition of an index."""
_PREFIXED = "queue = ? AND key >= ? AND key < ?"
_WAITS = " AND worker = ''"
_FREE_AT = "held_until + 1000 * ((1 << crashes) - 1)"
"""When a job that is held may be claimed again; see `Job.crashes`."""
_IS_FREE = """NOT EXISTS (
    SELECT 1 FROM queue_job AS other
    WHERE other.queue = job.queue AND other.lock = job.lock AND other.worker <> ''
)"""
_NEXT_DUE = f"""
    SELECT min(at) FROM (
        SELECT * FROM (SELECT due AS at FROM {_READY} AND worker = '' AND {_IS_FREE} LIMIT 1) AS a
        UNION ALL SELECT min(CASE WHEN {_FREE_AT} > due THEN {_FREE_AT} ELSE due END)
            FROM queue_job WHERE queue = ? AND worker <> '' AND due < {NEVER_MS}
        UNION ALL SELECT * FROM (
            SELECT due FROM {_DELAYED} AND due < {NEVER_MS} AND worker = '' AND {_IS_FREE}
            ORDER BY due LIMIT 1
        ) AS b
    ) AS times
"""  # noqa: S608 (constants)
_CANCEL = "DELETE FROM queue_job WHERE queue = ? AND key = ? AND worker = '' RETURNING id"
# The unique index on held locks decides between two claims at the same time.
_CLAIM = f"""
    UPDATE queue_job SET attempt = attempt + 1, held_until = {{now}} + ?,
        crashes = CASE WHEN worker IN ('', '-', ?) THEN crashes ELSE crashes + 1 END, worker = ?
    WHERE id = (
        SELECT id FROM queue_job AS job
        WHERE queue = ? AND due = 0{{preferred}} AND (
            (worker = '' AND NOT EXISTS (SELECT 1 FROM queue_job AS other
                WHERE other.queue = job.queue AND other.lock = job.lock AND other.id <> job.id
                    AND (other.worker <> '' OR (other.id < job.id AND other.due = 0
                        AND (other.priority > {BACKGROUND} OR job.priority <= {BACKGROUND})))))
            OR (worker <> '' AND {{is_settled}} AND {_FREE_AT} < {{now}})
        )
        ORDER BY priority DESC, id LIMIT 1{{locks}}
    ) RETURNING id, key, attempt, crashes
"""  # noqa: S608 (constants)


class CountedJob(Protocol):
    """A job of a worker."""

    @property
    def crashes(self) -> int:
        """See `thalweg.database.jobs.Job.crashes`."""


J = TypeVar("J", bound=CountedJob)
POLL_S: Final = 5.0
"""Seconds between two polls for jobs that other processes submitted."""
MOST_FAILURES: Final = 3
"""Polls in a row that failed after which a worker that rests waits to be woken."""
_LEAST_POLL_S: Final = 0.05


class WorkerQueue(Protocol[J]):
    """The queue of a worker."""

    def claim(self, worker: str) -> J | None:
        """Claim the next job; `None` if none may start."""

    def renew(self, worker: str, job: J) -> None:
        """Renew the lease of a job."""

    def perform(self, job: J) -> None:
        """Perform a job and finish it, or return it to the queue."""

    def fail(self, job: J) -> None:
        """Return a job whose performance raised an error to the queue, due after a pause."""

    def give_up(self, job: J) -> None:
        """Remove or postpone a job that ended each process that performed it."""

    def wait_s(self) -> float | None:
        """Return the seconds until the next job may start; `None` if there is no job."""


class JobWorker(Generic[J]):
    """Performs the due jobs of a queue, on threads of this process.

    A job that is not yet due is kept in the queue when the process ends.

    Args:
        queue: The jobs.
        name: Names its threads, its log lines and, with this process, its leases.
        threads: Number of concurrent jobs.
        wait: Waits some seconds or until an event is set, like `threading.Event.wait`.
        lease_s: Seconds until a job has to be renewed; it is renewed after a quarter of them.
        poll_s: See `POLL_S`.
        rests: Its threads end when no job remains, due or not, and start again at `wake`: an idle
            process has no thread.
    """

    def __init__(
        self,
        queue: WorkerQueue[J],
        name: str,
        *,
        threads: int = 2,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        rests: bool = False,
    ) -> None:
        self._queue = queue
        self._count = threads
        self._wait = wait
        self._renew_s = lease_s / 4
        self._poll_s = poll_s
        self._rests = rests
        self._kind = name
        self._name = f"{socket.gethostname()}:{os.getpid()}:{name}:{secrets.token_hex(4)}"
        self._log = logging.getLogger(f"thalweg.{name}")
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._drains = threading.Event()
        self._woken = threading.Event()

    def start(self) -> None:
        """Begin to work in the background. Starting twice is fine."""
        with self._lock:
            self._stopped.clear()
            self._drains.clear()
            for number in range(len(self._threads), self._count):
                name = f"thalweg-{self._kind}-{number}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def wake(self) -> None:
        """Signal that there may be a job, without a wait for the next poll."""
        self._woken.set()
        if self._rests:
            self.start()

    @property
    def is_at_work(self) -> bool:
        """Whether it has threads."""
        with self._lock:
            return bool(self._threads)

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop after the active jobs; the others are kept in the queue.

        Returns:
            Whether all ended within the time.
        """
        self._stopped.set()
        return self._end(timeout_s)

    def drain(self, timeout_s: float | None = None) -> bool:
        """End after all jobs that are due. See `stop`."""
        self._drains.set()
        return self._end(timeout_s)

    def _end(self, timeout_s: float | None) -> bool:
        self._woken.set()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout_s)
        return not self.is_at_work

    def step(self) -> bool:
        """Perform one job that is due.

        Returns:
            Whether there was one.
        """
        job = self._queue.claim(self._name)
        if job is None:
            return False
        if job.crashes >= MOST_CRASHES:
            problem = "a job of %s is given up: %d processes in a row ended while they performed it"
            self._log.error(problem, self._kind, job.crashes)
            self._queue.give_up(job)
            return True
        with self._renewed(job):
            try:
                self._queue.perform(job)
            except Exception:
                self._queue.fail(job)
                raise
        return True

    def run_due(self) -> int:
        """Perform the jobs that are due, in this thread, and count them."""
        done = 0
        while self.step():
            done += 1
        return done

    @contextmanager
    def _renewed(self, job: J) -> Iterator[None]:
        """Renew the lease of a job in the background."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._renew_s):
                try:
                    self._queue.renew(self._name, job)
                except Exception as error:  # noqa: BLE001 (it is retried until the lease expires)
                    self._log.debug("a job cannot be renewed: %s", error_text(error))

        renewing = threading.Thread(target=renew, name=f"thalweg-{self._kind}-lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()

    def _run(self) -> None:
        failures = 0
        while True:
            self._woken.clear()
            if self._stopped.is_set():
                break
            is_performed = self._attempt(failures)
            if is_performed:
                failures = 0
                continue
            failures = failures + 1 if is_performed is None else 0
            if self._drains.is_set():
                break
            rest_s = self._poll_s if failures else self._wait_s()
            if self._rests and (rest_s is None or failures >= MOST_FAILURES):
                with self._lock:
                    # A later `wake` starts another thread.
                    if not self._woken.is_set():
                        self._threads.remove(threading.current_thread())
                        return
            most_s = self._poll_s if rest_s is None else min(self._poll_s, rest_s)
            self._wait(self._woken, max(_LEAST_POLL_S, most_s))
        self._woken.set()  # This thread may have cleared it before another one waits for it.
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _attempt(self, failures: int) -> bool | None:
        """Perform one job; an error outside of it (a full disk) is retried later.

        Returns:
            Whether there was one; `None` if unknown.
        """
        try:
            return self.step()
        except Exception as error:  # noqa: BLE001 (a thread that ended would be missed by nobody)
            level = logging.DEBUG if failures else logging.WARNING  # once for all in a row
            self._log.log(level, "a job of %s failed: %s", self._kind, error_text(error))
            return None

    def _wait_s(self) -> float | None:
        """Return when the next job is due; an error is reported by the next poll."""
        try:
            return self._queue.wait_s()
        except Exception as error:  # noqa: BLE001 (as above)
            self._log.debug("no job of %s could be found: %s", self._kind, error_text(error))
            return 0.0


def error_text(error: Exception) -> str:
    """Return an error for the log; only our own ones are certain to contain no text of a thread."""
    return str(error) if isinstance(error, ThalwegError) else type(error).__name__
