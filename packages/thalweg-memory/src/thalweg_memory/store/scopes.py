"""The row of a scope: its lock makes a writer exclusive, and it has the next numbers."""

from dataclasses import dataclass

from thalweg.database.base import decode, encode
from thalweg_memory.facts.values import Scope
from thalweg_memory.store.rows import MemoryRows

FORMAT = 2
"""Version of the words that facts are indexed under; see `reindexing`."""


@dataclass(slots=True)
class ScopeRow:
    """The row of a scope. `save` writes a writer's counters back."""

    id: int = 0
    """0 if there is no row."""
    version: int = 0
    operation: int = 0
    """The highest number of a commit."""
    fact: int = 0
    thread: int = 0
    format: int = 0
    """See `reindexing`."""
    cleared: int = 0
    """Version that the last clear made; 0 if there was none."""


def find(db: MemoryRows, scope: Scope, then: str = "") -> ScopeRow | None:
    """Return a scope's row, `None` if it was never written to."""
    row = db.row(
        f"SELECT id, version, operation, fact, thread, format, cleared, {db.bound}"  # noqa: S608 (fixed text)
        f" FROM memory_scope WHERE owner = ? AND agent = ?{then}",
        (encode(scope.owner), encode(scope.agent)),
    )
    return None if row is None else ScopeRow(*row[:7])


def get_or_create(db: MemoryRows, scope: Scope) -> ScopeRow:
    """Return a scope's row, created if missing, and be its only writer to the end."""
    while True:
        row = find(db, scope, db.for_update)
        if row is not None:
            return row
        # Where another writer makes it at the same time, this waits for that one to end.
        db.run(
            "INSERT INTO memory_scope (owner, agent, format) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (encode(scope.owner), encode(scope.agent), FORMAT),
        )


def save(db: MemoryRows, row: ScopeRow) -> None:
    """Store the incremented counters."""
    db.run(
        "UPDATE memory_scope SET version = ?, operation = ?, fact = ?, thread = ?, format = ?,"
        " cleared = ? WHERE id = ?",
        (row.version, row.operation, row.fact, row.thread, row.format, row.cleared, row.id),
    )


def named(db: MemoryRows, number: int) -> Scope:
    """Return the scope with a number, and set it as the transaction's owner."""
    owner, agent, _ = db.row(
        f"SELECT owner, agent, {db.bound} FROM memory_scope WHERE id = ?",  # noqa: S608 (fixed text)
        (number,),
    )
    return Scope(decode(owner), decode(agent))


def of_owner(db: MemoryRows, owner: str) -> list[Scope]:
    """List the scopes of an owner, oldest first."""
    rows = db.rows("SELECT agent FROM memory_scope WHERE owner = ? ORDER BY id", (encode(owner),))
    return [Scope(owner, decode(agent)) for (agent,) in rows]
