"""Commits: what changes come to, and making them happen."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from thalweg.errors import StaleWriteError
from thalweg_memory.base import Learned, Operation
from thalweg_memory.facts.changes import Change, PutFact, RemoveFact, WriteSection, facts_of
from thalweg_memory.facts.values import Fact, FactId
from thalweg_memory.forgetting import hiding
from thalweg_memory.store import operations, scopes, threads
from thalweg_memory.store.digests import Kind
from thalweg_memory.store.scoped import ScopeTransaction
from thalweg_memory.store.steps import FactStep, SectionStep, Step, TurnsStep


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
    steps: dict[int, FactStep | SectionStep] = dict(_of_facts(scoped, changes, current))
    steps.update(_of_sections(scoped, changes, current.keys()))
    in_order = (step for _, step in sorted(steps.items()))
    return [step for step in in_order if step.before != step.after]


def unearth(scoped: ScopeTransaction, changes: Sequence[Change]) -> None:
    """Remove tombstones of texts that the user states again: they only bind extraction."""
    stated = [change.fact for change in changes if isinstance(change, PutFact)]
    texts = {fact.content for fact in stated if fact.written_by == "user" and not fact.evidence}
    scoped.db.run_each(
        "DELETE FROM memory_tombstone WHERE scope = ? AND digest = ?",
        [(scoped.id, scoped.digests.of("content", text)) for text in sorted(texts)],
    )


def _of_facts(
    scoped: ScopeTransaction, changes: Sequence[Change], current: dict[FactId, Fact]
) -> Iterator[tuple[int, FactStep]]:
    """Yield the steps of facts; `current` is updated."""
    buried = scoped.buried(
        tombstone_keys(change.fact for change in changes if isinstance(change, PutFact))
    )
    for place, change in enumerate(changes):
        if isinstance(change, PutFact) and (fact := allowed(change.fact, buried)) is not None:
            yield place, FactStep(fact.id, change.why, current.get(fact.id), fact)
            current[fact.id] = fact
        elif isinstance(change, RemoveFact):
            yield place, FactStep(change.id, change.why, current.pop(change.id, None), None)


def _of_sections(
    scoped: ScopeTransaction, changes: Sequence[Change], there: Collection[FactId]
) -> Iterator[tuple[int, SectionStep]]:
    written = [
        (at, change) for at, change in enumerate(changes) if isinstance(change, WriteSection)
    ]
    current = scoped.sections() if written else {}
    for place, change in written:
        if all(id_ in there for id_ in change.section.cites):
            before = current.pop(change.name, None)
            after = change.section if change.section.text else None
            yield place, SectionStep(change.name, change.why, before, after)
            if after is not None:
                current[change.name] = after


def tombstone_keys(facts: Iterable[Fact]) -> set[tuple[Kind, str]]:
    """List what of facts may have a tombstone."""
    found: set[tuple[Kind, str]] = set()
    for fact in facts:
        found.add(("fact", fact.id))
        found |= {("content", text) for text in (fact.content, *fact.aliases)}
        found |= {("uid", evidence.uid) for evidence in fact.evidence if evidence.quote}
    return found


def allowed(fact: Fact, buried: Collection[tuple[Kind, str]]) -> Fact | None:
    """Return a fact without forgotten content; `None` if nothing remains.

    Evidence without a quote remains: `forget` reduces the evidence of other facts to it.
    """
    if ("fact", fact.id) in buried or ("content", fact.content) in buried:
        return None
    evidence = tuple(e for e in fact.evidence if not (e.quote and ("uid", e.uid) in buried))
    if fact.evidence and not evidence:
        return None
    aliases = tuple(alias for alias in fact.aliases if ("content", alias) not in buried)
    return replace(fact, evidence=evidence, aliases=aliases)


def by_hand(
    scoped: ScopeTransaction,
    steps: Sequence[Step],
    *,
    hides: str = "",
    shown: TurnsStep | None = None,
) -> list[Step]:
    """Return a person's steps with their required additions, and hide the turns.

    Removed content is shown neither by its source turns nor by a section of the profile that cites
    it.

    Args:
        scoped: A writing transaction.
        steps: The person's steps.
        hides: Why every turn of the scope is hidden, also those of active runs; empty to hide only
            the source turns of facts.
        shown: Turns that an undo showed again.
    """
    operation = scoped.row.operation + 1
    gone = hiding.taken_out(steps)
    if hides:
        hidden = hiding.hide_all(scoped, operation)
        scoped.row.cleared = scoped.row.version + 1
    else:
        hidden = hiding.hide_behind(scoped, gone, operation) if gone else 0
    made = [*steps, *_uncited(scoped, steps, {fact.id for fact in gone})]
    if shown is not None:
        made.append(shown)
    if hidden:
        made.append(TurnsStep(hides or "a fact learned from them was removed", hidden))
    return made


def _uncited(
    scoped: ScopeTransaction, steps: Sequence[Step], gone: set[FactId]
) -> Iterator[SectionStep]:
    """Take out sections of the profile that were written from facts that are taken out."""
    written = {step.name for step in steps if isinstance(step, SectionStep)}
    for name, section in scoped.sections().items() if gone else ():
        if name not in written and not gone.isdisjoint(section.cites):
            yield SectionStep(name, "a fact that it depends on was removed", section, None)


def make(
    scoped: ScopeTransaction, steps: Sequence[Step], *, actor: str, now: str, why: str
) -> Operation | None:
    """Perform steps and log them; `None` if there are none."""
    if not steps:
        return None
    kept = scoped.kept({step.id for step in steps if isinstance(step, FactStep)})
    ends: Mapping[str, FactStep | SectionStep] = {
        step.id if isinstance(step, FactStep) else f"\0{step.name}": step
        for step in steps
        if not isinstance(step, TurnsStep)
    }
    for step in ends.values():
        if isinstance(step, SectionStep):
            scoped.write(step.name, step.after)
        elif step.after is not None:
            scoped.put(step.after, kept.get(step.id))
        elif step.id in kept:
            scoped.drop([kept[step.id]])
    return operations.log(scoped, steps, actor=actor, now=now, why=why)


def take_in(scoped: ScopeTransaction, learned: Learned) -> None:
    """Store the watermark of a thread's extraction.

    Raises:
        StaleWriteError: Another worker processed it.
    """
    thread = threads.get_or_create(scoped.db, scoped.row, scoped.digests, learned.thread)
    if thread.learned != learned.expected:
        problem = f"{thread.learned} turns of the thread were processed, not {learned.expected}"
        raise StaleWriteError(problem)
    thread.learned = learned.upto
    threads.save(scoped.db, scoped.id, learned.thread, thread)


def check_version(row: scopes.ScopeRow, expected: int) -> None:
    """Raise if the scope changed since it was read.

    Raises:
        StaleWriteError: It changed.
    """
    if row.version != expected:
        problem = f"it is at version {row.version}, not {expected}"
        raise StaleWriteError(problem)
