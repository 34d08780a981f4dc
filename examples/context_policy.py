"""When to compact, and how much to keep: told in code, or in DeerFlow's YAML.

Only in Thalweg. With nothing said it compacts when that pays, which costs less than any fixed
share of the window. Every decision is an event.
"""

from scripted import asks_for_summary, calls, model
from thalweg import ContextPolicy, create_deep_agent

policy = ContextPolicy.from_mapping(
    {
        "trigger": [{"type": "fraction", "value": 0.5}, {"type": "messages", "value": 40}],
        "keep": {"type": "messages", "value": 6},
    }
)


def measure(place: int) -> str:
    """Measure the river at a place."""
    return f"place {place}: " + ", ".join(f"{(place * n) % 83} cm" for n in range(300))


def surveyor(_: list) -> object:
    """Measure one place after the other."""
    if asks_for_summary():
        return "## Goal\nMeasure the river."
    if DONE == 12:
        return "All twelve places are measured."
    return next_place()


def next_place() -> object:
    """Go on."""
    global DONE  # noqa: PLW0603 (the script's own memory)
    DONE += 1
    return calls("measure", place=DONE)


DONE = 0
agent = create_deep_agent(model=model(surveyor, window=16_000), tools=[measure], context=policy)
stream = agent.stream(
    {"messages": "Measure the river at twelve places."}, stream_mode=["custom", "values"]
)
for mode, told in stream:
    if mode == "values":
        result = told
    elif told.get("type") == "thalweg.context":
        print({key: told[key] for key in ("turn", "before", "after") if key in told})
print("The answer:", result["messages"][-1].text)
