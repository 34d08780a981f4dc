"""Which facts are dropped when a memory is full: the least certain and the oldest, never protected.

They remain in the history as `expired`. The value of a fact is computed when it is requested and
never written back, so that frequent requests do not make anything older.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from thalweg_memory.facts.changes import PutFact
from thalweg_memory.facts.values import Category, Fact, Importance

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
CERTAINTY_HALF_LIFE_DAYS = 90
"""Days after its last statement in which a fact's confidence halves when facts are dropped.

The same for every category: a new goal is not dropped for an old preference. Of 0.95 and 0.72,
the surer fact stays unless it is five weeks older.
"""


def plan_eviction(
    facts: Sequence[Fact],
    max_facts: int,
    *,
    now: str,
    protected: Collection[Category] = (),
) -> list[PutFact]:
    """Drop the active facts with the least `certainty` until at most `max_facts` are active.

    Facts of importance 3 are dropped after all others.

    Args:
        facts: All facts, or the active ones; the others are skipped.
        max_facts: Maximum number of active facts. Protected ones are kept even beyond it.
        now: The current time.
        protected: Categories that are never dropped.

    Example:
        >>> from thalweg_memory.facts.values import FactId
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
    order = sorted(
        free, key=lambda f: (f.importance == LASTING, certainty(f, now=now), len(f.evidence), f.id)
    )
    why = f"more than {max_facts} facts; this one had the least confidence for its age"
    return [PutFact(replace(fact, status="expired"), why) for fact in order[:excess]]


def certainty(fact: Fact, *, now: str) -> float:
    """Return the confidence of a fact, halved for every 90 days since its last statement."""
    age = max(0.0, _days(fact.observed_at or fact.created_at, now))
    return fact.confidence * math.exp2(-age / CERTAINTY_HALF_LIFE_DAYS)


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
