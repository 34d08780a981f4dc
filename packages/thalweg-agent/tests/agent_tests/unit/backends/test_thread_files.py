"""The thread as a file: read and searched by the file tools, never written."""

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context

from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg_agent.backends import TranscriptBackend

MESSAGES = [
    Message("user", (Text("Which drawer?"),)),
    Message("assistant", (Text("Drawer seven."),)),
]


def in_thread(backend: TranscriptBackend, thread: str, method: str, *args: object) -> object:
    """Call a method as a tool in a run of a thread does."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    with set_config_context(config) as context:
        return context.run(getattr(backend, method), *args)


@pytest.fixture
def backend() -> TranscriptBackend:
    """Make one whose archive has a thread `t` of one owner."""
    archive = open_archive(":memory:")
    archive.append(ThreadKey("ann", "t"), [Logged(one, "") for one in MESSAGES], expected=0)
    return TranscriptBackend(archive, "ann")


def test_the_messages_are_a_file(backend: TranscriptBackend) -> None:
    """Numbered as in the log."""
    read = in_thread(backend, "t", "read", "/t.md")
    found = in_thread(backend, "t", "grep", "seven")
    listed = in_thread(backend, "t", "ls", "/")
    globbed = in_thread(backend, "t", "glob", "*.md")

    assert "## 0 user\n\nWhich drawer?\n" in read.file_data["content"]  # type: ignore[attr-defined]
    assert [match["path"] for match in found.matches] == ["/t.md"]  # type: ignore[attr-defined]
    for one in (listed.entries, globbed.matches):  # type: ignore[attr-defined]
        assert [entry["path"] for entry in one] == ["/t.md"]


def test_another_thread_and_another_owner_see_nothing_of_it(backend: TranscriptBackend) -> None:
    """An agent reads its own thread alone."""
    other = TranscriptBackend(backend._archive, "bob")  # noqa: SLF001

    assert in_thread(backend, "u", "read", "/t.md").error == "File '/t.md' not found"  # type: ignore[attr-defined]
    assert in_thread(other, "t", "grep", "seven").matches == []  # type: ignore[attr-defined]


def test_nothing_can_be_written(backend: TranscriptBackend) -> None:
    """Each method refuses."""
    for method, *args in (
        ("write", "/t.md", "x"),
        ("edit", "/t.md", "seven", "eight"),
        ("delete", "/t.md"),
    ):
        refused = in_thread(backend, "t", method, *args)
        assert refused.error == "Error: the record of the conversation cannot be changed"  # type: ignore[attr-defined]


def test_a_run_without_a_thread_has_no_file(backend: TranscriptBackend) -> None:
    """An agent without a checkpointer need not have a thread."""
    with set_config_context({"configurable": {}}) as context:
        assert not context.run(backend.ls, "/").entries
