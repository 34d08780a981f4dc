"""Manual changes of a memory: decide on its current content, commit, and retry on conflict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.errors import StaleWriteError
from thalweg_memory.base import Clock, Operation
from thalweg_memory.facts.values import Change, Fact, FactId, Profile, Scope
from thalweg_memory.store.tables import MemoryStore

RACES = 100
"""Maximum retries of a decision. Each follows another writer's commit."""


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A memory as it is when something is decided on."""

    facts: Sequence[Fact]
    """Those that are decided on, of every status, oldest first."""
    profile: Profile


@dataclass(frozen=True, slots=True)
class Decider:
    """Commits the changes that a pure function returns."""

    store: MemoryStore
    scope: Scope
    clock: Clock

    def change(
        self,
        decide: Callable[[MemorySnapshot], Sequence[Change]],
        *,
        actor: str = "user",
        why: str,
        ids: Sequence[str] | None = None,
    ) -> Operation | None:
        """Decide and commit; retry while other writers are first.

        Args:
            decide: Returns the changes, from the current memory.
            actor: Who decides.
            why: Logged with the commit.
            ids: The facts that are decided on; all if it is `None`.

        Returns:
            The commit; `None` if there was nothing to do.

        Raises:
            StaleWriteError: Other writers were first at each attempt.
        """
        fact_ids = None if ids is None else [FactId(id_) for id_ in ids]

        def plan() -> Sequence[Change]:
            facts = self.store.facts(self.scope, ids=fact_ids, statuses=None)
            return decide(MemorySnapshot(facts, self.store.profile(self.scope)))

        return self.take_in(plan, actor=actor, why=why)

    def take_in(
        self, plan: Callable[[], Sequence[Change]], *, actor: str, why: str
    ) -> Operation | None:
        """Commit a plan that reads its inputs in one snapshot; see `change`."""
        for attempt in range(RACES):
            with self.store.view(self.scope):
                version = self.store.version(self.scope)
                changes = plan()
            try:
                return self.store.commit(
                    self.scope,
                    changes,
                    expected=version,
                    actor=actor,
                    now=self.clock(),
                    why=why,
                )
            except StaleWriteError:
                if attempt == RACES - 1:
                    raise
        return None
