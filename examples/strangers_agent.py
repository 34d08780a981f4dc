"""An agent independent of this package: its state, its summaries and its tools are its own.

    python examples/strangers_agent.py
    thalweg eval --policy examples/strangers_agent.py:make --model openai:gpt-5-mini

The second line asks whether what this agent summarizes away can still be found. `make` receives
what its parameters name. `graph` is the same agent as servers of LangGraph load it: compiled, with
a model of its own, which the variable `STRANGERS_MODEL` names.
"""

import os
from collections.abc import Sequence

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

PROMPT = "You are a clerk. Answer in one short sentence."
SUMMARIZE = "Summarize the conversation above in a few sentences. Answer with the summary alone."
ROOM, KEPT = 3_000, 1_000
"""Tokens of a conversation, and how many of them are kept when the rest is summarized."""


class State(MessagesState):
    """What the agent remembers: the newest messages, and a summary of those before them."""

    summary: str


@tool
def look_up_parcel(number: int) -> str:
    """Look up where a parcel is."""
    return f"Parcel {number} lies on shelf {number % 7}."


def make(
    model: BaseChatModel,
    tools: Sequence[BaseTool] = (look_up_parcel,),
    system_prompt: str = PROMPT,
    checkpointer: BaseCheckpointSaver | None = None,
) -> CompiledStateGraph:
    """Make the agent."""
    asked = model.bind_tools(tools) if tools else model

    def answer(state: State) -> dict[str, list[AIMessage]]:
        told = system_prompt or PROMPT
        if state.get("summary"):
            told += f"\n\nWhat was said before: {state['summary']}"
        return {"messages": [asked.invoke([SystemMessage(told), *state["messages"]])]}

    def forget(state: State) -> dict[str, object]:
        messages = state["messages"]
        kept = trim_messages(
            messages,
            max_tokens=KEPT,
            token_counter=count_tokens_approximately,
            start_on="human",
        )
        old = messages[: len(messages) - len(kept)]
        if not old:
            return {}
        before = f"What was said before: {state.get('summary') or 'nothing'}"
        summary = model.invoke([SystemMessage(before), *old, HumanMessage(SUMMARIZE)])
        return {"summary": summary.text, "messages": [RemoveMessage(one.id) for one in old]}

    def is_full(state: State) -> str:
        return "forget" if count_tokens_approximately(state["messages"]) > ROOM else "answer"

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("forget", forget)
    builder.add_node("tools", ToolNode(tools))
    builder.add_conditional_edges(START, is_full, ["forget", "answer"])
    builder.add_edge("forget", "answer")
    builder.add_conditional_edges("answer", tools_condition, ["tools", END])
    builder.add_edge("tools", "answer")
    return builder.compile(checkpointer=checkpointer)


graph = make(
    init_chat_model(
        os.environ.get("STRANGERS_MODEL", "openai:gpt-5-mini"),
        configurable_fields=("temperature",),  # the model is made when it is first asked
    )
)


if __name__ == "__main__":
    from scripted import REQUESTS, calls, model

    def clerk(messages: Sequence[BaseMessage]) -> AIMessage | str:
        """Look up what is asked for, and confirm it."""
        asked, newest = str(messages[-1].text), messages[-1]
        if asked == SUMMARIZE:
            return "The user asks for parcels, one after the other."
        if newest.type == "tool":
            return asked
        return calls("look_up_parcel", number=int(asked.split()[3].strip("?")))

    agent = make(model(clerk), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "parcels"}}
    for number in range(1, 13):
        asked = f"Where is parcel {number}? It was sent with this letter: {'dear sirs, ' * 90}"
        answer = agent.invoke({"messages": [HumanMessage(asked)]}, config)["messages"][-1]
        print(f"{number:3}  {answer.text}")
    print("\nMessages in each request:", *(len(request.messages) for request in REQUESTS))
    print("What is left of the beginning:", agent.get_state(config).values["summary"])
