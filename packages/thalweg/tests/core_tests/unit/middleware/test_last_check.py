"""The last check of a thread's requests: what it does not change, and what it remembers."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from thalweg.context.request.last_check import LastCheck, RequestGuard
from thalweg.context.request.messages import WrittenMessage
from thalweg.engine.wires.repairs import RULES, WireRules
from thalweg.testing import ScriptedModel

OPENAI = RULES["openai-chat"]


def talk(exchanges: int) -> list[AnyMessage]:
    """Return a valid conversation."""
    messages: list[AnyMessage] = []
    for n in range(exchanges):
        call: Any = {"name": "ls", "args": {"path": "."}, "id": f"c{n}"}
        messages += [
            HumanMessage(f"question {n}", id=f"h{n}"),
            AIMessage("", tool_calls=[call], id=f"a{n}"),
            ToolMessage("README.md", tool_call_id=f"c{n}", id=f"t{n}"),
            AIMessage(f"answer {n}", id=f"b{n}"),
        ]
    return [*messages, HumanMessage("and now?", id="last")]


def expecting(messages: Sequence[BaseMessage]) -> LastCheck:
    """Return a check that expects these, each at its position."""
    check = LastCheck()
    shown = [WrittenMessage(m, position) for position, m in enumerate(messages)]  # type: ignore[arg-type]
    check.expect(shown, lambda p: f"recall({p})")
    return check


def broken(position: int) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": "functions.ls", "args": {}, "id": f"x{position}"}], id="broken"
    )


def test_a_valid_request_leaves_as_the_objects_that_came() -> None:
    for rules in (*RULES.values(), WireRules()):
        messages = talk(3)
        checked = expecting(messages).check(rules, messages)
        assert all(a is b for a, b in zip(checked, messages, strict=True))


def test_fields_of_the_only_part_of_a_message_are_repaired() -> None:
    part = {"type": "text", "text": "hello", "citations": [{"cited_text": "caf\udce9"}]}
    messages: list[AnyMessage] = [HumanMessage([part], id="h")]
    (checked,) = expecting(messages).check(RULES["anthropic"], messages)
    assert "caf" in str(checked.content)
    str(checked.content).encode()


def test_a_request_that_grew_is_checked_for_what_is_new() -> None:
    messages = talk(50)
    check = expecting(messages)
    check.check(OPENAI, messages)
    messages += [AIMessage("answer"), HumanMessage("more")]
    rows = check._exchanges.check(messages, lambda _: "")  # noqa: SLF001 (what is counted)
    assert len(rows) == 2


def test_a_repair_is_handed_out_once_with_its_place() -> None:
    messages = [HumanMessage("go", id="h"), broken(1), HumanMessage("on", id="h2")]
    check = expecting(messages)
    checked = check.check(OPENAI, messages)
    assert [m.type for m in checked] == ["human", "ai", "tool", "human"]
    reasons = {repair.reason: repair.position for repair in check.take(0)}
    assert reasons["the provider does not accept the name of a tool"] == 1
    check.check(OPENAI, [*messages, AIMessage("done"), HumanMessage("thanks")])
    assert check.take(0) == ()


def test_repairs_of_what_another_process_sent_are_not_listed_again() -> None:
    messages = [HumanMessage("go", id="h"), broken(1), HumanMessage("on", id="h2")]
    check = expecting(messages)
    check.check(OPENAI, messages)
    assert check.take(3) == ()


def test_a_request_of_other_middleware_is_repaired_and_changes_nothing() -> None:
    messages = talk(2)
    check = expecting(messages)
    check.check(OPENAI, messages)
    foreign = check.check(OPENAI, [HumanMessage("choose a tool: caf\udce9")])
    assert foreign[0].content == "choose a tool: caf\ufffd"
    assert check.take(0) == ()
    assert len(check._exchanges.rows) == len(messages) - 2  # noqa: SLF001 (results are in rows)


def test_another_model_is_checked_as_well() -> None:
    """As `ModelFallbackMiddleware` takes one, after us."""
    seen: list[Sequence[BaseMessage]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages)
        return "fine"

    messages: list[AnyMessage] = [HumanMessage("caf\udce9", id="h")]
    request: ModelRequest[Any] = ModelRequest(model=ScriptedModel(script=script), messages=messages)
    checked = expecting(messages).request(request)
    other = checked.override(messages=[*messages]).override(model=ScriptedModel(script=script))
    for model in (checked.model, other.model, other.model.bind_tools([])):
        model.invoke(messages)
    assert [messages[0].content for messages in seen] == ["caf\ufffd"] * 3
    assert type(checked.model).__name__ == "ScriptedModel"
    assert isinstance(checked.model, ScriptedModel)


def test_a_blank_system_prompt_is_left_out() -> None:
    messages: list[AnyMessage] = [HumanMessage("hi", id="h")]
    check = expecting(messages)
    assert check.check(RULES["anthropic"], [SystemMessage("  "), *messages]) == messages


@given(st.lists(st.lists(st.integers(0, 11), max_size=9), max_size=6))
def test_what_is_remembered_changes_no_request(requests: list[list[int]]) -> None:
    """Requests that share messages in any order come out as a new check would send them."""
    pool = [*talk(2), broken(9), ToolMessage("late", tool_call_id="x9", id="t9"), HumanMessage("")]
    check = expecting(pool)
    for chosen in requests:
        messages = [pool[n] for n in chosen]
        remembered = check.check(RULES["anthropic"], messages)
        fresh = expecting(pool).check(RULES["anthropic"], messages)
        assert [(m.type, m.content) for m in remembered] == [(m.type, m.content) for m in fresh]


@pytest.mark.parametrize("uses_responses", [False, True])
def test_a_string_in_a_list_of_blocks_is_sent_as_a_text_block(
    uses_responses: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    """In every role; OpenAI refuses strings there, and its client for Responses raises."""
    messages: list[AnyMessage] = [
        SystemMessage(["be", "kind"]),
        HumanMessage(["a", {"type": "text", "text": "b"}], id="h"),
        AIMessage(["c", "d"], tool_calls=[{"name": "ls", "args": {}, "id": "x"}]),
        ToolMessage(["e", "f"], tool_call_id="x"),
    ]
    before = [message.model_copy(deep=True) for message in messages]
    wire = "openai-responses" if uses_responses else "openai-chat"

    sent = expecting(messages).check(RULES[wire], messages)

    model = ChatOpenAI(model="gpt-4o", api_key=SecretStr("none"), use_responses_api=uses_responses)
    payload = model._get_request_payload(sent)  # noqa: SLF001 (what the client sends)
    items = payload["input" if uses_responses else "messages"]
    contents = [item.get("content", item.get("output")) for item in items]
    texts = [[block.get("text") for block in content] for content in contents if content]
    assert texts[:2] == [["be", "kind"], ["a", "b"]]
    assert texts[-1] == ["e", "f"]
    assert messages == before


def test_answers_in_a_row_are_separated_for_a_model_that_refuses_them() -> None:
    """For all others they are sent as they are; a request that grows produces the same."""
    messages: list[AnyMessage] = [
        HumanMessage("go", id="h"),
        AIMessage("one", id="a"),
        AIMessage("two", id="b"),
        HumanMessage("on", id="i"),
        AIMessage("three", id="c"),
        AIMessage("four", id="d"),
    ]
    for rules in (*RULES.values(), WireRules()):
        assert expecting(messages).check(rules, messages) == messages
        strict = replace(rules, alternates=True)
        check = expecting(messages)
        for size in range(1, len(messages) + 1):
            sent = check.check(strict, messages[:size])
            roles = [message.type for message in sent]
            assert all(one != other for one, other in pairwise(roles))
        assert [message.text for message in sent if message.id] == [m.text for m in messages]


def test_a_tool_that_changed_between_two_requests_is_counted_again() -> None:
    messages = talk(1)
    check = expecting(messages)

    def tokens(description: str) -> int:
        guard = RequestGuard(len, check, 1_000_000)
        tools = [{"type": "function", "function": {"name": "ls", "description": description}}]
        parameters = {"invocation_params": {"tools": tools}}
        guard.on_chat_model_start({}, [[*messages]], run_id=uuid4(), **parameters)
        return guard.tokens

    short = tokens("list")
    assert tokens("list") == short
    assert tokens("list a folder") == short + len(" a folder")
