"""Workers that are killed at any moment: no turn is lost, none is learned from twice."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core_tests.forking import PYTHON_PATH
from memory_tests.e2e.learning_killed import SETTINGS, clock
from memory_tests.learning import Clock, say
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from thalweg_memory.store.tables import MemoryStore

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("THALWEG_KILLS", "30"))
MEAN_S = 0.08
"""From the moment a worker is at work to its kill."""
OWNERS = [Scope(f"owner {n}") for n in range(6)]
THREADS = ("t", "u", "v", "w")


class _Now(Clock):
    """The real time."""

    def __call__(self) -> str:
        """Return the time."""
        return clock()


@dataclass
class Host:
    """The process that forks workers."""

    process: "subprocess.Popen[str]"

    def fork(self, what: str, name: str) -> int:
        """Have a worker forked, and return its process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(what, name, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@contextmanager
def host(address: str, told: Path) -> Iterator[Host]:
    """Start the process that forks workers."""
    command = [sys.executable, "-m", "memory_tests.e2e.learning_killed", address, str(told)]
    env, pipe = {**os.environ, "PYTHONPATH": PYTHON_PATH}, subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Host(process)
        finally:
            process.kill()


@dataclass
class Talk:
    """The messages of the owners; every turn is about a drawer of its own."""

    store: MemoryStore
    said: Counter[tuple[Scope, str]] = field(default_factory=Counter)

    def go_on(self, random: random.Random) -> None:
        """Add a few more messages, in a random thread."""
        scope, thread = random.choice(OWNERS), random.choice(THREADS)
        first = self.said[scope, thread]
        count = random.randint(1, 4)
        numbers = range(first, first + count)
        texts = [f"I keep the key in drawer {thread}-{number}." for number in numbers]
        say(self.store, scope, *texts, clock=_Now(), thread=thread, settings=SETTINGS)
        self.said[scope, thread] += count

    def check(self) -> None:
        """See that every turn was learned from, into one fact that was written once."""
        for scope in OWNERS:
            facts = self.store.facts(scope, statuses=None)
            drawers = Counter(fact.subject for fact in facts)
            wanted = {
                f"drawer {thread}-{number}"
                for thread in THREADS
                for number in range(self.said[scope, thread])
            }
            assert drawers == Counter(wanted)
            assert all(len(fact.evidence) == 1 for fact in facts)
            written = sum(len(op.changes) for op in self.store.operations(scope))
            assert written == len(facts)
            for thread in THREADS:
                assert self.store.learned(scope, thread) == self.said[scope, thread]


def drained(process: int, store: MemoryStore) -> None:
    """Wait until the last worker has nothing more to do."""
    patience = time.monotonic() + 800
    while store.next_due() is not None:
        assert time.monotonic() < patience
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@pytest.mark.timeout(900)
def test_a_worker_that_is_killed_again_and_again_learns_every_turn_once(tmp_path: Path) -> None:
    """SQLite, while turns go on coming; the kills fall into every phase of a job."""
    random_ = random.Random(7)  # noqa: S311 (moments, the same each time)
    address, told = str(tmp_path / "memory.db"), tmp_path / "told"
    struck: set[tuple[int, int]] = set()
    with open_memory(address) as store, host(address, told) as forks:
        talk = Talk(store)
        for number in range(KILLS):
            talk.go_on(random_)
            worker = forks.fork("work", f"w{number}")
            if number % 2:
                await_lease(address, struck)
            end = time.monotonic() + random_.expovariate(1 / MEAN_S)
            talk.go_on(random_)
            time.sleep(max(0.0, end - time.monotonic()))
            os.kill(worker, signal.SIGKILL)
            struck |= leased(address)
        drained(forks.fork("drain", "last"), store)
        talk.check()

    assert not told.exists(), told.read_text()
    assert len(struck) > KILLS / 4, "too few kills fell into a job"


def await_lease(address: str, before: set[tuple[int, int]]) -> None:
    """Wait until a worker is at a job, on a busy machine, too; there may be none that is due."""
    patience = time.monotonic() + 2
    while leased(address) <= before and time.monotonic() < patience:
        time.sleep(0.005)


def leased(address: str) -> set[tuple[int, int]]:
    """Read which jobs are leased; after a kill, those that the worker was at."""
    with closing(sqlite3.connect(address, timeout=30)) as database:
        rows = database.execute("SELECT id, attempt FROM queue_job WHERE worker <> ''")
        return set(rows)


@pytest.mark.timeout(900)
def test_two_workers_share_the_work_and_either_may_be_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    """PostgreSQL: one of the two is killed, and another takes its place, again and again."""
    random_ = random.Random(11)  # noqa: S311 (the same)
    told = tmp_path / "told"
    with open_memory(postgres_url) as store, host(postgres_url, told) as forks:
        talk = Talk(store)
        workers = {name: forks.fork("work", name) for name in ("ann", "bob")}
        for _ in range(KILLS // 2):
            for _ in range(3):
                talk.go_on(random_)
            time.sleep(random_.expovariate(1 / MEAN_S))
            name = random_.choice(sorted(workers))
            os.kill(workers[name], signal.SIGKILL)
            workers[name] = forks.fork("work", name)
        drained(workers["ann"], store)
        os.kill(workers["bob"], signal.SIGKILL)
        talk.check()
        writers = Counter(
            fact.written_by for scope in OWNERS for fact in store.facts(scope, statuses=None)
        )

    assert not told.exists(), told.read_text()
    assert set(writers) == {"learned:ann", "learned:bob"}
    assert min(writers.values()) > sum(writers.values()) / 5
