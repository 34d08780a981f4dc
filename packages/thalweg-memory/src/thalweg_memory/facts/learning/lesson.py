"""From proposals to changes: those that pass the gates, merged; and which facts expire.

A plan is of one state of a memory. A caller that lost a race plans again, with the same proposals,
on the new state; there a person's changes made meanwhile win.
"""

import math
import re
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from thalweg_memory.facts.gates import Verdict, find_quote, judge, least_confidence, storable
from thalweg_memory.facts.learning.questions import PLANTED, Pair, Paragraph, Source
from thalweg_memory.facts.merging import RelationVerdict, Verdicts, plan_merge, words_of
from thalweg_memory.facts.merging import folded as words_folded
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Category,
    Change,
    Fact,
    FactId,
    Hide,
    Importance,
    Profile,
    ProfileSection,
    Proposal,
    PutFact,
    RemoveFact,
    Statement,
    Trust,
    WriteSection,
    facts_of,
)

LASTING: Importance = 3
CERTAINTY_HALF_LIFE_DAYS = 90
"""Days after its last statement in which a fact's confidence halves when facts are dropped.

The same for every category: a new goal is not dropped for an old preference. Of 0.95 and 0.72,
the surer fact stays unless it is five weeks older.
"""


def plan_eviction(
    facts: Sequence[Fact],
    max_facts: int,
    *,
    now: str,
    protected: Collection[Category] = (),
) -> list[PutFact]:
    """Drop the active facts with the least `certainty` until at most `max_facts` are active.

    Facts of importance 3 are dropped after all others.

    Args:
        facts: All facts, or the active ones; the others are skipped.
        max_facts: Maximum number of active facts. Protected ones are kept even beyond it.
        now: The current time.
        protected: Categories that are never dropped.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> old = Fact(FactId("a"), "Likes tea.", "preference", 0.9, "2020-01-01T00:00:00Z", "t")
        >>> new = replace(old, id=FactId("b"), created_at="2026-01-01T00:00:00Z")
        >>> [put.fact.id for put in plan_eviction([new, old], 1, now="2026-01-02T00:00:00Z")]
        ['a']
    """
    active = [fact for fact in facts if fact.status == "active"]
    free = [f for f in active if not f.protected and f.category not in protected]
    excess = min(len(active) - max_facts, len(free))
    if excess <= 0:
        return []
    order = sorted(free, key=lambda fact: worth(fact, now=now))
    why = f"more than {max_facts} facts; this one had the least confidence for its age"
    return [PutFact(replace(fact, status="expired"), why) for fact in order[:excess]]


def worth(fact: Fact, *, now: str) -> tuple[bool, float, int, str]:
    """Return a key by which facts are ordered, the most valuable last.

    Facts of importance 3 come after all others; then `certainty` decides, then how often they were
    stated.
    """
    return fact.importance == LASTING, certainty(fact, now=now), len(fact.evidence), fact.id


def certainty(fact: Fact, *, now: str) -> float:
    """Return the confidence of a fact, halved for every 90 days since its last statement."""
    age = max(0.0, _days(fact.observed_at or fact.created_at, now))
    return fact.confidence * math.exp2(-age / CERTAINTY_HALF_LIFE_DAYS)


def _days(earlier: str, later: str) -> float:
    try:
        gone = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):  # a date that an imported document has in another form
        return 0.0
    return gone.total_seconds() / 86_400


SECTION_CHARS = 600
"""Characters of a section of the profile."""


@dataclass(frozen=True, slots=True)
class LearningPlan:
    """The changes to make, and the candidates that were refused."""

    changes: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()
    """Why, for each candidate that changed nothing; no words of it."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What plans have in common."""

    settings: MemorySettings
    now: str
    writer: str
    """See `Fact.written_by`."""
    new_id: Callable[[], FactId]


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A proposal that passed the gates, as a fact."""

    fact: Fact
    of: FactId
    """The existing fact that, according to its learner, it repeats or updates."""
    why: str
    """The gates' reason."""


