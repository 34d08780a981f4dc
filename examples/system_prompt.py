"""The system prompt: what you write comes first, and may depend on who is asking.

`system_prompt` is the same in every run. What differs from run to run (a role, a language) is
added by middleware that reads the runtime context.
"""

from dataclasses import dataclass

from langchain.agents.middleware import ModelRequest, dynamic_prompt

from scripted import REQUESTS, model
from thalweg_agent import create_deep_agent


@dataclass
class Visitor:
    """Who is asking."""

    name: str
    is_admin: bool = False


@dynamic_prompt
def rights(request: ModelRequest) -> str:
    """Return what this visitor may do."""
    visitor = request.runtime.context
    may = "may change anything" if visitor.is_admin else "may look, and change nothing"
    return f"{request.system_prompt}\n\n{visitor.name} {may}."


agent = create_deep_agent(
    model=model("The page is gone.", "I may not do that for you."),
    system_prompt="You look after the wiki of a small museum.",
    middleware=[rights],
    context_schema=Visitor,
)
for visitor in (Visitor("Ada", is_admin=True), Visitor("Grace")):
    agent.invoke({"messages": "Remove the page about dinosaurs."}, context=visitor)

for number, request in enumerate(REQUESTS, 1):
    lines = [line for line in request.system.splitlines() if line]
    print(f"Request {number}, first and last line of its system prompt:")
    print("  ", lines[0])
    print("  ", lines[-1])
