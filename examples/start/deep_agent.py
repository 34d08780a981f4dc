"""A deep agent that plans, delegates to a subagent and writes a file.

    python examples/start/deep_agent.py

With a key: replace the line `MODEL = …` by `MODEL = "anthropic:claude-sonnet-4-6"`.
"""

from collections.abc import Sequence
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage

from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent

SALES = {"north": [12, 15, 21], "south": [30, 22, 14]}
IDS = count(1)


def monthly_sales(region: str) -> str:
    """Return the sales of a region, month by month."""
    return ", ".join(map(str, SALES[region]))


def call(tool: str, **arguments: object) -> AIMessage:
    """Return an answer that calls one tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call_{next(IDS)}"}])


def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Answer for the agent and for its subagent; a real model decides this itself."""
    asked = next(m.text for m in messages if m.type == "human")
    results = [m.text for m in messages if m.type == "tool"]
    if asked.startswith("Describe"):
        region = asked.split()[-1].rstrip(".")
        if not results:
            return call("monthly_sales", region=region)
        first, *_, last = map(int, results[-1].split(","))
        return f"Sales in the {region} went from {first} to {last}."
    if len(results) < len(SALES):
        region = list(SALES)[len(results)]
        task = f"Describe the sales of the {region}."
        return call("task", description=task, subagent_type="analyst")
    if len(results) == len(SALES):
        return call("write_file", file_path="/report.md", content="\n".join(results))
    return "The report is in /report.md."


MODEL = ScriptedModel(script=script)

agent = create_deep_agent(
    MODEL,
    system_prompt="You write short reports. Delegate each region to the analyst.",
    subagents=[
        {
            "name": "analyst",
            "description": "Describes the sales of one region in one sentence.",
            "system_prompt": "Read the numbers, then answer in one sentence.",
            "tools": [monthly_sales],
        }
    ],
)
result = agent.invoke({"messages": "Write a report on the sales of the north and the south."})

print(result["messages"][-1].text)
print(result["files"]["/report.md"]["content"])
