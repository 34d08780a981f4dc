"""What a model may make up when it calls our tools, in a real agent."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.archives import archive_in_memory
from thalweg import ContextMiddleware
from thalweg.archive import RECALL_TOOL, Archive
from thalweg.engine.entries import RECALL
from thalweg.testing import ScriptedModel

COMPACT = "compact_conversation"
Call = tuple[str, dict[str, Any]]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [*RECALL_TOOL["parameters"]["properties"], "self", "runtime", "config", "callbacks", "args"]
)
CALLS = st.tuples(
    st.sampled_from([RECALL, COMPACT]), st.dictionaries(NAMES | TEXTS, JSON, max_size=4)
)


@pytest.fixture(scope="module", name="archive")
def _archive() -> Archive:
    return archive_in_memory()


def answers(archive: Archive, *made_up: Call) -> list[ToolMessage]:
    """Let a model make these calls at once; return the answers."""
    asked = [
        {"name": name, "args": arguments, "id": f"c{k}", "type": "tool_call"}
        for k, (name, arguments) in enumerate(made_up)
    ]

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("done" if messages[-1].type == "tool" else "", tool_calls=calls(messages))

    def calls(messages: Sequence[BaseMessage]) -> list[Any]:
        return [] if messages[-1].type == "tool" else asked

    middleware = ContextMiddleware(archive=archive)
    agent = create_agent(ScriptedModel(script=script), middleware=[middleware])
    done = agent.invoke({"messages": [HumanMessage("Count the herons.")]})
    assert done["messages"][-1].content == "done"
    return [message for message in done["messages"] if isinstance(message, ToolMessage)]


@pytest.mark.slow
@given(made_up=st.lists(CALLS, min_size=1, max_size=3))
@example(made_up=[(RECALL, {"self": 1, "query": "herons"})])
@example(made_up=[(RECALL, {"handle": "a" * 16 + "#" + "9" * 5_000})])
@example(made_up=[(RECALL, {"handle": "a" * 16, "lines": [1, 10**4_000]})])
def test_no_argument_that_a_model_makes_up_ends_the_run(
    archive: Archive, made_up: list[Call]
) -> None:
    """Every call is answered, in words."""
    told = answers(archive, *made_up)
    assert len(told) == len(made_up)
    assert all(message.text for message in told)


def test_arguments_that_the_tool_does_not_take_are_passed_over(archive: Archive) -> None:
    (told,) = answers(archive, (RECALL, {"query": "herons", "limit": 5, "max_tokens": 1}))
    assert told.text == "#0 user\nCount the herons."


@pytest.mark.parametrize(
    ("asked", "what"),
    [({"handle": 123}, "handle"), ({"query": ["hi"]}, "query"), ({"lines": "1-2"}, "lines")],
)
def test_a_value_of_the_wrong_kind_is_told_to_the_model(
    archive: Archive, asked: dict[str, Any], what: str
) -> None:
    """It can fix it in its next call."""
    (told,) = answers(archive, (RECALL, {"handle": "a" * 16, **asked}))
    assert told.text.startswith(f"{what} takes ")


def test_several_calls_of_one_step_may_ask_to_compact(archive: Archive) -> None:
    """They ask for the same."""
    assert len(answers(archive, (COMPACT, {}), (COMPACT, {"reason": "full"}))) == 2


WORDS = "the gate opens with hunter2zebra"


def asks_recall(messages: Sequence[BaseMessage]) -> str | AIMessage:
    """Look for the secret, when instructed to."""
    if messages[-1].text == "look":
        call = {"name": RECALL, "args": {"query": "hunter2zebra gate"}, "id": "c"}
        return AIMessage("", tool_calls=[call])
    return f"heard: {messages[-1].text}"


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def test_recall_does_not_find_what_was_removed_from_the_state() -> None:
    """Anyone who takes a secret out of a thread wants it out."""
    agent = create_agent(
        ScriptedModel(script=asks_recall),
        middleware=[ContextMiddleware(archive=":memory:")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage(WORDS)]}, thread("t"))
    gone = agent.get_state(thread("t")).values["messages"]
    assert WORDS in {message.text for message in gone}
    agent.update_state(thread("t"), {"messages": [RemoveMessage(id=m.id) for m in gone]})
    found = agent.invoke({"messages": [HumanMessage("look")]}, thread("t"))["messages"]
    assert found[-1].text.startswith("heard: Nothing was found")


def test_recall_does_not_find_what_a_rewind_left_behind() -> None:
    """And finds it from the checkpoint that has it."""
    agent = create_agent(
        ScriptedModel(script=asks_recall),
        middleware=[ContextMiddleware(archive=":memory:")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": [HumanMessage("hello")]}, thread("t"))
    before = agent.get_state(thread("t")).config
    agent.invoke({"messages": [HumanMessage(WORDS)]}, thread("t"))
    after = agent.get_state(thread("t")).config

    found = agent.invoke({"messages": [HumanMessage("look")]}, before)["messages"]
    assert found[-1].text.startswith("heard: Nothing was found")
    found = agent.invoke({"messages": [HumanMessage("look")]}, after)["messages"]
    assert "hunter2zebra" in found[-1].text
