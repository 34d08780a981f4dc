"""Subagents: a task with a lot of reading is done elsewhere, and only its report comes back."""

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent


def read_chapter(number: int) -> str:
    """Read a chapter of the book."""
    return f"Chapter {number}. " + "The sea was calm that day, and nobody spoke. " * 200


librarian = {
    "name": "librarian",
    "description": "Reads chapters and says in one line what happens in them.",
    "system_prompt": "You read closely and report in one line.",
    "tools": [read_chapter],  # instead of the main agent's
    "model": model(
        calls("read_chapter", number=1),
        calls("read_chapter", number=2),
        "Chapters 1 and 2: the sea is calm, and nobody speaks.",
    ),
}
agent = create_deep_agent(
    model=model(
        calls("task", description="What happens in chapters 1 and 2?", subagent_type="librarian"),
        "Not much: the sea is calm, and nobody speaks.",
    ),
    system_prompt="You run a reading circle.",
    subagents=[librarian],
)
result = agent.invoke({"messages": "What happens at the beginning of the book?"})
show(result["messages"])

print("\nWhat each request held, in tokens:")
for request in REQUESTS:
    who = "  librarian" if "closely" in request.system else "main agent"
    print(f"  {who}  {request.tokens:>6}")
