"""LangChain's own middleware beside ours: requests stay valid, fit, and say what they should."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.context.settings import ContextPolicy
from thalweg.errors import RefusedError
from thalweg.middleware.context import ContextMiddleware
from thalweg.testing.model import Script, ScriptedModel

POLICY = ContextPolicy(window=200_000, summarize=False)
TOO_LARGE = "413 request entity too large"


def say(agent: Any, thread: str, said: str) -> str:  # noqa: ANN401 (LangGraph's own type has four)
    config = {"configurable": {"thread_id": thread}}
    return str(agent.invoke({"messages": [("user", said)]}, config)["messages"][-1].text)


def sizes_and(answer: Script) -> tuple[list[int], Script]:
    """Note how many characters each request has."""
    sizes: list[int] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        sizes.append(sum(len(str(message.content)) for message in messages))
        return answer(messages)

    return sizes, script


def test_a_refusal_in_one_thread_squeezes_no_other() -> None:
    """A proxy that takes offence at a small request says nothing of the next thread's paste."""
    refusals = [TOO_LARGE]

    def once(messages: Sequence[BaseMessage]) -> str:
        del messages
        if refusals:
            raise RuntimeError(refusals.pop())
        return "ok"

    sizes, script = sizes_and(once)
    context = ContextMiddleware(POLICY, archive=":memory:")
    agent = create_agent(
        ScriptedModel(script=script), middleware=[context], checkpointer=InMemorySaver()
    )
    say(agent, "a", "hi " * 2_000)
    say(agent, "b", "paste of thirty thousand characters " * 850)

    assert sizes[-1] >= 30_000


def test_a_thread_that_is_always_refused_leaves_the_others_whole() -> None:
    """Nothing is learned where nothing was taken, and the error says who refused and how."""

    def picky(messages: Sequence[BaseMessage]) -> str:
        if any("BIG" in str(message.content) for message in messages):
            raise RuntimeError(TOO_LARGE)
        return "ok"

    sizes, script = sizes_and(picky)
    context = ContextMiddleware(POLICY, archive=":memory:")
    agent = create_agent(
        ScriptedModel(script=script), middleware=[context], checkpointer=InMemorySaver()
    )
    with pytest.raises(RefusedError, match=r"too many bytes.*413 request entity") as caught:
        say(agent, "bad", "BIG " + "x " * 200)
    said = "hello there " * 3_000
    say(agent, "good", said)

    assert caught.value.kind == "bytes"
    assert sizes[-1] == len(said)


def test_what_a_fallback_refuses_does_not_squeeze_the_primary() -> None:
    """The turn goes through with what the small model takes; the primary keeps its window."""
    is_down = [True]

    def primary(messages: Sequence[BaseMessage]) -> str:
        del messages
        if is_down[0]:
            msg = "overloaded"
            raise RuntimeError(msg)
        return "primary"

    def small(messages: Sequence[BaseMessage]) -> str:
        tokens = sum(len(str(message.content)) for message in messages) // 5
        if tokens > 8_000:
            msg = f"prompt is too long: {tokens} tokens > 8000 maximum"
            raise ValueError(msg)
        return "small"

    sizes, script = sizes_and(primary)
    context = ContextMiddleware(POLICY, archive=":memory:")
    fallback = ModelFallbackMiddleware(ScriptedModel(script=small, model="small"))
    agent = create_agent(
        ScriptedModel(script=script, model="primary"),
        middleware=[context, fallback],
        checkpointer=InMemorySaver(),
    )
    assert say(agent, "a", "word " * 9_000) == "small"
    is_down[0] = False
    assert say(agent, "b", "word " * 30_000) == "primary"
    assert sizes[-1] == 150_000
