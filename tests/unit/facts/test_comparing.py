"""The same, an update, or something else: by what two statements say, and by nothing else."""

import pytest

from tests.unit.facts.pairs import DISTINCT, SAME, UPDATES
from thalweg.facts.merging.comparing import Kind, compare
from thalweg.facts.values import Fact, FactId

BEYOND_RULES = (
    "User works remotely|User works in the office again",
    "User has no children|User's first daughter was born in May",
    "User is reading Middlemarch|User finished Middlemarch and started Emma",
    "每周开一次例会|例会改成每两周一次",
    "用户的健身教练是小刘|用户换了教练，现在跟小陈练",
    "User studied economics at LSE|User graduated in economics from LSE",
    "The rate limit is 60 requests per minute|At most 60 requests per minute are allowed",
    "User is married|User has a wife",
    "Deploys happen every Tuesday|We deploy on Tuesdays",
    "User collects vinyl records|User has a vinyl record collection",
    "用户毕业于清华大学|用户从清华大学毕业",
    "用户养了一只猫|用户有一只猫",
    "用户不吃辣|用户吃不了辣",
)
"""Pairs that nobody may take for distinct, and no rule knows: both facts are kept."""


def fact(
    content: str, subject: str = "", attribute: str = "", value: str = "", language: str = ""
) -> Fact:
    return Fact(
        FactId(content), content, "context", 0.9, "2025-01-01T00:00:00Z", "t",
        subject=subject, attribute=attribute, value=value, language=language,
    )  # fmt: skip


def kind(pair: str) -> Kind:
    first, second = pair.split("|")
    return compare(fact(first), fact(second)).kind


def known_to_rules(pairs: str) -> list[str]:
    return [pair for pair in pairs.splitlines() if pair not in BEYOND_RULES]


@pytest.mark.parametrize("pair", known_to_rules(UPDATES))
def test_what_brings_a_fact_up_to_date_is_an_update(pair: str) -> None:
    assert kind(pair) == "update"


@pytest.mark.parametrize("pair", known_to_rules(SAME))
def test_what_says_the_same_in_other_words_is_the_same(pair: str) -> None:
    assert kind(pair) == "same"


@pytest.mark.parametrize("pair", DISTINCT.splitlines())
def test_distinct_facts_stay_apart(pair: str) -> None:
    assert kind(pair) in {"other", "narrower"}
    first, second = pair.split("|")
    assert kind(f"{second}|{first}") in {"other", "narrower"}


@pytest.mark.parametrize("pair", BEYOND_RULES)
def test_where_no_rule_is_sure_both_facts_are_kept(pair: str) -> None:
    assert kind(pair) in {"other", "narrower"}


def test_values_of_one_attribute_that_a_learner_gave_are_compared_whatever_the_words() -> None:
    defended = compare(
        fact("I'm in my second year of a PhD.", "user", "education level", "phd student"),
        fact("Defended my thesis on Friday!", "user", "education level", "doctor"),
    )
    assert defended.kind == "update"
    assert "doctor" in defended.why


@pytest.mark.parametrize(
    ("attribute", "other"),
    [("hobby", "chess"), ("allergies", "peanuts"), ("skills", "Rust"), ("former employer", "IBM")],
)
def test_an_attribute_with_many_values_is_never_brought_up_to_date_by_another_value(
    attribute: str, other: str
) -> None:
    known = fact("User does one thing", "user", attribute, "climbing")
    assert compare(known, fact("User does another", "user", attribute, other)).kind == "other"


def test_facts_about_distinct_subjects_are_never_one_however_alike_they_are() -> None:
    first = fact("Lives in Berlin", "alice", "home", "Berlin")
    second = fact("Lives in Berlin", "bob", "home", "Berlin")
    assert compare(first, second).kind == "other"


@pytest.mark.parametrize(
    ("first", "second"),
    [("five", "5"), ("5:00", "5 a.m."), ("30 June 2025", "June 30, 2025"), ("九十天", "90 天"),
     ("2025 年 6 月 30 日", "2025-06-30")],
)  # fmt: skip
def test_a_value_in_another_spelling_is_the_same_value(first: str, second: str) -> None:
    known = fact("One told it so", "x", "limit", first)
    assert compare(known, fact("Another told it thus", "x", "limit", second)).kind == "same"


def test_a_wish_changes_nothing_that_holds() -> None:
    lives = fact("User lives in Berlin")
    for wish in ("User wants to move to Rome", "User may move to Rome", "User is going to Rome"):
        assert compare(lives, fact(wish)).kind == "other"
    drinks = fact("User drinks coffee")
    assert compare(drinks, fact("User may not drink coffee")).kind in {"other", "narrower"}


@pytest.mark.parametrize(
    ("first", "second", "attribute", "values"),
    [
        ("User speaks Frisian", "User speaks some Korean", "spoken dialect", "Frisian|Korean"),
        ("用户会说闽南话。", "用户会说一点韩语。", "会的语言", "闽南话|韩语"),
        ("用户膝盖半月板撕裂。", "用户左腕骨折过。", "伤病", "半月板撕裂|左腕骨折"),
        ("用户一月读完了《边城》。", "用户二月读完了《呐喊》。", "书名", "边城|呐喊"),
        ("User saw Hamlet", "User saw Macbeth", "watched play", "Hamlet|Macbeth"),
    ],
)
def test_what_adds_up_takes_no_place(first: str, second: str, attribute: str, values: str) -> None:
    one, other = values.split("|")
    compared = compare(fact(first, "user", attribute, one), fact(second, "user", attribute, other))
    assert compared.kind == "other"


@pytest.mark.parametrize(
    ("first", "second", "attribute", "values"),
    [
        ("User reacts to almonds", "It isn't almonds, it's cashews", "allergy", "almonds|cashews"),
        ("用户在读大二。", "用户大学毕业了。", "学业", "大二|大学毕业"),
        ("用户迷上了滑板。", "滑板去年就没再玩了，现在打网球。", "周末爱好", "滑板|网球"),
        ("Backups run once a day", "Backups run every 6 hours", "interval", "daily|every 6 hours"),
    ],
)
def test_what_is_denied_or_reached_is_over(
    first: str, second: str, attribute: str, values: str
) -> None:
    one, other = values.split("|")
    compared = compare(fact(first, "user", attribute, one), fact(second, "user", attribute, other))
    assert compared.kind == "update"


@pytest.mark.parametrize(
    ("first", "second", "attribute", "values"),
    [
        ("User works in Malmö", "User has a job in Malmo", "place", "Malmö|Malmo"),
        ("Kite ships every other Monday", "Kite ships on Mondays, once a fortnight", "cadence",
         "every other Monday|Mondays once a fortnight"),
        ("用户家里养着一缸金鱼。", "用户在家养金鱼。", "养的鱼", "金鱼|金鱼"),
    ],
)  # fmt: skip
def test_spelling_sets_no_values_apart(
    first: str, second: str, attribute: str, values: str
) -> None:
    one, other = values.split("|")
    compared = compare(fact(first, "user", attribute, one), fact(second, "user", attribute, other))
    assert compared.kind == "same"


def test_not_only_denies_nothing() -> None:
    first = fact("User reacts to almonds", "user", "allergy", "almonds")
    second = fact("User reacts not only to almonds, cashews too", "user", "allergy", "cashews")
    assert compare(first, second).kind == "other"
