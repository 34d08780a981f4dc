"""Agents that share a folder, a store or a sandbox: the same rules as for files in state."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from agent_tests.e2e.family import Family, Plan, do, task
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.concurrency.shared import shared
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import BackendProtocol, SandboxBackendProtocol
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.backends.store import StoreBackend

Make = Callable[[Path], BackendProtocol]
KEPT: dict[str, Make] = {
    "folder": lambda folder: FilesystemBackend(folder, virtual_mode=True),
    "shell": lambda folder: LocalShellBackend(folder, virtual_mode=True),
    "store": lambda _: StoreBackend(store=InMemoryStore(), namespace=("files",)),
    "routed": lambda folder: CompositeBackend(
        default=StateBackend(), routes={"/w/": FilesystemBackend(folder, virtual_mode=True)}
    ),
}


@pytest.fixture(params=KEPT)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> BackendProtocol:
    return KEPT[request.param](tmp_path)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_edits_land_and_a_change_not_seen_is_refused_wherever_files_are(
    backend: BackendProtocol,
    is_async: bool,  # noqa: FBT001 (a parameter of a test)
) -> None:
    """Two subagents edit one file; one then writes over what it has not read since."""
    plans: dict[str, Plan] = {
        "main": [[do("write", path="/w/a", content="first second")], [task("one"), task("two")]],
        "one": [
            [do("edit", path="/w/a", old="first", new="1st")],
            [do("open_gate", name="edited")],
            [do("pass_gate", name="tried")],
            [do("read", path="/w/a")],
        ],
        "two": [
            [do("pass_gate", name="edited")],
            [do("edit", path="/w/a", old="second", new="2nd")],
            [do("write", path="/w/a", content="over")],
            [do("delete", path="/w")],
            [do("open_gate", name="tried")],
        ],
    }
    family = Family(plans, backend=backend, is_async=is_async)
    if is_async:
        import asyncio  # noqa: PLC0415

        asyncio.run(family.arun())
    else:
        family.run()

    assert family.results["one"][3] == "1st 2nd"
    assert "subagent 'worker' (one) changed it" in family.results["two"][2]
    assert "'/w/a' was not deleted" in family.results["two"][3]
    assert "subagent 'worker' (two) tried" in "".join(family.results["one"])


def test_a_sandbox_stays_one_and_runs_its_commands(tmp_path: Path) -> None:
    """What asks whether a backend can run commands sees no difference."""
    sandbox = shared(LocalShellBackend(tmp_path, virtual_mode=True))

    assert isinstance(sandbox, SandboxBackendProtocol)
    assert sandbox.execute("echo hello").output.strip() == "hello"
    assert shared(sandbox) is sandbox
