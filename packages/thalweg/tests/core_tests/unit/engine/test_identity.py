"""A message is the same after a checkpointer has stored it, and another after an edit."""

from dataclasses import astuple, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from thalweg.context.request.messages import read_state
from thalweg.engine.entries import (
    Message,
    Text,
    ToolCall,
    common_prefix_length,
    content_bytes,
    is_same,
    message_from_json,
    message_to_json,
)

ODD = st.text(
    st.sampled_from("a?\x00\ufeff\ud83d\ude00\udce9\U0001f600é\n") | st.characters(), max_size=6
)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
"""Keys: the serializer of LangGraph refuses half a character there."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=5,
)
BLOCKS = st.lists(
    ODD
    | st.builds(lambda text: {"type": "text", "text": text}, ODD)
    | st.builds(lambda value: {"type": "unknown", "value": value}, JSON),
    max_size=3,
)
CONTENT: st.SearchStrategy[Any] = ODD | BLOCKS
CALLS = st.lists(
    st.builds(
        lambda uid, name, args: {"type": "tool_call", "id": uid, "name": name, "args": args},
        ODD,
        ODD,
        st.dictionaries(PLAIN, JSON, max_size=3),
    ),
    max_size=2,
)
IDS = st.none() | ODD
MESSAGES: st.SearchStrategy[AnyMessage] = st.one_of(
    st.builds(HumanMessage, CONTENT, id=IDS, name=st.none() | ODD),
    st.builds(SystemMessage, CONTENT, id=IDS),
    st.builds(AIMessage, CONTENT, id=IDS, tool_calls=CALLS),
    st.builds(ToolMessage, CONTENT, id=IDS, tool_call_id=ODD),
)


@given(MESSAGES)
def test_a_message_is_the_same_after_a_checkpointer_and_the_log_have_stored_it(
    message: AnyMessage,
) -> None:
    """Each of the two changes other characters."""
    serializer = JsonPlusSerializer()
    (first,) = read_state([message])
    (again,) = read_state([serializer.loads_typed(serializer.dumps_typed(message))])

    assert is_same(first, again)
    assert is_same(message_from_json(message_to_json(first)), again)


STORABLE = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=4)


@given(STORABLE, STORABLE)
def test_other_words_with_the_same_id_are_an_edit(one: str, other: str) -> None:
    """A checkpointer can store all of these characters."""
    first, again = (Message("user", (Text(text),), uid="m1") for text in (one, other))

    assert is_same(first, again) == (one == other)
    assert common_prefix_length([first], [again]) == int(one == other)


@pytest.mark.parametrize("changed", range(4))
def test_a_prefix_ends_at_the_first_other_message(changed: int) -> None:
    """Another time is no other message, and a state may be longer or shorter than the log."""
    log = [Message("user", (Text(f"text {n}"),), uid=f"m{n}") for n in range(4)]
    later = [replace(message, at="2026-01-01") for message in log]
    edited = [*later[:changed], Message("user", (Text("edited"),), uid=f"m{changed}"), *log]

    assert common_prefix_length(log, edited) == changed
    assert common_prefix_length(log[:changed], later) == changed
    assert common_prefix_length(log, later[:changed]) == changed
    assert common_prefix_length(log, [*log, *edited]) == len(log)


def test_the_same_words_with_another_id_are_another_message() -> None:
    """A person may ask the same twice."""
    one, other = (Message("user", (Text("again"),), uid=uid) for uid in ("m1", "m2"))
    assert not is_same(one, other)


def test_another_status_or_name_is_an_edit() -> None:
    """A person corrects in the state what a tool reported, or who wrote a message."""
    message = Message("tool", (Text("again"),), "c1", "look", uid="m1")
    for changed in (replace(message, is_error=True), replace(message, name="find")):
        assert not is_same(message, changed)
        assert content_bytes([message]) != content_bytes([changed])


SHORT = st.text(st.sampled_from('a\x00[,\ud83d"\\'), max_size=3)
SIMPLE = st.builds(
    Message,
    st.sampled_from(["user", "tool"]),
    st.lists(
        st.builds(Text, SHORT, SHORT) | st.builds(ToolCall, SHORT, SHORT, SHORT), max_size=2
    ).map(tuple),
    SHORT,
    SHORT,
    st.booleans(),
    uid=SHORT,
)


@given(st.lists(SIMPLE, max_size=3), st.lists(SIMPLE, max_size=3))
def test_other_contents_have_other_bytes(one: list[Message], other: list[Message]) -> None:
    """Also if a text imitates the separators; and messages have the bytes of their parts."""
    same = len(one) == len(other) and all(map(is_same, one, other))
    if content_bytes(one) == content_bytes(other):
        assert same
    apart = b"".join(content_bytes([message]) for message in one)
    assert apart == content_bytes(one) or "\0" in "".join(map(str_of, one))


def str_of(message: Message) -> str:
    """Return all texts of a message."""
    texts = message.answers + message.name + message.uid
    return texts + "".join("".join(astuple(p)) for p in message.parts)


def test_bytes_differ_where_only_the_place_of_a_text_differs() -> None:
    first, second = (Message("user", (Text(a), Text(b))) for a, b in (("a", ""), ("", "a")))
    assert content_bytes([first]) != content_bytes([second])
    joined = Message("user", (Text("a"),), uid="\0text\0b\0")
    assert content_bytes([joined]) != content_bytes([Message("user", (Text("b"), Text("a")))])
