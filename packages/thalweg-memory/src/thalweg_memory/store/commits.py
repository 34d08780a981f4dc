"""Commits: the steps of changes, the turns that they hide, their log, and their undo."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from thalweg.database.base import decode, encode
from thalweg.errors import NoSuchOperationError, StaleWriteError
from thalweg_memory.facts.by_hand import ACCEPTED
from thalweg_memory.facts.values import (
    HISTORY,
    USER_CONTEXT,
    Change,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    RemoveFact,
    SectionName,
    WriteSection,
    facts_of,
)
from thalweg_memory.store.records import (
    FactStep,
    Kind,
    Learned,
    Operation,
    SectionStep,
    Step,
    StepRow,
    TurnsStep,
    read_fact,
    read_section,
    read_turn,
    write_fact,
    write_section,
)
from thalweg_memory.store.scoped import (
    ENDLESS,
    ScopeRow,
    ScopeTransaction,
    get_or_create_thread,
    save_scope,
    save_thread,
)

_MAX_ANSWERS = 16
"""Messages of the assistant that are taken for the answer to one turn, at most."""


def removed_facts(steps: Iterable[Step]) -> list[Fact]:
    """List the facts that steps drop or reword, as they were."""
    return [
        step.before
        for step in steps
        if isinstance(step, FactStep)
        and step.before is not None
        and step.why != ACCEPTED
        and (step.after is None or step.after.content != step.before.content)
    ]


def hide_source_turns(
    scoped: ScopeTransaction, facts: Collection[Fact], operation: int, uids: Collection[str] = ()
) -> int:
    """Hide the turns that facts were learned from, and those with some ids.

    The answers to them are hidden as well: what the assistant wrote up to the user's next message.

    Returns:
        How many turns were hidden.
    """
    own = {each.uid for fact in facts for each in fact.evidence if each.uid}
    turns = _with_uids(scoped, {*own, *uids})
    turns |= _answers(scoped, turns.keys())
    shown = sorted(key for key, hidden in turns.items() if hidden <= 0)
    scoped.db.run_each(
        "UPDATE memory_turn SET hidden = ? WHERE scope = ? AND thread = ? AND seq = ?",
        [(operation, scoped.id, *key) for key in shown],
    )
    return len(shown)


def hide_all(scoped: ScopeTransaction, operation: int) -> int:
    """Hide every turn of the scope; returns how many were shown before."""
    (shown,) = scoped.db.row(
        "SELECT COUNT(*) FROM memory_turn WHERE scope = ? AND hidden <= 0", (scoped.id,)
    )
    scoped.db.run(
        "UPDATE memory_turn SET hidden = ? WHERE scope = ? AND hidden <= 0", (operation, scoped.id)
    )
    return int(shown)


TurnKey = tuple[int, int]
"""Number of the thread, and `seq` of the turn."""


def _with_uids(scoped: ScopeTransaction, uids: Collection[str]) -> dict[TurnKey, int]:
    """Find turns by id; the values are their `hidden`."""
    rows = scoped.db.rows_by(
        "SELECT thread, seq, hidden FROM memory_turn WHERE scope = ? AND uid",
        sorted(scoped.digests.of("uid", uid) for uid in uids),
        (scoped.id,),
    )
    return {(thread, seq): hidden for thread, seq, hidden in rows}


def _answers(scoped: ScopeTransaction, keys: Collection[TurnKey]) -> dict[TurnKey, int]:
    """Find the messages of the assistant that follow turns, up to the next one of another role."""
    found: dict[TurnKey, int] = {}
    for thread, in_thread in groupby(sorted(keys), itemgetter(0)):
        sources = {seq for _, seq in in_thread}
        rows = scoped.db.rows_by(
            "SELECT seq, hidden, body FROM memory_turn WHERE scope = ? AND thread = ? AND seq",
            sorted({seq + n for seq in sources for n in range(1, _MAX_ANSWERS + 1)}),
            (scoped.id, thread),
        )
        following = {seq: (hidden, read_turn("", seq, body)) for seq, hidden, body in rows}
        is_answer = False
        for seq in sorted({*sources, *following}):
            if seq in sources:
                is_answer = True
                continue
            hidden, turn = following[seq]
            is_answer = is_answer and turn.role == "assistant"
            if is_answer:
                found[thread, seq] = hidden
    return found


def log_operation(
    scoped: ScopeTransaction, steps: Sequence[Step], *, actor: str, now: str, why: str
) -> Operation:
    """Log an operation, and increment the scope's version."""
    scoped.row.version += 1
    scoped.row.operation += 1
    number = scoped.row.operation
    row = (scoped.id, number, now, encode(actor), encode(why))
    scoped.db.insert("memory_operation", [row])
    insert_steps(scoped, [StepRow(number, place, step) for place, step in enumerate(steps)])
    save_scope(scoped.db, scoped.row)
    return Operation(number, now, actor, why, tuple(step.change() for step in steps))


