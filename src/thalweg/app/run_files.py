"""The files of whichever run asks: one backend for an agent that all owners share."""

from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from thalweg.app.sandboxes import OpenShell
from thalweg.backends.local_shell import LocalShellBackend
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
)
from thalweg.errors import ConfigError
from thalweg.private_files import make_private_folder
from thalweg.uploads.base import Places, ThreadBackend
from thalweg.uploads.disk import DiskFiles

OWNER = "owner"
"""Where in the `configurable` of a run's config its owner is; see `owner_of_run`."""


def owner_of_run(config: RunnableConfig) -> str:
    """Tell whose run it is, as whoever performs it has said."""
    owner: str = config.get("configurable", {})[OWNER]
    return owner


def thread_of_run(config: RunnableConfig) -> str:
    """Tell of which thread it is."""
    return str(config.get("configurable", {})["thread_id"])


class RunFiles(BackendProtocol):
    """Passes every call on to the files of the thread whose run makes it.

    Args:
        places: Where the files of all threads are.
    """

    def __init__(self, places: Places) -> None:
        self._places = places

    def _here(self) -> ThreadBackend:
        config = get_config()
        return self._places.backend(owner_of_run(config), thread_of_run(config))

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`."""
        return self._here().ls(path)

    async def als(self, path: str) -> LsResult:
        """See `BackendProtocol.als`."""
        return await self._here().als(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        return self._here().read(file_path, offset, limit)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.aread`."""
        return await self._here().aread(file_path, offset, limit)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.grep`."""
        return self._here().grep(pattern, path, glob, max_count=max_count)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.agrep`."""
        return await self._here().agrep(pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return self._here().glob(pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.aglob`."""
        return await self._here().aglob(pattern, path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        return self._here().write(file_path, content)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.awrite`."""
        return await self._here().awrite(file_path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """See `BackendProtocol.edit`."""
        return self._here().edit(file_path, old_string, new_string, replace_all)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """See `BackendProtocol.aedit`."""
        return await self._here().aedit(file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`."""
        return self._here().delete(file_path)

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.adelete`."""
        return await self._here().adelete(file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`."""
        return self._here().upload_files(files)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.aupload_files`."""
        return await self._here().aupload_files(files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`."""
        return self._here().download_files(paths)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.adownload_files`."""
        return await self._here().adownload_files(paths)


class RunShell(RunFiles, SandboxBackendProtocol):
    """The same, with a shell: commands begin in the folder of the files.

    Args:
        places: Where the files of all threads are: folders of this machine.
        opened: Makes the shell over the folder of one thread; what it confines is its business.
        command_root: What `/` of the file tools is for a command; empty where it is not known.
    """

    def __init__(self, places: Places, opened: OpenShell, command_root: str = "") -> None:
        super().__init__(places)
        self._opened = opened
        self.command_root = command_root

    @property
    def id(self) -> str:
        """See `SandboxBackendProtocol.id`."""
        return f"thread-{self._folder().name}"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`."""
        return self._shell().execute(command, timeout=timeout)

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """See `SandboxBackendProtocol.aexecute`."""
        return await self._shell().aexecute(command, timeout=timeout)

    def _shell(self) -> LocalShellBackend:
        folder = self._folder()
        make_private_folder(folder)
        return self._opened(folder)

    def _folder(self) -> Path:
        files = self._here()
        if not isinstance(files, DiskFiles):
            problem = "commands need files on a disk, and those of threads are in a database"
            raise ConfigError("sandbox.use", problem, "set storage.files to a folder")
        return files.folder
