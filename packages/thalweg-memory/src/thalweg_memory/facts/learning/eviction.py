"""Which facts are dropped when a memory is full: the least valuable, never the protected.

They remain in the history as `expired`. The value of a fact is computed when it is requested and
never written back, so that frequent requests do not make anything older.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from thalweg_memory.facts.changes import PutFact
from thalweg_memory.facts.values import Category, Fact, FactId, Importance

HALF_LIFE_DAYS: Mapping[Category, float] = {
    "preference": 365,
    "knowledge": 365,
    "behavior": 180,
    "context": 120,
    "goal": 60,
}
"""Days after which a fact that no one repeated has half its value."""
WEIGHT: Mapping[Importance, float] = {1: 0.5, 2: 1.0, 3: 4.0}
"""Weight of an importance: a fact of 3 outweighs one of 2 that was stated 8 times."""
LASTING: Importance = 3
GUARANTEED = 0.5
"""Share of the space divided evenly among the categories; the most valuable facts get the rest.

So a chatty category cannot push the others out.
"""


def plan_eviction(
    facts: Sequence[Fact],
    max_facts: int,
    *,
    now: str,
    protected: Collection[Category] = (),
) -> list[PutFact]:
    """Drop the least valuable active facts until at most `max_facts` are active.

    Args:
        facts: All facts, or the active ones; the others are skipped.
        max_facts: Maximum number of active facts. Protected ones are kept even beyond it.
        now: The current time.
        protected: Categories that are never dropped.

    Example:
        >>> old = Fact(FactId("a"), "Likes tea.", "preference", 0.9, "2020-01-01T00:00:00Z", "t")
        >>> new = replace(old, id=FactId("b"), created_at="2026-01-01T00:00:00Z")
        >>> [put.fact.id for put in plan_eviction([new, old], 1, now="2026-01-02T00:00:00Z")]
        ['a']
    """
    active = [fact for fact in facts if fact.status == "active"]
    free = [f for f in active if not f.protected and f.category not in protected]
    excess = min(len(active) - max_facts, len(free))
    if excess <= 0:
        return []
    worth = {fact.id: (value(fact, now=now), fact.confidence, fact.id) for fact in free}
    kept = _guaranteed(free, worth, max(0, max_facts - len(active) + len(free)))
    kept |= {fact.id for fact in free if fact.importance == LASTING}
    order = sorted(free, key=lambda fact: (fact.id in kept, worth[fact.id]))
    why = f"more than {max_facts} facts; this one had the lowest value"
    return [PutFact(replace(fact, status="expired"), why) for fact in order[:excess]]


Rank = tuple[float, float, str]


def _guaranteed(facts: Iterable[Fact], worth: Mapping[FactId, Rank], room: int) -> set[FactId]:
    """Find the best facts of each category, as many as have a place of their own."""
    places = int(room * GUARANTEED / len(HALF_LIFE_DAYS))
    kept: set[FactId] = set()
    by_worth = sorted(facts, key=lambda fact: worth[fact.id], reverse=True)
    for category in HALF_LIFE_DAYS:
        kept.update([f.id for f in by_worth if f.category == category][:places])
    return kept


def value(fact: Fact, *, now: str) -> float:
    """Return the value of a fact at some time, relative to others.

    It grows with how often the fact was stated, more slowly each time, and halves with the days
    since its last statement. A fact that matters most (`Importance` 3) does not age, and outweighs
    new ones that matter less.
    """
    mentions = max(1, len(fact.evidence))
    age = max(0.0, _days(fact.observed_at or fact.created_at, now))
    decay = math.exp2(-age / HALF_LIFE_DAYS[fact.category]) if fact.importance < LASTING else 1.0
    return (1 + math.log2(mentions)) * decay * WEIGHT[fact.importance]


def _days(earlier: str, later: str) -> float:
    try:
        gone = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):  # a date that an imported document has in another form
        return 0.0
    return gone.total_seconds() / 86_400
