"""Turns: stored verbatim, each message once, read by the numbers that the index has for them."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from thalweg.database.base import encode
from thalweg_memory.facts.recall.found import RecallItem, pieces, turn_words
from thalweg_memory.facts.values import ShownFacts, Statement
from thalweg_memory.search.index import FACTS, IndexEntry
from thalweg_memory.store.records import read_fact, read_shown, read_turn, write_shown, write_turn
from thalweg_memory.store.scoped import (
    ENDLESS,
    ScopeTransaction,
    find_thread,
    get_or_create_thread,
    save_thread,
    thread_names,
)

_MOST_SHOWN = 50
"""Number of messages of a thread for which the memory shown there is stored."""


def with_uid(turn: Statement, thread: str) -> Statement:
    """Return a turn with an id; one derived from the message if it has none of its own.

    Example:
        >>> from thalweg_memory.facts.values import Trust
        >>> turn = Statement("t", 0, "user", "hello", "2026-03-01T10:00:00Z", Trust.USER)
        >>> with_uid(turn, "t").uid == with_uid(turn, "t").uid != with_uid(turn, "u").uid
        True
    """
    if turn.uid:
        return turn
    place = str(turn.position) if turn.position >= 0 else turn.said_at
    identity = repr((thread, place, turn.role, turn.text))
    return replace(turn, uid=f"digest:{hashlib.sha256(encode(identity)).hexdigest()[:32]}")


def capture_turns(
    scoped: ScopeTransaction,
    name: str,
    turns: Sequence[Statement],
    upto: int | None,
    begun: int | None,
) -> int:
    """See `MemoryStore.capture`."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name)
    named = [with_uid(turn, name) for turn in turns]
    by_uid: dict[str, Statement] = {}
    for turn in named:
        by_uid.setdefault(turn.uid, turn)
    new = _unknown(scoped, thread.number, by_uid.keys())
    fresh = [turn for uid, turn in by_uid.items() if uid in new]
    numbered = list(enumerate(fresh, thread.turns))
    is_cleared = begun is not None and begun < scoped.row.cleared
    scoped.db.insert(
        "memory_turn",
        [
            (
                *(scoped.id, thread.number, seq, scoped.digests.of("uid", turn.uid)),
                write_turn(turn),
                scoped.row.operation if is_cleared else 0,
            )
            for seq, turn in numbered
        ],
    )
    index_turns(scoped, [(thread.number, seq, turn) for seq, turn in numbered])
    thread.turns += len(fresh)
    thread.captured = max(thread.captured, upto or 0)
    save_thread(scoped.db, scoped.id, name, thread)
    return len(fresh)


def index_turns(scoped: ScopeTransaction, turns: Iterable[tuple[int, int, Statement]]) -> None:
    """Enter the pieces of turns, each with its thread's number and its `seq`, into the index."""
    cut = [(*turn, *piece) for turn in turns for piece in pieces(turn[2].text)]
    if cut:
        scoped.enter(
            [
                IndexEntry(turn_words(turn, start, stop), thread, seq, start, stop)
                for thread, seq, turn, start, stop in cut
            ],
            [turn.text[start:stop] for _, _, turn, start, stop in cut],
        )


def turn_texts(turns: Sequence[Statement]) -> list[str]:
    """List the texts that turns are found by: their pieces."""
    return [turn.text[start:stop] for turn in turns for start, stop in pieces(turn.text)]


def _unknown(scoped: ScopeTransaction, thread: int, uids: Collection[str]) -> set[str]:
    """Return the ids that are neither in the thread nor have a tombstone."""
    digests = {scoped.digests.of("uid", uid): uid for uid in uids}
    rows = scoped.db.rows_by(
        "SELECT uid FROM memory_turn WHERE scope = ? AND thread = ? AND uid",
        sorted(digests),
        (scoped.id, thread),
    )
    there = {digests[bytes(digest)] for (digest,) in rows}
    buried = {uid for _, uid in scoped.buried({("uid", uid) for uid in uids})}
    return set(uids) - there - buried


def read_turns(
    scoped: ScopeTransaction, name: str, first: int, last: int | None
) -> list[Statement]:
    """See `MemoryStore.turns`."""
    thread = find_thread(scoped.db, scoped.digests, name)
    rows = scoped.db.rows(
        "SELECT seq, body FROM memory_turn"
        " WHERE scope = ? AND thread = ? AND seq BETWEEN ? AND ? AND hidden <= 0 ORDER BY seq",
        (scoped.id, thread.number, first, ENDLESS if last is None else last),
    )
    return [read_turn(name, seq, body) for seq, body in rows]


def all_turns(scoped: ScopeTransaction) -> list[tuple[int, int, Statement]]:
    """Read every turn of a scope, hidden ones included, with its thread's number and its `seq`."""
    names = thread_names(scoped.db, scoped.id)
    rows = scoped.db.rows(
        "SELECT thread, seq, body FROM memory_turn WHERE scope = ? ORDER BY thread, seq",
        (scoped.id,),
    )
    return [(thread, seq, read_turn(names[thread], seq, body)) for thread, seq, body in rows]


def keep_shown(scoped: ScopeTransaction, name: str, outcome: ShownFacts) -> None:
    """See `MemoryStore.keep_shown`."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name).number
    (newest,) = scoped.db.row(
        "SELECT COALESCE(MAX(place), 0) FROM memory_told WHERE scope = ? AND thread = ?",
        (scoped.id, thread),
    )
    place = newest + 1
    scoped.db.insert("memory_told", [(scoped.id, thread, place, write_shown(outcome))])
    scoped.db.run(
        "DELETE FROM memory_told WHERE scope = ? AND thread = ? AND place <= ?",
        (scoped.id, thread, place - _MOST_SHOWN),
    )


def list_shown(scoped: ScopeTransaction, name: str) -> list[ShownFacts]:
    """See `MemoryStore.shown_facts`."""
    thread = find_thread(scoped.db, scoped.digests, name).number
    rows = scoped.db.rows(
        "SELECT body FROM memory_told WHERE scope = ? AND thread = ? ORDER BY place DESC",
        (scoped.id, thread),
    )
    return [read_shown(body) for (body,) in rows]


def forget_shown(scoped: ScopeTransaction) -> None:
    """Delete all of it: forgotten content may have been shown anywhere."""
    scoped.db.run("DELETE FROM memory_told WHERE scope = ?", (scoped.id,))


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
