"""Turns excluded from recall and extraction, until the operation that hid them is undone.

A fact that a person removed must not be extracted again from the turns it was learned from. So a
person's commit that drops or rewords facts hides these turns and the answers to them, in the same
transaction. Other turns that state the same remain.
"""

from collections.abc import Collection, Iterable
from itertools import takewhile

from thalweg_memory.facts.values import Fact
from thalweg_memory.store.records import FactStep, Step, read_turn
from thalweg_memory.store.scoped import ScopeTransaction

_ANSWERS = 16
"""Messages of the assistant that are taken for the answer to one turn, at most."""


def taken_out(steps: Iterable[Step]) -> list[Fact]:
    """List the facts that steps drop or reword, as they were."""
    return [
        step.before
        for step in steps
        if isinstance(step, FactStep)
        and step.before is not None
        and (step.after is None or step.after.content != step.before.content)
    ]


def hide_behind(
    scoped: ScopeTransaction, facts: Collection[Fact], operation: int, uids: Collection[str] = ()
) -> int:
    """Hide the turns that facts were learned from, and those with some ids.

    The answers to them are hidden as well: what the assistant wrote up to the user's next message.

    Returns:
        How many turns were hidden.
    """
    own = {each.uid for fact in facts for each in fact.evidence if each.uid}
    keys = _with_uids(scoped, {*own, *uids})
    keys |= _answers(scoped, keys)
    return _set(scoped, keys, operation)


def hide_all(scoped: ScopeTransaction, operation: int) -> int:
    """Hide every turn of the scope; returns how many were shown before."""
    (shown,) = scoped.db.row(
        "SELECT COUNT(*) FROM memory_turn WHERE scope = ? AND hidden <= 0", (scoped.id,)
    )
    scoped.db.run(
        "UPDATE memory_turn SET hidden = ? WHERE scope = ? AND hidden <= 0", (operation, scoped.id)
    )
    return int(shown)


def revert(scoped: ScopeTransaction, undone: int, operation: int, *, is_shown: bool) -> None:
    """Show the turns that an operation hid, or hide those that an undo of it had shown again.

    The sign records which operation did, so that it can be undone as well.
    """
    sign = 1 if is_shown else -1
    scoped.db.run(
        "UPDATE memory_turn SET hidden = ? WHERE scope = ? AND hidden = ?",
        (sign * operation, scoped.id, -sign * undone),
    )


Key = tuple[int, int]
"""Number of the thread, and `seq` of the turn."""


def _with_uids(scoped: ScopeTransaction, uids: Collection[str]) -> set[Key]:
    rows = scoped.db.rows_by(
        "SELECT thread, seq FROM memory_turn WHERE scope = ? AND uid",
        sorted(scoped.digests.of("uid", uid) for uid in uids),
        (scoped.id,),
    )
    return {(thread, seq) for thread, seq in rows}


def _answers(scoped: ScopeTransaction, keys: Collection[Key]) -> set[Key]:
    """Find the messages of the assistant that follow turns, up to the next one of another role."""
    found: set[Key] = set()
    for thread, seq in keys:
        rows = scoped.db.rows(
            "SELECT seq, body FROM memory_turn WHERE scope = ? AND thread = ? AND seq > ?"
            " ORDER BY seq LIMIT ?",
            (scoped.id, thread, seq, _ANSWERS),
        )
        turns = (read_turn("", place, body) for place, body in rows)
        answers = takewhile(lambda turn: turn.role == "assistant", turns)
        found |= {(thread, turn.seq) for turn in answers}
    return found


def _set(scoped: ScopeTransaction, keys: Collection[Key], operation: int) -> int:
    shown = [
        key
        for key in sorted(keys)
        if scoped.db.row(
            "SELECT 1 FROM memory_turn WHERE scope = ? AND thread = ? AND seq = ? AND hidden <= 0",
            (scoped.id, *key),
        )
    ]
    scoped.db.run_each(
        "UPDATE memory_turn SET hidden = ? WHERE scope = ? AND thread = ? AND seq = ?",
        [(operation, scoped.id, *key) for key in shown],
    )
    return len(shown)
