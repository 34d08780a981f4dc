"""Execution of forgetting: the plan is applied to every table."""

from collections.abc import Sequence
from dataclasses import replace

from thalweg_memory.base import Receipt, Selection
from thalweg_memory.facts.recall.found import turn_words
from thalweg_memory.facts.values import Scope, Statement
from thalweg_memory.forgetting.plan import ForgettingPlan, plan_forgetting
from thalweg_memory.store.commits import insert_steps, log_operation, read_whys, whole_log
from thalweg_memory.store.queue import key_of
from thalweg_memory.store.records import ScopeContents
from thalweg_memory.store.scoped import ScopeTransaction, all_turns, find_thread, forget_shown


def plan(scoped: ScopeTransaction, selection: Selection) -> ForgettingPlan:
    """Read all data of a scope, and return the plan of forgetting."""
    known = ScopeContents(
        facts=[kept.fact for kept in scoped.all_kept().values()],
        turns=[turn for *_, turn in all_turns(scoped)],
        sections=list(scoped.sections().values()),
        log=whole_log(scoped),
        whys=read_whys(scoped),
    )
    return plan_forgetting(known, selection)


def receipt(
    scoped: ScopeTransaction,
    planned: ForgettingPlan,
    *,
    left: tuple[str, ...] = (),
    dry_run: bool = False,
) -> Receipt:
    """Return the effects of a plan, without any content."""
    hashes = {scoped.digests.of(kind, text).hex() for kind, text in planned.buried}
    return Receipt(
        facts=tuple(planned.gone),
        turns=len(planned.turns),
        sections=len(planned.sections),
        operations=len(planned.operations),
        reopened=tuple(planned.reopened),
        hashes=tuple(sorted(hashes)),
        remaining=tuple(planned.remaining),
        left=left,
        alike=tuple(planned.alike),
        dry_run=dry_run,
    )


def erase(
    scoped: ScopeTransaction,
    scope: Scope,
    planned: ForgettingPlan,
    selection: Selection,
    *,
    now: str,
) -> None:
    """Execute a plan, and increment the scope's version.

    Args:
        scoped: A writing transaction.
        scope: Its scope.
        planned: The plan, from the same transaction.
        selection: The selection.
        now: The time.
    """
    if selection.everything:
        _all(scoped)
    else:
        _facts(scoped, planned)
        _turns(scoped, planned.turns)
    for name in planned.sections:
        scoped.write(name, None)
    _log(scoped, planned)
    scoped.db.run_each(
        "INSERT INTO memory_tombstone (scope, digest) VALUES (?, ?) ON CONFLICT DO NOTHING",
        sorted({(scoped.id, scoped.digests.of(*each)) for each in planned.buried}),
    )
    forget_shown(scoped)
    _jobs(scoped, scope, selection)
    summary = f"forgot {len(planned.gone)} facts and {len(planned.turns)} turns"
    log_operation(scoped, (), actor="user", now=now, why=summary)


def _all(scoped: ScopeTransaction) -> None:
    """Take every fact and turn out at once: one by one, the index would be written for each."""
    scoped.index.clear()
    for table in ("memory_fact", "memory_turn"):
        scoped.db.run(f"DELETE FROM {table} WHERE scope = ?", (scoped.id,))  # noqa: S608 (ours)


def _facts(scoped: ScopeTransaction, planned: ForgettingPlan) -> None:
    kept = scoped.kept(set(planned.facts))
    scoped.drop([kept[id_] for id_, left in planned.facts.items() if left is None])
    for id_, left in planned.facts.items():
        if left is not None:
            scoped.put(left, kept[id_])


def _turns(scoped: ScopeTransaction, turns: Sequence[Statement]) -> None:
    numbers = {
        name: find_thread(scoped.db, scoped.digests, name).number
        for name in {turn.thread for turn in turns}
    }
    keys = {(scoped.id, numbers[turn.thread], turn.seq): turn for turn in turns}
    items: dict[int, list[str]] = {}
    for key, turn in keys.items():
        rows = scoped.db.rows(
            "SELECT number, start, stop FROM memory_item"
            " WHERE scope = ? AND thread = ? AND seq = ?",
            key,
        )
        for number, start, stop in rows:
            items[number] = turn_words(turn, start, None if stop < 0 else stop)
    scoped.index.remove(items)
    scoped.db.run_each(
        "DELETE FROM memory_turn WHERE scope = ? AND thread = ? AND seq = ?", list(keys)
    )


def _log(scoped: ScopeTransaction, planned: ForgettingPlan) -> None:
    scoped.db.run_each(
        "DELETE FROM memory_change WHERE scope = ? AND operation = ? AND place = ?",
        [(scoped.id, logged.operation, logged.place) for logged, _ in planned.log],
    )
    left = [replace(logged, step=step) for logged, step in planned.log if step is not None]
    insert_steps(scoped, left)
    scoped.db.run_each(
        "UPDATE memory_operation SET why = ? WHERE scope = ? AND operation = ?",
        [(b"", scoped.id, number) for number in planned.operations],
    )


def _jobs(scoped: ScopeTransaction, scope: Scope, selection: Selection) -> None:
    """Stop jobs from using content read before; threads without turns need none."""
    jobs = scoped.db.jobs
    scoped.db.run(*jobs.withdraw(key_of(scope)))
    if selection.everything:
        scoped.db.run(*jobs.discard(key_of(scope)))
        scoped.db.run("UPDATE memory_thread SET name = ? WHERE scope = ?", (b"", scoped.id))
    for name in selection.threads:
        thread = find_thread(scoped.db, scoped.digests, name).number
        scoped.db.run(*jobs.discard(key_of(scope, thread)))
