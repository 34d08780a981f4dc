"""Facts that wait for the user's review: each is announced once, when a run begins.

The store records which were announced, as items shown in a thread of its own without messages.
"""

from thalweg_memory.clock import utc_now
from thalweg_memory.facts.shown import RecalledPart, ShownFacts
from thalweg_memory.facts.values import FactId
from thalweg_memory.middleware.binding import BoundMemory

ANNOUNCED = "thalweg:review"
"""Name of that thread."""
MOST = 100
"""Facts that are looked at: the newest that wait."""


def newly_waiting(bound: BoundMemory) -> tuple[list[FactId], int]:
    """List the facts that wait for review and were not announced yet, and note that they are now.

    Returns:
        Their ids, and how many wait in all, counted up to `MOST`.
    """
    store, scope = bound.memory.store, bound.memory.scope
    waiting = [f.id for f in store.facts(scope, statuses=("quarantined",), limit=MOST)]
    if not waiting:
        return [], 0
    announced = {
        one.fact for outcome in store.shown_facts(scope, ANNOUNCED) for one in outcome.weighed
    }
    new = [id_ for id_ in waiting if id_ not in announced]
    if new:
        noted = tuple(RecalledPart("told", fact=id_) for id_ in waiting)
        store.keep_shown(scope, ANNOUNCED, ShownFacts(ANNOUNCED, utc_now(), 0, noted))
    return new, len(waiting)
