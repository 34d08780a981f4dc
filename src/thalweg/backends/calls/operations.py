"""The methods of a backend as values, so that what wraps or routes backends is written once.

`OperationBackend` has the file methods of the protocol, blocking and awaited, and turns each call
into a `BackendOperation`. A subclass performs operations; `perform` and `aperform` have another
backend do so.
"""

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
    accepts_max_count,
    execute_accepts_timeout,
)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class BackendOperation(Generic[Answer]):
    """One call of a backend's method; the fields are the method's parameters, in its order."""

    method: ClassVar[str]
    """Name of the blocking method; its awaited twin has an `a` in front."""

    result: ClassVar[type]
    """Type of the result, or of each item of a list of results."""

    positional: ClassVar[int] = 1
    """How many parameters are passed by position; the others are passed by name."""

    def call(self, backend: object, prefix: Literal["", "a"] = "") -> Any:  # noqa: ANN401  # of any package
        """Call the method of a backend, which may be one of another package.

        An option that is `None`, or that the backend's method does not accept, is omitted.

        Args:
            backend: Has the methods of `BackendProtocol`.
            prefix: `a` for the awaited twin.

        Raises:
            NotImplementedError: The backend has no such method.
        """
        name = prefix + self.method
        method = getattr(backend, name, None)
        if method is None:
            message = f"{type(backend).__name__} has no method {name}"
            raise NotImplementedError(message)
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        named = list(values.items())[self.positional :]
        options = {
            option: value
            for option, value in named
            if value is not None and _takes(type(backend), prefix, option)
        }
        return method(*list(values.values())[: self.positional], **options)


def _takes(kind: Any, prefix: Literal["", "a"], option: str) -> bool:  # noqa: ANN401  # a class of any package
    """Whether a backend's method takes an option; those of older protocols lack two."""
    match option:
        case "max_count":
            return accepts_max_count(kind, "agrep" if prefix else "grep")
        case "timeout":
            return execute_accepts_timeout(kind)
        case _:
            return True


@dataclass(frozen=True, slots=True)
class Ls(BackendOperation[LsResult]):
    """A call of `BackendProtocol.ls`."""

    method: ClassVar[str] = "ls"
    result: ClassVar[type] = LsResult
    path: str


@dataclass(frozen=True, slots=True)
class ReadOperation(BackendOperation[ReadResult]):
    """A call of `BackendProtocol.read`."""

    method: ClassVar[str] = "read"
    result: ClassVar[type] = ReadResult
    file_path: str
    offset: int
    limit: int


@dataclass(frozen=True, slots=True)
class Grep(BackendOperation[GrepResult]):
    """A call of `BackendProtocol.grep`."""

    method: ClassVar[str] = "grep"
    result: ClassVar[type] = GrepResult
    pattern: str
    path: str | None
    glob: str | None
    max_count: int | None


@dataclass(frozen=True, slots=True)
class Glob(BackendOperation[GlobResult]):
    """A call of `BackendProtocol.glob`."""

    method: ClassVar[str] = "glob"
    result: ClassVar[type] = GlobResult
    pattern: str
    path: str | None


@dataclass(frozen=True, slots=True)
class WriteOperation(BackendOperation[WriteResult]):
    """A call of `BackendProtocol.write`."""

    method: ClassVar[str] = "write"
    result: ClassVar[type] = WriteResult
    positional: ClassVar[int] = 2
    file_path: str
    content: str


@dataclass(frozen=True, slots=True)
class EditOperation(BackendOperation[EditResult]):
    """A call of `BackendProtocol.edit`."""

    method: ClassVar[str] = "edit"
    result: ClassVar[type] = EditResult
    positional: ClassVar[int] = 3
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool


@dataclass(frozen=True, slots=True)
class Delete(BackendOperation[DeleteResult]):
    """A call of `BackendProtocol.delete`."""

    method: ClassVar[str] = "delete"
    result: ClassVar[type] = DeleteResult
    file_path: str


@dataclass(frozen=True, slots=True)
class UploadFiles(BackendOperation[list[FileUploadResponse]]):
    """A call of `BackendProtocol.upload_files`."""

    method: ClassVar[str] = "upload_files"
    result: ClassVar[type] = FileUploadResponse
    files: list[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class DownloadFiles(BackendOperation[list[FileDownloadResponse]]):
    """A call of `BackendProtocol.download_files`."""

    method: ClassVar[str] = "download_files"
    result: ClassVar[type] = FileDownloadResponse
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Execute(BackendOperation[ExecuteResponse]):
    """A call of `SandboxBackendProtocol.execute`."""

    method: ClassVar[str] = "execute"
    result: ClassVar[type] = ExecuteResponse
    command: str
    timeout: int | None = None


def perform(backend: BackendProtocol, operation: BackendOperation[Answer]) -> Answer:
    """Return what the blocking method of a backend returns."""
    return cast("Answer", operation.call(backend))


async def aperform(backend: BackendProtocol, operation: BackendOperation[Answer]) -> Answer:
    """Return what the awaited method of a backend returns."""
    return cast("Answer", await operation.call(backend, "a"))


class OperationBackend(BackendProtocol):
    """A backend whose file methods are all performed by one method, and awaited by another."""

    @abstractmethod
    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation by blocking calls."""

    @abstractmethod
    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation by awaited calls."""

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `BackendProtocol.ls`."""
        return self._perform(Ls(path))

    async def als(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `BackendProtocol.als`."""
        return await self._aperform(Ls(path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
        return self._perform(ReadOperation(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.aread`."""
        return await self._aperform(ReadOperation(file_path, offset, limit))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.grep`."""
        return self._perform(Grep(pattern, path, glob, max_count))

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.agrep`."""
        return await self._aperform(Grep(pattern, path, glob, max_count))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.glob`."""
        return self._perform(Glob(pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.aglob`."""
        return await self._aperform(Glob(pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.write`.
        """
        return self._perform(WriteOperation(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.awrite`.
        """
        return await self._aperform(WriteOperation(file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """Replace an exact text in a file that exists; see `BackendProtocol.edit`."""
        return self._perform(EditOperation(file_path, old_string, new_string, replace_all))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """Replace an exact text in a file that exists; see `BackendProtocol.aedit`."""
        return await self._aperform(EditOperation(file_path, old_string, new_string, replace_all))

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it; see `BackendProtocol.delete`."""
        return self._perform(Delete(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it; see `BackendProtocol.adelete`."""
        return await self._aperform(Delete(file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        return self._perform(UploadFiles(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.aupload_files`.
        """
        return await self._aperform(UploadFiles(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        return self._perform(DownloadFiles(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.adownload_files`.
        """
        return await self._aperform(DownloadFiles(paths))


class OperationSandbox(OperationBackend, SandboxBackendProtocol):
    """The same for a backend that also runs commands."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command of a shell to its end; see `SandboxBackendProtocol.execute`."""
        return self._perform(Execute(command, timeout))

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """Run a command of a shell to its end; see `SandboxBackendProtocol.aexecute`."""
        return await self._aperform(Execute(command, timeout))
