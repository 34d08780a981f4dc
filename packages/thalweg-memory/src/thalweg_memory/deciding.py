"""Decisions on the current content of a memory: what relates to a statement, and what changes.

A change is committed, and planned again on conflict. To find the existing facts that a statement
may relate to, only those that are found by their rarest words are read.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.errors import StaleWriteError
from thalweg_memory.facts.learning.lesson import after, plan_eviction
from thalweg_memory.facts.recall.ranking import content_words
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Change, Fact, FactId, Profile, PutFact, Scope
from thalweg_memory.store.records import Clock, Operation
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


SPARE = 100
"""One fact in so many is dropped beyond those that must be: facts are read whole less often."""


def plan_room(
    store: MemoryStore, scope: Scope, changes: Sequence[Change], settings: MemorySettings, now: str
) -> list[PutFact]:
    """Plan which facts to drop so that there is space for some changes.

    Facts are read only if there may be too many. They are dropped in batches, so that the cost per
    change does not grow with their number.
    """
    most = settings.max_facts
    added = sum(
        isinstance(change, PutFact) and change.fact.status == "active" for change in changes
    )
    if not added or (added <= most and not store.has_more_than(scope, most - added)):
        return []
    facts = after(store.facts(scope), changes)
    if sum(fact.status == "active" for fact in facts) <= most:
        return []
    room = most - most // SPARE if most > SPARE else most
    return plan_eviction(facts, room, now=now, protected=settings.protected_categories)


_MOST_WORDS = 64
_RAREST = 32
"""Of the words, those that are looked up."""
_MOST_COMPARED = 2_000
"""Facts whose words are compared: of more, those with the rarest words, the newest first."""


def similar_facts(store: MemoryStore, scope: Scope, text: str, *, most: int = 16) -> list[Fact]:
    """List facts that share words with a text, the likeliest first.

    Active and superseded facts are considered; rare words count more than common ones.

    Args:
        store: The store of the facts.
        scope: The scope.
        text: A statement, or some turns.
        most: Facts that are returned at most.
    """
    words = content_words(text)
    if not words:
        return []
    found = store.find(
        scope,
        words[:_MOST_WORDS],
        limit=_MOST_COMPARED,
        most_words=_RAREST,
        facts_only=True,
    )
    scores: dict[int, float] = {}
    for word, there in found.places.items():
        rarity = math.log1p(found.total / max(1, found.counts[word]))
        for number in there:
            scores[number] = scores.get(number, 0) + rarity
    best = sorted(scores, key=lambda number: (-scores[number], -number))
    return [item.fact for item in store.items(scope, best[:most]) if item.fact is not None]


def related_facts(
    store: MemoryStore, scope: Scope, texts: Sequence[str], *, all_up_to: int
) -> list[Fact]:
    """List the active facts that texts may relate to: all of them, if these are few.

    Args:
        store: The store of the facts.
        scope: The scope.
        texts: Statements or turns.
        all_up_to: Up to this number, all active facts are listed.
    """
    newest = store.facts(scope, limit=all_up_to + 1)
    if len(newest) <= all_up_to:
        return newest
    found: dict[FactId, Fact] = {}
    for text in texts:
        found |= {fact.id: fact for fact in similar_facts(store, scope, text)}
    active = [fact for fact in found.values() if fact.status == "active"]
    return sorted(active[:all_up_to], key=lambda fact: (fact.created_at, fact.id))


MOST_STANDING = 200
"""The newest facts that are considered without a question; twice the default `max_facts`."""


def standing_facts(store: MemoryStore, scope: Scope, profile: Profile) -> list[Fact]:
    """Return the active facts that matter for any question, oldest first.

    They are the newest ones, and those cited by the profile. A memory of the default size is
    returned whole; the cost does not grow with a larger one.
    """
    found = {fact.id: fact for fact in store.facts(scope, limit=MOST_STANDING)}
    cited = {id_ for section in profile.sections for id_ in section.cites} - found.keys()
    older = store.facts(scope, ids=sorted(cited)) if cited else []
    return [*older, *found.values()]
