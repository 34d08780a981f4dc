"""Your own backend: any place that can list, read and write can hold the agent's files.

Here a backend writes down who changed what, and passes everything on to the one it extends.
"""

import tempfile

from scripted import calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import FilesystemBackend
from thalweg_agent.backends.protocol import EditResult, WriteResult


class Journaled(FilesystemBackend):
    """Files on the disk, with a list of all changes, and a bin that takes no writes."""

    def __init__(self, root_dir: str) -> None:
        super().__init__(root_dir=root_dir, virtual_mode=True)
        self.journal: list[str] = []

    def write(self, file_path: str, content: str) -> WriteResult:
        """Refuse with a result, never with an exception: the model reads it and continues."""
        if file_path.startswith("/final/"):
            return WriteResult(error=f"{file_path} is final. Write to /drafts/ instead.")
        self.journal.append(f"wrote {file_path}")
        return super().write(file_path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 (the protocol's signature)
    ) -> EditResult:
        """Write down the change, and make it."""
        self.journal.append(f"edited {file_path}")
        return super().edit(file_path, old_string, new_string, replace_all)


with tempfile.TemporaryDirectory() as folder:
    backend = Journaled(folder)
    agent = create_deep_agent(
        model=model(
            calls("write_file", file_path="/final/letter.md", content="Dear Ada,\n"),
            calls("write_file", file_path="/drafts/letter.md", content="Dear Ada,\n"),
            calls(
                "edit_file", file_path="/drafts/letter.md", old_string="Dear", new_string="Hello"
            ),
            "The letter is in /drafts/letter.md.",
        ),
        backend=backend,
    )
    show(agent.invoke({"messages": "Begin a letter to Ada."})["messages"])
    print("\nThe journal:", *backend.journal, sep="\n  ")
