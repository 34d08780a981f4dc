"""What `execute` answers, and what it reports to programs."""

from pathlib import Path

import pytest

from agent_tests.unit.agent.tools.calls import WAYS, Shelf, Way, call
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import (
    ExecuteOffloadResult,
    ExecuteResponse,
    SandboxBackendProtocol,
)
from thalweg_agent.middleware.filesystem import FilesystemMiddleware


class Sandbox(Shelf, SandboxBackendProtocol):
    """Returns the response that it was made with."""

    def __init__(self, answer: ExecuteResponse | None = None) -> None:
        super().__init__()
        self.answer = answer or ExecuteResponse("out", exit_code=0)
        self.asked: list[tuple[str, int | None]] = []

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`."""
        self.asked.append((command, timeout))
        return self.answer


class Keeping(Sandbox):
    """Keeps long outputs in a file."""

    def execute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        timeout: int | None = None,
    ) -> ExecuteOffloadResult:
        """See `Capturing`."""
        ran = self.execute(command, timeout=timeout)
        if len(ran.output) <= max_inline_bytes:
            return ExecuteOffloadResult(offloaded=False, response=ran)
        self.write(capture_path, ran.output)
        shown = ExecuteResponse(ran.output[:5], ran.exit_code, ran.truncated)
        return ExecuteOffloadResult(
            offloaded=True, response=shown, preview_has_truncation_marker=True
        )

    async def aexecute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        timeout: int | None = None,  # noqa: ASYNC109  # as the blocking one
    ) -> ExecuteOffloadResult:
        """See `execute_with_offload`."""
        return self.execute_with_offload(
            command, capture_path, max_inline_bytes=max_inline_bytes, timeout=timeout
        )


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """Call a tool the blocking and the awaited way."""
    found: Way = request.param
    return found


def test_a_command_runs_where_the_files_are(tmp_path: Path, way: Way) -> None:
    """Its output and its exit code come back; a command that failed is no error of the tool."""
    tools = FilesystemMiddleware(backend=LocalShellBackend(tmp_path, virtual_mode=True))

    call(tools, "write_file", way=way, file_path="/a.txt", content="hello\n")
    good = call(tools, "execute", way=way, command="cat a.txt")
    bad = call(tools, "execute", way=way, command="cat a.txt; exit 3", timeout=20)

    assert good.content == "hello\n\n[Command succeeded with exit code 0]"
    assert good.artifact == {"exit_code": 0, "truncated": False}
    assert str(bad.content).startswith("hello\n")
    assert "[Command failed with exit code 3]" in str(bad.content)
    assert bad.artifact["exit_code"] == 3
    assert (good.status, bad.status) == ("success", "success")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ExecuteResponse("x", exit_code=None), "x"),
        (
            ExecuteResponse("x", exit_code=1, truncated=True),
            "x\n[Command failed with exit code 1]\n[Output was truncated due to size limits]",
        ),
    ],
)
def test_what_is_not_known_is_not_told(answer: ExecuteResponse, told: str, way: Way) -> None:
    """And what is missing is."""
    said = call(FilesystemMiddleware(backend=Sandbox(answer)), "execute", way=way, command="c")

    assert said.content == told
    assert said.artifact["truncated"] is answer.truncated
    assert ("exit_code" in said.artifact) is (answer.exit_code is not None)


def test_a_timeout_is_handed_on_within_bounds(way: Way) -> None:
    """Zero, too, which some sandboxes take to mean none."""
    sandbox = Sandbox()
    tools = FilesystemMiddleware(backend=sandbox, max_execute_timeout=60)

    told = [call(tools, "execute", way=way, command="c", timeout=t) for t in (0, 60, 61, -1)]

    assert sandbox.asked == [("c", 0), ("c", 60)]
    assert [str(t.content) for t in told[2:]] == [
        "Error: timeout 61s exceeds maximum allowed (60s).",
        "Error: timeout must be non-negative, got -1.",
    ]
    assert [t.status for t in told] == ["success", "success", "error", "error"]


def test_a_sandbox_that_knows_no_timeout_says_so(way: Way) -> None:
    """The model can call again without."""

    class Old(Sandbox):
        def execute(self, command: str) -> ExecuteResponse:  # type: ignore[override]
            return super().execute(command)

    tools = FilesystemMiddleware(backend=Old())

    refused = call(tools, "execute", way=way, command="c", timeout=5)
    ran = call(tools, "execute", way=way, command="c")

    assert "does not support per-command timeout overrides" in str(refused.content)
    assert (refused.status, ran.status) == ("error", "success")


def test_without_a_shell_nothing_runs(tmp_path: Path, way: Way) -> None:
    """Also where one of several backends has a shell that is not the default."""
    disk = FilesystemBackend(tmp_path, virtual_mode=True)
    sandbox = Sandbox()
    for backend in (disk, CompositeBackend(default=disk, routes={"/box/": sandbox})):
        told = call(FilesystemMiddleware(backend=backend), "execute", way=way, command="ls")
        assert told.status == "error"
        assert "does not support command execution" in str(told.content)
    assert sandbox.asked == []


def test_a_long_output_stays_where_it_is(way: Way) -> None:
    """The model gets a preview and the path, at which `read_file` finds all of it."""
    sandbox = Keeping(ExecuteResponse("y" * 1_000, exit_code=0))
    tools = FilesystemMiddleware(backend=sandbox, tool_token_limit_before_evict=100)

    told = call(tools, "execute", way=way, command="yes", timeout=3)

    path = "/large_tool_results/call-1"
    assert path in str(told.content)
    assert "Here is a preview showing the head and tail of the result" in str(told.content)
    assert "[Command succeeded with exit code 0]\nyyyyy" in str(told.content)
    assert told.artifact == {"exit_code": 0, "truncated": False, "output_file": path}
    assert sandbox.files == {path: "y" * 1_000}
    assert sandbox.asked == [("yes", 3)]


def test_an_output_is_kept_only_where_the_file_tools_find_it(tmp_path: Path, way: Way) -> None:
    """Not where that path belongs to another backend, nor where nothing is evicted."""
    sandbox = Keeping(ExecuteResponse("y" * 1_000, exit_code=0))
    disk = FilesystemBackend(tmp_path, virtual_mode=True)
    routed = CompositeBackend(default=sandbox, routes={"/large_tool_results/": disk})
    other = CompositeBackend(
        default=sandbox, routes={"/large_tool_results/": Keeping(sandbox.answer)}
    )
    composed = CompositeBackend(default=sandbox, routes={"/memories/": disk})

    told = {
        "elsewhere": FilesystemMiddleware(backend=routed, tool_token_limit_before_evict=100),
        "in another": FilesystemMiddleware(backend=other, tool_token_limit_before_evict=100),
        "nowhere": FilesystemMiddleware(backend=sandbox, tool_token_limit_before_evict=None),
        "there": FilesystemMiddleware(backend=composed, tool_token_limit_before_evict=100),
    }
    kept = {
        where: "output_file" in call(tools, "execute", way=way, command="yes").artifact
        for where, tools in told.items()
    }

    assert kept == {"elsewhere": False, "in another": False, "nowhere": False, "there": True}
