"""Backends of the installed peer, and a sandbox built as sandbox packages are, do a task here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent_tests.sandboxes import FolderSandbox
from thalweg.testing import ScriptedModel
from thalweg_agent import FilesystemPermission, create_deep_agent
from thalweg_agent.backends import BackendProtocol, CompositeBackend

peer = pytest.importorskip("deepagents.backends")


def sandbox_of(folder: Path) -> Any:  # noqa: ANN401  # of the peer
    """Make a sandbox as a sandbox package does: a subclass of the peer's class with four methods.

    The commands are real, and so are the files.
    """
    from deepagents.backends import protocol as kinds  # noqa: PLC0415  # if it is there
    from deepagents.backends.sandbox import BaseSandbox  # noqa: PLC0415

    own = FolderSandbox(folder)
    own.root = "/"

    class RemoteSandbox(BaseSandbox):  # type: ignore[misc, unused-ignore]  # where deepagents is absent
        @property
        def id(self) -> str:
            return "remote-1"

        def execute(self, command: str, *, timeout: int | None = None) -> kinds.ExecuteResponse:
            ran = own.execute(command, timeout=timeout)
            return kinds.ExecuteResponse(output=ran.output, exit_code=ran.exit_code)

        def upload_files(self, files: list[tuple[str, bytes]]) -> list[kinds.FileUploadResponse]:
            done = own.upload_files(files)
            return [kinds.FileUploadResponse(path=each.path, error=None) for each in done]

        def download_files(self, paths: list[str]) -> list[kinds.FileDownloadResponse]:
            done = own.download_files(paths)
            return [
                kinds.FileDownloadResponse(path=each.path, content=each.content, error=None)
                for each in done
            ]

    return RemoteSandbox()


Call = tuple[str, dict[str, object]]


def play(backend: BackendProtocol, calls: list[Call], **options: Any) -> list[ToolMessage]:  # noqa: ANN401
    """Let an agent make these calls, one a turn, and return the results."""
    turns = iter(calls)

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        call = next(turns, None)
        if call is None:
            return "Done."
        made = {"name": call[0], "args": call[1], "id": f"c{len(messages)}", "type": "tool_call"}
        return AIMessage("", tool_calls=[made])

    agent = create_deep_agent(model=ScriptedModel(script=script), backend=backend, **options)
    found = agent.invoke({"messages": "Mend the program."})["messages"]
    return [message for message in found if isinstance(message, ToolMessage)]


def task_in(folder: str) -> list[Call]:
    """Write a program with a fault, find the fault, fix it, look at it."""
    file = f"{folder}/sum.py"
    return [
        ("write_file", {"file_path": file, "content": "print(sum(range(10)) + 1)\n"}),
        ("grep", {"pattern": "+ 1", "path": folder or "/", "output_mode": "content"}),
        ("edit_file", {"file_path": file, "old_string": " + 1", "new_string": ""}),
        ("read_file", {"file_path": file}),
        ("glob", {"pattern": "*.py", "path": folder or "/"}),
        ("ls", {"path": folder or "/"}),
    ]


def test_a_remote_sandbox_does_a_task(tmp_path: Path) -> None:
    """Every tool, a command before and after the edit, a delete."""
    file = f"{tmp_path}/sum.py"
    run: Call = ("execute", {"command": f"python3 {file}"})
    calls = task_in(str(tmp_path))

    results = play(
        sandbox_of(tmp_path), [calls[0], run, *calls[1:], run, ("delete", {"file_path": file})]
    )

    assert [result.status for result in results] == ["success"] * 9
    texts = [result.text for result in results]
    assert texts[1].startswith("46\n")
    assert "sum(range(10)) + 1" in texts[2]
    assert "sum(range(10)))" in texts[4]
    assert file in texts[5]
    assert file in texts[6]
    assert texts[7].startswith("45\n")
    assert not (tmp_path / "sum.py").exists()


def test_a_command_that_fails_says_so(tmp_path: Path) -> None:
    sandbox = sandbox_of(tmp_path)

    (result,) = play(sandbox, [("execute", {"command": "echo no; exit 3"})])

    assert "no" in result.text
    assert "exit code 3" in result.text


@pytest.mark.parametrize("kind", ["state", "disk", "store", "composite", "routed"])
def test_the_backends_of_the_peer_do_the_same(tmp_path: Path, kind: str) -> None:
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415  # beside the peer

    store = peer.StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))
    folder = "/m" if kind in {"composite", "routed"} else ""
    backend = {
        "state": peer.StateBackend(),
        "disk": peer.FilesystemBackend(root_dir=tmp_path, virtual_mode=True),
        "store": store,
        "composite": peer.CompositeBackend(default=sandbox_of(tmp_path), routes={"/m/": store}),
        "routed": CompositeBackend(default=sandbox_of(tmp_path), routes={"/m/": store}),
    }[kind]

    results = play(backend, task_in(folder))

    assert [result.status for result in results] == ["success"] * 6
    assert "sum(range(10)))" in results[3].text
    assert f"{folder}/sum.py" in results[4].text


def test_rules_hold_for_a_backend_of_the_peer(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    rules = [FilesystemPermission(operations=["read"], paths=["/secret.txt"], mode="deny")]
    disk = peer.FilesystemBackend(root_dir=tmp_path, virtual_mode=True)

    (result,) = play(disk, [("read_file", {"file_path": "/secret.txt"})], permissions=rules)

    assert result.status == "error"
    assert "permission denied" in result.text
