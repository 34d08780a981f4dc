"""Permissions: rules about paths, kept by every file tool, also in a subagent.

The first rule that fits decides; what no rule names is allowed. A search shows nothing that may
not be read.
"""

from scripted import calls, model, show
from thalweg_agent import FilesystemPermission, create_deep_agent
from thalweg_agent.backends.utils import create_file_data

agent = create_deep_agent(
    model=model(
        calls("read_file", file_path="/secrets/key.txt"),
        calls("grep", pattern="key", output_mode="files_with_matches"),
        calls("write_file", file_path="/docs/intro.md", content="Hello.\n"),
        calls("task", description="Read /secrets/key.txt.", subagent_type="general-purpose"),
        calls("read_file", file_path="/secrets/key.txt"),  # this is the subagent
        "I may not read it.",
        "The documentation is written; the key is not for us.",
    ),
    permissions=[
        FilesystemPermission(operations=["read", "write"], paths=["/secrets/**"], mode="deny"),
        FilesystemPermission(operations=["write"], paths=["/docs/**"]),
        FilesystemPermission(operations=["write"], paths=["/**"], mode="deny"),
    ],
)
result = agent.invoke(
    {
        "messages": "Document where the key is.",
        "files": {
            "/secrets/key.txt": create_file_data("key: 1234\n"),
            "/src/app.py": create_file_data("load_key()\n"),
        },
    }
)
show(result["messages"])
