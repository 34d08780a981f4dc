"""Commands run in a sandbox elsewhere, over the files of a thread that are kept here."""

import asyncio
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from agent_tests.sandboxes import FolderSandbox
from server_tests.e2e.test_app import say
from server_tests.e2e.test_sandbox import ran
from thalweg.errors import ConfigError
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.app import open_app
from thalweg_server.settings import Settings

pytestmark = pytest.mark.anyio
MADE: list[tuple[str, str, dict[str, Any]]] = []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def make(owner: str, thread: str, **options: Any) -> FolderSandbox:  # noqa: ANN401 (as a file has them)
    """Make a sandbox as a package of a service does, with a folder in place of a machine."""
    MADE.append((owner, thread, options))
    folder = Path(options["below"], owner, thread)
    folder.mkdir(parents=True)
    return FolderSandbox(folder)


def given(home: Path, **more: Any) -> Settings:  # noqa: ANN401 (the same)
    sandbox = {
        "use": "custom",
        "factory": "server_tests.e2e.test_remote_sandbox:make",
        "options": {"below": str(home / "remote")},
        "folder": "/",
        **more,
    }
    model = {"name": "m", "use": "server_tests.e2e.test_sandbox:Runner", "window": 64_000}
    return Settings.model_validate(
        {"models": [model], "memory": {"enabled": False}, "sandbox": sandbox}
    )


async def test_files_go_there_and_come_back(tmp_path: Path) -> None:
    """Uploads are there for a command; what it makes, changes and deletes is so here."""
    MADE.clear()
    async with open_app(given(tmp_path), home=tmp_path / "home") as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        await ada.files.upload("t1", "a.txt", b"one")
        command = "cat uploads/a.txt; echo two > b.txt; mkdir d; printf three > d/c.bin"
        assert "one" in await ran(ada, command)
        paths = [one.path for one in (await ada.files.artifacts("t1")).files]
        assert paths == ["/b.txt", "/d/c.bin"]
        assert await ada.files.read("t1", "/d/c.bin") == b"three"

        await ada.files.upload("t1", "later.txt", b"four")
        assert "four" in await ran(ada, "cat uploads/later.txt; rm b.txt; echo 5 >> d/c.bin")
        paths = [one.path for one in (await ada.files.artifacts("t1")).files]
        assert paths == ["/d/c.bin"]
        assert await ada.files.read("t1", "/d/c.bin") == b"three5\n"

        assert "a.txt" not in await ran(bob, "ls -R")
    assert [(owner, thread) for owner, thread, _ in MADE] == [("ada", "t1"), ("bob", "t1")]


async def test_agents_share_the_sandbox_of_a_thread(tmp_path: Path) -> None:
    """Those of both APIs; another one would be empty, and paid for."""
    MADE.clear()
    message: JsonValue = {"messages": [{"role": "user", "content": "ls"}]}
    async with open_app(given(tmp_path), home=tmp_path / "home") as app:
        ada = app.tenant("ada")
        await ran(ada, "ls")
        run = await ada.graph_runs.start("t1", GraphRun(graph="agent", input=message))
        assert (await ada.graph_runs.wait(run)).status == "completed"
    assert [(owner, thread) for owner, thread, _ in MADE] == [("ada", "t1")]


class ClosedSandbox(FolderSandbox):
    """A sandbox that its service ends when asked."""

    def close(self) -> None:
        """End it, or fail as a service does."""
        if Path(self.root, "stuck").exists():
            problem = "the service does not answer"
            raise TimeoutError(problem)
        shutil.rmtree(self.root)


def make_closed(owner: str, thread: str, **options: Any) -> ClosedSandbox:  # noqa: ANN401 (as a file has them)
    """Make a sandbox that can be ended."""
    return ClosedSandbox(Path(make(owner, thread, **options).root))