def insert_steps(scoped: ScopeTransaction, logged: Iterable[StepRow]) -> None:
    """Write steps into the log."""
    scoped.db.insert("memory_change", [_step_row(scoped.id, each) for each in logged])


def _step_row(scope: int, logged: StepRow) -> tuple[int | str | bytes, ...]:
    step = logged.step
    if isinstance(step, TurnsStep):
        kind, name = "turns", FactId("")
        bodies = [encode(str(step.turns)), b"shown" if step.is_shown else b"hidden"]
    elif isinstance(step, FactStep):
        kind, name = "fact", step.id
        bodies = [b"" if fact is None else write_fact(fact) for fact in (step.before, step.after)]
    else:
        kind, name = "section", FactId(step.name)
        bodies = [b"" if one is None else write_section(one) for one in (step.before, step.after)]
    return (scope, logged.operation, logged.place, kind, encode(name), encode(step.why), *bodies)


def read_operations(
    scoped: ScopeTransaction, *, fact: FactId | None = None, limit: int | None = None
) -> list[Operation]:
    """Return operations, newest first; see `MemoryStore.operations`."""
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
    for logged in sorted(map(_read_step, rows), key=lambda logged: logged.place):
        found.setdefault(logged.operation, []).append(logged)
    return found


def whole_log(scoped: ScopeTransaction) -> list[StepRow]:
    """Read every step of the scope."""
    return [_read_step(row) for row in scoped.db.rows(_SELECT, (scoped.id,))]


def read_whys(scoped: ScopeTransaction) -> dict[int, str]:
    """Return the reason of each operation, by number."""
    rows = scoped.db.rows(
        "SELECT operation, why FROM memory_operation WHERE scope = ?", (scoped.id,)
    )
    return {number: decode(why) for number, why in rows}


def _read_step(row: tuple[int, int, str, bytes, bytes, bytes, bytes]) -> StepRow:
    operation, place, kind, name, why, before, after = row
    if kind == "turns":
        step = TurnsStep(decode(why), int(decode(before)), bytes(after) == b"shown")
        return StepRow(operation, place, step)
    if kind == "section":
        bodies = [read_section(image) if image else None for image in (before, after)]
        known: dict[str, SectionName] = {name: name for name in (*USER_CONTEXT, *HISTORY)}
        return StepRow(operation, place, SectionStep(known[decode(name)], decode(why), *bodies))
    facts = [read_fact(image) if image else None for image in (before, after)]
    return StepRow(operation, place, FactStep(FactId(decode(name)), decode(why), *facts))


def plan(scoped: ScopeTransaction, changes: Sequence[Change]) -> list[Step]:
    """Return the steps of changes, in their order.

    Facts with a tombstone, facts with only forgotten turns as evidence, sections that cite missing
    facts, and changes without effect are skipped, so that nothing forgotten is restored.
    """
    cited = {
        id_ for each in changes if isinstance(each, WriteSection) for id_ in each.section.cites
    }
    kept = scoped.kept(facts_of(changes) | cited)
    current = {id_: each.fact for id_, each in kept.items()}
    steps: dict[int, FactStep | SectionStep] = dict(_fact_steps(scoped, changes, current))
    steps.update(_section_steps(scoped, changes, current.keys()))
    in_order = (step for _, step in sorted(steps.items()))
    return [step for step in in_order if step.before != step.after]


def remove_tombstones(scoped: ScopeTransaction, changes: Sequence[Change]) -> None:
    """Remove tombstones of texts that the user states again: they only bind extraction."""
    stated = [change.fact for change in changes if isinstance(change, PutFact)]
    texts = {fact.content for fact in stated if fact.written_by == "user" and not fact.evidence}
    made = [scoped.digests.tombstones_of("content", text) for text in sorted(texts)]
    scoped.db.run_each(
        "DELETE FROM memory_tombstone WHERE scope = ? AND digest = ?",
        [(scoped.id, digest) for digests in made for digest in digests],
    )


def _fact_steps(
    scoped: ScopeTransaction, changes: Sequence[Change], current: dict[FactId, Fact]
) -> Iterator[tuple[int, FactStep]]:
    """Yield the steps of facts; `current` is updated."""
    tombstoned = scoped.tombstoned(
        tombstone_keys(change.fact for change in changes if isinstance(change, PutFact))
    )
    for place, change in enumerate(changes):
        if (
            isinstance(change, PutFact)
            and (fact := without_tombstoned(change.fact, tombstoned)) is not None
        ):
            yield place, FactStep(fact.id, change.why, current.get(fact.id), fact)
            current[fact.id] = fact
        elif isinstance(change, RemoveFact):
            yield place, FactStep(change.id, change.why, current.pop(change.id, None), None)


