"""Forgetting: a pure plan over all data of a scope, and its execution in every table.

Forgotten content is removed from the log of operations, too, and each image there is changed like
the fact itself: so the rest of a commit can still be undone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thalweg_memory.facts.gates import message_start
from thalweg_memory.facts.merging import words_of
from thalweg_memory.facts.recall.ranking import index_words, turn_words
from thalweg_memory.facts.values import (
    NO_FACT,
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    Scope,
    SectionName,
    Statement,
    Trust,
)
from thalweg_memory.store.commits import insert_steps, log_operation, read_whys, whole_log
from thalweg_memory.store.records import (
    FactTexts,
    Kind,
    Receipt,
    ScopeContents,
    SectionStep,
    Selection,
    Step,
    StepRow,
    TurnsStep,
)
from thalweg_memory.store.scoped import (
    ScopeTransaction,
    all_turns,
    find_thread,
    forget_shown,
    key_of,
)


class Lineage:
    """Which facts superseded a fact, and which it superseded, past those that go."""

    def __init__(self, facts: Collection[Fact], gone: Collection[FactId]) -> None:
        self._gone = frozenset(gone)
        self._known = {fact.id for fact in facts}
        self._newer: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        self._older: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        for fact in facts:
            links = [(fact.id, older) for older in fact.supersedes]
            for newer, older in (*links, (fact.superseded_by, fact.id)):
                self._newer[older][newer] = None
                self._older[newer][older] = None

    def heir(self, fact: Fact) -> FactId:
        """Return the remaining fact that superseded a fact, directly or not; `NO_FACT` for none."""
        return next(self._remaining([fact.superseded_by], self._newer, fact.id), NO_FACT)

    def superseded(self, fact: Fact) -> tuple[FactId, ...]:
        """Return the facts that one superseded, directly or through forgotten ones (omitted)."""
        return tuple(self._remaining(fact.supersedes, self._older, fact.id))

    def _remaining(
        self, ids: Iterable[FactId], links: Mapping[FactId, Iterable[FactId]], but: FactId
    ) -> Iterator[FactId]:
        """Follow links over forgotten facts to remaining ones; through these only to known ones."""
        waiting, seen = [*ids], {but, NO_FACT}
        direct = {*waiting}
        for id_ in waiting:
            if id_ not in seen:
                seen.add(id_)
                if id_ in self._gone:
                    waiting += links.get(id_, ())
                elif id_ in direct or id_ in self._known:
                    yield id_


@dataclass(frozen=True, slots=True)
class ForgottenData:
    """The forgotten data. One function changes remaining data and its images in the log alike."""

    gone: frozenset[FactId]
    uids: Collection[str]
    """Turns that go."""
    sayings: FactTexts
    """Texts of the deleted facts."""
    beginnings: Collection[str]
    """Of turns that go, as quoted words of other messages may tell them."""
    is_chosen: Mapping[Evidence, bool]
    """Whether the selection contains the turn or the thread of the evidence."""
    lineage: Lineage
    whole_profile: bool
    """Whether no section remains."""

    def fact(self, fact: Fact | None) -> Fact | None:
        """Return the remaining part of a fact."""
        if fact is None or fact.id in self.gone or self.sayings.are_in(fact.content):
            return None
        if fact.claim and any(text in fact.content for text in self.beginnings):
            return None
        left = replace(
            fact,
            evidence=tuple(
                self._evidence(each) for each in fact.evidence if not self.is_chosen[each]
            ),
            aliases=tuple(alias for alias in fact.aliases if not self.sayings.are_in(alias)),
            extra="" if self.sayings.are_in(fact.extra) else fact.extra,
            supersedes=self.lineage.superseded(fact),
            related=tuple(id_ for id_ in fact.related if id_ not in self.gone),
        )
        if fact.superseded_by not in self.gone:
            return left
        heir = self.lineage.heir(fact)
        return replace(left, superseded_by=heir) if heir else _as_active(left)

    def _evidence(self, evidence: Evidence) -> Evidence:
        is_forgotten = evidence.uid in self.uids or self.sayings.are_in(evidence.quote)
        return replace(evidence, quote="") if is_forgotten else evidence

    def section(self, section: ProfileSection | None) -> ProfileSection | None:
        """Return the remaining part of a section."""
        if section is None or self.whole_profile or not self.gone.isdisjoint(section.cites):
            return None
        return None if self.sayings.are_in(section.text) else section

    def log(self, log: Collection[StepRow]) -> Iterator[tuple[StepRow, Step | None]]:
        """Yield the steps of a log that change, and their new versions; `None` for deleted ones."""
        for logged in log:
            step, left = logged.step, self._step(logged.step)
            if isinstance(left, TurnsStep):
                continue
            if left != step or self.sayings.are_in(step.why):
                yield logged, None if left.before == left.after else replace(left, why="")

    def _step(self, step: Step) -> Step:
        if isinstance(step, TurnsStep):
            return step
        if isinstance(step, SectionStep):
            return replace(step, before=self.section(step.before), after=self.section(step.after))
        return replace(step, before=self.fact(step.before), after=self.fact(step.after))


def _as_active(fact: Fact) -> Fact:
    """Let a fact hold again; one that is not trusted waits for the user's word."""
    status = fact.status
    if status == "superseded":
        status = "active" if fact.trust >= Trust.IMPORT else "quarantined"
    return replace(fact, status=status, valid_to="", superseded_by=NO_FACT)


