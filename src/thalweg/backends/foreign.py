"""Backends of other packages, recognized by their methods and not by their class.

Every sandbox package for Deep Agents (Daytona, Modal, Runloop, Vercel) subclasses a class of that
package. An adapter calls such a backend's methods and returns results of this package.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Final, TypeVar

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
    timeout_of,
)
from thalweg.errors import ConfigError

_Result = TypeVar(
    "_Result",
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

FILE_METHODS: Final = ("ls", "read", "write", "edit", "glob", "grep")
"""What an object must have to be taken as a backend; each has an awaited twin."""


class BackendKindError(ConfigError, TypeError):
    """An object given as a backend lacks the methods of one."""


def as_backend(backend: object) -> BackendProtocol:
    """Return a backend as this package knows it.

    A backend of ours is returned as it is. Another object with the file methods is wrapped; one
    that also has `execute` and `id` is a sandbox.

    Raises:
        BackendKindError: The object lacks methods.

    Example:
        >>> as_backend({"/a.txt": "text"})
        Traceback (most recent call last):
        thalweg.backends.foreign.BackendKindError: backend must be an initialized backend \
instance: dict has no ls, read, write, edit, glob, grep; pass StateBackend() or another backend
    """
    if isinstance(backend, BackendProtocol):
        return backend
    missing = [name for name in FILE_METHODS if not _has(backend, name)]
    if isinstance(backend, type) or missing:
        raise _no_backend(backend, missing)
    return ForeignSandbox(backend) if _has_shell(backend) else ForeignBackend(backend)


def _no_backend(backend: object, missing: Sequence[str]) -> BackendKindError:
    what = "backend must be an initialized backend instance"
    problem = f"{type(backend).__name__} has no {', '.join(missing)}"
    if callable(backend):
        problem = "Backend factories were removed in deepagents 0.7, and there are none here"
    return BackendKindError(what, problem, "pass StateBackend() or another backend")


def _has(backend: object, method: str) -> bool:
    return callable(getattr(backend, method, None)) and callable(
        getattr(backend, f"a{method}", None)
    )


def _has_shell(backend: object) -> bool:
    """Whether commands can be run; of a composite backend, the default counts."""
    shell = getattr(backend, "default", backend)
    return _has(backend, "execute") and _has(shell, "execute") and hasattr(shell, "id")


class ForeignBackend(BackendProtocol):
    """A backend of another package.

    Args:
        backend: Has the methods of `BackendProtocol`, and returns objects whose attributes are
            those of its result types.

    Raises:
        TypeError: A result lacks an attribute that its type requires.
    """

    def __init__(self, backend: Any) -> None:  # noqa: ANN401  # of another package
        self.backend = backend
        """The object whose methods are called."""
        self._kind: type[BackendProtocol] = type(backend)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the backend has
        if name == "backend":  # while a copy is made, nothing is there yet
            raise AttributeError(name)
        return getattr(self.backend, name)

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`."""
        return _as(LsResult, self.backend.ls(path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return _as(LsResult, await self.backend.als(path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        return _as(ReadResult, self.backend.read(file_path, offset=offset, limit=limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        return _as(ReadResult, await self.backend.aread(file_path, offset=offset, limit=limit))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.grep`."""
        search = partial(self.backend.grep, pattern, path=path, glob=glob)
        if accepts_max_count(self._kind, "grep"):
            search = partial(search, max_count=max_count)
        return _as(GrepResult, search())

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        search = partial(self.backend.agrep, pattern, path=path, glob=glob)
        if accepts_max_count(self._kind, "agrep"):
            search = partial(search, max_count=max_count)
        return _as(GrepResult, await search())

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return _as(GlobResult, self.backend.glob(pattern, **_under(path)))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return _as(GlobResult, await self.backend.aglob(pattern, **_under(path)))

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        return _as(WriteResult, self.backend.write(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return _as(WriteResult, await self.backend.awrite(file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `BackendProtocol.edit`."""
        edit = partial(self.backend.edit, file_path, old_string, new_string)
        return _as(EditResult, edit(replace_all=replace_all))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `edit`."""
        edit = partial(self.backend.aedit, file_path, old_string, new_string)
        return _as(EditResult, await edit(replace_all=replace_all))

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`."""
        return _as(DeleteResult, self._method("delete")(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return _as(DeleteResult, await self._method("adelete")(file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`."""
        return _all(FileUploadResponse, self._method("upload_files")(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        return _all(FileUploadResponse, await self._method("aupload_files")(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`."""
        return _all(FileDownloadResponse, self._method("download_files")(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        return _all(FileDownloadResponse, await self._method("adownload_files")(paths))

    def _method(self, name: str) -> Any:  # noqa: ANN401  # a method of another package
        method = getattr(self.backend, name, None)
        if method is None:
            message = f"{type(self.backend).__name__} has no method {name}"
            raise NotImplementedError(message)
        return method


class ForeignSandbox(ForeignBackend, SandboxBackendProtocol):
    """A backend of another package that also runs commands."""

    @property
    def id(self) -> str:
        """See `SandboxBackendProtocol.id`."""
        return str(getattr(self.backend, "default", self.backend).id)

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`."""
        limit = timeout_of(self.backend, timeout)
        return _as(ExecuteResponse, self.backend.execute(command, **limit))

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """See `execute`."""
        limit = timeout_of(self.backend, timeout)
        return _as(ExecuteResponse, await self.backend.aexecute(command, **limit))


def _under(path: str | None) -> dict[str, str]:
    """Return the `path` of a search; without one the backend's own default holds."""
    return {} if path is None else {"path": path}


def _as(kind: type[_Result], result: object) -> _Result:
    """Return a result of this package with the attributes of another package's result."""
    if isinstance(result, kind):
        return result
    names = [field.name for field in fields(kind)]
    known = {name: getattr(result, name) for name in names if hasattr(result, name)}
    if not known:
        message = f"a backend returned {type(result).__name__}, not {kind.__name__}"
        raise TypeError(message)
    return kind(**known)


def _all(kind: type[_Result], results: Iterable[object]) -> list[_Result]:
    return [_as(kind, result) for result in results]
