"""What the user asks to have taken out is taken out, and nothing that they did not name."""

from dataclasses import replace

import pytest

from thalweg_memory.facts.learning.lesson import plan_learning, removals
from thalweg_memory.facts.values import (
    Evidence,
    Fact,
    FactId,
    Proposal,
    RemoveFact,
    Statement,
    Trust,
)

AT = "2026-05-02T10:00:00Z"
TEA = Fact(FactId("tea"), "User drinks green tea", "preference", 0.9, AT, "t", value="green tea")
CAT = Fact(FactId("cat"), "User has a cat", "context", 0.9, AT, "t", value="cat")
KNOWN = {fact.id: fact for fact in (TEA, CAT)}
ASKED = Statement("t", 0, "user", "Please forget that I drink green tea.", AT, Trust.USER, uid="m0")


def proposed(of: FactId, quote: str = "forget that I drink green tea", uid: str = "m0") -> Proposal:
    return Proposal(
        "User no longer wants it kept", "preference", 0.9, uid, quote, of=of, relation="remove"
    )


def test_a_fact_that_the_user_names_is_dropped_and_nothing_else() -> None:
    removed = removals([proposed(TEA.id)], [ASKED], {"m0"}, KNOWN)
    plan = plan_learning([], [TEA, CAT], removed=removed)
    assert [change.id for change in plan.changes if isinstance(change, RemoveFact)] == [TEA.id]


@pytest.mark.parametrize(
    ("proposal", "turn"),
    [
        (proposed(CAT.id), ASKED),
        (proposed(FactId("none")), ASKED),
        (proposed(TEA.id, "forget my green tea at once"), ASKED),
        (proposed(TEA.id), replace(ASKED, role="assistant", trust=Trust.ASSISTANT)),
        (proposed(TEA.id), replace(ASKED, text=f"> {ASKED.text}")),
        (proposed(TEA.id, uid="m9"), ASKED),
    ],
    ids=["not named", "unknown", "not said", "an answer", "pasted", "no such turn"],
)
def test_a_fact_stays_where_the_user_did_not_ask(proposal: Proposal, turn: Statement) -> None:
    assert removals([proposal], [turn], {"m0"}, KNOWN) == []


def test_a_fact_is_named_by_its_attribute_or_the_words_that_it_rests_on() -> None:
    """Its statement may be in other words than the user's, or in another language."""
    quoted = Evidence("t", "m8", "Ich arbeite bei Fox", AT, Trust.USER)
    job = Fact(
        FactId("job"), "User is employed by Fox", "context", 0.9, AT, "t",
        attribute="employer", value="fox", evidence=(quoted,),
    )  # fmt: skip
    for text in ("Forget my employer.", "Vergiss, wo ich arbeite."):
        turn = replace(ASKED, text=text)
        assert removals([proposed(job.id, text)], [turn], {"m0"}, {job.id: job})


def test_a_protected_fact_stays() -> None:
    known = {TEA.id: replace(TEA, protected=True)}
    assert removals([proposed(TEA.id)], [ASKED], {"m0"}, known) == []


def test_what_a_person_settled_meanwhile_stays_as_they_left_it() -> None:
    removed = removals([proposed(TEA.id)], [ASKED], {"m0"}, KNOWN)
    assert plan_learning([], [TEA], removed=removed, settled={TEA.id}).changes == ()
