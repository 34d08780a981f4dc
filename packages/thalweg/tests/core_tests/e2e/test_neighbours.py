"""LangChain's own middleware next to ours: requests are valid, fit, and have the right content."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
)
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from core_tests.e2e.scripted import RuledModel, calls, says
from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import EVERY_WIRE, chat_model
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import RefusedError, WindowExceededError
from thalweg.testing import Script, ScriptedModel

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
    """A proxy that refuses a small request has no effect on the next thread's paste."""
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
    """Nothing is learned where nothing was taken, and the error states who refused and how."""

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
    """The turn succeeds with what the small model takes; the primary keeps its window."""
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
    small_sizes, small_script = sizes_and(small)
    context: Middleware = ContextMiddleware(POLICY, archive=":memory:")
    fallback: Middleware = ModelFallbackMiddleware(
        ScriptedModel(script=small_script, model="small")
    )
    agent = create_agent(
        ScriptedModel(script=script, model="primary"),
        middleware=[context, fallback],
        checkpointer=InMemorySaver(),
    )
    for n in range(3):
        assert say(agent, "a", f"{n} " + "word " * 3_500) == "small"
    assert small_sizes[-1] > 15_000
    is_down[0] = False
    assert say(agent, "b", "word " * 30_000) == "primary"
    assert sizes[-1] == 150_000


Middleware = AgentMiddleware[Any, Any, Any]
BOTH = pytest.mark.parametrize("is_outer", [True, False])
"""Whether the other middleware comes before ours, and so sees the state's messages."""


def beside(context: ContextMiddleware, other: Middleware, *, is_outer: bool) -> list[Middleware]:
    """Put two middleware in one order or the other."""
    return [other, context] if is_outer else [context, other]


@tool
def read(path: str) -> str:
    """Read a file."""
    return "".join(f"{path} line {n}: value {n * 7919 % 10_007}\n" for n in range(120))


def reads(messages: Sequence[BaseMessage]) -> AIMessage:
    """Read a file after every request, and then answer."""
    if messages[-1].type == "human":
        return calls("read", f"c{len(messages)}-{hash(messages[-1].text)}", path="a.md")
    return AIMessage("I read it.")


@BOTH
def test_cleared_results_stay_cleared_and_valid(*, is_outer: bool) -> None:
    """LangChain's own editing copies every message."""
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=500, keep=0)])
    context = ContextMiddleware(ContextPolicy(window=24_000, summarize=False), archive=":memory:")
    model, saver = RuledModel(rule=reads), InMemorySaver()
    stack = beside(context, editing, is_outer=is_outer)
    agent: Any = create_agent(model, [read], middleware=stack, checkpointer=saver)
    for n in range(20):
        say(agent, "t", f"Read file {n}.")

    assert model.problems == []
    results = [m.text for request in model.requests for m in request if m.type == "tool"]
    assert "[cleared]" in results


class Adding(Middleware):
    """Copies every message, and adds a long one: what comes after us must be seen."""

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        copies: list[AnyMessage] = [m.model_copy(deep=True) for m in request.messages]
        return handler(request.override(messages=[*copies, HumanMessage("x " * 80_000)]))


def test_what_does_not_fit_is_stopped_behind_a_copying_middleware() -> None:
    """The error names the middleware that caused it."""
    context = ContextMiddleware(ContextPolicy(window=32_000), archive=":memory:")
    model = RuledModel(rule=says("ok"))
    agent: Any = create_agent(model, middleware=[context, Adding()], checkpointer=InMemorySaver())

    with pytest.raises(WindowExceededError, match="added by other middleware") as caught:
        say(agent, "t", "q")

    assert caught.value.irreducible[0].startswith("added by other middleware ")
    assert model.requests == []


class Framing(Middleware):
    """Puts a memory and an example in front."""

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        front: list[AnyMessage] = [
            SystemMessage("MEMORY"),
            HumanMessage("like so?"),
            AIMessage("like so."),
        ]
        return handler(request.override(messages=[*front, *request.messages]))


@BOTH
def test_what_is_put_in_front_is_sent_in_front(*, is_outer: bool) -> None:
    """The order of the middleware does not matter."""
    model = RuledModel(rule=says("ok"))
    context = ContextMiddleware(archive=":memory:")
    agent: Any = create_agent(
        model,
        system_prompt="SYS",
        middleware=beside(context, Framing(), is_outer=is_outer),
        checkpointer=InMemorySaver(),
    )
    for n in range(2):
        say(agent, "t", f"q{n}")

    sent = [message.text for message in model.requests[-1]]
    assert sent == ["SYS", "MEMORY", "like so?", "like so.", "q0", "ok", "q1"]


@BOTH
def test_a_call_that_is_tried_again_is_logged_once(*, is_outer: bool) -> None:
    """The second attempt is the same request."""
    model = RuledModel(rule=says(RuntimeError("once"), RuntimeError("twice"), "ok"))
    retry = ModelRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
    context = ContextMiddleware(archive=":memory:")
    stack = beside(context, retry, is_outer=is_outer)
    agent: Any = create_agent(model, middleware=stack, checkpointer=InMemorySaver())

    assert say(agent, "t", "q0") == "ok"
    assert say(agent, "t", "q1") == "ok"
    first = [[message.text for message in request] for request in model.requests[:3]]
    assert first == [["q0"]] * 3
    assert [message.text for message in model.requests[-1]] == ["q0", "ok", "q1"]