@dataclass(frozen=True, slots=True)
class ForgettingPlan:
    """The deletions and changes to make."""

    gone: Sequence[FactId]
    """Facts that go, those included that only the log still had, oldest first."""
    facts: Mapping[FactId, Fact | None]
    """New versions of changed facts; `None` for deleted ones."""
    turns: Sequence[Statement]
    """That go."""
    sections: Sequence[SectionName]
    """That go."""
    log: Sequence[tuple[StepRow, Step | None]]
    """Steps in the log that change, and `None` for those that go."""
    operations: Sequence[int]
    """Operations that lose content, and so their reason."""
    reopened: Sequence[FactId]
    tombstoned: Collection[tuple[Kind, str]]
    """What gets a tombstone."""
    remaining: Sequence[tuple[str, int]]
    """See `Receipt.remaining`."""
    alike: Sequence[str]
    """See `Receipt.alike`."""
    sayings: FactTexts
    """Texts of the deleted facts, for copies outside of the tables."""


def plan_forgetting(known: ScopeContents, selection: Selection) -> ForgettingPlan:
    """Return the plan to forget a selection.

    A fact is deleted with its source turns, a turn with the answers to it and the facts that have
    no other evidence, and all with their verbatim copies. Other facts' evidence in such a turn
    loses its quotation.
    """
    sought = frozenset(index_words(selection.words))
    gone = _facts_gone(known, selection, sought)
    images = [fact for id_ in gone for fact in known.images[id_]]
    sayings = FactTexts.of(images)
    quoted = {each.uid for fact in images for each in fact.evidence if each.uid}
    turns: list[Statement] = []
    answers: set[str] = set()
    before: Statement | None = None
    for turn in known.turns:
        follows = bool(turns) and turns[-1] is before and turns[-1].thread == turn.thread
        is_answer = follows and turn.role == "assistant"
        if is_answer or turn.uid in quoted or _is_gone(turn, selection, sayings, sought):
            turns.append(turn)
            answers.update([turn.uid] * is_answer)
        before = turn
    if not answers <= {*selection.uids}:  # facts learned from them alone go, too
        uids_chosen = (*selection.uids, *sorted(answers))
        return plan_forgetting(known, replace(selection, uids=uids_chosen))
    uids = quoted | {turn.uid for turn in turns}
    leaving = ForgottenData(
        gone=frozenset(gone),
        uids=uids,
        sayings=sayings,
        beginnings={f'(after "{message_start(turn.text)}")' for turn in turns},
        is_chosen=_chosen_evidence(known, selection),
        lineage=Lineage(known.facts, gone),
        whole_profile=selection.everything,
    )
    left = {fact.id: leaving.fact(fact) for fact in known.facts}
    log = list(leaving.log(known.log))
    log += [(logged, None) for logged in _hidden_for_nothing(known.log, log)]
    operations = {logged.operation for logged, _ in log}
    operations |= {number for number, why in known.whys.items() if sayings.are_in(why)}
    sections = {each.name: leaving.section(each) for each in known.sections}
    staying: dict[str, str] = {
        fact.id: fact.statement for fact in known.facts if left[fact.id] is not None
    }
    staying |= {name: each.text for name, each in sections.items() if each is not None}
    return ForgettingPlan(
        gone=gone,
        facts={fact.id: new for fact in known.facts if (new := left[fact.id]) != fact},
        turns=turns,
        sections=[name for name, each in sections.items() if each is None],
        log=log,
        operations=sorted(operations),
        reopened=_reopened(known.facts, left),
        tombstoned=_tombstoned(images, uids),
        remaining=_log_positions(images, turns),
        alike=_alike([known.images[id_][-1] for id_ in gone], staying),
        sayings=sayings,
    )


