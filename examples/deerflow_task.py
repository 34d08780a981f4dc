"""For those who know DeerFlow: its call of a subagent, its events, its artifacts.

Only in Thalweg. `task(description, prompt, subagent_type, max_turns)`: the description names the
task, the prompt is what the subagent reads, and it may take so many turns and no more.
"""

from langchain.tools import ToolRuntime, tool
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from scripted import REQUESTS, calls, model
from thalweg_agent import create_deep_agent


@tool
def draw_chart(path: str, runtime: ToolRuntime) -> Command:
    """Draw a chart, and state that it is for the user."""
    drawn = ToolMessage(f"drawn: {path}", tool_call_id=runtime.tool_call_id)
    return Command(update={"messages": [drawn], "artifacts": [path]})


agent = create_deep_agent(
    model=model(
        calls(
            "task",
            description="Sales trends",
            prompt="Look at the sales of this year and draw one chart of them.",
            subagent_type="analyst",
            max_turns=5,
        ),
        "Sales grew by five percent; the chart shows it.",
    ),
    subagents=[
        {
            "name": "analyst",
            "description": "Analyses numbers.",
            "system_prompt": "Report in one line.",
            "tools": [draw_chart],
            "model": model(
                calls("draw_chart", path="/outputs/sales.svg"), "Sales grew by five percent."
            ),
        }
    ],
)

print("Events:")
stream = agent.stream(
    {"messages": "How are our sales?"}, stream_mode=["custom", "values"], subgraphs=False
)
for mode, told in stream:
    if mode == "values":
        result = told
    elif told.get("type", "").startswith("task_"):
        about = {key: told[key] for key in ("subagent", "turn", "tool") if told.get(key)}
        print(f"  {told['type']:15}", *(f"{key}={value}" for key, value in about.items()))

print("\nThe subagent read:", next(r.messages[-1].text for r in REQUESTS if "one line" in r.system))
print("Its artifacts are its parent's:", *result["artifacts"])
print("The answer:", result["messages"][-1].text)
