"""An agent with a scripted model, tools, an interrupt and a subagent; a graph with a subgraph."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import reduce
from operator import add
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class ScriptedModel(BaseChatModel):
    """Calls a tool for `call NAME`, and answers otherwise."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """Return itself: messages have the names of the tools."""
        assert tools
        return self

    def _pieces(self, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        verb, _, name = str(messages[-1].content).partition(" ")
        if messages[-1].type == "human" and verb == "call":
            yield AIMessageChunk(content="Calling.")
            for name_, arguments in ((name, '{"what": '), (None, '"x"}')):
                id_ = name_ and f"call-{name_}"
                piece = {"name": name_, "args": arguments, "id": id_, "index": 0}
                yield AIMessageChunk(content="", tool_call_chunks=[piece])  # type: ignore[list-item]
        else:
            yield AIMessageChunk(content="One, ")
            yield AIMessageChunk(content="two.")
        usage: Any = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
        yield AIMessageChunk(content="", usage_metadata=usage, chunk_position="last")

    def _stream(
        self, messages: list[BaseMessage], *_: object, **__: object
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self._pieces(messages):
            yield ChatGenerationChunk(message=piece)

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        message = message_chunk_to_message(reduce(add, self._pieces(messages)))
        return ChatResult(generations=[ChatGeneration(message=message)])


class StalledModel(ScriptedModel):
    """Does not write its answer to the end."""

    async def _astream(
        self, messages: list[BaseMessage], *_: object, **__: object
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=next(self._pieces(messages)))
        await asyncio.sleep(600)


@tool
def lookup(what: str) -> str:
    """Return a constant text."""
    return f"saw {what}"


@tool
def fails(what: str) -> str:
    """Fail."""
    raise ValueError(what)


@tool
def risky(what: str) -> str:
    """Return a constant text after an approval."""
    return f"did {what}"


_inner = create_agent(ScriptedModel(), [lookup], name="inner")


@tool
async def delegate(what: str) -> str:
    """Return the answer of a subagent."""
    assert what
    task: Any = {"messages": [("user", "call lookup")]}
    answer = await _inner.ainvoke(task)
    return str(answer["messages"][-1].text)


agent = create_agent(
    ScriptedModel(),
    [lookup, fails, risky, delegate],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"risky": True})],
)

stalled = create_agent(StalledModel(), [])


def _ask(state: MessagesState) -> dict[str, Any]:
    assert state["messages"]
    get_stream_writer()({"half": True})
    return {"messages": [("ai", f"got {interrupt({'ask': 1})}")]}


_child = StateGraph(MessagesState)
_child.add_node("ask", _ask)
_child.add_edge(START, "ask")
_child.add_edge("ask", END)
_parent = StateGraph(MessagesState)
_parent.add_node("child", _child.compile())
_parent.add_edge(START, "child")
_parent.add_edge("child", END)
nested = _parent.compile()
