"""An agent with the middleware, and the same agent without it.

Where nothing has to be removed, the two behave alike (I52). Where something was, what a request
refers to can be read with what it has (I51).
"""

# ruff: noqa: ANN401 (LangChain's signatures)

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from hypothesis import event, given, reject, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRetryMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_model,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from pydantic import BaseModel

from thalweg import ContextMiddleware
from thalweg.testing import OfflineModel, ScriptedModel

OURS = frozenset({"recall", "compact_conversation"})
REFERENCE = re.compile(r'(\w+)\(handle=\\?"[a-z2-7]{16}')
Way = Literal["invoke", "ainvoke", "stream", "astream"]
THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}


class Verdict(BaseModel):
    """How a question was answered."""

    ok: bool


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"{what}: herons"


@tool
def count(what: str) -> str:
    """Count something."""
    return f"{len(what)} of {what}"


@dataclass
class Sent:
    """A request as the model received it."""

    messages: list[tuple[Any, ...]]
    tools: list[str]
    settings: dict[str, Any]


@dataclass
class Log:
    """The requests of one agent."""

    sent: list[Sent] = field(default_factory=list)


def facts(message: BaseMessage) -> tuple[Any, ...]:
    """Return what is the same for each run: not the ids."""
    calls = [(c["name"], str(c["args"]), c["id"]) for c in getattr(message, "tool_calls", ())]
    rest = (message.name, message.additional_kwargs, message.response_metadata)
    return (message.type, message.content, calls, getattr(message, "tool_call_id", ""), *rest)


def model_of(log: Log, moves: Sequence[str]) -> ScriptedModel:
    """Make a model that plays its moves again with each turn of the user.

    Without tools it returns a structured answer at once: if it is a text, a plain agent asks again,
    and one with a node for tools ends (decision 0072).
    """

    def script(messages: Sequence[BaseMessage], **kwargs: Any) -> AIMessage:
        tools = [one["function"]["name"] for one in kwargs.pop("tools", None) or ()]
        log.sent.append(Sent([*map(facts, messages)], tools, kwargs))
        own = [name for name in tools if name not in OURS]
        last = max(k for k, message in enumerate(messages) if message.type == "human")
        at = sum(message.type == "ai" for message in messages[last:])
        move = moves[at] if at < len(moves) else "say"
        number = f"c{len(messages)}"
        if "Verdict" in own and (move != "call" or own == ["Verdict"]):
            call = {"name": "Verdict", "args": {"ok": True}, "id": number}
            return AIMessage("", tool_calls=[call])
        if move == "call" and own:
            name = next(one for one in own if one != "Verdict")
            call = {"name": name, "args": {"what": f"thing {at}"}, "id": number}
            return AIMessage("Let me see.", tool_calls=[call])
        text = '{"ok": true}' if "response_format" in kwargs else f"answer {len(messages)}"
        return AIMessage(text, response_metadata={"finish": "stop", "model": "m"})

    class Recorded(ScriptedModel):
        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Any:
            del run_manager
            settings_ = {k: v for k, v in {**kwargs, "stop": stop}.items() if v is not None}
            self.script = lambda given_: script(given_, **settings_)
            return super()._generate(messages)

    return Recorded(script=lambda _: "")


class Changing(AgentMiddleware[Any, Any, Any]):
    """Changes each request."""

    def __init__(self, name: str, change: Callable[[Any], dict[str, Any]]) -> None:
        super().__init__()
        self._name, self._change = name, change

    @property
    def name(self) -> str:
        """See `AgentMiddleware.name`."""
        return self._name

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """See `AgentMiddleware.wrap_model_call`."""
        return handler(request.override(**self._change(request)))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """See `AgentMiddleware.awrap_model_call`."""
        return await handler(request.override(**self._change(request)))


CHANGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "narrow": lambda request: {"tools": [t for t in request.tools if t.name in {"look", "fetch"}]},
    "hurry": lambda _: {"model_settings": {"temperature": 0.25}},
    "prompt": lambda _: {"system_message": SystemMessage("Answer with care.")},
    "remind": lambda request: {"messages": [*request.messages, HumanMessage("Be brief.")]},
    "choose": lambda request: {"tool_choice": "auto"} if request.tools else {},
}


