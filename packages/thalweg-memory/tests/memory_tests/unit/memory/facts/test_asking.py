"""The request to a learner shows whole turns under headings that no one can forge."""

import json
from importlib.resources import files
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.gates import judge
from thalweg_memory.facts.learning.questions import (
    Item,
    Portion,
    ask_for_facts,
    ask_for_profile,
    proposals_of,
    shortened,
)
from thalweg_memory.facts.values import Fact, FactId, Profile, ProfileSection, Statement, Trust

EXAMPLES = json.loads(
    (files("thalweg.engine.prompts") / "learn_examples.json").read_text(encoding="utf-8")
)


def turn(number: int, text: str, trust: Trust = Trust.USER) -> Statement:
    role: Literal["user", "assistant"] = "user" if trust is Trust.USER else "assistant"
    return Statement(
        "t", number, role, text, "2026-03-06T09:12:00Z", trust, "Ada", uid=f"u{number}"
    )


def asked(*turns: Statement, before: int = 0, known: tuple[Fact, ...] = ()) -> str:
    users = frozenset(one.uid for one in turns if one.role == "user")
    portion = Portion(turns[:before], turns[before:], users)
    return ask_for_facts(portion, known, answer_tokens=20, count=len).text


def fact(name: str, content: str) -> Fact:
    return Fact(FactId(name), content, "context", 0.9, "", "t", observed_at="2026-01-02T00:00:00Z")


def test_every_turn_stands_under_its_number_speaker_weekday_and_time() -> None:
    """The day of "on Monday" comes from them; the heading states which turns to learn from."""
    text = asked(turn(1, "I moved."), turn(2, "Nice!", Trust.ASSISTANT), turn(3, "Yes."), before=1)

    assert [line for line in text.splitlines() if line.startswith("§")] == [
        "§ 1, user Ada, Friday 2026-03-06 09:12 (known already, or not the user's)",
        "§ 2, assistant Ada, Friday 2026-03-06 09:12 (known already, or not the user's)",
        "§ 3, user Ada, Friday 2026-03-06 09:12 (learn from this)",
    ]


@given(st.text(alphabet="§ 1,user\n(learn from this)", max_size=80))
def test_no_text_can_forge_a_heading(text: str) -> None:
    """A turn that holds the mark makes it longer."""
    shown = asked(turn(1, text), turn(2, text))
    mark = shown.split("The conversation:\n")[1].split(" ")[0]

    assert set(mark) == {"§"}
    assert shown.count(f"{mark} ") == 2
    assert shown.count(text) >= 2


def test_a_turn_that_is_learned_from_is_shown_whole_and_an_answer_by_its_ends() -> None:
    """However long they are."""
    long = "x" * 5_000 + "end"

    text = asked(turn(1, long), turn(2, "begin " + long, Trust.WEB))

    assert long in text
    assert text.count(long) == 1
    assert "begin" in text.split("§ 2")[1]


@given(st.text(max_size=200), st.integers(1, 60))
def test_what_is_shortened_fits(text: str, most: int) -> None:
    """Its frame apart; what fits is not touched."""
    short = shortened(text, most, len)

    assert short == text if len(text) <= most else len(short.replace(" […] ", "")) <= max(2, most)


def test_the_known_facts_are_named() -> None:
    """In their order; `none` where there are none."""
    facts = (fact("a", "The user lives in Oslo."), fact("b", "The user has a cat."))

    text = asked(turn(1, "I left Oslo"), known=facts)
    assert "F1: The user lives in Oslo.\nF2: The user has a cat." in text
    assert "Known facts:\nnone" in asked(turn(1, "Hm"), known=())


def test_the_examples_are_answers_that_pass_the_gates() -> None:
    """What a learner is shown as right is right: quotes, dates, languages, existing facts."""
    for example in EXAMPLES:
        turns = tuple(
            Statement("t", n, "user", row["text"], row["said_at"], Trust.USER, uid=f"u{n}")
            for n, row in enumerate(example["turns"])
        )
        portion = Portion((), turns, frozenset(one.uid for one in turns))
        names = {f"F{n}": FactId(f"f{n}") for n, _ in enumerate(example["known"], start=1)}
        items = [Item.model_validate(row) for row in example["facts"]]

        proposals, refused = proposals_of(items, portion, names)

        assert [list(Item.model_fields)] * len(items) == [list(row) for row in example["facts"]]
        assert refused == []
        assert [judge(proposal, turns).decision for proposal in proposals] == ["keep"] * len(items)


def test_a_profile_is_asked_for_with_facts_and_what_was_written_from_facts() -> None:
    """Not with sections that the user wrote."""
    profile = Profile(
        (
            ProfileSection("workContext", "Mine."),
            ProfileSection("topOfMind", "Tea.", cites=(FactId("a"),)),
        )
    )

    question = ask_for_profile(
        [fact("a", "Likes tea.")], profile, now="2026-03-06T00:00:00Z", max_chars=600
    )

    assert question.text.splitlines() == [
        "Today is Friday 2026-03-06.",
        "",
        "Facts:",
        "F1 (context, 2026-01-02): Likes tea.",
        "",
        "The profile as it is:",
        "topOfMind: Tea.",
    ]
    assert question.names == {"F1": "a"}


def test_hidden_characters_of_a_document_are_not_shown() -> None:
    """A document is kept to the byte; a tag or a direction mark in it is not for a model."""
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    text = asked(turn(1, "Hi"), known=(fact("a", f"User \u202elikes\u200b tea{hidden}"),))
    assert "F1: User likes tea\n" in text
