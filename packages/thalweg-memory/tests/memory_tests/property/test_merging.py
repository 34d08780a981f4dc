"""Laws of merging, for any facts in any order."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.merging import RelationVerdict, may_supersede, plan_merge
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    PutFact,
    Trust,
    split_by_validity,
)

CITIES = ("Berlin", "Munich", "Oslo", "Rome")
SAYINGS = (
    "User lives in {}", "I moved to {}", "The user resides in {}", "User no longer lives in {}",
    "User works at {}", "User's favourite place is {}", "User likes {}", "User visited {}",
    "User wants to move to {}", "用户住在{}", "用户搬到了{}", "用户喜欢{}", "用户不再喜欢{}",
    "User's sister lives in {}", "User may go to {}", "The deadline is 5 May", "{} is nice",
)  # fmt: skip
CONTENTS = st.builds(str.format, st.sampled_from(SAYINGS), st.sampled_from(CITIES))


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    content, day = draw(CONTENTS), draw(st.integers(1, 28))
    at, trust = f"2025-01-{day:02}T00:00:00Z", draw(st.sampled_from(Trust))
    has_fields = draw(st.booleans())
    return Fact(
        id=FactId(draw(st.uuids().map(str))),
        content=content,
        category="context",
        confidence=draw(st.sampled_from((0.5, 0.7, 1.0))),
        created_at=at,
        source="t",
        subject=draw(st.sampled_from(("user", "ann"))) if has_fields else "",
        attribute=draw(st.sampled_from(("home", "hobby", "employer"))) if has_fields else "",
        value=draw(st.sampled_from(CITIES)) if has_fields else "",
        evidence=(Evidence("t", f"u{day}", content, at, trust),),
        trust=trust,
        observed_at=at,
        valid_from=at,
        protected=draw(st.booleans()),
        written_by=draw(st.sampled_from(("user", "learned:m", "import"))),
    )


MANY = st.lists(facts(), max_size=7)
VERDICTS: st.SearchStrategy[RelationVerdict] = st.sampled_from(
    ("same", "replaces", "ends", "narrows", "beside")
)


def after(
    known: Sequence[Fact], new: Sequence[Fact], verdict: RelationVerdict = "beside"
) -> list[Fact]:
    """Merge facts in, with one verdict for every pair."""
    held = {fact.id: fact for fact in known}
    for change in plan(known, new, verdict):
        assert isinstance(change, PutFact)
        held[change.fact.id] = change.fact
    return list(held.values())


def plan(known: Sequence[Fact], new: Sequence[Fact], verdict: RelationVerdict) -> list[Change]:
    every = {fact.id for fact in (*known, *new)}
    verdicts = {fact.id: dict.fromkeys(every, verdict) for fact in new}
    return plan_merge(known, new, verdicts=verdicts)


@given(MANY, facts(), VERDICTS)
def test_taking_in_the_same_fact_twice_changes_nothing(
    many: list[Fact], new: Fact, verdict: RelationVerdict
) -> None:
    once = after(after([], many, verdict), [new], verdict)
    assert not plan(once, [new], verdict)


@given(MANY, VERDICTS)
def test_nothing_that_was_said_is_lost(many: list[Fact], verdict: RelationVerdict) -> None:
    held = after([], many, verdict)
    contents = {text for fact in held for text in (fact.content, *fact.aliases)}
    quotes = {quote for fact in held for quote in fact.evidence}
    assert contents >= {fact.content for fact in many}
    assert quotes >= {quote for fact in many for quote in fact.evidence}


@given(MANY, VERDICTS)
def test_nothing_trusts_more_than_the_least_of_what_it_rests_on(
    many: list[Fact], verdict: RelationVerdict
) -> None:
    for fact in after([], many, verdict):
        assert fact.trust <= min(quote.trust for quote in fact.evidence)
        assert fact.status == "quarantined" or fact.trust >= Trust.IMPORT


@given(MANY, facts(), VERDICTS)
def test_what_is_trusted_less_changes_nothing_that_is_trusted_more(
    many: list[Fact], new: Fact, verdict: RelationVerdict
) -> None:
    """Both remain, and each may be linked to the other."""
    held = after([], many, verdict)
    changed = {fact.id: fact for fact in after(held, [new], verdict)}
    for fact in held:
        if new.trust < fact.trust:
            assert replace(changed[fact.id], related=fact.related) == fact


@given(facts(), facts())
def test_facts_about_distinct_subjects_never_meet(first: Fact, second: Fact) -> None:
    """Where one of them names its subject; else both are labels of the learner's."""
    first = replace(first, subject="ann", attribute="home")
    second = replace(second, subject="bob", attribute="home", content=f"Bob: {second.content}")
    assert not may_supersede(first, second, is_named=True)


@given(
    st.lists(st.tuples(st.sampled_from(CITIES), st.integers(1, 28)), max_size=6,
             unique_by=lambda item: item[1]),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_which_update_holds_does_not_hang_on_the_order_of_arrival(
    moves: list[tuple[str, int]],
    random: st.DataObject,
) -> None:
    told = [
        Fact(
            FactId(f"{city} {day}"), f"User lives in {city}", "context", 0.9,
            f"2025-01-{day:02}T00:00:00Z", "t",
            subject="user", attribute="home", value=city,
        )
        for city, day in moves
    ]  # fmt: skip
    shuffled = list(told)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # a Random that Hypothesis gives
    held = [fact.content for fact in split_by_validity(after([], shuffled, "replaces"))[0]]
    newest = max(told, key=lambda fact: fact.created_at, default=None)
    assert held == ([newest.content] if newest else [])
