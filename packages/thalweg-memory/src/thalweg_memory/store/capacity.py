"""The limit of facts: which are dropped when a scope exceeds its settings."""

from collections.abc import Sequence

from thalweg_memory.base import MemoryStore
from thalweg_memory.facts.changes import Change, PutFact
from thalweg_memory.facts.learning.eviction import plan_eviction
from thalweg_memory.facts.learning.lesson import after
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope

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
