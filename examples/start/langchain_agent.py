"""A LangChain agent whose thread outgrows the window of its model.

    python examples/start/langchain_agent.py

With a key: replace the line `MODEL = …` by `MODEL = "anthropic:claude-sonnet-4-6"`.
"""

from collections.abc import Sequence

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from thalweg import ContextMiddleware
from thalweg.testing import ScriptedModel


@tool
def read_log(day: int) -> str:
    """Return the log of a day."""
    return "\n".join(f"day {day} line {line}: pressure {line * day % 97}" for line in range(2_000))


def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Read the log of the day, or what was read earlier; a real model decides this itself."""
    asked = next(m.text for m in reversed(messages) if m.type == "human")
    if messages[-1].type == "tool":
        lines = messages[-1].text.splitlines() if asked.startswith("Day 2") else []
        return next((one for one in lines if "day 2 line 1200:" in one), "All is quiet.")
    if asked.startswith("Day 2"):
        name, arguments = "recall", {"query": "day 2 line 1200"}
    else:
        name, arguments = "read_log", {"day": int(asked.split()[-1])}
    call = {"name": name, "args": arguments, "id": f"call_{len(messages)}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


MODEL = ScriptedModel(script=script)

agent = create_agent(
    MODEL,
    tools=[read_log],
    middleware=[ContextMiddleware(archive=":memory:")],  # a path keeps the thread
    checkpointer=InMemorySaver(),
)
thread = {"configurable": {"thread_id": "logs"}}

for question in [*(f"What happened on day {n}" for n in range(1, 6)), "Day 2, line 1200"]:
    answer = ""
    for mode, data in agent.stream(
        {"messages": [("user", question)]}, thread, stream_mode=["custom", "values"]
    ):
        if mode == "values":
            answer = data["messages"][-1]
        elif data.get("type") == "thalweg.context":
            before, after = data["tokens_before"] // 1_000, data["tokens_after"] // 1_000 + 1
            print(f"  {before},000 tokens become less than {after},000; the archive keeps them")
    print(f"{question}: {answer.text}")
