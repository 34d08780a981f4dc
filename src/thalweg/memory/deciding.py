"""Changing a memory by hand: decide on what is there, commit, and decide anew if it was changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.errors import StaleWriteError
from thalweg.facts.changes import Change
from thalweg.facts.values import Fact, Profile, Scope
from thalweg.memory.base import MemoryStore, Operation
from thalweg.memory.clock import Clock

RACES = 100
"""How often a decision is made anew. Each time, somebody else's commit went through."""


@dataclass(frozen=True, slots=True)
class Known:
    """A memory as it is when something is decided on."""

    facts: Sequence[Fact]
    """Of every status, oldest first."""
    profile: Profile


@dataclass(frozen=True, slots=True)
class Decider:
    """Commits what a pure function decides."""

    store: MemoryStore
    scope: Scope
    clock: Clock

    def change(
        self, decide: Callable[[Known], Sequence[Change]], *, actor: str, why: str = ""
    ) -> Operation | None:
        """Decide and commit, until nobody was first.

        Args:
            decide: Tells the changes, from the memory as it is.
            actor: Who decides.
            why: Told with the commit.

        Returns:
            `None` where there was nothing to do.

        Raises:
            StaleWriteError: Others were first every time.
        """

        def planned() -> Sequence[Change]:
            facts = self.store.facts(self.scope, statuses=None)
            return decide(Known(facts, self.store.profile(self.scope)))

        return self.take_in(planned, actor=actor, why=why)

    def take_in(
        self, plan: Callable[[], Sequence[Change]], *, actor: str, why: str = ""
    ) -> Operation | None:
        """Commit a plan that reads what it needs; see `change`."""
        for attempt in range(RACES):
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
