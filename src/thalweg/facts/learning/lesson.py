"""From proposals to changes: what the gates let through, dated, merged, within the room there is.

A plan is of one state of a memory. Whoever lost a race plans again, with the same proposals, on
the new state; there what a person did meanwhile wins.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from thalweg.facts.changes import Change, Drop, Hide, Put, Write
from thalweg.facts.dates.when import dated
from thalweg.facts.gates.judging import judge
from thalweg.facts.learning.eviction import plan_eviction
from thalweg.facts.learning.extraction import Paragraph
from thalweg.facts.merging.planning import Hint, plan_merge
from thalweg.facts.proposals import Proposal
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Fact, FactId, Profile, Section, Trust, Turn

SECTION_CHARS = 600
"""Characters of a section of the profile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what was not let through."""

    changes: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()
    """Why, for each candidate that gave nothing; no words of it."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What plans have in common."""

    settings: MemorySettings
    now: str
    writer: str
    """See `Fact.written_by`."""
    new_id: Callable[[], FactId]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal that passed the gates, as a fact."""

    fact: Fact
    hint: Hint
    why: str
    """What the gates say of it."""


def candidates(
    proposals: Sequence[Proposal],
    turns: Sequence[Turn],
    learnable: Collection[str],
    lesson: Lesson,
) -> tuple[list[Candidate], list[str]]:
    """Make facts of the proposals that pass the gates.

    Args:
        proposals: What a learner proposed.
        turns: Of the thread, oldest first: those that they rest on, and those around them.
        learnable: Which of these they may rest on, by `Turn.uid`.
        lesson: What is the same in every plan.

    Returns:
        The candidates, and why each of the other proposals is none.
    """
    made = [_candidate(proposal, turns, learnable, lesson) for proposal in proposals]
    refused = [found for found in made if isinstance(found, str)]
    return [found for found in made if isinstance(found, Candidate)], refused


def _candidate(
    proposal: Proposal, turns: Sequence[Turn], learnable: Collection[str], lesson: Lesson
) -> Candidate | str:
    turn = next((turn for turn in turns if turn.uid == proposal.uid), None)
    if turn is None or turn.uid not in learnable:
        return "its turn is gone"
    verdict = judge(proposal, turns, settings=lesson.settings)
    if verdict.decision == "drop":
        return kind_of(verdict.why)
    passed = verdict.proposal
    fact = Fact(
        id=lesson.new_id(),
        content=dated(passed.content, turn.said_at),
        category=passed.category,
        confidence=passed.confidence,
        created_at=lesson.now,
        source=turn.thread,
        subject=_folded(passed.subject),
        attribute=_folded(passed.attribute),
        value=_folded(passed.value),
        evidence=verdict.evidence,
        trust=verdict.trust,
        language=passed.language,
        valid_from=passed.valid_from,
        observed_at=turn.said_at,
        status="active" if verdict.kept else "quarantined",
        written_by=lesson.writer,
    )
    return Candidate(fact, Hint(passed.relation, passed.of), verdict.why)


def kind_of(why: str) -> str:
    """Take out of a reason what it quotes, so that it can be told in a log.

    Example:
        >>> kind_of("has 'Rome', which was not said")
        'has …, which was not said'
    """
    return _QUOTED.sub("…", why)


_QUOTED = re.compile(r"(?<!\w)['\"].*['\"]|\d[\d.]*")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def plan_learning(
    learned: Sequence[Candidate],
    facts: Sequence[Fact],
    lesson: Lesson,
    *,
    asked: Sequence[Fact] = (),
    settled: Collection[FactId] = (),
) -> Plan:
    """Plan what becomes of candidates.

    Args:
        learned: See `candidates`.
        facts: As they are, whatever their status.
        lesson: What is the same in every plan.
        asked: Facts as they were when the learner was asked.
        settled: Those of them that a person changed or took out since: what would have touched
            them is passed over.
    """
    kept: list[Candidate] = []
    refused: list[str] = []
    for one in learned:
        if settled and (one.hint.of in settled or _touched(asked, one) & set(settled)):
            refused.append("a person was first")
        else:
            kept.append(one)
    changes = _merged(facts, kept)
    changes = [*changes, *_room(after(facts, changes), lesson)]
    return Plan(folded(changes), tuple(refused))


def _merged(facts: Sequence[Fact], learned: Sequence[Candidate]) -> list[Change]:
    """Merge candidates; those that wait for the user's word say why the gates had them wait."""
    hints = {one.fact.id: one.hint for one in learned if one.hint.of}
    whys = {one.fact.id: one.why for one in learned if one.fact.status == "quarantined"}
    return [
        replace(change, why=whys.get(_id(change), change.why))
        if isinstance(change, Put)
        else change
        for change in plan_merge(facts, [one.fact for one in learned], hints=hints)
    ]