@dataclass(frozen=True, slots=True)
class RequestedRemoval:
    """An existing fact that the user asked to remove."""

    id: FactId
    uid: str
    """Of the turn that asks for it."""


def candidates(
    proposals: Sequence[Proposal],
    turns: Sequence[Statement],
    learnable: Collection[str],
    lesson: Lesson,
    known: Iterable[Fact] = (),
) -> tuple[list[FactCandidate], list[str]]:
    """Make facts of the proposals that pass the gates.

    Args:
        proposals: The proposals of a learner.
        turns: Of the thread, oldest first: those that they rest on, and those around them.
        learnable: Which of these they may rest on, by `Statement.uid`.
        lesson: The values that are the same in every plan.
        known: The existing facts.

    Returns:
        The candidates, and why each of the other proposals is none.
    """
    cited = {each.uid for fact in known for each in fact.evidence}
    cited |= {proposal.uid for proposal in proposals}
    made = [
        _candidate(proposal, turns, learnable, lesson, cited)
        for proposal in proposals
        if proposal.relation != "remove"
    ]
    refused = [found for found in made if isinstance(found, str)]
    return [found for found in made if isinstance(found, FactCandidate)], refused


def removals(
    proposals: Sequence[Proposal],
    turns: Sequence[Statement],
    learnable: Collection[str],
    known: Mapping[FactId, Fact],
) -> list[RequestedRemoval]:
    """List the facts that the user asked, in own words, to remove.

    A proposal to remove counts if its quote is in a turn of the user's and shares a word of
    content with the fact, its attribute or the words that it rests on.
    """
    own = {turn.uid: turn for turn in turns if turn.uid in learnable and turn.trust == Trust.USER}
    found: list[RequestedRemoval] = []
    for proposal in proposals:
        turn, fact = own.get(proposal.uid), known.get(proposal.of)
        if proposal.relation != "remove" or turn is None or fact is None:
            continue
        is_quoted = any(find_quote(proposal.quote, storable(turn.text)))
        quotes = (each.quote for each in fact.evidence)
        texts = (fact.statement, fact.value, fact.attribute, *quotes)
        named = set(words_of(" ".join(texts))) & set(words_of(proposal.quote))
        if is_quoted and named and not fact.protected:
            found.append(RequestedRemoval(fact.id, turn.uid))
    return found


def unsure_turns(
    proposals: Sequence[Proposal], turns: Sequence[Statement], settings: MemorySettings
) -> frozenset[str]:
    """List the turns that hold what was refused for its confidence.

    A turn whose quote another proposal states with enough confidence is not listed: its words
    are told in any case.

    Args:
        proposals: The proposals of a learner.
        turns: Of the thread: those that they rest on, and those around them.
        settings: The threshold of confidence.

    Returns:
        Ids of turns (`Statement.uid`).
    """
    texts = {turn.uid: turn.text for turn in turns}
    facts = [one for one in proposals if one.relation != "remove"]
    least = least_confidence(settings)
    sure = {(one.uid, one.quote) for one in facts if one.confidence >= least}
    return frozenset(
        one.uid
        for one in facts
        if one.confidence < least
        and (one.uid, one.quote) not in sure
        and any(find_quote(one.quote, texts.get(one.uid, "")))
    )


def _candidate(
    proposal: Proposal,
    turns: Sequence[Statement],
    learnable: Collection[str],
    lesson: Lesson,
    cited: Collection[str],
) -> FactCandidate | str:
    turn = next((turn for turn in turns if turn.uid == proposal.uid), None)
    if turn is None or turn.uid not in learnable:
        return "its turn was removed"
    verdict = judge(proposal, turns, settings=lesson.settings, cited=cited)
    if verdict.decision == "drop":
        return kind_of(verdict.why)
    fact = fact_of(
        verdict,
        lesson.new_id(),
        source=turn.thread,
        stated_at=turn.said_at,
        now=lesson.now,
        by=lesson.writer,
    )
    return FactCandidate(fact, verdict.proposal.of, verdict.why)


