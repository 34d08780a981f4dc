"""The log of operations: every commit, with the content before and after."""

from collections.abc import Iterable, Mapping, Sequence

from thalweg.database.base import decode, encode
from thalweg_memory.base import Operation
from thalweg_memory.facts.values import HISTORY, USER_CONTEXT, FactId, SectionName
from thalweg_memory.store import scopes
from thalweg_memory.store.records import read_fact, read_section, write_fact, write_section
from thalweg_memory.store.scoped import ENDLESS, ScopeTransaction
from thalweg_memory.store.steps import FactStep, SectionStep, Step, StepRow, TurnsStep


def log(
    scoped: ScopeTransaction, steps: Sequence[Step], *, actor: str, now: str, why: str
) -> Operation:
    """Log an operation, and increment the scope's version."""
    scoped.row.version += 1
    scoped.row.operation += 1
    number = scoped.row.operation
    row = (scoped.id, number, now, encode(actor), encode(why))
    scoped.db.insert("memory_operation", [row])
    insert(scoped, [StepRow(number, place, step) for place, step in enumerate(steps)])
    scopes.save(scoped.db, scoped.row)
    return Operation(number, now, actor, why, tuple(step.change() for step in steps))


def insert(scoped: ScopeTransaction, logged: Iterable[StepRow]) -> None:
    """Write steps into the log."""
    scoped.db.insert("memory_change", [_row(scoped.id, each) for each in logged])


def _row(scope: int, logged: StepRow) -> tuple[int | str | bytes, ...]:
    step = logged.step
    if isinstance(step, TurnsStep):
        kind, name = "turns", FactId("")
        images = [encode(str(step.turns)), b"shown" if step.is_shown else b"hidden"]
    elif isinstance(step, FactStep):
        kind, name = "fact", step.id
        images = [b"" if fact is None else write_fact(fact) for fact in (step.before, step.after)]
    else:
        kind, name = "section", FactId(step.name)
        images = [b"" if one is None else write_section(one) for one in (step.before, step.after)]
    return (scope, logged.operation, logged.place, kind, encode(name), encode(step.why), *images)


def read(
    scoped: ScopeTransaction, *, fact: FactId | None = None, limit: int | None = None
) -> list[Operation]:
    """See `MemoryStore.operations`."""
    most = ENDLESS if limit is None else limit
    if fact is None:
        rows = scoped.db.rows(
            "SELECT operation, at, actor, why FROM memory_operation"
            " WHERE scope = ? ORDER BY operation DESC LIMIT ?",
            (scoped.id, most),
        )
    else:
        rows = scoped.db.rows(
            "SELECT operation, at, actor, why FROM memory_operation"
            " WHERE scope = ? AND operation IN (SELECT operation FROM memory_change"
            " WHERE scope = ? AND name = ? AND kind = 'fact') ORDER BY operation DESC LIMIT ?",
            (scoped.id, scoped.id, encode(fact), most),
        )
    found = list(rows)
    steps = steps_of(scoped, [number for number, *_ in found])
    return [
        Operation(
            number,
            at,
            decode(actor),
            decode(why),
            tuple(logged.step.change() for logged in steps.get(number, ())),
        )
        for number, at, actor, why in found
    ]


_SELECT = (
    "SELECT operation, place, kind, name, why, before, after FROM memory_change WHERE scope = ?"
)


def steps_of(scoped: ScopeTransaction, numbers: Sequence[int]) -> Mapping[int, list[StepRow]]:
    """Read the steps of operations, in order."""
    found: dict[int, list[StepRow]] = {}
    rows = scoped.db.rows_by(f"{_SELECT} AND operation", numbers, (scoped.id,))
    for logged in sorted(map(_read, rows), key=lambda logged: logged.place):
        found.setdefault(logged.operation, []).append(logged)
    return found


def whole_log(scoped: ScopeTransaction) -> list[StepRow]:
    """Read every step of the scope."""
    return [_read(row) for row in scoped.db.rows(_SELECT, (scoped.id,))]


def whys(scoped: ScopeTransaction) -> dict[int, str]:
    """Read why each operation was."""
    rows = scoped.db.rows(
        "SELECT operation, why FROM memory_operation WHERE scope = ?", (scoped.id,)
    )
    return {number: decode(why) for number, why in rows}


def _read(row: tuple[int, int, str, bytes, bytes, bytes, bytes]) -> StepRow:
    operation, place, kind, name, why, before, after = row
    if kind == "turns":
        step = TurnsStep(decode(why), int(decode(before)), bytes(after) == b"shown")
        return StepRow(operation, place, step)
    if kind == "section":
        images = [read_section(image) if image else None for image in (before, after)]
        known: dict[str, SectionName] = {name: name for name in (*USER_CONTEXT, *HISTORY)}
        return StepRow(operation, place, SectionStep(known[decode(name)], decode(why), *images))
    facts = [read_fact(image) if image else None for image in (before, after)]
    return StepRow(operation, place, FactStep(FactId(decode(name)), decode(why), *facts))