def _touched(facts: Sequence[Fact], one: Candidate) -> set[FactId]:
    """Tell which facts a candidate would have changed."""
    known = {fact.id for fact in facts}
    changes = _merged(facts, [one])
    return known & {_id(change) for change in changes if isinstance(change, Put | Drop)}


def _room(facts: Sequence[Fact], lesson: Lesson) -> list[Put]:
    settings = lesson.settings
    protected = settings.protected_categories
    return plan_eviction(facts, settings.max_facts, now=lesson.now, protected=protected)


def after(facts: Sequence[Fact], changes: Iterable[Change]) -> list[Fact]:
    """Tell what facts there are after some changes, in their order; new ones come last."""
    held = {fact.id: fact for fact in facts}
    for change in changes:
        match change:
            case Put(fact):
                held[fact.id] = fact
            case Drop(id):
                held.pop(id, None)
            case Write() | Hide():
                pass
    return list(held.values())


def folded(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Keep the last change of each fact and section: the others never were."""
    last: dict[str, Change] = {}
    for change in changes:
        key = _key(change)
        last.pop(key, None)
        last[key] = change
    return tuple(last.values())


def _key(change: Change) -> str:
    match change:
        case Write():
            return f"section {change.name}"
        case Hide():
            return "turns"
        case Put() | Drop():
            return _id(change)


def _id(change: Put | Drop) -> FactId:
    return change.fact.id if isinstance(change, Put) else change.id


def is_told(fact: Fact) -> bool:
    """Tell whether a fact may stand in the profile: it holds, and it is trusted."""
    return fact.status == "active" and fact.trust >= Trust.IMPORT


def plan_profile(
    paragraphs: Sequence[Paragraph],
    names: Mapping[str, FactId],
    facts: Sequence[Fact],
    profile: Profile,
    *,
    now: str,
) -> tuple[Write, ...]:
    """Plan what becomes of the profile.

    A section is written only from facts that hold and are trusted, and must name them. One that
    rests on a fact that no longer does is taken out, unless it is written anew. The user's own
    sections, which rest on no facts, stay.

    Args:
        paragraphs: What a learner wrote; may be nothing.
        names: Facts by the names it was told them under.
        facts: As they are now.
        profile: As it is now.
        now: When.
    """
    told = {fact.id for fact in facts if is_told(fact)}
    held = {section.name: section for section in profile.sections}
    own = {name for name, section in held.items() if section.text and not section.cites}
    writes: dict[str, Write] = {}
    for paragraph in paragraphs:
        cites = tuple(dict.fromkeys(names[name] for name in paragraph.facts if name in names))
        text = _capped(" ".join(paragraph.text.split()))
        is_good = bool(cites) and told.issuperset(cites) and bool(text)
        if paragraph.section in own or not is_good:
            continue
        section = Section(paragraph.section, text, now, cites)
        before = held.get(section.name)
        if before is None or (before.text, before.cites) != (text, cites):
            writes[section.name] = Write(section, "written from facts")
        else:
            writes.pop(section.name, None)
    for name, section in held.items():
        if name not in own | writes.keys() and not told.issuperset(section.cites):
            empty = replace(section, text="", cites=(), updated_at=now)
            writes[name] = Write(empty, "a fact it rests on does not hold any more")
    return tuple(writes.values())


def _capped(text: str) -> str:
    """Cut a text that is too long behind its last whole sentence; nothing where there is none."""
    if len(text) <= SECTION_CHARS:
        return text
    ends = [text.rfind(end, 0, SECTION_CHARS) for end in (". ", "! ", "? ", "。", "！", "？")]
    return text[: max(ends) + 1].strip()
