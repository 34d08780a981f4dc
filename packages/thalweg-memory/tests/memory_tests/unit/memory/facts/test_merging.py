"""What becomes of new facts among existing ones, by a model's verdicts and a guard."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest

from thalweg_memory.facts.by_hand import plan_remember
from thalweg_memory.facts.learning.lesson import (
    FactCandidate,
    as_verified,
    in_order,
    verdicts_of,
    verified,
)
from thalweg_memory.facts.learning.questions import (
    PLANTED,
    LearnerRequest,
    Pair,
    Portion,
    Source,
    VerdictRequest,
    ask_for_verdicts,
)
from thalweg_memory.facts.merging import (
    RelationVerdict,
    Verdicts,
    folded,
    may_merge,
    may_supersede,
    plan_merge,
)
from thalweg_memory.facts.values import (
    NO_FACT,
    Change,
    Evidence,
    Fact,
    FactId,
    PutFact,
    Trust,
    is_valid,
    split_by_validity,
)


def fact(
    content: str,
    day: int = 1,
    *,
    value: str = "",
    attribute: str = "home city",
    subject: str = "user",
) -> Fact:
    at = f"2025-01-{day:02}T00:00:00Z"
    quote = Evidence("t", f"u{day}", content, at, Trust.USER)
    return Fact(
        FactId(f"{content} {day}"), content, "context", 0.8, at, "t", subject=subject,
        attribute=attribute, value=value, evidence=(quote,), observed_at=at, valid_from=at,
        written_by="learned:m",
    )  # fmt: skip


BERLIN = fact("User lives in Berlin", 1, value="berlin")
MUNICH = fact("User moved to Munich", 5, value="munich")


def after(
    facts: Sequence[Fact], new: Fact, verdict: RelationVerdict = "replaces", *, named: bool = False
) -> list[Fact]:
    """Merge a fact in, with one verdict for every existing one."""
    held = {known.id: known for known in facts}
    verdicts = {new.id: dict.fromkeys(held, verdict)}
    of = {new.id: facts[0].id} if named else {}
    for change in plan_merge(facts, [new], verdicts=verdicts, proposed_targets=of):
        held[put(change).id] = put(change)
    return list(held.values())


def put(change: Change) -> Fact:
    assert isinstance(change, PutFact)
    return change.fact


def test_a_merge_with_quoted_words_keeps_their_statement() -> None:
    """Stated a third time in the first wording, it is still one fact."""
    quoted = replace(
        fact("User likes tea"), content='User\'s words: "tea!"', claim="User likes tea"
    )
    again = replace(fact("", 2), content='User\'s words: "mmh, tea!"', claim="User enjoys tea")
    (merged,) = after([quoted], again, "same")
    assert merged.statement == "User enjoys tea"
    assert "User likes tea" in merged.aliases
    third = replace(fact("", 3), content='User\'s words: "tea, yes"', claim="User likes tea")
    assert len(after([merged], third, "beside")) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ("User writes C++", "User writes C#", "User writes C"),
        ("User's blood type is A+", "User's blood type is A-", "User's blood type is A"),
        ("The limit is -5", "The limit is 5", "The limit is 5%"),
        ("User's mood is 😀", "User's mood is 😢"),
        ("User speaks हिंदी", "User speaks हदी"),
        ("User pays 80.5 €", "User pays 805 €", "User pays 80.5 $"),
    ],
)
def test_statements_that_differ_by_a_sign_are_two(texts: tuple[str, ...]) -> None:
    """Also if a model calls the second one a correction: the first is superseded then, not kept."""
    facts = [replace(fact(text, day), attribute="") for day, text in enumerate(texts, 1)]
    assert [put(change).content for change in plan_merge([], facts)] == list(texts)
    old, new = after(facts[:1], facts[1], named=True)
    assert (old.status, new.content) == ("superseded", texts[1])


@pytest.mark.parametrize(
    "text",
    ["user’s  HOME city is Berlin!", "“User's home-city” — is Berlin", "User's `home`, city"],
)
def test_marks_of_sentences_make_no_other_statement(text: str) -> None:
    plain = {"user's home city is berlin", "user's home-city is berlin", "user's home city"}
    assert folded(text) in plain


def test_what_is_said_again_keeps_its_id_and_gains_wording_evidence_and_date() -> None:
    again = replace(fact("The user resides in Berlin", 3), confidence=0.9)
    (merged,) = after([BERLIN], again, "same")
    assert merged.id == BERLIN.id
    assert merged.content == BERLIN.content
    assert merged.aliases == (again.content,)
    assert merged.evidence == (*BERLIN.evidence, *again.evidence)
    assert (merged.observed_at, merged.confidence) == (again.observed_at, 0.9)
    assert merged.valid_from == BERLIN.valid_from


def test_the_same_words_are_one_fact_without_any_verdict() -> None:
    (merged,) = after(
        [BERLIN], replace(BERLIN, id=FactId("b"), content="user lives in BERLIN!"), "beside"
    )
    assert merged.id == BERLIN.id


@pytest.mark.parametrize("verdict", ["replaces", "ends", "narrows"])
def test_an_update_ends_what_it_replaces_and_keeps_it(verdict: RelationVerdict) -> None:
    old, new = after([BERLIN], MUNICH, verdict)
    assert (old.status, old.superseded_by, old.valid_to) == (
        "superseded", MUNICH.id, MUNICH.valid_from,
    )  # fmt: skip
    assert (new.status, new.supersedes) == ("active", (BERLIN.id,))


def test_facts_beside_each_other_both_hold_and_are_not_linked() -> None:
    facts = after([BERLIN], MUNICH, "beside")
    assert [(known.status, known.related) for known in facts] == [("active", ())] * 2


def test_a_statement_older_than_what_is_known_comes_in_as_history() -> None:
    facts = after([MUNICH], BERLIN)
    assert [known.id for known in split_by_validity(facts)[0]] == [MUNICH.id]
    older = next(known for known in facts if known.id == BERLIN.id)
    assert (older.status, older.superseded_by) == ("superseded", MUNICH.id)


def test_what_a_later_statement_replaced_does_not_hold() -> None:
    facts = after([BERLIN], MUNICH)
    now, before = split_by_validity(facts)
    assert [known.content for known in now] == [MUNICH.content]
    assert [known.content for known in before] == [BERLIN.content]
    assert not is_valid(facts[0])


def test_what_holds_for_a_time_supersedes_nothing_and_ends_by_itself() -> None:
    stay = replace(fact("User stays in Tokyo", 9), valid_to="2025-05-05T23:59:59Z")
    home, away = after([BERLIN], stay)
    assert (home.status, home.related) == ("active", (stay.id,))
    assert split_by_validity([home, away], now="2025-03-01T00:00:00Z")[0] == [home, away]
    assert split_by_validity([home, away], now="2025-05-06T00:00:00Z")[0] == [home]
    assert after([BERLIN], replace(stay, valid_to="", is_temporary=True))[0].status == "active"


def test_what_is_stated_again_after_its_end_is_another_fact() -> None:
    """The end of the first period is not that of the second."""
    leave = replace(fact("User is on leave", 1), valid_to="2025-01-03T23:59:59Z")
    again = replace(fact("User is on leave", 20), valid_to="")
    assert after([leave], again, "same") == [leave, again]
    assert after([replace(leave, status="expired")], again, "beside")[-1] == again
    (same,) = after([leave], replace(again, valid_to=leave.valid_to), "beside")
    assert (same.id, same.valid_to) == (leave.id, leave.valid_to)


def test_the_later_statement_of_an_end_is_kept() -> None:
    leave = replace(fact("User is on leave", 1), valid_to="2025-03-31T23:59:59Z")
    longer = replace(fact("User is on leave", 5), valid_to="2025-08-31T23:59:59Z")
    for one, other in ((leave, longer), (longer, leave)):
        (held,) = after([one], other, "beside")
        assert held.valid_to == longer.valid_to
    (held,) = after([leave], replace(longer, valid_to=""), "beside")
    assert held.valid_to == leave.valid_to


@pytest.mark.parametrize(
    ("new", "is_allowed"),
    [
        (replace(MUNICH, subject="brother", content="User's brother moved to Munich"), False),
        (replace(MUNICH, subject="household"), True),
        (replace(MUNICH, attribute="pet"), False),
        (replace(MUNICH, attribute="pet", content="User left Berlin for Munich"), True),
        (replace(MUNICH, attribute="city"), True),
        (replace(MUNICH, subject=""), True),
    ],
    ids=[
        "other subject",
        "a label",
        "nothing in common",
        "names the old value",
        "one word",
        "no subject",
    ],
)
def test_the_guard_looks_at_subject_attribute_and_the_old_value(
    new: Fact, *, is_allowed: bool
) -> None:
    assert may_supersede(BERLIN, new) is is_allowed


def test_what_the_guard_refuses_is_linked_and_both_hold() -> None:
    pet = replace(MUNICH, attribute="pet")
    old, new = after([BERLIN], pet)
    assert (old.status, new.status) == ("active", "active")
    assert (old.related, new.related) == ((new.id,), (old.id,))
    other = after([BERLIN], replace(MUNICH, subject="brother"))
    assert all(not known.related for known in other)


def test_two_readings_that_agree_need_no_attribute_in_common() -> None:
    pet = replace(MUNICH, attribute="pet")
    assert after([BERLIN], pet, named=True)[0].status == "superseded"
    brother = replace(MUNICH, subject="brother", content="User's brother moved to Munich")
    assert after([BERLIN], brother, named=True)[0].status == "active"


def test_other_numbers_are_never_the_same() -> None:
    assert not may_merge(fact("User has 2 cats"), fact("User has 3 cats"))
    assert may_merge(fact("User has 2 cats"), fact("Two cats live with the user"))


def question(*new: Fact) -> VerdictRequest:
    asked = LearnerRequest("rules", "asked", {"F1": BERLIN.id}, (("example", "answer"),))
    return ask_for_verdicts(asked, "said", Portion((), (), frozenset()), new, [BERLIN])


def test_the_question_for_verdicts_goes_on_with_the_conversation() -> None:
    request = question(MUNICH).request
    assert (request.rules, request.examples[-1]) == ("rules", ("asked", "said"))
    assert request.names == {"F1": BERLIN.id}
    for one in PLANTED:
        assert one.text in request.text
        assert one.content in request.text


def test_a_known_fact_is_shown_with_its_words_until_it_is_verified() -> None:
    asked = LearnerRequest("rules", "asked", {"F1": BERLIN.id})
    known = [BERLIN, quoted(BERLIN), replace(BERLIN, valid_from="2024-05-01T00:00:00Z")]
    shown = [
        ask_for_verdicts(asked, "said", Portion((), (), frozenset()), [MUNICH], [one]).request.text
        for one in known
    ]
    assert "\nF1: User lives in Berlin (since 2025-01-01)\n" in shown[0]
    assert 'F1: User lives in Berlin (since 2025-01-01) ("User lives in Berlin")' in shown[1]
    assert "F1: User lives in Berlin (since 2024-05-01) (said 2025-01-01)" in shown[2]


def test_verdicts_of_a_model_that_finds_a_planted_fact_related_are_not_taken() -> None:
    asked = question(MUNICH)
    told = Pair(new="N1", known="F1", verdict="replaces")
    names = (asked.new, asked.request.names, asked.planted)
    assert verdicts_of([told], *names) == {MUNICH.id: {BERLIN.id: "replaces"}}
    planted = Pair(new="N3", known="F1", verdict="replaces")
    assert verdicts_of([told, planted], *names) == {}


def test_two_facts_of_one_portion_may_be_related() -> None:
    asked = question(BERLIN, MUNICH)
    told = Pair(new="N1", known="N2", verdict="replaces")
    verdicts = verdicts_of([told], asked.new, {}, asked.planted)
    assert verdicts == {BERLIN.id: {MUNICH.id: "replaces"}}
    made = [FactCandidate(one, NO_FACT, "") for one in (BERLIN, MUNICH)]
    assert [one.fact for one in in_order(made, verdicts)] == [MUNICH, BERLIN]
    both: Verdicts = {BERLIN.id: {MUNICH.id: "same"}, MUNICH.id: {BERLIN.id: "same"}}
    assert len(in_order(made, both)) == 2


def sources(
    whose: str = "own",
    *,
    carries: bool = True,
    wrong: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> list[Source]:
    rows: list[dict[str, object]] = [{"new": "N1", "whose": whose, "carries": carries}]
    for number, one in enumerate(PLANTED, start=2):
        rows.append({"new": f"N{number}", "whose": one.whose, "carries": one.carries})
        rows[-1] |= wrong.get(f"N{number}", {})
    return [Source.model_validate(row) for row in rows]


def test_what_the_user_stated_and_the_quote_carries_is_verified() -> None:
    asked = question(MUNICH)
    assert verified(sources(), asked.new, asked.planted) == {MUNICH.id}
    assert not verified(sources("other"), asked.new, asked.planted)
    assert not verified(sources("unreal"), asked.new, asked.planted)
    assert not verified(sources(carries=False), asked.new, asked.planted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"N2": {"whose": "own"}},
        {"N3": {"whose": "other"}},
        {"N3": {"carries": False}},
        {"N4": {"carries": True}},
    ],
)
def test_a_model_that_is_wrong_about_a_planted_fact_verifies_nothing(
    wrong: Mapping[str, Mapping[str, object]],
) -> None:
    asked = question(MUNICH)
    assert verified(sources(wrong=wrong), asked.new, asked.planted) == set()


def test_a_model_that_is_silent_about_a_planted_fact_verifies_nothing() -> None:
    asked = question(MUNICH)
    assert verified(sources()[:-1], asked.new, asked.planted) == set()


# -- quoted words --------------------------------------------------------------------------------


def quoted(one: Fact) -> Fact:
    words = f'User\'s words: "{one.content}"'
    return replace(one, content=words, claim=one.content, aliases=(one.content,))


def test_quoted_words_replace_quoted_words() -> None:
    old, new = after([quoted(BERLIN)], quoted(MUNICH))
    assert (old.status, new.status) == ("superseded", "active")


def test_quoted_words_stand_next_to_what_is_verified_imported_or_protected() -> None:
    for known in (
        BERLIN,
        replace(BERLIN, trust=Trust.IMPORT),
        replace(quoted(BERLIN), protected=True),
    ):
        old, new = after([known], quoted(MUNICH))
        assert (old.status, new.status) == ("active", "active")
        assert (old.related, new.related) == ((new.id,), (old.id,))


def test_what_is_verified_replaces_quoted_words() -> None:
    old, new = after([quoted(BERLIN)], MUNICH)
    assert (old.status, new.status, new.claim) == ("superseded", "active", "")


def test_the_same_in_quoted_words_changes_nothing_of_a_verified_fact() -> None:
    again = replace(quoted(BERLIN), id=FactId("again"))
    assert after([BERLIN], again) == [BERLIN]


def test_a_verified_fact_is_told_as_it_was_understood() -> None:
    one = as_verified(quoted(BERLIN))
    assert (one.content, one.claim, one.aliases) == (BERLIN.content, "", ())


def test_a_fact_that_ended_before_it_was_told_ends_another() -> None:
    """`I lived in Berlin until January` said in March: Berlin is not rendered as current."""
    ended = replace(MUNICH, valid_to="2025-01-02T23:59:59Z", observed_at="2025-03-01T00:00:00Z")
    assert after([BERLIN], ended)[0].status == "superseded"
    lasting = replace(ended, valid_to="2025-06-02T23:59:59Z")
    assert after([BERLIN], lasting)[0].status == "active"


def test_a_fact_that_ended_before_another_began_replaces_nothing() -> None:
    """`In 2021 I drank tea`, of a user who has drunk coffee since September 2024."""
    since = replace(BERLIN, valid_from="2024-09-01T00:00:00Z")
    past = replace(MUNICH, valid_from="2021-01-01", valid_to="2021-12-31T23:59:59Z")
    found = after([since], past)
    assert [one.status for one in found] == ["active", "active"]
    assert found[0].related == (past.id,)


def test_facts_merge_only_with_the_same_numbers() -> None:
    one = fact("User weighs 82 kg on 1 March 2026")
    assert not may_merge(one, fact("User weighs 80 kg on 1 April 2026"))
    assert may_merge(one, fact("On 1 March 2026 the user weighs 82 kg"))


def test_what_is_trusted_less_waits() -> None:
    page = replace(MUNICH, trust=Trust.WEB)
    old, new = after([BERLIN], page)
    assert (old, new.status) == (BERLIN, "quarantined")
    document = replace(MUNICH, trust=Trust.IMPORT)
    assert [known.status for known in after([BERLIN], document)] == ["active", "quarantined"]


def test_by_hand_is_brought_up_to_date_unless_it_is_protected() -> None:
    told = replace(BERLIN, written_by="user", evidence=())
    assert after([told], MUNICH)[0].status == "superseded"
    kept = replace(told, protected=True)
    assert [known.status for known in after([kept], MUNICH)] == ["active", "quarantined"]


def test_planning_twice_plans_once() -> None:
    facts = after([BERLIN], MUNICH)
    assert after(facts, MUNICH) == facts


def test_by_hand_both_are_kept_and_linked_where_most_words_are_shared() -> None:
    green, mate = fact("User prefers green tea"), fact("User prefers mate tea", 2)
    put_old, put_new = (put(change) for change in plan_remember([green, BERLIN], mate))
    assert (put_old.related, put_new.related) == ((mate.id,), (green.id,))
    assert (put_old.status, put_new.status) == ("active", "active")