def fact_of(
    verdict: Verdict, id_: FactId, *, source: str, stated_at: str, now: str, by: str
) -> Fact:
    """Return the fact made of a proposal that passed the gates.

    Args:
        verdict: The gates' verdict on the proposal.
        id_: For the fact.
        source: See `Fact.source`.
        stated_at: The time of its statement.
        now: The time of storage.
        by: See `Fact.written_by`.
    """
    passed = verdict.proposal
    return Fact(
        id=id_,
        content=verdict.words or passed.content,
        category=passed.category,
        confidence=passed.confidence,
        created_at=now,
        source=source,
        subject=_folded(passed.subject),
        attribute=_folded(passed.attribute),
        value=_folded(passed.value),
        evidence=verdict.evidence,
        aliases=(passed.content,) if verdict.words else (),
        claim=passed.content if verdict.words else "",
        trust=verdict.trust,
        language=passed.language,
        valid_from=passed.valid_from,
        valid_to=passed.valid_to,
        is_temporary=passed.is_temporary,
        importance=passed.importance,
        observed_at=stated_at,
        status="active" if verdict.kept else "quarantined",
        written_by=by,
    )


def kind_of(why: str) -> str:
    """Remove quotations from a reason, so that it can be logged.

    Example:
        >>> kind_of("has 'Rome', which is in no message")
        'has …, which is in no message'
    """
    return _QUOTED.sub("…", why)


_QUOTED = re.compile(r"(?<!\w)['\"].*['\"]")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def plan_learning(
    learned: Sequence[FactCandidate],
    facts: Sequence[Fact],
    *,
    verdicts: Verdicts | None = None,
    removed: Sequence[RequestedRemoval] = (),
    facts_before: Sequence[Fact] = (),
    settled: Collection[FactId] = (),
) -> LearningPlan:
    """Plan the changes for candidates.

    Args:
        learned: See `candidates`.
        facts: The current facts, of any status: those that a candidate may relate to.
        verdicts: A model's verdicts on candidates and existing facts.
        removed: Facts that the user asked to remove.
        facts_before: Facts as they were when the learner was asked.
        settled: Those of them that a person changed or removed since: candidates that would have
            changed them are skipped.
    """
    kept: list[FactCandidate] = []
    refused: list[str] = []
    for one in learned:
        if settled and (one.of in settled or _touched(facts_before, one, verdicts) & set(settled)):
            refused.append("a person changed it first")
        else:
            kept.append(one)
    there = {fact.id for fact in facts} - set(settled)
    gone = [
        RemoveFact(one.id, "the user requested it", one.uid) for one in removed if one.id in there
    ]
    changes: list[Change] = [*gone, *_merged(after(facts, gone), kept, verdicts)]
    return LearningPlan(folded(changes), tuple(refused))


def _merged(
    facts: Sequence[Fact], learned: Sequence[FactCandidate], verdicts: Verdicts | None
) -> list[Change]:
    """Merge candidates; those that wait for the user's review have the gates' reason."""
    whys = {one.fact.id: one.why for one in learned if one.fact.status == "quarantined"}
    return [
        replace(change, why=whys.get(change.id, change.why))
        if isinstance(change, PutFact)
        else change
        for change in plan_merge(
            facts,
            [one.fact for one in learned],
            verdicts=verdicts,
            proposed_targets={one.fact.id: one.of for one in learned},
        )
    ]


def _touched(facts: Sequence[Fact], one: FactCandidate, verdicts: Verdicts | None) -> set[FactId]:
    """List the facts that a candidate would have changed."""
    known = {fact.id for fact in facts}
    changes = _merged(facts, [one], verdicts)
    return known & facts_of(changes)


MOST_NOMINATED = 8
"""Existing facts that a new one is compared with, in addition to the one its learner named."""


