"""The plan of forgetting, over all data of a scope. Pure.

Forgotten content is removed from the log of operations, too, and each image there is changed like
the fact itself: so the rest of a commit can still be undone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from thalweg_memory.base import Selection
from thalweg_memory.facts.gates.judging import beginning
from thalweg_memory.facts.merging.comparing import words_of
from thalweg_memory.facts.recall.found import index_words
from thalweg_memory.facts.values import Evidence, Fact, FactId, SectionName, Statement
from thalweg_memory.forgetting.remaining import ForgottenData, Lineage
from thalweg_memory.store.records import FactTexts, Kind, ScopeContents, Step, StepRow, TurnsStep


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
    buried: Collection[tuple[Kind, str]]
    """What gets a tombstone."""
    remaining: Sequence[tuple[str, int]]
    """See `Receipt.remaining`."""
    alike: Sequence[str]
    """See `Receipt.alike`."""
    sayings: FactTexts
    """Texts of the deleted facts, for copies outside of the tables."""


def plan_forgetting(known: ScopeContents, selection: Selection) -> ForgettingPlan:
    """Return the plan to forget a selection.

    A fact is deleted with its source turns, a turn with the facts that have no other evidence, and
    both with all verbatim copies. Other facts' evidence in such a turn loses its quotation.
    """
    sought = frozenset(index_words(selection.words))
    gone = _facts_gone(known, selection, sought)
    images = [fact for id_ in gone for fact in known.images[id_]]
    sayings = FactTexts.of(images)
    quoted = {each.uid for fact in images for each in fact.evidence if each.uid}
    turns = [
        turn
        for turn in known.turns
        if turn.uid in quoted or _is_gone(turn, selection, sayings, sought)
    ]
    uids = quoted | {turn.uid for turn in turns}
    leaving = ForgottenData(
        gone=frozenset(gone),
        uids=uids,
        sayings=sayings,
        beginnings={f'(after "{beginning(turn.text)}")' for turn in turns},
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
        buried=_buried(images, uids),
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


def _buried(images: Sequence[Fact], uids: Collection[str]) -> set[tuple[Kind, str]]:
    buried: set[tuple[Kind, str]] = {("uid", uid) for uid in uids}
    for fact in images:
        buried.add(("fact", fact.id))
        buried |= {("content", text) for text in (fact.content, *fact.aliases)}
    return buried


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
