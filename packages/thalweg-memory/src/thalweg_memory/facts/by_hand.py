"""What people change of a memory by hand: remembered, edited, reviewed, removed. Pure plans."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from thalweg.errors import FactRefusedError, NoSuchFactError
from thalweg_memory.facts.gates import Verdict
from thalweg_memory.facts.learning.lesson import fact_of, folded
from thalweg_memory.facts.merging import facts_sharing_words, plan_merge
from thalweg_memory.facts.values import (
    Category,
    Change,
    Fact,
    FactId,
    Hide,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    Trust,
    WriteSection,
)


def stated_fact(verdict: Verdict, id_: FactId, *, now: str, by: str) -> Fact:
    """Return a fact from a direct statement after its judgement.

    Args:
        verdict: See `gates.judge_statement`.
        id_: For the fact, if it is new.
        now: The time of the statement.
        by: See `Fact.written_by`.

    Raises:
        FactRefusedError: The judgement refused it.
    """
    if verdict.decision == "drop":
        raise FactRefusedError(verdict.proposal.content, f"it {verdict.why}")
    source = next((each.thread for each in verdict.evidence), "manual")
    fact = fact_of(verdict, id_, source=source, stated_at=now, now=now, by=by)
    return replace(fact, importance=3) if by == "user" else fact


MOST_LINKED = 3
"""Existing facts that a direct statement is linked to, at most."""


def plan_remember(near: Sequence[Fact], new: Fact) -> tuple[Change, ...]:
    """Plan to add a fact: merged with one of the same words, otherwise stored as new.

    Nothing is superseded: without a model it is unknown what updates what. Facts that share most of
    their words of content are linked, and shown together with their dates.

    Args:
        near: Existing facts that may be related, the likeliest first, of any status.
        new: The new fact.
    """
    active = (fact for fact in near if fact.status == "active" and fact.id != new.id)
    links = [fact.id for fact in islice(facts_sharing_words(active, new), MOST_LINKED)]
    return folded(plan_merge(near, [new], similar={new.id: links}))


def plan_edit(
    facts: Iterable[Fact],
    id_: FactId,
    *,
    content: str | None = None,
    category: Category | None = None,
    confidence: float | None = None,
    protected: bool | None = None,
    now: str,
) -> tuple[Change, ...]:
    """Plan to edit a fact. A new wording is the user's own: it has nothing of the old evidence.

    Raises:
        NoSuchFactError: There is no such fact.
    """
    old = find(facts, id_)
    edited = replace(
        old,
        category=category or old.category,
        confidence=old.confidence if confidence is None else confidence,
        protected=old.protected if protected is None else protected,
    )
    if content is not None and content != old.content:
        edited = reworded(edited, content, now=now)
    return () if edited == old else (PutFact(edited, "edited"),)


def reworded(fact: Fact, content: str, *, now: str) -> Fact:
    """Return a fact in the user's new wording: nothing of the old one's evidence and times."""
    return replace(
        fact,
        content=content,
        subject="",
        attribute="",
        value="",
        language="",
        evidence=(),
        aliases=(),
        claim="",
        trust=Trust.USER,
        written_by="user",
        observed_at=now,
        valid_from=now,
        valid_to="",
        is_temporary=False,
    )


ACCEPTED = "accepted"
"""Reason of the removal of an accepted fact: another fact may state the same."""


def plan_review(facts: Sequence[Fact], id_: FactId, *, accepted: bool) -> tuple[Change, ...]:
    """Plan to take a quarantined fact in on the user's word, or out.

    Raises:
        NoSuchFactError: No quarantined fact has that id.
    """
    held = find((fact for fact in facts if fact.status == "quarantined"), id_)
    if not accepted:
        return (RemoveFact(id_, "rejected"),)
    vouched = replace(
        held, status="active", trust=Trust.USER, superseded_by=FactId(""), protected=False
    )
    others = [fact for fact in facts if fact.id != id_]
    return folded([RemoveFact(id_, ACCEPTED), *plan_remember(others, vouched)])


def plan_delete(facts: Iterable[Fact], ids: Sequence[str]) -> tuple[Change, ...]:
    """Plan to remove facts of any status.

    Raises:
        NoSuchFactError: One of them does not exist.
    """
    known = {fact.id: fact for fact in facts}
    fact_ids = [FactId(name) for name in dict.fromkeys(ids)]
    for name in fact_ids:
        if name not in known:
            raise NoSuchFactError(name)
    return tuple(RemoveFact(name, "deleted by hand") for name in fact_ids)


def plan_clear(facts: Iterable[Fact], profile: Profile, *, now: str) -> tuple[Change, ...]:
    """Plan to remove all facts and the profile, and to exclude all earlier turns from recall."""
    sections = (section for section in profile.sections if section.text)
    return (
        *(RemoveFact(fact.id, "cleared by hand") for fact in facts),
        *(
            WriteSection(ProfileSection(section.name, "", now), "cleared by hand")
            for section in sections
        ),
        Hide("cleared by hand"),
    )


def find(facts: Iterable[Fact], id_: FactId) -> Fact:
    """Find a fact by its id.

    Raises:
        NoSuchFactError: There is none.
    """
    for fact in facts:
        if fact.id == id_:
            return fact
    raise NoSuchFactError(id_)