def _section_steps(
    scoped: ScopeTransaction, changes: Sequence[Change], existing_ids: Collection[FactId]
) -> Iterator[tuple[int, SectionStep]]:
    written = [
        (at, change) for at, change in enumerate(changes) if isinstance(change, WriteSection)
    ]
    current = scoped.sections() if written else {}
    for place, change in written:
        if all(id_ in existing_ids for id_ in change.section.cites):
            before = current.pop(change.name, None)
            after = change.section if change.section.text else None
            yield place, SectionStep(change.name, change.why, before, after)
            if after is not None:
                current[change.name] = after


def tombstone_keys(facts: Iterable[Fact]) -> set[tuple[Kind, str]]:
    """Return the keys under which facts may have tombstones."""
    found: set[tuple[Kind, str]] = set()
    for fact in facts:
        found.add(("fact", fact.id))
        found |= {("content", text) for text in (fact.content, *fact.aliases)}
        found |= {("uid", evidence.uid) for evidence in fact.evidence if evidence.quote}
    return found


def without_tombstoned(fact: Fact, tombstoned: Collection[tuple[Kind, str]]) -> Fact | None:
    """Return a fact without forgotten content; `None` if nothing remains.

    Evidence without a quote remains: `forget` reduces the evidence of other facts to it.
    """
    if ("fact", fact.id) in tombstoned or ("content", fact.content) in tombstoned:
        return None
    evidence = tuple(e for e in fact.evidence if not (e.quote and ("uid", e.uid) in tombstoned))
    if fact.evidence and not evidence:
        return None
    aliases = tuple(alias for alias in fact.aliases if ("content", alias) not in tombstoned)
    return replace(fact, evidence=evidence, aliases=aliases)


def manual_steps(
    scoped: ScopeTransaction,
    steps: Sequence[Step],
    *,
    hide_reason: str = "",
    uids: Collection[str] = (),
    shown: TurnsStep | None = None,
) -> list[Step]:
    """Return a person's steps with their required additions, and hide the turns.

    Removed content is shown neither by its source turns nor by a section of the profile that cites
    it.

    Args:
        scoped: A writing transaction.
        steps: The person's steps.
        hide_reason: Why every turn of the scope is hidden, also those of active runs; empty to hide
            only the source turns of facts.
        uids: Turns that are hidden as well, by `Statement.uid`.
        shown: Turns that an undo showed again.
    """
    operation = scoped.row.operation + 1
    gone = removed_facts(steps)
    if hide_reason:
        hidden = hide_all(scoped, operation)
        scoped.row.cleared = operation
    else:
        hidden = hide_source_turns(scoped, gone, operation, uids) if gone or uids else 0
    made = [*steps, *_citing_section_steps(scoped, steps, {fact.id for fact in gone})]
    if shown is not None:
        made.append(shown)
    if hidden:
        made.append(
            TurnsStep(hide_reason or "they, or a fact learned from them, were removed", hidden)
        )
    return made


def hide_turns(scoped: ScopeTransaction, uids: Collection[str], why: str) -> list[Step]:
    """Hide turns by `Statement.uid`; return the step for the log, none if all were hidden."""
    hidden = hide_source_turns(scoped, (), scoped.row.operation + 1, uids)
    return [TurnsStep(why, hidden)] if hidden else []


def _citing_section_steps(
    scoped: ScopeTransaction, steps: Sequence[Step], gone: set[FactId]
) -> Iterator[SectionStep]:
    """Yield steps that remove the sections of the profile that cite removed facts."""
    written = {step.name for step in steps if isinstance(step, SectionStep)}
    for name, section in scoped.sections().items() if gone else ():
        if name not in written and not gone.isdisjoint(section.cites):
            yield SectionStep(name, "a fact that it depends on was removed", section, None)


def perform_steps(
    scoped: ScopeTransaction, steps: Sequence[Step], *, actor: str, now: str, why: str
) -> Operation | None:
    """Perform steps and log them; `None` if there are none."""
    if not steps:
        return None
    kept = scoped.kept({step.id for step in steps if isinstance(step, FactStep)})
    last_steps: Mapping[str, FactStep | SectionStep] = {
        step.id if isinstance(step, FactStep) else f"\0{step.name}": step
        for step in steps
        if not isinstance(step, TurnsStep)
    }
    for step in last_steps.values():
        if isinstance(step, SectionStep):
            scoped.write(step.name, step.after)
        elif step.after is not None:
            scoped.put(step.after, kept.get(step.id))
        elif step.id in kept:
            scoped.drop([kept[step.id]])
    return log_operation(scoped, steps, actor=actor, now=now, why=why)


