"""The threads of a scope: how far each was captured and learned from, and its mode."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.database.base import decode, encode
from thalweg_memory.facts.values import Mode
from thalweg_memory.store import scopes
from thalweg_memory.store.digests import Digests
from thalweg_memory.store.rows import MemoryRows


@dataclass(slots=True)
class ThreadFactsRow:
    """A thread with the data of its row."""

    number: int = 0
    """0 if there is no row."""
    mode: Mode = "on"
    captured: int = 0
    """Length of its log that was looked at."""
    turns: int = 0
    """`seq` of the next turn."""
    learned: int = 0
    """`seq` of the first turn that was not learned from."""


def find(db: MemoryRows, digests: Digests, name: str) -> ThreadFactsRow:
    """Find a thread."""
    row = db.row(
        "SELECT thread, mode, captured, turns, learned FROM memory_thread"
        " WHERE scope = ? AND digest = ?",
        (digests.scope, digests.of("thread", name)),
    )
    return ThreadFactsRow() if row is None else ThreadFactsRow(*row)


def get_or_create(
    db: MemoryRows, scope: scopes.ScopeRow, digests: Digests, name: str
) -> ThreadFactsRow:
    """Return a thread, created if missing; the scope's row is locked."""
    found = find(db, digests, name)
    if found.number:
        return found
    scope.thread += 1
    db.run(
        "INSERT INTO memory_thread (scope, thread, digest, name) VALUES (?, ?, ?, ?)",
        (scope.id, scope.thread, digests.of("thread", name), encode(name)),
    )
    scopes.save(db, scope)
    return ThreadFactsRow(scope.thread)


def save(db: MemoryRows, scope: int, name: str, thread: ThreadFactsRow) -> None:
    """Write a thread back to its row, with its name, which `forget` may have taken out."""
    db.run(
        "UPDATE memory_thread SET name = ?, mode = ?, captured = ?, turns = ?, learned = ?"
        " WHERE scope = ? AND thread = ?",
        (
            encode(name),
            thread.mode,
            thread.captured,
            thread.turns,
            thread.learned,
            scope,
            thread.number,
        ),
    )


def names(db: MemoryRows, scope: int, numbers: Sequence[int] | None = None) -> dict[int, str]:
    """Name threads of a scope by number; all by default."""
    select = "SELECT thread, name FROM memory_thread WHERE scope = ?"
    if numbers is None:
        rows = db.rows(select, (scope,))
    else:
        rows = db.rows_by(f"{select} AND thread", numbers, (scope,))
    return {number: decode(name) for number, name in rows}
