"""Any LangGraph graph can be a subagent, also one in which no model takes part."""

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph

from scripted import calls, model, show
from thalweg_agent import create_deep_agent


def count_words(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Answer the task itself."""
    words = str(state["messages"][-1].content).split()
    return {"messages": [AIMessage(f"{len(words)} words, {len(set(words))} of them different.")]}


graph = StateGraph(MessagesState)
graph.add_node("count", count_words)
graph.set_entry_point("count")
graph.set_finish_point("count")

agent = create_deep_agent(
    model=model(
        calls("task", description="a rose is a rose is a rose", subagent_type="word-counter"),
        "Eight words, three of them different.",
    ),
    subagents=[
        {
            "name": "word-counter",
            "description": "Counts the words of the text that is its task.",
            "runnable": graph.compile(),
        }
    ],
)
show(agent.invoke({"messages": "How many words has: a rose is a rose is a rose"})["messages"])
