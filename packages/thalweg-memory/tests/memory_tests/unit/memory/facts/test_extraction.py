"""A learner's answer is read item by item; nothing is made up for what it lacks."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from thalweg_memory.facts.learning.questions import (
    Item,
    Kind,
    Paragraph,
    Portion,
    answer_schema,
    better,
    proposals_of,
    read_answer,
)
from thalweg_memory.facts.values import FactId, Statement, Trust

FACT = {
    "turn": 1,
    "quote": "I live in Oslo",
    "content": "The user lives in Oslo.",
    "category": "context",
    "confidence": 0.95,
    "subject": "user",
    "attribute": "home city",
    "value": "Oslo",
    "since": "",
    "language": "en",
    "relation": "new",
    "known": "",
}
KINDS: dict[Kind, type[BaseModel]] = {"facts": Item, "sections": Paragraph}
READ = Item.model_validate(FACT)


def said(*facts: object) -> str:
    return json.dumps({"facts": facts})


@pytest.mark.parametrize(
    "text",
    [
        said(FACT),
        json.dumps([FACT]),
        f"Here is what I found:\n```json\n{said(FACT)}\n```\nThat is all.",
        f"<think>{{maybe}}</think>{said(FACT)}",
        f"In {{braces}}: {said(FACT)}",
        said(FACT | {"category": " Context ", "turn": "1", "confidence": "0.95"}),
        said(FACT | {"known": None, "since": None, "more": 1}),
    ],
)
def test_an_answer_is_read_in_whatever_it_is_wrapped(text: str) -> None:
    """Fences, thoughts, sentences around it; numbers as texts; nulls for what is empty."""
    answer = read_answer(text, "facts")

    assert (answer.items, answer.problems) == ((READ,), ())


@pytest.mark.parametrize(
    "broken",
    [
        {"confidence": None},
        {"confidence": 95},
        {"category": "hobby"},
        {"quote": None},
        {"content": ""},
        {"turn": "first"},
        {"relation": "replaces"},
    ],
)
def test_an_item_that_cannot_be_read_costs_no_other(broken: dict[str, object]) -> None:
    """It is omitted and named, without a word of it; nothing takes the place of what it lacks."""
    answer = read_answer(said(FACT, FACT | broken, FACT), "facts")

    assert answer.items == (READ, READ)
    assert answer.is_whole
    assert [problem.split(": ")[:2] for problem in answer.problems] == [["facts[1]", *broken]]


@pytest.mark.parametrize("text", ["", "I found nothing.", "{}", '{"facts": 3}', '{"fact', "[[[["])
def test_what_is_no_answer_gives_nothing_and_says_so(text: str) -> None:
    """An empty list is an answer; these are none."""
    answer = read_answer(text, "facts")

    assert not answer.items
    assert not answer.is_whole
    assert answer.problems


@given(st.integers(0, 4), st.integers(0, 400))
@example(2, 30)
def test_of_an_answer_that_was_cut_off_what_is_complete_is_read(count: int, cut: int) -> None:
    """This holds for any number of tokens that the model was allowed."""
    text = said(*[FACT] * count)
    answer = read_answer(text[: max(0, len(text) - cut)], "facts")

    assert list(answer.items) == [READ] * len(answer.items)
    assert len(answer.items) <= count
    assert answer.is_whole == (cut <= len("}"))


@given(st.text(alphabet='{}[]":,facts1 \\n`', max_size=80))
def test_whatever_comes_back_it_is_read_without_an_error(text: str) -> None:
    """Nothing of it becomes an item."""
    assert read_answer(text, "facts").items == ()


def test_of_two_answers_the_one_counts_of_which_more_can_be_read() -> None:
    """The second, where they are alike: it was written knowing what was wrong."""
    none, one = read_answer("no", "facts"), read_answer(said(FACT), "facts")
    other = replace(one, problems=("x",))

    assert better(one, none) is one
    assert better(none, one) is one
    assert better(one, other) is other


def test_the_schema_asks_for_every_field_and_no_other() -> None:
    """Providers with strict schemas take no defaults and no references."""
    for kind, model in KINDS.items():
        schema = answer_schema(kind)
        item = schema["properties"][kind]["items"]  # type: ignore[index]  # a schema of lists
        assert item["required"] == list(model.model_fields) == list(item["properties"])
        assert item["additionalProperties"] is False
        assert "$" not in json.dumps(schema)
        assert "default" not in json.dumps(schema)


def turn(number: int, text: str, trust: Trust = Trust.USER) -> Statement:
    return Statement("t", number, "user", text, "2026-03-01T10:00:00Z", trust, uid=f"u{number}")


PORTION = Portion(
    (turn(0, "I live in Rome"),),
    (turn(1, "I live in Oslo now, and I like it"), turn(2, "Nice, isn't it?", Trust.WEB)),
    frozenset({"u1"}),
)


@pytest.mark.parametrize(
    ("number", "quote", "uid"),
    [
        (2, "I live in Oslo", "u1"),
        (1, "I live in Oslo", "u1"),
        (99, "I live\nin Oslo", "u1"),
        (2, "words nobody said", "u1"),
        (1, "I live in Rome", None),
        (3, "Nice", None),
        (0, "words nobody said", None),
    ],
)
def test_a_proposal_rests_on_a_turn_that_may_be_learned_from(
    number: int, quote: str, uid: str | None
) -> None:
    """A wrong number is fixed if one turn alone has the quote; earlier turns are not used again."""
    item = READ.model_copy(update={"turn": number, "quote": quote})

    proposals, refused = proposals_of([item], PORTION, {})

    assert [proposal.uid for proposal in proposals] == ([uid] if uid else [])
    assert len(refused) == (uid is None)


def test_a_known_fact_is_one_that_the_learner_was_told_of() -> None:
    """A name that was made up makes the proposal a new fact, for merging to compare."""
    names = {"F1": FactId("fact-a")}
    items = [
        READ.model_copy(update={"turn": 2, "relation": "update", "known": k}) for k in ("F1", "F9")
    ]

    known, unknown = proposals_of(items, PORTION, names)[0]

    assert (known.relation, known.of) == ("update", "fact-a")
    assert (unknown.relation, unknown.of) == ("new", "")
