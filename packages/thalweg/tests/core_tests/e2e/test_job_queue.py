"""The queue of jobs: its order, its plans, and jobs that end their processes."""

import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from thalweg.database.jobs import LEASE_S, MOST_CRASHES, NEVER_MS, Job, JobQueue, JobWorker
from thalweg.database.postgres import driver_statement
from thalweg.database.postgres_server import prepare_tables
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.errors import StorageError

QUEUE = JobQueue("wake", "sqlite")
OTHERS = 3_000
"""Jobs of the queue that are not due."""


@contextmanager
def opened(path: Path) -> Iterator[SqliteDatabase[SqliteRows]]:
    database = SqliteDatabase(path, "jobs", SqliteRows, lambda at: StorageError(at, "closed", ""))
    try:
        yield database
    finally:
        database.close()


def claimed(rows: SqliteRows, queue: JobQueue = QUEUE, worker: str = "one") -> Job | None:
    rows.run(*queue.promote())
    row = rows.row(*queue.claim(worker))
    return None if row is None else Job(*row)


def test_jobs_are_claimed_by_priority_then_age_once_they_are_due(tmp_path: Path) -> None:
    with opened(tmp_path / "jobs.db") as database, database.writing(None) as rows:
        early = QUEUE.at(1_000)
        for key, due, priority in (("a", 900, 0), ("b", 0, 0), ("c", 0, 5), ("d", 2_000, 9)):
            rows.run(*QUEUE.submit(key, key, due_ms=due, priority=priority))
        rows.run(*QUEUE.submit("e", "c"))
        assert rows.row(*early.pending()) is not None
        assert rows.row(*early.depth()) == (4,)
        assert rows.row(*early.depth("b%")) == (3,)
        found = []
        while (job := claimed(rows, early)) is not None:
            found.append(job.key)
        assert found == ["c", "a", "b"]  # `e` waits for the lock of `c`, `d` for its time
        assert rows.row(*early.wait()) == (1_000,)  # until `d` is due
        late = QUEUE.at(2_001)
        rows.run(*QUEUE.finish(Job(3, "c", 1)))
        after = [claimed(rows, late) for _ in "de"]
        assert [job and job.key for job in after] == ["d", "e"]


def test_claiming_reads_no_jobs_that_are_not_due_in_sqlite(tmp_path: Path) -> None:
    with opened(tmp_path / "jobs.db") as database, database.writing(None) as rows:
        for one in (QUEUE.promote(), QUEUE.pending(), QUEUE.claim("w"), QUEUE.wait()):
            plan = [row[3] for row in rows.rows(f"EXPLAIN QUERY PLAN {one.text}", one.values)]
            read = [line for line in plan if "queue_job" in line or "job" in line.split()]
            assert read
            assert not [line for line in read if line.startswith("SCAN")], read


def test_claiming_reads_no_jobs_that_are_not_due_in_postgres(postgres_url: str) -> None:
    queue = JobQueue("wake", "postgres")
    prepare_tables(postgres_url, "test", 10)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "INSERT INTO queue_job (queue, key, lock, due)"
            " SELECT 'wake', 'k' || n, 'k' || n, %s FROM generate_series(1, %s) AS n",
            (NEVER_MS, OTHERS),
        )
        connection.execute("INSERT INTO queue_job (queue, key, lock) VALUES ('wake', 'x', 'x')")
        connection.execute("ANALYZE queue_job")
        for one in (queue.promote(), queue.pending(), queue.wait(), queue.claim("w")):
            text = driver_statement(f"EXPLAIN (ANALYZE, FORMAT JSON) {one.text}")
            ((plan,),) = connection.execute(text, one.values).fetchall()
            assert rows_read(plan[0]["Plan"]) < 10, plan


def rows_read(plan: dict[str, object]) -> float:
    below = plan.get("Plans", [])
    assert isinstance(below, list)
    own = float(str(plan["Actual Rows"])) + float(str(plan.get("Rows Removed by Filter", 0)))
    return max([own, *map(rows_read, below)])