def nominated(one: FactCandidate, facts: Sequence[Fact]) -> list[Fact]:
    """List the existing facts that a candidate may change, the likeliest first.

    They are the one that its learner named, those of the same subject and attribute, those that
    share words of content, rare ones before common ones, and then the newest: in a small memory all
    are compared, for any wording.
    """
    new, terms = one.fact, set(words_of(f"{one.fact.statement} {one.fact.value}"))
    active = [fact for fact in facts if fact.status == "active"]
    held = [set(words_of(f"{fact.statement} {fact.value}")) for fact in active]
    common = Tally(word for words in held for word in words)
    scores: dict[FactId, float] = {}
    for fact, words in zip(active, held, strict=True):
        score = sum(1 / common[word] for word in words & terms)
        if fact.id == one.of:
            score += 100
        if _slot(fact) == _slot(new) != ("", ""):
            score += 10
        scores[fact.id] = score
    by_id = sorted(active, key=lambda fact: fact.id)
    newest = sorted(by_id, key=lambda fact: fact.observed_at or fact.created_at, reverse=True)
    return sorted(newest, key=lambda fact: -scores[fact.id])[:MOST_NOMINATED]


def _slot(fact: Fact) -> tuple[str, str]:
    if not fact.attribute:
        return "", ""
    return words_folded(fact.subject), words_folded(fact.attribute)


def verified(
    sources: Sequence[Source], new: Mapping[str, FactId], planted: Mapping[str, int]
) -> set[FactId]:
    """Return the new facts that the user stated, and that their quotes carry.

    If a model is wrong about a planted fact, or silent, its other answers mean nothing, either.

    Args:
        sources: The sources of the answer.
        new: The new facts by the names they had in the question.
        planted: The facts of `PLANTED` likewise, by their index.
    """
    given = {one.new.strip(): one for one in sources}
    for name, index in planted.items():
        source, right = given.get(name), PLANTED[index]
        if source is None or source.whose != right.whose:
            return set()
        if right.whose == "own" and source.carries != right.carries:
            return set()
    return {
        new[name]
        for name, one in given.items()
        if name in new and one.whose == "own" and one.carries
    }


def as_verified(fact: Fact) -> Fact:
    """Return a fact that is told as it was understood, and no longer quoted."""
    aliases = tuple(alias for alias in fact.aliases if alias != fact.claim)
    return replace(fact, content=fact.statement, claim="", aliases=aliases)


def verdicts_of(
    pairs: Sequence[Pair],
    new: Mapping[str, FactId],
    known: Mapping[str, FactId],
    planted: Collection[str] = (),
) -> Verdicts:
    """Parse a learner's verdicts on new facts and existing ones, and on pairs of new ones.

    If it finds a planted fact related to another, its other verdicts mean nothing, either: none is
    taken.

    Args:
        pairs: The pairs of the answer.
        new: The new facts by the names they had in the question.
        known: The existing ones.
        planted: The names of the planted ones.
    """
    related = [pair for pair in pairs if pair.verdict != "beside"]
    if any(pair.new in planted or pair.known in planted for pair in related):
        return {}
    found: dict[FactId, dict[FactId, RelationVerdict]] = {}
    there = {**known, **new}
    for pair in related:
        if pair.new in new and pair.known in there and pair.new != pair.known:
            found.setdefault(new[pair.new], {})[there[pair.known]] = pair.verdict
    return found


def contested(
    verdicts: Verdicts,
    sources: Sequence[Source],
    new: Mapping[str, FactId],
    made: Sequence[FactCandidate],
) -> Verdicts:
    """Return verdicts by which no message that holds words of others changes another fact.

    A model that is wrong about one statement of a message is mostly right about another one: a
    message of which it finds a part to be another's, or unreal, is not the user's alone. What it
    states is linked to the facts that it would change, known ones and those of the same portion.

    Args:
        verdicts: See `verdicts_of`.
        sources: The sources of the same answer.
        new: The new facts by the names they had in the question.
        made: The new facts.
    """
    uids = {one.fact.id: {each.uid for each in one.fact.evidence} for one in made}
    foreign = (
        new[one.new.strip()] for one in sources if one.whose != "own" and one.new.strip() in new
    )
    mixed = {uid for id_ in foreign for uid in uids[id_]}
    return {
        id_: {
            known: "contests" if verdict != "same" and uids[id_] & mixed else verdict
            for known, verdict in of.items()
        }
        for id_, of in verdicts.items()
    }


