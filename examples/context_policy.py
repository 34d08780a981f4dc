"""When to compact, and how much to keep: configured in code, or in DeerFlow's YAML.

Only in Thalweg. With no configuration it compacts when that pays, which costs less than any fixed
share of the window. Every decision is an event.
"""

from scripted import asks_for_summary, calls, model
from thalweg import ContextPolicy
from thalweg_agent import create_deep_agent

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
        return "## Goal\nMeasure the river at twelve places."
    place = next(PLACES, None)
    return calls("measure", place=place) if place else "All twelve places are measured."


PLACES = iter(range(1, 13))
agent = create_deep_agent(model=model(surveyor, window=16_000), tools=[measure], context=policy)
stream = agent.stream(
    {"messages": "Measure the river at twelve places."}, stream_mode=["custom", "values"]
)
for mode, told in stream:
    if mode == "values":
        result = told
    elif told["type"] == "thalweg.context":
        print(f"Turn {told['turn']}: {told['tokens_before']} tokens become {told['tokens_after']}.")
        for edit in told["edits"]:
            print(f"  {edit['kind']}, because of {edit['reason']}")
        print("  what is in the request now:", told["sections"])
print("The answer:", result["messages"][-1].text)