@BOTH
def test_a_person_is_asked_and_the_thread_goes_on(*, is_outer: bool) -> None:
    """The result is that of the call as the person edited it."""
    model = RuledModel(rule=reads)
    context = ContextMiddleware(archive=":memory:")
    asking = HumanInTheLoopMiddleware(interrupt_on={"read": True})
    stack = beside(context, asking, is_outer=is_outer)
    agent: Any = create_agent(model, [read], middleware=stack, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "Read.")]}, config)
    edited = {"type": "edit", "edited_action": {"name": "read", "args": {"path": "b.md"}}}
    agent.invoke(Command(resume={"decisions": [edited]}), config)

    assert model.problems == []
    assert [message.type for message in model.requests[-1]] == ["human", "ai", "tool"]
    assert "b.md line 0" in model.requests[-1][-1].text


class Asking(Middleware):
    """Asks a person in the middle of a model call."""

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        interrupt("may I?")
        return handler(request)


@BOTH
def test_an_interrupt_in_a_model_call_passes(*, is_outer: bool) -> None:
    """It is LangGraph's way out of a step, and no failure."""
    model = RuledModel(rule=says("ok"))
    policy = ContextPolicy(window=32_000, trigger=("messages", 4), keep=("messages", 2))
    context = ContextMiddleware(policy, archive=":memory:")
    stack = beside(context, Asking(), is_outer=is_outer)
    agent: Any = create_agent(model, middleware=stack, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    for n in range(4):
        said = f"q{n} " + "some words here " * 300
        state = agent.invoke({"messages": [("user", said)]}, config)
        assert "__interrupt__" in state
        while "__interrupt__" in state:
            state = agent.invoke(Command(resume="yes"), config)
        assert state["messages"][-1].text == "ok"

    assert model.problems == []


def test_an_interrupt_in_a_summary_passes() -> None:
    """The summarizer may ask a person, as any step of a graph may, where the turn waits for it."""
    asked: list[str] = []

    def careful(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        asked.append(interrupt("may I sum up?"))
        return AIMessage("## Progress\n- some words here\n")

    policy = ContextPolicy(
        background=False, window=32_000, trigger=("messages", 4), keep=("messages", 2)
    )
    context = ContextMiddleware(policy, archive=":memory:", summarizer=RuledModel(rule=careful))
    agent: Any = create_agent(
        RuledModel(rule=says("ok")), middleware=[context], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "t"}}
    for n in range(4):
        said = f"q{n} " + "some words here " * 400
        state = agent.invoke({"messages": [("user", said)]}, config)
        while "__interrupt__" in state:
            state = agent.invoke(Command(resume="yes"), config)
        assert state["messages"][-1].text == "ok"

    assert "yes" in asked


def answers(request: Request) -> Answer:
    """Read a file after every request, and then answer."""
    if messages_of(request)[-1].role == "user" and request.tools:
        return Answer(calls=(("read", {"path": f"{request.number}.md"}),))
    return Answer("I read it.")


@BOTH
def test_the_prompt_is_cached_with_the_caching_middleware(*, is_outer: bool) -> None:
    """Most of every request is what the provider has."""
    with ExitStack() as stack:
        provider = stack.enter_context(StrictProvider(window=24_000, answer=answers))
        model = stack.enter_context(chat_model(provider, "anthropic"))
        model.profile = {"max_input_tokens": 24_000}
        context = ContextMiddleware(ContextPolicy(summarize=False), archive=":memory:")
        agent: Any = create_agent(
            model,
            [read],
            system_prompt="You keep the books.",
            middleware=beside(context, AnthropicPromptCachingMiddleware(), is_outer=is_outer),
            checkpointer=InMemorySaver(),
        )
        for n in range(12):
            say(agent, "t", f"Read file {n}.")
        seen = provider.requests

    assert all(one.status == 200 for one in seen)
    assert sum(one.cached_tokens for one in seen) > 0.6 * sum(one.tokens for one in seen)


@pytest.mark.parametrize("wire", EVERY_WIRE)
@pytest.mark.parametrize("kept", [3, 4])
def test_a_summary_in_a_system_message_is_valid_everywhere(wire: str, kept: int) -> None:
    """An even number keeps a model's answer first, which not every provider accepts."""
    policy = ContextPolicy(
        window=200_000,
        summarize=False,
        trigger=("messages", 9),
        keep=("messages", kept),
        summary_role="system",
    )
    requests: list[Request] = []

    def answer(request: Request) -> Answer:
        requests.append(request)
        return Answer("so " * 400)

    with StrictProvider() as provider, chat_model(provider, wire) as model:
        provider.answer = answer
        agent: Any = create_agent(
            model,
            system_prompt="Be brief.",
            middleware=[ContextMiddleware(policy, archive=":memory:")],
            checkpointer=InMemorySaver(),
        )
        for n in range(5):
            say(agent, "a", f"Question {n} " + "why " * 400)

        assert {one.status for one in provider.requests} == {200}
    record = next(one for one in messages_of(requests[-1]) if "<thread-record>" in one.text)
    assert record.role == "system"
