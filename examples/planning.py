"""Planning: a todo list that the agent keeps, and that no compaction takes from it.

Only in Thalweg. (With deepagents 0.7, pass LangChain's `TodoListMiddleware()` as middleware.)
"""

from scripted import calls, model
from thalweg_agent import create_deep_agent


def todos(*states: str) -> list[dict[str, str]]:
    """Write the list with these states."""
    work = ("read the old recipe", "write the new one", "taste it")
    return [{"content": what, "status": how} for what, how in zip(work, states, strict=True)]


agent = create_deep_agent(
    model=model(
        calls("write_todos", todos=todos("in_progress", "pending", "pending")),
        calls("write_file", file_path="/soup.md", content="Leek, potato, less salt.\n"),
        calls("write_todos", todos=todos("completed", "completed", "in_progress")),
        "The recipe is written. Somebody has to taste it: I cannot.",
    ),
)

for state in agent.stream({"messages": "Improve our soup."}, stream_mode="values"):
    last = state["messages"][-1]
    if last.type == "tool" and last.name == "write_todos":
        print("The plan:")
        for todo in state["todos"]:
            print(f"  {todo['status']:12} {todo['content']}")
print("\nThe answer:", state["messages"][-1].text)
