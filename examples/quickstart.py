"""The smallest deep agent: files, planning and delegation are there without being asked for."""

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent

agent = create_deep_agent(
    model=model(
        calls(
            "write_file",
            file_path="/summary.md",
            content="# LangGraph\n\nAn agent as a graph: nodes work, state is saved after each.\n",
        ),
        "The summary is in /summary.md.",
    ),
    system_prompt="You are a research assistant.",
)

result = agent.invoke({"messages": "Research LangGraph and write a summary into /summary.md."})

print("The conversation:")
show(result["messages"])
print("\nThe files it left:", *result["files"])
print(result["files"]["/summary.md"]["content"])
print("What it could use:", *sorted(tool["name"] for tool in REQUESTS[0].tools))
