"""Many owners who never stop writing, in simulated time."""

from pathlib import Path

import pytest

from memory_tests.learning import Clock, learner, say
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from thalweg_memory.jobs.learner import Worker

pytestmark = pytest.mark.slow

OWNERS = [Scope(f"owner {n}") for n in range(32)]
MINUTES, STEP_S = 10, 25


def test_every_owner_s_facts_are_there_within_the_longest_wait(tmp_path: Path) -> None:
    """Thirty-two write for ten minutes, never quiet for as long as a debounce waits for."""
    clock = Clock()
    settings = MemorySettings(profile=False, max_facts=1_000)
    oldest_s = 0
    steps = MINUTES * 60 // STEP_S
    with open_memory(tmp_path / "memory.db") as store:
        worker = Worker(store, learner(store, clock, settings=settings).learn, clock=clock)
        for step in range(steps):
            for scope in OWNERS:
                say(store, scope, f"I keep the key in drawer {step}.", clock=clock)
            worker.run_due()
            for scope in OWNERS:
                waiting = step + 1 - store.learned(scope, "t")
                oldest_s = max(oldest_s, (waiting - 1) * STEP_S)
            clock.forward(STEP_S)
        clock.forward(settings.debounce_seconds - STEP_S)
        worker.run_due()

        assert oldest_s < settings.max_wait_seconds
        for scope in OWNERS:
            drawers = {fact.subject for fact in store.facts(scope)}
            assert drawers == {f"drawer {step}" for step in range(steps)}
        assert store.next_due() is None