async def test_a_deleted_thread_leaves_nothing_in_its_sandbox(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is ended if it can be, else the files are deleted there; one that fails is left."""
    for factory in ("make", "make_closed"):
        home, name = tmp_path / factory, f"server_tests.e2e.test_remote_sandbox:{factory}"
        remote = home / "remote"
        async with open_app(given(home, factory=name), home=home) as app:
            ada, bob = app.tenant("ada"), app.tenant("bob")
            await ada.files.upload("t1", "a.txt", b"one")
            for tenant in (ada, bob):
                await ran(tenant, "echo two > b.txt")
            left = (await ada.threads.delete("t1")).left
            assert any("sandbox.factory" in line for line in left)
            assert not [one for one in (remote / "ada").rglob("*") if one.is_file()]
            assert (remote / "ada" / "t1").exists() == (factory == "make")
            assert (remote / "bob" / "t1" / "b.txt").read_text() == "two\n"
            (remote / "bob" / "t1" / "stuck").touch()
            assert any("sandbox.factory" in line for line in await bob.deletion.delete())
            assert (remote / "bob" / "t1" / "b.txt").exists() == (factory == "make_closed")
            assert (await bob.threads.list()).items == ()
    assert "the sandbox of thread t1 was not ended: the service does not answer" in caplog.text


ONE: list[FolderSandbox] = []


def make_one(owner: str, thread: str, **options: Any) -> FolderSandbox:  # noqa: ANN401 (as a file has them)
    """Return one sandbox for all threads."""
    if not ONE:
        ONE.append(make(owner, thread, **options))
    return ONE[0]


async def test_a_factory_that_returns_one_sandbox_for_two_threads_is_refused(
    tmp_path: Path,
) -> None:
    """A command would see files of another owner."""
    ONE.clear()
    factory = "server_tests.e2e.test_remote_sandbox:make_one"
    async with open_app(given(tmp_path, factory=factory), home=tmp_path / "home") as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        assert "one" in await ran(ada, "echo one > a.txt; cat a.txt")
        end = (await say(bob, "t1", "cat a.txt"))[-1]
        assert end.type == "run.failed"
        assert "sandbox.factory" in end.model_dump_json()
        assert "one" in await ran(ada, "cat a.txt")
        await ada.threads.delete("t1")
        assert "one" in await ran(bob, "echo one")


RELEASED = threading.Event()


def make_late(owner: str, thread: str, **options: Any) -> FolderSandbox:  # noqa: ANN401 (as a file has them)
    """Make a sandbox; the service takes long for Bob's."""
    if owner == "bob":
        RELEASED.wait(60)
    return make(owner, thread, **options)


async def test_a_sandbox_that_is_being_made_does_not_stop_commands_of_other_threads(
    tmp_path: Path,
) -> None:
    """Nor does it stop the deletion of another thread."""
    RELEASED.clear()
    factory = "server_tests.e2e.test_remote_sandbox:make_late"
    async with open_app(given(tmp_path, factory=factory), home=tmp_path / "home") as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        late = asyncio.create_task(ran(bob, "echo two"))
        try:
            async with asyncio.timeout(45):
                assert "one" in await ran(ada, "echo one")
                await ada.threads.delete("t1")
        finally:
            RELEASED.set()
        assert "two" in await late


async def test_a_factory_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    wrong = given(tmp_path, factory="server_tests.e2e.test_remote_sandbox:nothing")
    with pytest.raises(ConfigError, match=r"sandbox\.factory"):
        async with open_app(wrong, home=tmp_path / "home"):
            pass


async def test_a_sandbox_that_cannot_be_made_fails_the_run(tmp_path: Path) -> None:
    async with open_app(given(tmp_path, options={}), home=tmp_path / "home") as app:
        events = await say(app.tenant("ada"), "t1", "ls")
    assert events[-1].type == "run.failed"


def make_of_deepagents(owner: str, thread: str, below: str) -> Any:  # noqa: ANN401 (another package's)
    """Make a sandbox by the base class of deepagents, as the packages of services do."""
    from deepagents.backends import protocol, sandbox  # noqa: PLC0415 (not everywhere)

    class Theirs(sandbox.BaseSandbox):  # type: ignore[misc,unused-ignore]
        id = f"{owner}-{thread}"

        def execute(self, command: str, *, timeout: int | None = None) -> Any:  # noqa: ANN401
            ran = subprocess.run(
                ["/bin/sh", "-c", command], capture_output=True, timeout=timeout, check=False
            )
            output = (ran.stdout + ran.stderr).decode()
            return protocol.ExecuteResponse(output=output, exit_code=ran.returncode)

        def upload_files(self, files: list[tuple[str, bytes]]) -> list[Any]:
            for path, raw in files:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes(raw)
            return [protocol.FileUploadResponse(path=path, error=None) for path, _ in files]

        def download_files(self, paths: list[str]) -> list[Any]:
            return [
                protocol.FileDownloadResponse(path=path, content=Path(path).read_bytes())
                for path in paths
            ]

    Path(below).mkdir()
    return Theirs()


async def test_a_sandbox_of_deepagents_is_taken_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("deepagents")
    there = str(tmp_path / "remote")
    factory = "server_tests.e2e.test_remote_sandbox:make_of_deepagents"
    taken = given(tmp_path, factory=factory, options={"below": there}, folder=there)
    async with open_app(taken, home=tmp_path / "home") as app:
        ada = app.tenant("ada")
        await ada.files.upload("t1", "a.txt", b"one")
        assert "one" in await ran(ada, "cat uploads/a.txt; mkdir d; echo two > d/b.txt; echo 3 > c")
        paths = [one.path for one in (await ada.files.artifacts("t1")).files]
        assert paths == ["/c", "/d/b.txt"]
        await ran(ada, "rm -r d")
        assert [one.path for one in (await ada.files.artifacts("t1")).files] == ["/c"]
