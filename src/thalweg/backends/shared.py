"""Any backend, worked on by several agents of a run at once: nobody overwrites unseen changes.

Two rules: a change over what another agent changed, and this one has not seen since, is refused
and told to both; a change that is not refused applies to what is there at that moment.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from thalweg.backends.acts import Act, Look, digest
from thalweg.backends.child import Child, child_of, with_notices
from thalweg.backends.ledger import GONE
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

__all__ = ["Child", "SharedBackend", "SharedSandbox", "child_of", "shared", "with_notices"]

_Result = TypeVar("_Result", WriteResult, EditResult, DeleteResult)


def shared(backend: BackendProtocol) -> "SharedBackend":
    """Make the view of a backend that the tools of an agent work through.

    A sandbox stays one. What is no act of the model goes to the backend itself.
    """
    if isinstance(backend, SharedBackend):
        return backend
    if isinstance(backend, SandboxBackendProtocol):
        return SharedSandbox(backend)
    return SharedBackend(backend)


def _change(act: Act, refused: type[_Result], make: Callable[[], _Result]) -> _Result:
    """Make a change alone, or say why it must not be made."""
    with act.alone():
        if (problem := act.problem()) is not None:
            return refused(error=problem)
        result = make()
        result.error = act.done(result.error)
    return result


async def _achange(
    act: Act, refused: type[_Result], make: Callable[[], Awaitable[_Result]]
) -> _Result:
    """See `_change`."""
    async with act.alone():
        if (problem := act.problem()) is not None:
            return refused(error=problem)
        result = await make()
        result.error = act.done(result.error)
    return result


class SharedBackend(BackendProtocol):
    """A backend that knows which agent saw and changed what, and lets nobody undo it unseen.

    Outside of an agent, and in a graph whose state does not keep our channel, it is the backend
    itself. Changes by commands of a shell, and by whoever else has the files, are not known.
    """

    def __init__(self, backend: BackendProtocol) -> None:
        self.backend = backend
        """What keeps the files."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the backend has)
        return getattr(self.backend, name)

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`."""
        return self.backend.ls(path)

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return await self.backend.als(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`; the agent has seen the file now, or that it is gone."""
        look = Look(file_path)
        result = self.backend.read(file_path, offset=offset, limit=limit)
        look.done(result.error)
        return result

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        look = Look(file_path)
        result = await self.backend.aread(file_path, offset=offset, limit=limit)
        look.done(result.error)
        return result

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
        if accepts_max_count(type(self.backend), "grep"):
            search = partial(search, max_count=max_count)
        return search()

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
        if accepts_max_count(type(self.backend), "agrep"):
            search = partial(search, max_count=max_count)
        return await search()

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return self.backend.glob(pattern, path=path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return await self.backend.aglob(pattern, path=path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`; an error if it would undo a change not seen."""
        act = Act(file_path, "written", digest=digest(content))
        return _change(act, WriteResult, partial(self.backend.write, file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        act = Act(file_path, "written", digest=digest(content))
        return await _achange(act, WriteResult, partial(self.backend.awrite, file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """See `BackendProtocol.edit`; what no longer matches names who changed it."""
        edit = partial(
            self.backend.edit, file_path, old_string, new_string, replace_all=replace_all
        )
        return _change(Act(file_path, "edited"), EditResult, edit)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """See `edit`."""
        edit = partial(
            self.backend.aedit, file_path, old_string, new_string, replace_all=replace_all
        )
        return await _achange(Act(file_path, "edited"), EditResult, edit)

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`; an error if a change not seen is in what would go."""
        act = Act(file_path, "deleted", digest=GONE)
        return _change(act, DeleteResult, partial(self.backend.delete, file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        act = Act(file_path, "deleted", digest=GONE)
        return await _achange(act, DeleteResult, partial(self.backend.adelete, file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`; never refused."""
        return self.backend.upload_files(files)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        return await self.backend.aupload_files(files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`; the agent has seen them now."""
        looks = [Look(path) for path in paths]
        found = self.backend.download_files(paths)
        for look, response in zip(looks, found, strict=True):
            look.done(response.error)
        return found

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        looks = [Look(path) for path in paths]
        found = await self.backend.adownload_files(paths)
        for look, response in zip(looks, found, strict=True):
            look.done(response.error)
        return found


class SharedSandbox(SharedBackend, SandboxBackendProtocol):
    """A shared backend that also runs commands."""

    backend: SandboxBackendProtocol

    @property
    def id(self) -> str:
        """See `SandboxBackendProtocol.id`."""
        return self.backend.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`."""
        return self.backend.execute(command, **timeout_of(self.backend, timeout))

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # handed on
    ) -> ExecuteResponse:
        """See `execute`."""
        if timeout is not None:
            return await self.backend.aexecute(command, timeout=timeout)
        return await self.backend.aexecute(command)