def in_order(made: Sequence[FactCandidate], verdicts: Verdicts) -> list[FactCandidate]:
    """Put each candidate after those of the same portion that it relates to."""
    left = list(made)
    ordered: list[FactCandidate] = []
    while left:
        ids = {one.fact.id for one in left}
        free = (
            one
            for one in left
            if ids.isdisjoint(verdicts.get(one.fact.id, {}).keys() - {one.fact.id})
        )
        ordered.append(next(free, left[0]))
        left.remove(ordered[-1])
    return ordered


def after(facts: Sequence[Fact], changes: Iterable[Change]) -> list[Fact]:
    """Return the facts after some changes, in their order; new ones come last."""
    held = {fact.id: fact for fact in facts}
    for change in changes:
        if isinstance(change, PutFact):
            held[change.id] = change.fact
        elif isinstance(change, RemoveFact):
            held.pop(change.id, None)
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
        case WriteSection():
            return f"section {change.name}"
        case Hide():
            return "turns"
        case PutFact() | RemoveFact():
            return change.id


def is_known(fact: Fact) -> bool:
    """Return whether a fact is valid, and trusted or the user's own words."""
    return fact.status == "active" and fact.trust >= Trust.IMPORT


def is_reliable(fact: Fact, now: str) -> bool:
    """Return whether a fact may be in the profile: it is valid and verified, and has not ended."""
    return is_known(fact) and not fact.claim and not (fact.valid_to and fact.valid_to < now)


def plan_profile(
    paragraphs: Sequence[Paragraph],
    names: Mapping[str, FactId],
    facts: Sequence[Fact],
    profile: Profile,
    *,
    now: str,
) -> tuple[WriteSection, ...]:
    """Plan the changes of the profile.

    A section is written only from facts that are valid and trusted, and must name them. One that
    depends on a fact that no longer is, is removed, unless it is written again. The user's own
    sections, which depend on no facts, are kept.

    Args:
        paragraphs: The sections that a learner wrote; may be empty.
        names: Facts by the names that it was shown.
        facts: The current facts.
        profile: The current profile.
        now: The current time.
    """
    reliable = {fact.id for fact in facts if is_reliable(fact, now)}
    held = {section.name: section for section in profile.sections}
    own = {name for name, section in held.items() if section.text and not section.cites}
    writes: dict[str, WriteSection] = {}
    for paragraph in paragraphs:
        cites = tuple(dict.fromkeys(names[name] for name in paragraph.facts if name in names))
        text = _capped(" ".join(paragraph.text.split()))
        is_good = bool(cites) and reliable.issuperset(cites) and bool(text)
        if paragraph.section in own or not is_good:
            continue
        section = ProfileSection(paragraph.section, text, now, cites)
        before = held.get(section.name)
        if before is None or (before.text, before.cites) != (text, cites):
            writes[section.name] = WriteSection(section, "written from facts")
        else:
            writes.pop(section.name, None)
    for name, section in held.items():
        if name not in own | writes.keys() and not reliable.issuperset(section.cites):
            empty = replace(section, text="", cites=(), updated_at=now)
            writes[name] = WriteSection(empty, "a fact that it depends on is no longer valid")
    return tuple(writes.values())


def _capped(text: str) -> str:
    """Truncate a text that is too long after its last whole sentence; to nothing if it has none."""
    if len(text) <= SECTION_CHARS:
        return text
    ends = [text.rfind(end, 0, SECTION_CHARS) for end in (". ", "! ", "? ", "。", "！", "？")]
    return text[: max(ends) + 1].strip()
