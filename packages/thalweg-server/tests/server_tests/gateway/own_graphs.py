"""Graphs as an operator writes them."""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import StreamWriter, interrupt
from typing_extensions import TypedDict


class Counting(TypedDict, total=False):
    """A number, and what the store has."""

    count: int
    files: list[str]
    seen: list[dict[str, Any]]


def _add(state: Counting, config: RunnableConfig, *, store: BaseStore) -> Counting:
    items = store.search(("users",))
    store.put(("graph",), "count", {"count": state["count"]})
    step = int(config["configurable"].get("step", 1))
    return {"count": state["count"] + step, "seen": [item.value for item in items]}


def _ask(state: Counting) -> Counting:
    return {"count": state["count"] + int(interrupt({"ask": state["count"]}))}


def _fail(_: Counting) -> Counting:
    problem = "it fails on purpose"
    raise ValueError(problem)


def _half(state: MessagesState, writer: StreamWriter) -> dict[str, Any]:
    assert state["messages"]
    writer({"half": "caf\udce9"})
    return {"messages": [AIMessage("caf\udce9")]}


class Odd(TypedDict, total=False):
    """Values of types that JSON has, and values that it lacks."""

    text: str
    score: float
    steps: int


def _odd(state: Odd) -> Odd:
    return {"text": f"{state['text']}\0 caf\udce9", "score": float("-inf")}


def _count(state: Odd) -> Odd:
    return {"steps": state.get("steps", 0) + len(state["text"])}


def _graph(node: Any) -> StateGraph[Any, Any, Any, Any]:  # noqa: ANN401 (any function)
    graph = StateGraph(Counting)
    graph.add_node("step", node)
    graph.add_edge(START, "step")
    graph.add_edge("step", END)
    return graph


halves = (
    StateGraph(MessagesState)
    .add_node("half", _half)
    .add_edge(START, "half")
    .add_edge("half", END)
    .compile()
)
counting = _graph(_add).compile()
broken = _graph(_fail).compile()
asking = _graph(_ask)


odd = StateGraph(Odd).add_sequence([_odd, _count]).add_edge(START, "_odd").compile()


async def lazy(config: RunnableConfig) -> Any:  # noqa: ANN401 (a graph)
    """Make a graph for the config of a run."""
    assert config["configurable"]

    def answer(state: MessagesState, writer: StreamWriter) -> dict[str, Any]:
        assert state["messages"]
        writer({"half": True})
        return {"messages": [AIMessage("lazily")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile()
