"""A person's word reaches the agent in the shape that LangChain takes."""

from pydantic import JsonValue

from thalweg_server.api.threads import Question
from thalweg_server.cli.chat.approvals import Action, actions_of, answer_to, decision, edit


def question(id_: str, value: JsonValue) -> Question:
    return Question(id=id_, value=value)


def no_line(said: str) -> str:
    message = f"asked: {said}"
    raise AssertionError(message)


def test_every_action_of_a_question_is_decided_in_order() -> None:
    requests: JsonValue = [{"name": "deploy", "args": {"to": "prod"}}, {"name": "drop"}]
    configs: JsonValue = [{"action_name": "drop", "allowed_decisions": ["reject", "respond"]}]
    asked = question("q", {"action_requests": requests, "review_configs": configs})
    seen: list[Action] = []

    def decide(action: Action) -> dict[str, JsonValue]:
        seen.append(action)
        return decision("approve") if action.name == "deploy" else decision("reject", "never")

    assert answer_to([asked], decide, no_line) == {
        "decisions": [{"type": "approve"}, {"type": "reject", "message": "never"}]
    }
    assert seen == [
        Action("deploy", {"to": "prod"}, "", ("approve", "edit", "reject")),
        Action("drop", {}, "", ("reject", "respond")),
    ]


def test_several_questions_are_answered_by_their_ids() -> None:
    one: JsonValue = {"type": "tool_approval", "name": "deploy", "args": {"to": "prod"}}
    questions = [question("a", one), question("b", "Which colour?")]
    answer = answer_to(questions, lambda action: edit(action, {"to": "test"}), lambda _: "blue")
    assert answer == {
        "a": {"type": "edit", "edited_action": {"name": "deploy", "args": {"to": "test"}}},
        "b": "blue",
    }


def test_a_question_about_no_action_is_shown_as_it_is() -> None:
    asked: list[str] = []

    def ask(said: str) -> str:
        asked.append(said)
        return "red"

    assert answer_to([question("q", {"colour": ["red"]})], lambda _: {}, ask) == "red"
    assert asked == ['{"colour": ["red"]}']


def test_strange_questions_have_no_actions() -> None:
    values: list[JsonValue] = [None, 3, [], {"action_requests": "x"}, {"action_requests": [3]}]
    for value in values:
        assert actions_of(question("q", value)) == ()


def test_words_without_a_reason_carry_none() -> None:
    assert decision("reject", "") == {"type": "reject"}
    assert decision("respond", "42") == {"type": "respond", "message": "42"}
