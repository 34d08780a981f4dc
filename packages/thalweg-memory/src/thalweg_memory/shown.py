"""The memory shown in the threads of a scope, and why: ids and figures."""

from thalweg_memory.facts.shown import ShownFacts
from thalweg_memory.store import threads
from thalweg_memory.store.records import read_shown, write_shown
from thalweg_memory.store.scoped import ScopeTransaction

KEPT = 50
"""Number of messages of a thread for which it is stored."""


def keep(scoped: ScopeTransaction, name: str, outcome: ShownFacts) -> None:
    """See `MemoryStore.keep_shown`."""
    thread = threads.get_or_create(scoped.db, scoped.row, scoped.digests, name).number
    (newest,) = scoped.db.row(
        "SELECT COALESCE(MAX(place), 0) FROM memory_told WHERE scope = ? AND thread = ?",
        (scoped.id, thread),
    )
    place = newest + 1
    scoped.db.insert("memory_told", [(scoped.id, thread, place, write_shown(outcome))])
    scoped.db.run(
        "DELETE FROM memory_told WHERE scope = ? AND thread = ? AND place <= ?",
        (scoped.id, thread, place - KEPT),
    )


def read(scoped: ScopeTransaction, name: str) -> list[ShownFacts]:
    """See `MemoryStore.shown_facts`."""
    thread = threads.find(scoped.db, scoped.digests, name).number
    rows = scoped.db.rows(
        "SELECT body FROM memory_told WHERE scope = ? AND thread = ? ORDER BY place DESC",
        (scoped.id, thread),
    )
    return [read_shown(body) for (body,) in rows]


def forget(scoped: ScopeTransaction) -> None:
    """Delete all of it: forgotten content may have been shown anywhere."""
    scoped.db.run("DELETE FROM memory_told WHERE scope = ?", (scoped.id,))