class KillingQueue:
    """A queue whose jobs end their process."""

    def __init__(self, database: SqliteDatabase[SqliteRows], now_ms: int) -> None:
        self._database, self._queue = database, QUEUE.at(now_ms)
        self.given_up: list[Job] = []

    def claim(self, worker: str) -> Job | None:
        """Claim a job."""
        with self._database.writing(None) as rows:
            rows.run(*self._queue.promote())
            row = rows.row(*self._queue.claim(worker))
        return None if row is None else Job(*row)

    def renew(self, worker: str, job: Job) -> None:
        """Do nothing."""

    def perform(self, job: Job) -> None:
        """End the process."""
        del job
        os.kill(os.getpid(), signal.SIGKILL)

    def fail(self, job: Job) -> None:
        """Fail: no job raises an error."""
        raise NotImplementedError

    def give_up(self, job: Job) -> None:
        """Remove a job."""
        with self._database.writing(None) as rows:
            rows.run(*self._queue.finish(job))
        self.given_up.append(job)

    def wait_s(self) -> float | None:
        """Return that there is no job."""
        return None


def killed_by(path: Path, now_ms: int) -> bool:
    """Perform a job in a process of its own; return whether it was killed by it."""
    if (process := os.fork()) == 0:
        with opened(path) as database:
            JobWorker(KillingQueue(database, now_ms), "test").step()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def test_a_job_that_kills_its_processes_waits_longer_each_time_and_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now = tmp_path / "jobs.db", 1_000_000
    with opened(path) as database, database.writing(None) as rows:
        rows.run(*QUEUE.submit("k", "k"))
    for crashes in range(MOST_CRASHES):
        assert killed_by(path, now)
        # From the second crash on it is not enough that the lease has expired.
        now += round(1_000 * LEASE_S)
        pause = 1_000 * ((1 << crashes) - 1)
        assert not killed_by(path, now + pause)
        now += pause + 1
    with opened(path) as database, caplog.at_level(logging.ERROR):
        queue = KillingQueue(database, now)
        assert JobWorker(queue, "test").step()
        assert [job.crashes for job in queue.given_up] == [MOST_CRASHES]
        assert not JobWorker(queue, "test").step()
    assert "5 processes in a row" in caplog.text


def test_a_job_that_was_returned_has_no_crashes(tmp_path: Path) -> None:
    with opened(tmp_path / "jobs.db") as database, database.writing(None) as rows:
        rows.run(*QUEUE.submit("k", "k"))
        claimed(rows)
        crashed = claimed(rows, QUEUE.at(round(1_000 * (time.time() + 60))), "two")
        assert crashed is not None
        assert crashed.crashes == 1
        rows.run(*QUEUE.release(crashed))
        again = claimed(rows)
        assert again is not None
        assert again.crashes == 0


def test_a_job_that_its_own_worker_claims_again_has_no_crashes(tmp_path: Path) -> None:
    with opened(tmp_path / "jobs.db") as database, database.writing(None) as rows:
        rows.run(*QUEUE.submit("k", "k"))
        claimed(rows, QUEUE.at(1_000))
        again = claimed(rows, QUEUE.at(1_000_000))
        assert again is not None
        assert (again.attempt, again.crashes) == (2, 0)


def test_a_crashed_job_is_waited_for_until_it_may_be_claimed(tmp_path: Path) -> None:
    with opened(tmp_path / "jobs.db") as database, database.writing(None) as rows:
        rows.run(*QUEUE.submit("k", "k"))
        for worker, now in (("one", 1_000), ("two", 10_000), ("three", 20_000)):
            assert claimed(rows, QUEUE.at(now), worker)
        expired = 20_000 + round(1_000 * LEASE_S)
        early = QUEUE.at(expired + 1_000)  # two crashes: 3 s more
        assert rows.row(*early.wait()) == (2_000,)
        assert rows.row(*early.pending()) is None
        assert claimed(rows, early, "four") is None
        late = QUEUE.at(expired + 3_001)
        assert rows.row(*late.pending()) is not None
        assert claimed(rows, late, "four")
