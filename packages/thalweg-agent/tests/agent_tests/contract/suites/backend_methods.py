"""The methods of a backend, blocking or awaited, under one interface for its tests."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import pytest

from thalweg_agent.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
    supports_delete,
)

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BackendMethods:
    """A backend by one kind of its methods: the blocking ones, or their awaited twins.

    Attributes:
        backend: The backend.
        awaited: Which kind.
        home: Put before every path; see `BackendContract.home`.
    """

    backend: BackendProtocol
    awaited: bool
    home: str

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `BackendProtocol.ls`."""
        return self._one(self.backend.ls, self.backend.als, self._at(path))

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
        return self._one(self.backend.read, self.backend.aread, self._at(path), offset, limit)

    def write(self, path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.write`.
        """
        return self._one(self.backend.write, self.backend.awrite, self._at(path), content)

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> EditResult:
        """Replace an exact text in a file that exists; see `BackendProtocol.edit`."""
        both = self.backend.edit, self.backend.aedit
        return self._one(*both, self._at(path), old, new, replace_all)

    def delete(self, path: str) -> DeleteResult:
        """See `BackendProtocol.delete`; skips the test where that is not supported."""
        if not supports_delete(self.backend):
            pytest.skip("this backend deletes nothing")
        return self._one(self.backend.delete, self.backend.adelete, self._at(path))

    def grep(
        self, text: str, path: str = "", glob: str | None = None, max_count: int | None = None
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.grep`."""
        both = self.backend.grep, self.backend.agrep
        return self._one(*both, text, self._at(path) or "/", glob, max_count=max_count)

    def glob(self, pattern: str, path: str = "") -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.glob`."""
        both = self.backend.glob, self.backend.aglob
        return self._one(*both, pattern, self._at(path) or "/")

    def upload(self, files: Iterable[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        named = [(self._at(path), content) for path, content in files]
        return self._one(self.backend.upload_files, self.backend.aupload_files, named)

    def download(self, *paths: str) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        named = [self._at(path) for path in paths]
        return self._one(self.backend.download_files, self.backend.adownload_files, named)

    def content(self, path: str) -> str:
        """Read a whole text, as it is in the file."""
        (file,) = self.download(path)
        assert file.error is None, file.error
        assert file.content is not None
        return file.content.decode()

    def told(self, infos: Iterable[FileInfo] | None) -> list[str]:
        """Name what was listed, without the home and in order."""
        assert infos is not None
        return sorted(self.bare(info["path"]) for info in infos)

    def bare(self, path: str | None) -> str:
        """Take the home from a path, which must have it."""
        assert path is not None
        assert path.startswith(f"{self.home}/"), path
        return path.removeprefix(self.home)

    def _at(self, path: str) -> str:
        return f"{self.home}{path}" if path.startswith("/") or not path else path

    def _one(
        self,
        blocking: Callable[Given, Result],
        awaited: Callable[Given, Coroutine[None, None, Result]],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        return asyncio.run(awaited(*args, **named)) if self.awaited else blocking(*args, **named)