@before_model(name="note")
def note(state: Any, runtime: Any) -> Any:
    del runtime
    is_first = state["messages"][-1].type == "human"
    return {"messages": [HumanMessage("The tide is out.")]} if is_first else None


@after_model(name="sign")
def sign(state: Any, runtime: Any) -> Any:
    del runtime
    last = state["messages"][-1]
    return {"messages": [last.model_copy(update={"additional_kwargs": {"signed": True}})]}


OTHERS: dict[str, Callable[[], AgentMiddleware[Any, Any, Any]]] = {
    **{name: partial(Changing, name, change) for name, change in CHANGES.items()},
    "note": lambda: note,
    "sign": lambda: sign,
    "retry": lambda: ModelRetryMiddleware(max_retries=1, on_failure="error"),
    "limit": lambda: ToolCallLimitMiddleware(tool_name="count", run_limit=1),
}


@dataclass(frozen=True)
class Case:
    """An agent, and how it is run."""

    tools: tuple[BaseTool, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    bound: bool
    answers_as: Literal["text", "tool", "provider"]
    moves: tuple[str, ...]
    turns: int
    way: Way
    keeps: bool

    def run(self, ours: ContextMiddleware | None) -> tuple[list[Sent], list[Any], Any]:
        """Run the agent; return its requests, its messages and its structured answer."""
        log = Log()
        model: Any = model_of(log, self.moves)
        model = model.bind(stop=["X"], top_p=0.5) if self.bound else model
        formats = {
            "text": None,
            "tool": ToolStrategy(Verdict),
            "provider": ProviderStrategy(Verdict),
        }
        middle = [] if ours is None else [ours]
        agent: Any = create_agent(
            model,
            list(self.tools),
            system_prompt="You watch birds.",
            middleware=[
                *(OTHERS[name]() for name in self.before),
                *middle,
                *(OTHERS[name]() for name in self.after),
            ],
            response_format=formats[self.answers_as],
            checkpointer=InMemorySaver() if self.keeps else None,
        )
        state: Any = {}
        for turn in range(self.turns):
            given_ = [] if self.keeps else state.get("messages", [])
            words = {"messages": [*given_, HumanMessage(f"question {turn}")]}
            state = _played(agent, self.way, words)
        return log.sent, [facts(m) for m in state["messages"]], state.get("structured_response")


def _played(agent: Any, way: Way, words: Any) -> Any:
    async def last() -> Any:
        return [part async for part in agent.astream(words, THREAD, stream_mode="values")][-1]

    match way:
        case "invoke":
            return agent.invoke(words, THREAD)
        case "ainvoke":
            return asyncio.run(agent.ainvoke(words, THREAD))
        case "stream":
            return list(agent.stream(words, THREAD, stream_mode="values"))[-1]
        case "astream":
            return asyncio.run(last())


NAMES = st.lists(st.sampled_from(sorted(OTHERS)), max_size=3, unique=True)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    before = draw(NAMES)
    after = [name for name in draw(NAMES) if name not in before]
    tools = draw(st.sampled_from([(), (look,), (look, count)]))
    return Case(
        tools=tools,
        before=tuple(before),
        after=tuple(after),
        bound=draw(st.booleans()),
        answers_as=draw(st.sampled_from(["text", "text", "tool", "provider"])),
        moves=tuple(draw(st.lists(st.sampled_from(["call", "say"]), max_size=2))),
        turns=draw(st.integers(1, 3)),
        way=draw(st.sampled_from(["invoke", "ainvoke", "stream", "astream"])),
        keeps=draw(st.booleans()),
    )


@given(cases())
@settings(max_examples=30)
def test_where_nothing_is_removed_the_agent_is_as_without_the_middleware(case: Case) -> None:
    try:
        plain, messages, verdict = case.run(None)
    except GraphRecursionError:
        reject()  # it asks its model without end, also without the middleware
    with ContextMiddleware(archive=":memory:") as middleware:
        ours, same, again = case.run(middleware)

    event(f"{len(case.tools)} tools, {case.answers_as}")
    assert (same, again) == (messages, verdict)
    assert len(ours) == len(plain)
    for one, other in zip(ours, plain, strict=True):
        assert (one.messages, one.settings) == (other.messages, other.settings)
        assert [name for name in one.tools if name not in OURS] == other.tools
        assert case.tools or not OURS & {*one.tools}


@dataclass(frozen=True)
class Tight:
    """A thread that does not fit, and what blocks the tools."""

    results: tuple[int, ...]
    """Characters of the result that each turn fetches; 0 for a turn without one."""
    words: tuple[int, ...]
    """Characters of the user's words in each turn."""
    tools: bool
    takes: bool
    narrows: Literal["no", "outside", "inside"]
    policy: Literal["auto", "on", "off"]
    name: str


tights = st.builds(
    Tight,
    results=st.lists(st.sampled_from([0, 800, 12_000]), min_size=3, max_size=8).map(tuple),
    words=st.lists(st.sampled_from([40, 2_500, 9_000]), min_size=8, max_size=8).map(tuple),
    tools=st.booleans(),
    takes=st.booleans(),
    narrows=st.sampled_from(["no", "outside", "inside"]),
    policy=st.sampled_from(["auto", "on", "off"]),
    name=st.sampled_from(["recall", "look_back"]),
)


class Toolless(OfflineModel):
    """A model class that takes no tools."""

    said: Any

    bind_tools = OfflineModel.__mro__[1].bind_tools  # type: ignore[attr-defined]

    def _generate(self, messages: Any, *_: Any, **kwargs: Any) -> Any:
        answer = self.said(messages, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@given(tights)
@settings(max_examples=60)
def test_what_a_request_refers_to_can_be_read_with_what_it_has(tight: Tight) -> None:
    seen: list[tuple[list[str], str]] = []
    sizes = iter(tight.results)

    @tool
    def fetch(size: int) -> str:
        """Fetch a page."""
        return "heron " * (size // 6)

    def said(messages: Sequence[BaseMessage], **kwargs: Any) -> AIMessage:
        tools = [one["function"]["name"] for one in kwargs.get("tools") or ()]
        shown = "\n".join(f"{m.content} {getattr(m, 'tool_calls', '')}" for m in messages)
        seen.append((tools, shown))
        size = 0 if isinstance(messages[-1], ToolMessage) else next(sizes, 0)
        if size and "fetch" in tools:
            call = {"name": "fetch", "args": {"size": size}, "id": f"c{len(seen)}"}
            return AIMessage("", tool_calls=[call])
        return AIMessage("Yes.")

    class Taking(Toolless):
        bind_tools = OfflineModel.bind_tools

    policy = {
        "window": 3_000,
        "max_output": 300,
        "summarize": False,
        "tools": tight.policy,
        "tool_names": {"recall": tight.name},
        "offload": {"result_tokens": 500},
    }
    ours = ContextMiddleware(policy, archive=":memory:")
    model = (Taking if tight.takes else Toolless)(said=said)
    narrow = OTHERS["narrow"]()
    others: dict[str, list[Any]] = {
        "no": [ours],
        "outside": [narrow, ours],
        "inside": [ours, narrow],
    }
    agent: Any = create_agent(
        model,
        [fetch] if tight.tools and tight.takes else [],
        middleware=others[tight.narrows],
        checkpointer=InMemorySaver(),
    )
    for turn, size in zip(range(len(tight.results)), tight.words, strict=False):
        agent.invoke({"messages": [HumanMessage(f"{turn}: " + "egret " * (size // 6))]}, THREAD)

    for tools, shown in seen:
        names = {*REFERENCE.findall(shown)}
        event(f"takes: {tight.takes}, references: {bool(names)}")
        assert names <= {tight.name}
        assert names <= {*tools}
        if not tight.takes or tight.policy == "off":
            assert not names
            assert not {tight.name, "compact_conversation"} & {*tools}
