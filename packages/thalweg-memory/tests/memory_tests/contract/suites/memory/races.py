"""What holds while one process learns and another deletes."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from memory_tests.contract.suites.memory.values import (
    LATER,
    Gate,
    Reopen,
    at,
    commit,
    done,
    everything,
    fact,
    forget,
    found,
    put,
    said,
)
from thalweg.errors import StaleWriteError
from thalweg_memory.facts.values import Scope
from thalweg_memory.store.records import Learned, Selection
from thalweg_memory.store.tables import MemoryStore


class RacesContract:
    """A concurrent deletion or edit takes precedence over extracted facts."""

    ROUNDS = 24
    """Of each of three races."""

    @pytest.mark.parametrize("how", ["forget", "clear", "edit"])
    def test_nothing_comes_back_that_was_deleted_while_it_was_learned(
        self, memory: MemoryStore, reopen: Reopen, how: str
    ) -> None:
        """In every interleaving: before, between and after what a learner reads and commits."""
        other = reopen()
        chance = random.Random(how)  # noqa: S311 (no secret)
        with ThreadPoolExecutor(2) as pool:
            for number in range(self.ROUNDS):
                scope = Scope(f"{how} {number}")
                prepare(memory, scope)
                gate = Barrier(2)
                delays = [chance.random() * 0.004 for _ in range(6)]
                learning = pool.submit(learn, other, scope, gate.wait, delays)
                deleting = pool.submit(
                    delete, memory, scope, gate.wait, chance.random() * 0.012, how
                )
                learning.result()
                deleting.result()
                check(memory, scope, how)


def prepare(memory: MemoryStore, scope: Scope) -> None:
    """Let there be something to learn from, and something to delete."""
    memory.capture(scope, "t1", [said("I love Rome", "u1"), said("I love Bern", "u2")])
    done(memory, put(fact("rome", "Loves Rome", ("u1", "love Rome"))), scope=scope)
    memory.note(scope, "t1", now=at(0), debounce_s=0, max_wait_s=0)


def learn(memory: MemoryStore, scope: Scope, gate: Gate, delays: Sequence[float]) -> None:
    """Learn from turns once, and try again to commit it, as a worker does."""
    gate()
    job = memory.lease(now=at(1), lease_s=999, worker="w")
    turns = memory.turns(scope, "t1")
    for delay in delays:
        version, known = memory.version(scope), memory.facts(scope, statuses=None)
        time.sleep(delay)
        new = [
            fact(f"new {t.uid}", t.text.replace("I love", "Loves"), (t.uid, t.text)) for t in turns
        ]
        again = [replace(f, aliases=("Fond of Rome",)) for f in known if f.id == "rome"]
        try:
            memory.commit(
                scope, put(*new, *again), expected=version, actor="learned:m", now=at(2),
                learned=Learned("t1", memory.learned(scope, "t1"), 2),
                lease=job.lease if job else None,
            )  # fmt: skip
        except StaleWriteError:
            continue
        break
    if job is not None:
        memory.finish(job, now=at(3))


def delete(memory: MemoryStore, scope: Scope, gate: Gate, delay: float, how: str) -> None:
    """Forget, clear or edit, as a user does."""
    gate()
    time.sleep(delay)
    if how == "forget":
        forget(memory, "rome", scope=scope)
    elif how == "clear":
        memory.forget(scope, Selection(everything=True), now=LATER)
    while how == "edit":
        edited = replace(fact("rome", "Left Rome"), written_by="user", protected=True)
        try:
            commit(memory, put(edited), scope=scope)
        except StaleWriteError:
            continue
        break


def check(memory: MemoryStore, scope: Scope, how: str) -> None:
    """See that the user won."""
    told = repr(everything(memory, scope))
    facts = memory.facts(scope, statuses=None)
    if how == "edit":
        assert [each.content for each in facts if each.id == "rome"] == ["Left Rome"]
        return
    assert "Rome" not in told
    assert found(memory, "rome", scope) == set()
    if how == "clear":
        assert memory.turns(scope, "t1") == []
        assert facts == []
