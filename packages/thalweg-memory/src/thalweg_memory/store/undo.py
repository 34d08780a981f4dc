"""Undo of commits: their changes are reverted, unless they were changed again since."""

from thalweg.errors import NoSuchOperationError, StaleWriteError
from thalweg_memory.base import Operation
from thalweg_memory.facts.values import Fact, ProfileSection
from thalweg_memory.forgetting import hiding
from thalweg_memory.store import commits, operations
from thalweg_memory.store.scoped import ScopeTransaction
from thalweg_memory.store.steps import FactStep, SectionStep, Step, TurnsStep


def undo(scoped: ScopeTransaction, operation: int, *, now: str) -> Operation:
    """See `MemoryStore.undo`."""
    logged = operations.steps_of(scoped, [operation]).get(operation, [])
    logged_steps = [each.step for each in reversed(logged)]
    steps = _undone(scoped, operation, logged_steps)
    steps = commits.by_hand(scoped, steps, shown=_turns(scoped, operation, logged_steps))
    made = commits.make(scoped, steps, actor="undo", now=now, why=f"undo of change {operation}")
    if made is None:
        raise NoSuchOperationError(operation)
    return made


def restore(scoped: ScopeTransaction, operation: int, *, now: str) -> list[Operation]:
    """See `MemoryStore.restore`. Operations whose content was forgotten are passed over."""
    there = [each.id for each in operations.read(scoped)]
    if operation and operation not in there:
        raise NoSuchOperationError(operation)
    later = [number for number in there if number > operation]
    logged = operations.steps_of(scoped, later)
    return [undo(scoped, number, now=now) for number in later if number in logged]


def _turns(scoped: ScopeTransaction, undone: int, steps: list[Step]) -> TurnsStep | None:
    """Show the turns that an operation hid, or hide those that it had shown again."""
    step = next((step for step in steps if isinstance(step, TurnsStep)), None)
    if step is None:
        return None
    hiding.revert(scoped, undone, scoped.row.operation + 1, is_shown=step.is_shown)
    if not step.is_shown:
        scoped.row.cleared = 0  # of a clear: what a run captures from here on is shown
    return TurnsStep(f"undo of change {undone}", step.turns, is_shown=not step.is_shown)


def _undone(scoped: ScopeTransaction, operation: int, steps: list[Step]) -> list[Step]:
    """Return the steps that revert others; the last of them comes first."""
    kept = scoped.kept({step.id for step in steps if isinstance(step, FactStep)})
    facts = {id_: each.fact for id_, each in kept.items()}
    sections = scoped.sections()
    befores = [s.before for s in steps if isinstance(s, FactStep) and s.before is not None]
    buried = scoped.buried(commits.tombstone_keys(befores))
    why = f"undo of change {operation}"
    undone: list[FactStep | SectionStep] = []
    for step in steps:
        if isinstance(step, TurnsStep):
            continue
        if isinstance(step, SectionStep):
            _check(sections.pop(step.name, None), step.after, step.name, operation)
            if step.before is not None:
                sections[step.name] = step.before
            undone.append(SectionStep(step.name, why, step.after, step.before))
            continue
        _check(facts.pop(step.id, None), step.after, step.id, operation)
        before = None if step.before is None else commits.allowed(step.before, buried)
        if before is not None:
            facts[step.id] = before
        undone.append(FactStep(step.id, why, step.after, before))
    changed: list[Step] = [step for step in undone if step.before != step.after]
    return changed


def _check(
    found: Fact | ProfileSection | None,
    expected: Fact | ProfileSection | None,
    name: str,
    operation: int,
) -> None:
    if found != expected:
        problem = f"{name} was changed after change {operation}, undo that first"
        raise StaleWriteError(problem)
