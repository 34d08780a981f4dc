"""Hooks of neighbours run in one step, and do what they do in steps of their own."""

import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from memory_tests.memories import memory_in_memory
from thalweg.context.middleware import ContextMiddleware
from thalweg.testing import ScriptedModel
from thalweg_agent.graph.layers import Middleware
from thalweg_agent.graph.merged_hooks import merge_hooks
from thalweg_agent.middleware.patch_tool_calls import PatchToolCallsMiddleware
from thalweg_memory.middleware.middleware import MemoryMiddleware

Update = dict[str, Any] | None


class Notes(AgentMiddleware[Any, Any, Any]):
    """Appends what it sees to the newest message's text, before and after."""

    __module__ = "thalweg.tests"  # as if it were ours

    def __init__(self, letter: str) -> None:
        super().__init__()
        self.letter = letter

    @property
    def name(self) -> str:
        """Return a name for each letter."""
        return f"Notes{self.letter}"

    def before_agent(
        self, state: Mapping[str, Any], runtime: object, config: RunnableConfig | None = None
    ) -> Update:
        """Replace the newest message."""
        assert runtime is not None
        assert config is None or config["configurable"]["thread_id"] == "t"
        last = state["messages"][-1]
        return {"messages": [HumanMessage(f"{last.text}{self.letter}", id=last.id)]}

    async def abefore_agent(
        self, state: Mapping[str, Any], runtime: object, config: RunnableConfig | None = None
    ) -> Update:
        """See `before_agent`."""
        return self.before_agent(state, runtime, config)

    def after_agent(self, state: Mapping[str, Any], runtime: object) -> Update:
        """Remove the oldest message and add one, or change nothing."""
        assert runtime is not None
        if self.letter == "b":
            return None
        oldest = RemoveMessage(id=str(state["messages"][0].id))
        return {"messages": [oldest, AIMessage(f"{len(state['messages'])}{self.letter}")]}

    async def aafter_agent(self, state: Mapping[str, Any], runtime: object) -> Update:
        """See `after_agent`."""
        return self.after_agent(state, runtime)


class Theirs(Notes):
    """Of a user: no module of the package."""

    __module__ = "user"


class Jumping(Notes):
    """May end the run."""

    @hook_config(can_jump_to=["end"])
    def before_agent(
        self, state: Mapping[str, Any], runtime: object, config: RunnableConfig | None = None
    ) -> Update:
        """See `Notes`."""
        return super().before_agent(state, runtime, config)


def answered(middleware: Sequence[Middleware], *, awaited: bool) -> tuple[list[str], list[str]]:
    """Run an agent; return the texts of its messages and the steps of its graph."""
    model = ScriptedModel(script=lambda messages: f"<{messages[-1].text}>")
    agent: Any = create_agent(model, middleware=middleware)
    given: Any = {"messages": [HumanMessage("hi", id="m0")]}
    config = {"configurable": {"thread_id": "t"}}
    invoke = partial(anyio.run, agent.ainvoke) if awaited else agent.invoke
    state = invoke(given, config)
    steps = [name for name in agent.nodes if "_agent" in name]
    return [message.text for message in state["messages"]], steps


@pytest.mark.parametrize("awaited", [False, True])
def test_merged_hooks_change_the_state_as_separate_ones_do(*, awaited: bool) -> None:
    """Each sees the changes of those before it; removed messages remain removed."""
    middleware = [Notes(letter) for letter in "abc"]
    separate, many = answered(middleware, awaited=awaited)
    merged, few = answered(merge_hooks(middleware), awaited=awaited)
    assert merged == separate == ["2c", "2a"]
    assert len(many) == 6
    assert few == ["Notesa.before_agent", "Notesc.after_agent"]


def test_the_arguments_stay_as_they_were() -> None:
    """And what is merged is the same kind of middleware, of the same name."""
    middleware = [Notes("a"), Notes("b")]
    merged = merge_hooks(middleware)
    assert [*map(type, middleware)] == [Notes, Notes]
    assert "before_agent" not in vars(middleware[0])
    assert [one.name for one in merged] == ["Notesa", "Notesb"]
    assert all(isinstance(one, Notes) for one in merged)


@pytest.mark.parametrize("between", [Theirs("x"), Jumping("x")])
def test_hooks_of_users_and_hooks_that_jump_keep_their_steps(between: Middleware) -> None:
    """What runs before such a hook is merged, and what runs after it."""
    middleware = [Notes("a"), Notes("b"), between, Notes("c"), Notes("d")]
    merged, steps = answered(merge_hooks(middleware), awaited=False)
    assert merged == answered(middleware, awaited=False)[0]
    befores = [step for step in steps if step.endswith(".before_agent")]
    assert befores == ["Notesa.before_agent", "Notesx.before_agent", "Notesc.before_agent"]


def test_memory_and_the_context_engine_end_a_run_in_one_step() -> None:
    """Memory reads the log up to the mark that the engine has just written."""
    sent: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        sent.append(str(messages))
        return "Noted."

    middleware: list[Middleware] = [
        MemoryMiddleware(memory_in_memory()),
        PatchToolCallsMiddleware(),
        ContextMiddleware(archive=":memory:"),
    ]
    agent: Any = create_agent(ScriptedModel(script=script), middleware=merge_hooks(middleware))
    steps = [name for name in agent.nodes if "_agent" in name]
    assert steps == ["MemoryMiddleware.before_agent", "ContextMiddleware.after_agent"]
    for thread, said in (("t1", "I keep the boat key in drawer 7."), ("t2", "Where is the key?")):
        asked = {"messages": [HumanMessage(said, id=thread)]}
        agent.invoke(asked, {"configurable": {"thread_id": thread}})
    assert "drawer 7" in sent[-1]


