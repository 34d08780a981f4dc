"""A typed line reaches the agent in LangChain's format."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thalweg_server.api.threads import Question
from thalweg_server.cli.chat.approvals import Action, actions_of, answer_to, read_decision

ALL = ("approve", "edit", "reject", "respond")


def question(id_: str, value: JsonValue) -> Question:
    return Question(id=id_, value=value)


def test_every_action_of_a_question_is_decided_in_order() -> None:
    requests: JsonValue = [{"name": "deploy", "args": {"to": "prod"}}, {"name": "drop"}]
    configs: JsonValue = [{"action_name": "drop", "allowed_decisions": ["reject", "respond"]}]
    asked = question("q", {"action_requests": requests, "review_configs": configs})
    seen: list[Action] = []

    def decide(action: Action) -> JsonValue:
        seen.append(action)
        return {"type": action.name}

    decisions = [{"type": "deploy"}, {"type": "drop"}]
    assert answer_to([asked], decide, str.upper) == {"decisions": decisions}
    assert seen == [
        Action("deploy", {"to": "prod"}, ("approve", "edit", "reject")),
        Action("drop", {}, ("reject", "respond")),
    ]


def test_several_questions_are_answered_by_their_ids() -> None:
    asked = question("a", {"action_requests": [{"name": "deploy"}]})
    questions = [asked, question("b", "Which colour?"), question("c", {"colour": ["red"]})]
    assert answer_to(questions, lambda _: {"type": "approve"}, str.upper) == {
        "a": {"decisions": [{"type": "approve"}]},
        "b": "WHICH COLOUR?",
        "c": '{"COLOUR": ["RED"]}',
    }


def test_strange_questions_have_no_actions() -> None:
    values: list[JsonValue] = [None, 3, [], {"action_requests": "x"}, {"action_requests": [3]}]
    for value in values:
        assert actions_of(question("q", value)) == []


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("a", {"type": "approve"}),
        ("Yes", {"type": "approve"}),
        ("n", {"type": "reject"}),
        ("reject  never on a Friday ", {"type": "reject", "message": "never on a Friday"}),
        ("s", {"type": "respond", "message": ""}),
        ("set 42", {"type": "respond", "message": "42"}),
        ("", None),
        ("x", None),
    ],
)
def test_a_line_is_a_decision(line: str, decision: object) -> None:
    assert read_decision(line, Action("deploy", allowed=ALL)) == decision


@pytest.mark.parametrize("text", ["", "{", "[1]", "where=prod"])
def test_new_arguments_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|Expecting"):
        read_decision(f"e {text}", Action("deploy"))


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_new_arguments_arrive_as_they_were_written(arguments: dict[str, JsonValue]) -> None:
    decision = read_decision(f"edit {json.dumps(arguments)}", Action("deploy"))
    assert decision == {"type": "edit", "edited_action": {"name": "deploy", "args": arguments}}


@given(st.text(), st.sets(st.sampled_from(ALL), min_size=1))
def test_no_line_makes_a_decision_that_is_not_allowed(line: str, allowed: set[str]) -> None:
    action = Action("deploy", allowed=tuple(allowed - {"edit"}))
    decision = read_decision(line, action)
    assert decision is None or decision["type"] in allowed
