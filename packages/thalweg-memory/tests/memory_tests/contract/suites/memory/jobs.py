"""The promises of a store about the jobs that learn from threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_tests.contract.suites.memory.values import (
    ADA,
    Reopen,
    at,
    commit,
    fact,
    ids,
    leased,
    put,
)
from thalweg.errors import StaleWriteError
from thalweg_memory.facts.values import Scope
from thalweg_memory.store.records import Job
from thalweg_memory.store.tables import MemoryStore


class JobsContract:
    """Threads are learned from once they are quiet, by one worker each, in turn."""

    def test_a_thread_is_due_when_it_is_quiet_or_has_waited_enough(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """The longest wait is counted from the first note, however many come after."""
        for second in range(0, 100, 5):
            memory.note(ADA, "t1", now=at(second), debounce_s=10, max_wait_s=100)
        assert memory.next_due() == at(100)
        memory.note(ADA, "t2", now=at(20.5), debounce_s=10, max_wait_s=100)
        assert reopen().next_due() == at(30.5)
        assert memory.lease(now=at(30.4), lease_s=60, worker="w") is None
        job = memory.lease(now=at(30.5), lease_s=60, worker="w")
        assert job is not None
        assert (job, job.attempt) == (Job(ADA, "t2", job.lease), 1)

    def test_a_leased_thread_is_nobody_elses_until_the_lease_runs_out(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """A worker that vanished is replaced; what it brings later is refused."""
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        first = leased(memory, 0, 10, worker="one")
        assert reopen().lease(now=at(9), lease_s=10, worker="two") is None
        assert memory.next_due() == at(10)
        second = leased(reopen(), 11, 10, worker="two")
        assert (second.thread, second.attempt) == ("t1", 2)
        assert second.lease != first.lease
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("a", "x")), lease=first.lease, now=at(11))
        memory.finish(first, now=at(11))
        assert memory.next_due() == at(22), "a second later, since one worker vanished with it"
        commit(memory, put(fact("b", "y")), lease=second.lease, now=at(12))
        memory.finish(second, now=at(12))
        assert memory.next_due() is None
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("c", "z")), lease=second.lease, now=at(13))
        assert ids(memory.facts(ADA)) == ["b"]

    def test_a_job_that_is_renewed_is_nobody_elses(self, memory: MemoryStore) -> None:
        """Its worker renews it while it is performed, and may commit until it is claimed again."""
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        job = leased(memory, 0, 10, worker="one")
        memory.renew(job, worker="two")
        assert memory.next_due() == at(10)
        memory.renew(job, worker="one")
        assert memory.lease(now=at(11), lease_s=10, worker="two") is None
        commit(memory, put(fact("a", "x")), lease=job.lease, now=at(11))
        memory.finish(job, now=at(11))
        assert memory.next_due() is None

    def test_turns_noted_while_a_job_fails_are_part_of_its_next_attempt(
        self, memory: MemoryStore
    ) -> None:
        """One job remains."""
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        job = leased(memory, 0)
        memory.note(ADA, "t1", now=at(1), debounce_s=0, max_wait_s=0)
        memory.finish(job, now=at(2), retry_s=30)
        assert memory.next_due() == at(32)
        memory.finish(leased(memory, 32), now=at(33))
        assert memory.next_due() is None

    def test_what_comes_while_a_thread_is_learned_from_is_a_job_of_its_own(
        self, memory: MemoryStore
    ) -> None:
        """Its longest wait begins with its own first note."""
        memory.note(ADA, "t1", now=at(0), debounce_s=10, max_wait_s=20)
        job = leased(memory, 10, 100)
        for second in (12, 20, 28):
            memory.note(ADA, "t1", now=at(second), debounce_s=10, max_wait_s=20)
        memory.finish(job, now=at(29))
        assert memory.next_due() == at(32)
        again = leased(memory, 32, 100)
        assert again.attempt == 1
        memory.finish(again, now=at(33))
        assert memory.next_due() is None

    def test_a_job_that_failed_is_tried_again_no_sooner(self, memory: MemoryStore) -> None:
        """Independent of turns that are recorded meanwhile."""
        memory.note(ADA, "t1", now=at(0), debounce_s=1, max_wait_s=5)
        job = leased(memory, 1, 100)
        memory.finish(job, now=at(2), retry_s=60)
        memory.note(ADA, "t1", now=at(3), debounce_s=1, max_wait_s=5)
        assert memory.next_due() == at(62)
        assert memory.lease(now=at(61), lease_s=100, worker="w") is None
        again = leased(memory, 62, 100)
        assert again.attempt == 2

    def test_owners_who_write_without_pause_are_all_served(self, memory: MemoryStore) -> None:
        """64 of them, each within its longest wait and the time that one round takes."""
        owners = [Scope(f"o{n}") for n in range(64)]
        since: dict[Scope, float] = {}
        waits: dict[Scope, list[float]] = {}
        for second in range(0, 200, 4):
            for owner in owners:
                memory.note(owner, "t", now=at(second), debounce_s=30, max_wait_s=60)
                since.setdefault(owner, second)
            for part in range(1, 4):
                job = memory.lease(now=at(second + part), lease_s=60, worker="w")
                if job is not None:
                    waited = second + part - since.pop(job.scope)
                    waits.setdefault(job.scope, []).append(waited)
                    memory.finish(job, now=at(second + part))
        assert waits.keys() == set(owners)
        assert all(60 <= wait <= 60 + 64 * 4 / 3 for each in waits.values() for wait in each)

    def test_owners_take_turns_however_many_threads_one_has(self, memory: MemoryStore) -> None:
        """One who came first with many does not keep the others waiting."""
        for n in range(20):
            memory.note(Scope("busy"), f"t{n}", now=at(n), debounce_s=0, max_wait_s=0)
        for n in range(8):
            for thread in ("t1", "t2"):
                memory.note(Scope(f"o{n}"), thread, now=at(30), debounce_s=0, max_wait_s=0)
        served = []
        for second in range(100, 136):
            job = memory.lease(now=at(second), lease_s=60, worker="w")
            assert job is not None
            served.append(job.scope.owner)
            memory.finish(job, now=at(second))
        assert served[0] == "busy"
        assert len(set(served[:9])) == 9
        assert served.count("busy") == 20
        assert served[:18].count("busy") == 2

    def test_workers_never_share_a_thread(self, memory: MemoryStore, reopen: Reopen) -> None:
        """However many there are, each job is leased once."""
        for n in range(24):
            memory.note(Scope(f"o{n % 5}"), f"t{n}", now=at(n), debounce_s=0, max_wait_s=0)
        handles = [memory, reopen(), reopen()]

        def work(number: int) -> list[tuple[Scope, str]]:
            taken = []
            while job := handles[number % 3].lease(now=at(99), lease_s=999, worker=str(number)):
                taken.append((job.scope, job.thread))
            return taken

        with ThreadPoolExecutor(6) as pool:
            taken = [job for jobs in pool.map(work, range(6)) for job in jobs]
        assert len(taken) == len(set(taken)) == 24
