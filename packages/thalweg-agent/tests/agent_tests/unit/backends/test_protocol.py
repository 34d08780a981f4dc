"""What the protocol itself does: results that cannot contradict themselves, and awaited twins."""

import asyncio
import inspect
from dataclasses import MISSING, fields
from typing import Any

import pytest

from thalweg_agent.backends import protocol
from thalweg_agent.backends.calls.operations import (
    BackendOperation,
    Delete,
    DownloadFiles,
    EditOperation,
    Execute,
    Glob,
    Grep,
    Ls,
    ReadOperation,
    UploadFiles,
    WriteOperation,
)
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    ExecuteResponse,
    GrepMatch,
    GrepResult,
    ReadResult,
    SandboxBackendProtocol,
    execute_accepts_timeout,
    supports_delete,
)

CONTRADICTIONS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"start_line": 1}, "set together"),
    ({"end_line": 1}, "set together"),
    ({"next_offset": 3}, "next_offset requires"),
    ({"total_lines": 3}, "total_lines requires"),
    ({"start_line": 0, "end_line": 1}, "1 <= start_line <= end_line"),
    ({"start_line": 3, "end_line": 2}, "1 <= start_line <= end_line"),
    ({"start_line": 1, "end_line": 3, "total_lines": 2}, "cannot be less"),
    ({"start_line": 1, "end_line": 3, "next_offset": 2}, "must equal end_line"),
    ({"no_lines_requested": True, "error": "x"}, "uninspected"),
    ({"no_lines_requested": True, "total_lines": 1}, "uninspected"),
    ({"no_lines_requested": True, "start_line": 1, "end_line": 1}, "uninspected"),
)
GREP = GrepResult(matches=[GrepMatch(path="/a", line=n, text="x") for n in (1, 2, 3)])


class Bare(SandboxBackendProtocol):
    """Implements nothing."""


class Old(SandboxBackendProtocol):
    """From before `max_count` and `timeout`."""

    def grep(  # type: ignore[override]  # that is the point
        self, pattern: str, path: str | None = None, glob: str | None = None
    ) -> GrepResult:
        """Find three."""
        del pattern, path, glob
        return GREP

    def execute(self, command: str) -> ExecuteResponse:  # type: ignore[override]  # the same
        """Echo."""
        return ExecuteResponse(command)


class New(SandboxBackendProtocol):
    """Supports both, and deletes."""

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Return the arguments."""
        return GrepResult(error=f"{pattern} {path} {glob} {max_count}")

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Return the arguments."""
        return ExecuteResponse(command, timeout)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete nothing."""
        return DeleteResult(path=file_path)


@pytest.mark.parametrize(("fields", "said"), CONTRADICTIONS)
def test_a_window_cannot_contradict_itself(fields: dict[str, Any], said: str) -> None:
    """Reading on would skip lines."""
    with pytest.raises(ValueError, match=said):
        ReadResult(**fields)


def test_a_window_that_agrees_with_itself_is_one() -> None:
    """With all its fields or some."""
    ReadResult(start_line=2, end_line=3, total_lines=3)
    ReadResult(start_line=1, end_line=3, total_lines=9, next_offset=3)
    ReadResult(no_lines_requested=True)
    ReadResult(error="gone")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ls", ("/",)),
        ("read", ("/a",)),
        ("grep", ("x",)),
        ("glob", ("*",)),
        ("write", ("/a", "x")),
        ("edit", ("/a", "x", "y")),
        ("delete", ("/a",)),
        ("upload_files", ([("/a", b"")],)),
        ("download_files", (["/a"],)),
        ("execute", ("ls",)),
    ],
)
def test_what_is_not_implemented_says_so(name: str, arguments: tuple[object, ...]) -> None:
    """By the blocking call and by its awaited twin."""
    with pytest.raises(NotImplementedError):
        getattr(Bare(), name)(*arguments)
    with pytest.raises(NotImplementedError):
        asyncio.run(getattr(Bare(), f"a{name}")(*arguments))


def test_a_search_is_cut_where_a_backend_does_not_know_how() -> None:
    """A backend that supports the limit applies it itself."""
    cut = asyncio.run(Old().agrep("x", max_count=2))
    assert (len(cut.matches or []), cut.truncated) == (2, True)
    whole = asyncio.run(Old().agrep("x", max_count=3))
    assert (whole.matches, whole.truncated) == (GREP.matches, False)
    assert asyncio.run(New().agrep("x", "/a", "*.py", max_count=2)).error == "x /a *.py 2"


def test_a_search_that_does_not_end_is_no_longer_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The result reports it."""
    monkeypatch.setattr(protocol, "ASYNC_GREP_TIMEOUT", 0)

    assert "timed out after 0s" in (asyncio.run(New().agrep("x")).error or "")


def test_a_limit_of_time_goes_only_to_those_who_take_one() -> None:
    """Others run without."""
    assert execute_accepts_timeout(New)
    assert not execute_accepts_timeout(Old)
    assert asyncio.run(New().aexecute("ls", timeout=3)).exit_code == 3
    assert asyncio.run(Old().aexecute("ls", timeout=3)).output == "ls"


def test_whether_a_backend_deletes_is_known_without_trying() -> None:
    """A backend deletes if it implements it."""
    assert supports_delete(New())
    assert not supports_delete(Bare())


def test_every_blocking_method_has_an_awaited_twin_of_the_same_signature() -> None:
    """So that neither grows alone."""
    for kind in (BackendProtocol, SandboxBackendProtocol):
        methods = {name for name in vars(kind) if not name.startswith("_") and name != "id"}
        blocking = {name for name in methods if f"a{name}" in methods}
        assert methods == blocking | {f"a{name}" for name in blocking}
        for name in blocking:
            ours = getattr(kind, name).__annotations__
            assert ours == getattr(kind, f"a{name}").__annotations__


@pytest.mark.parametrize(
    "operation",
    [
        Ls,
        ReadOperation,
        Grep,
        Glob,
        WriteOperation,
        EditOperation,
        Delete,
        UploadFiles,
        DownloadFiles,
        Execute,
    ],
    ids=lambda operation: str(operation.method),
)
def test_an_operation_has_the_parameters_of_its_method(
    operation: type[BackendOperation[Any]],
) -> None:
    """Names, order and defaults: the methods that pass operations on are made of both."""
    method = getattr(SandboxBackendProtocol, operation.method)
    _, *parameters = inspect.signature(method).parameters.values()
    awaited = inspect.signature(getattr(SandboxBackendProtocol, f"a{operation.method}"))

    assert [(one.name, one.default) for one in parameters] == [
        (one.name, inspect.Parameter.empty if one.default is MISSING else one.default)
        for one in fields(operation)
    ]
    assert list(awaited.parameters) == ["self", *(one.name for one in parameters)]
