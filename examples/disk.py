"""Files on the disk: one folder is the agent's whole world, and there is no way out of it."""

import tempfile
from pathlib import Path

from scripted import calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import FilesystemBackend

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "notes.md").write_text("# Notes\n\n- water the plants\n", encoding="utf-8")

    agent = create_deep_agent(
        model=model(
            calls("ls", path="/"),
            calls("read_file", file_path="/../../etc/passwd"),
            calls(
                "edit_file", file_path="/notes.md", old_string="- water", new_string="- [x] water"
            ),
            "Ticked it off.",
        ),
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),  # "/" is this folder
    )
    result = agent.invoke({"messages": "I watered the plants. Tick it off in my notes."})

    show(result["messages"])
    print("\nnotes.md on the disk:")
    print((folder / "notes.md").read_text(encoding="utf-8"))
