"""Streaming: see what the agent and its subagents do while they do it."""

from scripted import calls, model
from thalweg_agent import create_deep_agent

agent = create_deep_agent(
    model=model(
        calls("task", description="List the planets.", subagent_type="astronomer"),
        calls("write_file", file_path="/planets.txt", content="Mercury, Venus, Earth, Mars …\n"),
        "I wrote them into /planets.txt.",
        "The planets are in /planets.txt.",
    ),
    subagents=[
        {"name": "astronomer", "description": "Knows the sky.", "system_prompt": "Write files."}
    ],
)
stream = agent.stream(
    {"messages": "Which planets are there?"}, stream_mode="updates", subgraphs=True
)
for namespace, update in stream:
    who = "  astronomer" if namespace else "main agent  "
    for node, change in update.items():
        for message in (change or {}).get("messages", []) if node in {"model", "tools"} else []:
            wants = ", ".join(call["name"] for call in getattr(message, "tool_calls", []))
            print(f"{who}  {node:6} {'calls ' + wants if wants else message.text}")
