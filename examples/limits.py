"""Limits: a subagent that does not come to an end is stopped, and hands over what it has.

Only in Thalweg.
"""

import itertools

from scripted import calls, model, show
from thalweg_agent import create_deep_agent


def dig(metres: int) -> str:
    """Dig, and report what was found."""
    return f"earth at {metres} m"


digging = (calls("dig", metres=metres) for metres in itertools.count(1))

agent = create_deep_agent(
    model=model(
        calls("task", description="Dig until you find gold.", subagent_type="digger"),
        "No gold in the first three metres.",
    ),
    subagents=[
        {
            "name": "digger",
            "description": "Digs.",
            "system_prompt": "Dig deeper until you find it.",
            "tools": [dig],
            "model": model(lambda _: next(digging)),
            "limits": {"turns": 3, "seconds": 60},  # or tokens; what is reached first ends it
        }
    ],
)
result = agent.invoke({"messages": "Is there gold in the garden?"})

show(result["messages"], lines=12)
print("\nThe ledger of tasks, which outlives compaction and restart:")
for task in result["tasks"].values():
    print(f"  {task['subagent']}: {task['description']} -> {task['status']}")
