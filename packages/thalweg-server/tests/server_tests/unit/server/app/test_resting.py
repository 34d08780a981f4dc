"""A thread whose last step is done and not in a checkpoint yet has not come to rest."""

from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import StateSnapshot

from thalweg_server.app.graph_execution import rests


class Steps(TypedDict):
    """What the graph of the test keeps."""

    done: str


def states(saver: InMemorySaver) -> list[StateSnapshot]:
    """Run two steps, and look at the state before and after the last checkpoint is lost."""
    builder = StateGraph(Steps)
    builder.add_node("ask", lambda state: {"done": state["done"] + "asked "})
    builder.add_node("act", lambda state: {"done": state["done"] + "acted"})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "act")
    builder.add_edge("act", END)
    graph = builder.compile(checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    graph.invoke({"done": ""}, config, durability="sync")
    whole = graph.get_state(config)
    kept = saver.storage["t"][""]
    del kept[max(kept)]
    return [whole, graph.get_state(config)]


def test_a_step_that_was_done_and_not_checkpointed_is_still_to_be_taken_in() -> None:
    """Its process died between the step's writes and the checkpoint: the run continues."""
    whole, torn = states(InMemorySaver())

    assert rests(whole)
    assert not rests(torn)