def _alike(gone: Iterable[Fact], staying: Mapping[str, str]) -> list[str]:
    """List what stays and has half of the words of a forgotten fact, and two of them at least."""
    lost = [set(words_of(fact.statement)) for fact in gone]
    found = ((name, set(words_of(text))) for name, text in staying.items())
    return [
        name
        for name, words in found
        if any(2 * len(words & other) >= max(len(other), 4) for other in lost)
    ]


def _hidden_for_nothing(
    whole: Sequence[StepRow], log: Sequence[tuple[StepRow, Step | None]]
) -> list[StepRow]:
    """Return the steps that hid turns for changes that are all forgotten."""
    gone = {(logged.operation, logged.place) for logged, step in log if step is None}
    left = {
        logged.operation
        for logged in whole
        if not isinstance(logged.step, TurnsStep) and (logged.operation, logged.place) not in gone
    }
    touched = {operation for operation, _ in gone} - left
    return [
        logged
        for logged in whole
        if isinstance(logged.step, TurnsStep) and logged.operation in touched
    ]


def _is_chosen(source: Statement | Evidence, selection: Selection) -> bool:
    """Return whether a turn, or the source of a fact, is in the selection."""
    return (
        selection.everything or source.thread in selection.threads or source.uid in selection.uids
    )


def _has_words(sought: Collection[str], *texts: str) -> bool:
    return bool(sought) and set(index_words(" ".join(texts))).issuperset(sought)


def _facts_gone(
    known: ScopeContents, selection: Selection, sought: Collection[str]
) -> list[FactId]:
    """List the facts that go, oldest first."""
    gone = {
        fact.id
        for fact in known.newest()
        if selection.everything or fact.id in selection.facts or _rests_on(fact, selection)
    }
    gone |= {
        id_
        for id_, images in known.images.items()
        if any(_has_words(sought, fact.content, *fact.aliases) for fact in images)
    }
    while True:
        sayings = FactTexts.of([fact for id_ in gone for fact in known.images[id_]])
        alike = {
            fact.id
            for fact in known.newest()
            if fact.id not in gone
            and any(sayings.are_in(text) for text in (fact.content, *fact.aliases))
        }
        if not alike:
            return [id_ for id_ in known.images if id_ in gone]
        gone |= alike


def _rests_on(fact: Fact, selection: Selection) -> bool:
    """Return whether all evidence of a fact is in the selection."""
    if not fact.evidence:
        return fact.source in selection.threads
    return all(_is_chosen(evidence, selection) for evidence in fact.evidence)


def _tombstoned(images: Sequence[Fact], uids: Collection[str]) -> set[tuple[Kind, str]]:
    tombstoned: set[tuple[Kind, str]] = {("uid", uid) for uid in uids}
    for fact in images:
        tombstoned.add(("fact", fact.id))
        tombstoned |= {("content", text) for text in (fact.content, *fact.aliases)}
    return tombstoned


def _log_positions(images: Sequence[Fact], turns: Sequence[Statement]) -> list[tuple[str, int]]:
    """Return the positions in logs of threads with the same text."""
    places = {(turn.thread, turn.position) for turn in turns}
    places |= {(each.thread, each.position) for fact in images for each in fact.evidence}
    return sorted(place for place in places if place[1] >= 0)


def _is_gone(
    turn: Statement, selection: Selection, sayings: FactTexts, sought: frozenset[str]
) -> bool:
    return (
        _is_chosen(turn, selection)
        or sayings.are_in(turn.text)
        or _has_words(sought, turn.author, turn.text)
    )


def _chosen_evidence(known: ScopeContents, selection: Selection) -> dict[Evidence, bool]:
    """Return whether each evidence of a fact, or of a former version of it, is selected."""
    return {
        evidence: _is_chosen(evidence, selection)
        for facts in known.images.values()
        for fact in facts
        for evidence in fact.evidence
    }


def _reopened(facts: Iterable[Fact], left: Mapping[FactId, Fact | None]) -> list[FactId]:
    """Return the facts that are valid again because their successor is removed."""
    return [
        fact.id
        for fact in facts
        if fact.superseded_by and (new := left[fact.id]) and not new.superseded_by
    ]


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
    hashes = {scoped.digests.of(kind, text).hex() for kind, text in planned.tombstoned}
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
        sorted({(scoped.id, scoped.digests.of(*each)) for each in planned.tombstoned}),
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
