"""Reading search results: turns and facts by the numbers that the index has for them."""

from collections.abc import Sequence

from thalweg_memory.facts.recall.found import RecallItem
from thalweg_memory.facts.values import Statement
from thalweg_memory.search.index import FACTS
from thalweg_memory.store.records import read_fact, read_turn
from thalweg_memory.store.scoped import ScopeTransaction, find_thread, thread_names


def items(scoped: ScopeTransaction, numbers: Sequence[int]) -> list[RecallItem]:
    """Return items in the order of their numbers; see `MemoryStore.items`."""
    requested = [*dict.fromkeys(numbers)]
    found = _turns(scoped, requested)
    if len(found) < len(requested):
        found |= _facts(scoped, [number for number in requested if number not in found])
    return [found[number] for number in requested if number in found]


def newest(scoped: ScopeTransaction, thread: str, limit: int) -> list[int]:
    """List the newest pieces of a thread, or of all; see `MemoryStore.newest`."""
    if not thread:
        rows = scoped.db.rows(
            "SELECT number FROM memory_item WHERE scope = ? AND thread <> ?"
            " ORDER BY number DESC LIMIT ?",
            (scoped.id, FACTS, limit),
        )
        return [found for (found,) in rows]
    number = find_thread(scoped.db, scoped.digests, thread).number
    rows = scoped.db.rows(
        "SELECT number FROM memory_item WHERE scope = ? AND thread = ?"
        " ORDER BY seq DESC, place DESC LIMIT ?",
        (scoped.id, number, limit),
    )
    return [found for (found,) in rows] if number else []


def _turns(scoped: ScopeTransaction, numbers: Sequence[int]) -> dict[int, RecallItem]:
    rows = [
        *scoped.db.rows_by(
            "SELECT i.number, i.thread, i.seq, i.start, i.stop, t.body"
            " FROM memory_item i JOIN memory_turn t"
            " ON t.scope = i.scope AND t.thread = i.thread AND t.seq = i.seq"
            " AND t.hidden <= 0 WHERE i.scope = ? AND i.number",
            numbers,
            (scoped.id,),
        )
    ]
    names = thread_names(scoped.db, scoped.id, [*{thread for _, thread, *_ in rows}])
    read: dict[tuple[int, int], Statement] = {}
    found: dict[int, RecallItem] = {}
    for number, thread, seq, start, stop, body in rows:
        turn = read.get((thread, seq))
        if turn is None:
            turn = read[thread, seq] = read_turn(names[thread], seq, body)
        found[number] = RecallItem(number, turn=turn, start=start, end=None if stop < 0 else stop)
    return found


def _facts(scoped: ScopeTransaction, numbers: Sequence[int]) -> dict[int, RecallItem]:
    # Not selected by thread: all facts have the same one, and would all be scanned.
    rows = scoped.db.rows_by(
        "SELECT i.number, i.thread, f.body FROM memory_item i JOIN memory_fact f"
        " ON f.scope = i.scope AND f.fact = i.seq WHERE i.scope = ? AND i.number",
        numbers,
        (scoped.id,),
    )
    return {n: RecallItem(n, fact=read_fact(body)) for n, thread, body in rows if thread == FACTS}
