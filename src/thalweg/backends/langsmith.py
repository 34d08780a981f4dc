"""A sandbox of LangSmith as a backend."""

import base64
from typing import TYPE_CHECKING, Final

from thalweg.backends.file_data import file_data_from_bytes, read_file_type
from thalweg.backends.protocol import (
    BackendProtocol,
    ExecuteResponse,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    ReadResult,
)
from thalweg.backends.remote.results import MAX_BINARY_BYTES, MAX_OUTPUT_BYTES, TRUNCATION_MSG
from thalweg.backends.sandbox import BaseSandbox
from thalweg.backends.text import EMPTY_CONTENT_WARNING, slice_read_response
from thalweg.engine.undocumented import async_client

if TYPE_CHECKING:
    from langsmith.sandbox import AsyncSandbox, AsyncSandboxClient, ExecutionResult, Sandbox

DEFAULT_TIMEOUT: Final = 30 * 60
"""Default seconds that a command may take."""


class LangSmithSandbox(BaseSandbox):
    """Files and commands of a LangSmith sandbox.

    Files are read and written by LangSmith's API; everything else is a command in the sandbox.

    Args:
        sandbox: What `langsmith.sandbox.SandboxClient.create_sandbox` returned.
    """

    enable_capture_offload = True

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._async: tuple[AsyncSandboxClient, AsyncSandbox] | None = None

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return self._sandbox.name

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`; 0 is no limit."""
        return _response(self._sandbox.run(command, timeout=_seconds(timeout)))

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """See `execute`. One connection pool is kept, which belongs to the running event loop."""
        if self._async is None:
            # The SDK closes no client that it made itself, so it is made here.
            client = async_client(self._sandbox)
            self._async = (client, self._sandbox.to_async(client=client))
        return _response(await self._async[1].run(command, timeout=_seconds(timeout)))

    async def aclose(self) -> None:
        """Close the connections of `aexecute`; a later call opens others."""
        if self._async is not None:
            client, _ = self._async
            self._async = None
            await client.aclose()

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`; the file is transferred whole."""
        from langsmith.sandbox import (  # noqa: PLC0415  # slow to import
            ResourceNotFoundError,
            SandboxClientError,
        )

        try:
            raw = self._sandbox.read(file_path)
        except ResourceNotFoundError:
            return ReadResult(error=f"File '{file_path}': file_not_found")
        except SandboxClientError as problem:
            return ReadResult(error=f"File '{file_path}': {type(problem).__name__}: {problem}")
        found = _window(file_path, raw, offset, limit)
        if found.error:
            found = ReadResult(error=f"File '{file_path}': {found.error}")
        return found

    aread = BackendProtocol.aread

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        return [FileUploadResponse(path, self._uploaded(path, raw)) for path, raw in files]

    def _uploaded(self, path: str, raw: bytes) -> str | None:
        from langsmith.sandbox import SandboxClientError  # noqa: PLC0415

        if not path.startswith("/"):
            return "invalid_path"
        try:
            self._sandbox.write(path, raw)
        except SandboxClientError:
            return "permission_denied"
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        return [self._downloaded(path) for path in paths]

    def _downloaded(self, path: str) -> FileDownloadResponse:
        from langsmith.sandbox import SandboxClientError  # noqa: PLC0415

        if not path.startswith("/"):
            return FileDownloadResponse(path, error="invalid_path")
        try:
            return FileDownloadResponse(path, content=self._sandbox.read(path))
        except SandboxClientError as problem:
            is_folder = "is a directory" in str(problem).lower()
            return FileDownloadResponse(
                path, error="is_directory" if is_folder else "file_not_found"
            )


def _seconds(timeout: int | None) -> int:
    return DEFAULT_TIMEOUT if timeout is None else timeout


def _response(result: "ExecutionResult") -> ExecuteResponse:
    output = "\n".join(text for text in (result.stdout, result.stderr) if text)
    return ExecuteResponse(output, result.exit_code)


def _window(path: str, raw: bytes, offset: int, limit: int) -> ReadResult:
    """Return lines of a text, or all of a binary file as base64."""
    found = file_data_from_bytes(raw)  # the service tells no times
    data = FileData(content=found["content"], encoding=found["encoding"])
    if data["encoding"] == "base64" or read_file_type(path) != "text":
        if len(raw) > MAX_BINARY_BYTES:
            problem = f"Binary file exceeds maximum preview size of {MAX_BINARY_BYTES} bytes"
            return ReadResult(error=problem)
        content = base64.b64encode(raw).decode()
        return ReadResult(file_data=FileData(content=content, encoding="base64"))
    if not raw:
        return ReadResult(file_data=FileData(content=EMPTY_CONTENT_WARNING, encoding="utf-8"))
    return _bounded(slice_read_response(data, offset, limit))


def _bounded(read: ReadResult) -> ReadResult:
    """Cut a window that is too long for one answer after its last whole line, or in its first."""
    room = MAX_OUTPUT_BYTES - len(TRUNCATION_MSG.encode())
    data, start = read.file_data, read.start_line
    if data is None or start is None or len(data["content"].encode()) <= room:
        return read
    shown = data["content"].encode()[:room].decode(errors="ignore")
    end = start - 1 + (shown.count("\n") or 1)
    return ReadResult(
        file_data={**data, "content": shown + TRUNCATION_MSG},
        total_lines=read.total_lines,
        start_line=start,
        end_line=end,
        next_offset=end if read.total_lines is None or end < read.total_lines else None,
    )
