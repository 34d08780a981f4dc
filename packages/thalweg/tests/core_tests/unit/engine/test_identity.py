"""A message is the same after a checkpointer has stored it, and another after an edit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from thalweg.context.request.messages import read_state
from thalweg.engine.entries import (
    Message,
    Text,
    common_prefix_length,
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


def test_the_same_words_with_another_id_are_another_message() -> None:
    """A person may ask the same twice."""
    one, other = (Message("user", (Text("again"),), uid=uid) for uid in ("m1", "m2"))
    assert not is_same(one, other)