class SeenState(AgentState[Any]):
    """Letters in the order in which wrappers returned them."""

    seen: Annotated[list[str], operator.add]


class Wraps(AgentMiddleware[Any, Any, Any]):
    """Adds its letter to requests, retries once, and returns an update with its letter."""

    __module__ = "thalweg.tests"
    state_schema = SeenState

    def __init__(self, letter: str) -> None:
        super().__init__()
        self.letter = letter
        self.calls = 0

    @property
    def name(self) -> str:
        """Return a name for each letter."""
        return f"Wraps{self.letter}"

    def _sent(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        self.calls += 1
        return request.override(messages=[*request.messages, HumanMessage(self.letter)])

    def _returned(self, response: ModelResponse[Any]) -> Any:  # noqa: ANN401 (either response)
        if self.letter == "b":
            return response
        update = {"seen": [f"{self.letter}{self.calls}"]}
        return ExtendedModelResponse(response, Command(update=update))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:  # noqa: ANN401 (either response)
        """Call twice; the first answer is dropped, with its updates."""
        handler(self._sent(request))
        return self._returned(handler(self._sent(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:  # noqa: ANN401 (either response)
        """See `wrap_model_call`."""
        await handler(self._sent(request))
        return self._returned(await handler(self._sent(request)))

    def after_agent(self, state: Mapping[str, Any], runtime: object) -> Update:
        """Return what the wrapper counted."""
        assert runtime is not None
        return {"seen": [f"end {self.letter}{self.calls}"]} if state["seen"] else None


class TheirWraps(Wraps):
    """Of a user: no module of the package."""

    __module__ = "user"


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("kinds", [(Wraps, Wraps, Wraps), (Wraps, Wraps, TheirWraps, Wraps)])
def test_merged_wrappers_send_and_return_what_separate_ones_do(
    kinds: Sequence[type[Wraps]], *, awaited: bool
) -> None:
    """In a chain with a user's, too; hooks of one middleware share its attributes."""
    outcomes = []
    for merge in (list, merge_hooks):
        sent: list[str] = []
        middleware = [kind(letter) for kind, letter in zip(kinds, "abcd", strict=False)]

        def script(messages: Sequence[BaseMessage], sent: list[str] = sent) -> str:
            sent.append("".join(message.text for message in messages))
            return "Done."

        agent: Any = create_agent(ScriptedModel(script=script), middleware=merge(middleware))
        invoke = partial(anyio.run, agent.ainvoke) if awaited else agent.invoke
        outcomes.append((sent, invoke({"messages": [("user", ">")]})["seen"]))
    separate, merged = outcomes
    assert separate[0] == merged[0]
    in_model = [seen for seen in separate[1] if not seen.startswith("end")]
    assert in_model == merged[1][: len(in_model)]
    assert "end a2" in merged[1]


class Retries(AgentMiddleware[Any, Any, Any]):
    """Calls twice, and answers by itself if the second call fails."""

    __module__ = "thalweg.tests"

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:  # noqa: ANN401 (either response)
        """Return the second answer, or a message of its own."""
        first = handler(request)
        try:
            return handler(request)
        except ValueError:
            return AIMessage(f"{first.result[-1].text} No more.")


class FailsLater(AgentMiddleware[Any, Any, Any]):
    """Counts calls in the state; the second one fails."""

    __module__ = "thalweg.tests"
    state_schema = SeenState

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:  # noqa: ANN401 (either response)
        """Return a bare message with the first call's update, or fail."""
        self.calls += 1
        if self.calls > 1:
            raise ValueError
        command: Command[Any] = Command(update={"seen": [f"call {self.calls}"]})
        return ExtendedModelResponse(handler(request), command)


class Bare(AgentMiddleware[Any, Any, Any]):
    """Returns a message instead of a response."""

    __module__ = "thalweg.tests"

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:  # noqa: ANN401 (either response)
        """Return the message alone."""
        return handler(request).result[-1]


@pytest.mark.parametrize("kinds", [(Retries, FailsLater), (Retries, Bare)])
def test_merged_wrappers_drop_what_a_failed_call_left_and_take_bare_messages(
    kinds: Sequence[type[AgentMiddleware[Any, Any, Any]]],
) -> None:
    """As LangChain does with separate ones."""
    outcomes = []
    for merge in (list, merge_hooks):
        model = ScriptedModel(script=lambda _: "Done.")
        agent: Any = create_agent(model, middleware=merge([kind() for kind in kinds]))
        outcome = agent.invoke({"messages": [("user", ">")]})
        outcomes.append((outcome["messages"][-1].text, outcome.get("seen")))
    assert outcomes[0] == outcomes[1]


def test_a_call_of_ours_is_one_trace() -> None:
    """A user's wrapper has one of its own, and those on both sides of it."""
    wraps = merge_hooks([Wraps("a"), Wraps("b"), TheirWraps("c"), Wraps("d"), Wraps("e")])
    plain = AgentMiddleware.wrap_model_call
    names = [one.name for one in wraps if type(one).wrap_model_call is not plain]
    assert names == ["Wrapsa", "Wrapsc", "Wrapsd"]