def advance_watermark(scoped: ScopeTransaction, learned: Learned) -> None:
    """Store the watermark of a thread's extraction.

    Raises:
        StaleWriteError: Another worker processed it.
    """
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, learned.thread)
    if thread.learned != learned.expected:
        problem = f"{thread.learned} turns of the thread were processed, not {learned.expected}"
        raise StaleWriteError(problem)
    thread.learned = learned.upto
    save_thread(scoped.db, scoped.id, learned.thread, thread)


def check_version(row: ScopeRow, expected: int) -> None:
    """Raise if the scope changed since it was read.

    Raises:
        StaleWriteError: It changed.
    """
    if row.version != expected:
        problem = f"it is at version {row.version}, not {expected}"
        raise StaleWriteError(problem)


def undo(scoped: ScopeTransaction, operation: int, *, now: str) -> Operation:
    """Undo an operation, as an operation of its own; see `MemoryStore.undo`."""
    logged = steps_of(scoped, [operation]).get(operation, [])
    logged_steps = [each.step for each in reversed(logged)]
    steps = _inverse_steps(scoped, operation, logged_steps)
    steps = manual_steps(scoped, steps, shown=_undo_hiding(scoped, operation, logged_steps))
    made = perform_steps(scoped, steps, actor="undo", now=now, why=f"undo of change {operation}")
    if made is None:
        raise NoSuchOperationError(operation)
    return made


def restore(scoped: ScopeTransaction, operation: int, *, now: str) -> list[Operation]:
    """Undo all later operations but those with forgotten content; see `MemoryStore.restore`."""
    there = [each.id for each in read_operations(scoped)]
    if operation and operation not in there:
        raise NoSuchOperationError(operation)
    later = [number for number in there if number > operation]
    logged = steps_of(scoped, later)
    return [undo(scoped, number, now=now) for number in later if number in logged]


def _undo_hiding(scoped: ScopeTransaction, undone: int, steps: list[Step]) -> TurnsStep | None:
    """Show the turns that an operation hid, or hide those that an undo of it had shown again.

    The sign of `hidden` and of `cleared` records which of the two an operation did.
    """
    operation, row = scoped.row.operation + 1, scoped.row
    scoped.db.run(
        "UPDATE memory_turn SET hidden = CASE WHEN hidden > 0 THEN ? ELSE ? END"
        " WHERE scope = ? AND hidden IN (?, ?)",
        (-operation, operation, scoped.id, undone, -undone),
    )
    if undone == abs(row.cleared):
        row.cleared = -operation if row.cleared > 0 else operation
    step = next((step for step in steps if isinstance(step, TurnsStep)), None)
    if step is None:
        return None
    return TurnsStep(f"undo of change {undone}", step.turns, is_shown=not step.is_shown)


def _inverse_steps(scoped: ScopeTransaction, operation: int, steps: list[Step]) -> list[Step]:
    """Return the steps that revert others; the last of them comes first."""
    kept = scoped.kept({step.id for step in steps if isinstance(step, FactStep)})
    facts = {id_: each.fact for id_, each in kept.items()}
    sections = scoped.sections()
    befores = [s.before for s in steps if isinstance(s, FactStep) and s.before is not None]
    tombstoned = scoped.tombstoned(tombstone_keys(befores))
    why = f"undo of change {operation}"
    undone: list[FactStep | SectionStep] = []
    for step in steps:
        if isinstance(step, TurnsStep):
            continue
        if isinstance(step, SectionStep):
            _check_unchanged(sections.pop(step.name, None), step.after, step.name, operation)
            if step.before is not None:
                sections[step.name] = step.before
            undone.append(SectionStep(step.name, why, step.after, step.before))
            continue
        _check_unchanged(facts.pop(step.id, None), step.after, step.id, operation)
        before = None if step.before is None else without_tombstoned(step.before, tombstoned)
        if before is not None:
            facts[step.id] = before
        undone.append(FactStep(step.id, why, step.after, before))
    changed: list[Step] = [step for step in undone if step.before != step.after]
    return changed


def _check_unchanged(
    found: Fact | ProfileSection | None,
    expected: Fact | ProfileSection | None,
    name: str,
    operation: int,
) -> None:
    if found != expected:
        problem = f"{name} was changed after change {operation}, undo that first"
        raise StaleWriteError(problem)
