"""Backends of LangSmith's services, over stand-ins for its clients that keep real files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from langsmith.sandbox import ResourceNotFoundError, SandboxClientError
from langsmith.schemas import Entry, FileEntry, SkillEntry
from langsmith.utils import LangSmithConflictError, LangSmithError, LangSmithNotFoundError

from tests.sandboxes import FolderSandbox
from thalweg.backends import ContextHubBackend, LangSmithSandbox
from thalweg.backends.remote.results import MAX_OUTPUT_BYTES


class Hub:
    """A repository: commits are checked against their parent."""

    def __init__(self, **files: Entry) -> None:
        self.files: dict[str, Entry] = files
        self.commits = 0
        self.is_down = False

    def pull_agent(self, identifier: str) -> Any:  # noqa: ANN401, ARG002
        """Return the files as they are."""
        if self.is_down:
            raise LangSmithError("down")
        if not self.files:
            raise LangSmithNotFoundError("none")
        return SimpleNamespace(files=dict(self.files), commit_hash=f"{self.commits:08x}")

    def push_agent(
        self, identifier: str, *, files: dict[str, Entry | None], parent_commit: str | None
    ) -> str:
        """Take a commit, if its parent is the newest."""
        if parent_commit not in {None, f"{self.commits:08x}"}:
            raise LangSmithConflictError("behind")
        self.commits += 1
        for path, entry in files.items():
            if entry is None:
                del self.files[path]
            else:
                self.files[path] = entry
        return f"https://host/context/{identifier}/{self.commits:08x}?organizationId=o"


def hub_of(hub: Hub) -> ContextHubBackend:
    client: Any = hub
    return ContextHubBackend("-/agent", client=client)


def test_a_change_is_a_commit_and_is_read_at_once() -> None:
    hub = Hub()
    files = hub_of(hub)

    assert files.has_prior_commits() is False
    assert files.write("/notes/a.md", "one\ntwo").error is None
    assert files.edit("/notes/a.md", "two", "three").occurrences == 1

    read = files.read("/notes/a.md", 1, 1)
    assert read.file_data is not None
    assert read.file_data["content"] == "three"
    assert [entry["path"] for entry in files.ls("/").entries or ()] == ["/notes"]
    assert [match["line"] for match in files.grep("three").matches or ()] == [2]
    assert hub.commits == 2
    assert files.delete("/notes").error is None
    assert hub.files == {}


def test_another_ones_commit_is_kept_and_an_edit_is_made_on_it() -> None:
    hub = Hub(a=FileEntry(type="file", content="x = 1"))
    mine, other = hub_of(hub), hub_of(hub)
    mine.read("/a")
    other.write("/a", "# theirs\nx = 1")

    assert mine.edit("/a", "x = 1", "x = 2").error is None

    assert hub.files["a"] == FileEntry(type="file", content="# theirs\nx = 2")


def test_an_edit_whose_text_another_took_away_fails() -> None:
    hub = Hub(a=FileEntry(type="file", content="x = 1"))
    mine, other = hub_of(hub), hub_of(hub)
    mine.read("/a")
    other.write("/a", "gone")

    assert "not found" in (mine.edit("/a", "x = 1", "x = 2").error or "")
    assert hub.files["a"] == FileEntry(type="file", content="gone")


def test_a_hub_that_is_down_is_an_error_and_no_answer_from_memory_of_a_failed_commit() -> None:
    hub = Hub(a=FileEntry(type="file", content="x"))
    files = hub_of(hub)
    hub.is_down = True

    for error in (files.read("/a").error, files.ls("/").error, files.write("/b", "y").error):
        assert "Hub unavailable: down" in (error or "")
    assert "Hub unavailable" in (files.download_files(["/a"])[0].error or "")
    hub.is_down = False
    assert files.download_files(["/a", "/b"])[0].content == b"x"


def test_texts_are_uploaded_in_one_commit_and_links_are_named() -> None:
    hub = Hub(**{"skills/s": SkillEntry(type="skill", repo_handle="s")})
    files = hub_of(hub)

    done = files.upload_files([("/a", b"1"), ("/b", b"\xff"), ("/c", b"3")])

    assert [each.error for each in done] == [None, "invalid_path", None]
    assert hub.commits == 1
    assert files.get_linked_entries() == {"skills/s": "s"}
    assert files.delete("/").error


class Machine:
    """A sandbox of the service, whose commands and files are real."""

    name = "machine"

    def __init__(self, folder: Path) -> None:
        self._own = FolderSandbox(folder)
        self._client = SimpleNamespace(to_async=lambda: self)
        self.closed = 0

    def run(self, command: str, *, timeout: int) -> Any:  # noqa: ANN401
        """Run a command."""
        ran = self._own.execute(command, timeout=timeout)
        return SimpleNamespace(stdout=ran.output, stderr="", exit_code=ran.exit_code)

    def read(self, path: str) -> bytes:
        """Return a file."""
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            raise ResourceNotFoundError("none", resource_type="file") from None
        except OSError as problem:
            raise SandboxClientError(str(problem)) from None

    def write(self, path: str, content: bytes) -> None:
        """Write a file."""
        Path(path).write_bytes(content)

    def to_async(self, *, client: object) -> Any:  # noqa: ANN401
        """Return the awaited twin."""
        del client

        async def run(command: str, *, timeout: int) -> Any:  # noqa: ANN401, ASYNC109
            return self.run(command, timeout=timeout)

        return SimpleNamespace(run=run)

    async def aclose(self) -> None:
        """Count how often it is closed."""
        self.closed += 1


@pytest.fixture
def sandbox(tmp_path: Path) -> LangSmithSandbox:
    """Wrap a machine whose files are in a folder of the test."""
    machine: Any = Machine(tmp_path)
    return LangSmithSandbox(machine)


def test_a_sandbox_writes_runs_edits_and_reads(sandbox: LangSmithSandbox, tmp_path: Path) -> None:
    file = f"{tmp_path}/sub/a.py"

    assert sandbox.write(file, "print(1)\nprint(2)\n").error is None
    assert sandbox.edit(file, "print(2)", "print(3)").occurrences == 1
    assert sandbox.execute(f"python3 {file}").output == "1\n3\n"
    read = sandbox.read(file, 1, 1)
    assert read.file_data is not None
    assert (read.file_data["content"], read.next_offset) == ("print(3)\n", None)
    assert anyio.run(sandbox.aread, file, 1, 1) == read
    assert [match["path"] for match in sandbox.glob("*.py", str(tmp_path)).matches or ()] == [file]
    assert sandbox.download_files([file, "/none", "x", str(tmp_path)])[1].error == "file_not_found"


def test_a_window_that_is_too_long_ends_behind_a_whole_line(
    sandbox: LangSmithSandbox, tmp_path: Path
) -> None:
    """And every line can be read by going on at `next_offset`."""
    lines = [f"{n} " + "x" * 100_000 for n in range(12)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    offset: int | None = 0
    seen: list[str] = []
    while offset is not None:
        read = sandbox.read(f"{tmp_path}/long.txt", offset, 2000)
        assert read.file_data is not None
        assert len(read.file_data["content"].encode()) <= MAX_OUTPUT_BYTES
        whole = read.file_data["content"].split("\n")[: (read.end_line or 0) - offset]
        seen += whole
        offset = read.next_offset

    assert seen == lines


def test_awaited_commands_share_a_client_until_it_is_closed(sandbox: LangSmithSandbox) -> None:
    async def run() -> list[str]:
        ran = [(await sandbox.aexecute("echo hi")).output for _ in range(2)]
        await sandbox.aclose()
        await sandbox.aclose()
        return ran

    assert anyio.run(run) == ["hi\n", "hi\n"]
