"""Memory files: what the agent is to know in every conversation is in AGENTS.md."""

import tempfile
from pathlib import Path

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import FilesystemBackend

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "AGENTS.md").write_text(
        "# Conventions\n\n- Answer in one sentence.\n- Dates are written 2026-03-31.\n",
        encoding="utf-8",
    )

    agent = create_deep_agent(
        model=model(
            "Spring begins on 2026-03-20.",
            calls(
                "edit_file",
                file_path="/AGENTS.md",
                old_string="- Dates are",
                new_string="- We live south of the equator.\n- Dates are",
            ),
            "Noted for the next time.",
            "Spring begins on 2026-09-23.",
        ),
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
        memory=["/AGENTS.md"],
    )
    ask = {"messages": "When does spring begin?"}
    show(agent.invoke(ask)["messages"])
    show(agent.invoke({"messages": "By the way, we live in Chile. Remember that."})["messages"])
    show(agent.invoke(ask)["messages"])  # another conversation: only the file connects them

    print("\nMemory in the last system prompt:")
    print(
        *(f"  {line}" for line in REQUESTS[-1].system.splitlines() if line.startswith("- ")),
        sep="\n",
    )
