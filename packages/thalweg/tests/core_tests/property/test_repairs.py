"""Laws of the last check: its output is accepted, what was accepted is kept, nothing is lost."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage

from thalweg.engine.entries import (
    Media,
    Message,
    Part,
    Text,
    ToolCall,
    message_from_json,
    message_to_json,
)
from thalweg.engine.window.items import NO_RESULT
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.engine.wires.repairs import (
    RULES,
    ExchangeChecker,
    RepairedExchange,
    WireRules,
    encodable,
)

TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
NAMES = st.one_of(st.sampled_from(["ls", "read_file"]), TEXTS, st.just("probe" * 16))
IDS = st.sampled_from(["c1", "c2", "c3", "", "odd id"])
ARGUMENTS = st.one_of(st.just('{"path": "."}'), st.just('{"path": "unfin'), st.just("[1]"), TEXTS)
CALLS = st.builds(ToolCall, IDS, NAMES, ARGUMENTS)
MEDIA = st.builds(Media, st.sampled_from(["image/png", "application/msword", ""]), st.just("aGk="))
RESULTS = st.builds(
    lambda text, answers: Message("tool", (Text(text),), answers=answers), TEXTS, IDS
)


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Message, ...]:
    role = draw(st.sampled_from(["user", "assistant", "system"]))
    parts: list[Part] = draw(st.lists(st.builds(Text, TEXTS), max_size=2))
    if role == "user":
        parts += draw(st.lists(MEDIA, max_size=1))
    if role == "assistant":
        parts += draw(st.lists(CALLS, max_size=3))
    return (Message(role, tuple(parts)), *draw(st.lists(RESULTS, max_size=4)))  # type: ignore[arg-type]


WIRES = st.sampled_from(sorted(RULES)).map(RULES.__getitem__)


def checked(rules: WireRules, given: list[tuple[Message, ...]]) -> list[RepairedExchange]:
    checker = ExchangeChecker(rules)
    return [checker.check(exchange, lambda k: f"recall({k})") for exchange in given]


def sent(rows: list[RepairedExchange]) -> list[Message]:
    return [message for row in rows for message in row.messages]


@given(WIRES, st.lists(exchanges(), max_size=5))
def test_what_is_sent_is_accepted(rules: WireRules, given: list[tuple[Message, ...]]) -> None:
    messages = sent(checked(rules, given))
    ids: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            assert message.answers in waiting
            waiting.remove(message.answers)
            continue
        assert not waiting
        assert message.role != "system" or message.text.strip()
        for part in message.parts:
            assert_accepted(part, rules)
        for call in message.calls:
            assert call.id not in ids
            ids.add(call.id)
            waiting.add(call.id)
    assert not waiting
    spoken = [message for message in messages if message.role != "system"]
    assert not spoken or not rules.user_first or spoken[0].role == "user"


def assert_accepted(part: Part, rules: WireRules) -> None:
    match part:
        case Text(text):
            text.encode()
            assert rules.accepts_blank or text.strip()
        case Media():
            assert rules.accepts(part)
        case ToolCall(call_id, name, arguments):
            assert rules.tool_name.fullmatch(name)
            assert rules.call_id.fullmatch(call_id)
            assert isinstance(json.loads(arguments or "{}"), dict)
            arguments.encode()


@given(WIRES, st.lists(exchanges(), max_size=5))
def test_checked_twice_is_checked_once(rules: WireRules, given: list[tuple[Message, ...]]) -> None:
    """A repaired request is accepted: its messages are returned as they are."""
    once = sent(checked(rules, given))
    again: list[tuple[Message, ...]] = []
    for message in once:
        if message.role == "tool":
            again[-1] = (*again[-1], message)
        else:
            again.append((message,))
    rows = checked(rules, again)
    assert all(a is b for a, b in zip(sent(rows), once, strict=True))
    assert not any(row.found for row in rows)


@given(WIRES, st.lists(exchanges(), max_size=5))
def test_a_request_that_grows_keeps_what_was_sent(
    rules: WireRules, given: list[tuple[Message, ...]]
) -> None:
    shorter = sent(checked(rules, given[:-1]))
    assert sent(checked(rules, given))[: len(shorter)] == shorter


@given(WIRES, st.lists(exchanges(), max_size=4))
def test_every_change_has_its_reason(rules: WireRules, given: list[tuple[Message, ...]]) -> None:
    for row, exchange in zip(checked(rules, given), given, strict=True):
        same = len(row.messages) == len(exchange) and all(
            a is b for a, b in zip(row.messages, exchange, strict=True)
        )
        assert same == (not row.found)


@given(TEXTS)
def test_text_that_has_an_encoding_stays(text: str) -> None:
    whole = encodable(text)
    whole.encode()
    assert len(re.findall("[\ud800-\udfff]", whole)) == 0
    if not re.search("[\ud800-\udfff]", text):
        assert whole == text


def test_a_result_wins_over_the_notice_that_there_is_none() -> None:
    call = Message("assistant", (ToolCall("c1", "ls", "{}"),))
    none = Message("tool", (Text(NO_RESULT),), answers="c1")
    result = Message("tool", (Text("README.md"),), answers="c1")
    (row,) = checked(RULES["openai-chat"], [(call, none, result)])
    assert row.messages == (call, result)


@pytest.mark.parametrize("wire", sorted(RULES))
def test_a_result_without_content_is_sent_alike_before_and_after_a_restart(wire: str) -> None:
    """Reasoning is bound to the bytes before it (I7, I42)."""
    call: Any = {"name": "ls", "args": {}, "id": "c1"}
    answer, result = AIMessage("", tool_calls=[call]), ToolMessage([], tool_call_id="c1")
    live, _ = LangChainWire().read([answer, result])
    logged = [message_from_json(message_to_json(message)) for message in live]
    before, after = (
        LangChainWire().write(sent(checked(RULES[wire], [tuple(messages)])))
        for messages in (live, logged)
    )
    assert [m.content for m in before] == [m.content for m in after]
    assert before[1].content != []


@pytest.mark.parametrize("text", ["", "  "])
def test_an_error_without_a_text_has_a_line_for_anthropic(text: str) -> None:
    """It refuses an empty result that is an error, and takes one that is none."""
    call = Message("assistant", (ToolCall("c1", "grep", "{}"),))
    parts = (Text(text),) if text else ()
    failed = Message("tool", parts, answers="c1", is_error=True)
    (row,) = checked(RULES["anthropic"], [(Message("user", (Text("go"),)),), (call, failed)])[1:]
    assert row.messages[1].text.strip()
    (row,) = checked(RULES["openai-chat"], [(call, failed)])
    assert row.messages[1] == failed
