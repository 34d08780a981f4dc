"""The methods of a backend, blocking or awaited, under one interface for its tests."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TypeVar

from thalweg.backends.protocol import (
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
from thalweg.engine.extras import needs_extra

with needs_extra("thalweg.testing.backends"):
    import pytest

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
        path = self._at(path)
        return self._one(lambda: self.backend.ls(path), lambda: self.backend.als(path))

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
        path = self._at(path)
        return self._one(
            lambda: self.backend.read(path, offset, limit),
            lambda: self.backend.aread(path, offset, limit),
        )

    def write(self, path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.write`.
        """
        path = self._at(path)
        return self._one(
            lambda: self.backend.write(path, content), lambda: self.backend.awrite(path, content)
        )

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> EditResult:
        """Replace an exact text in a file that exists; see `BackendProtocol.edit`."""
        path = self._at(path)
        return self._one(
            lambda: self.backend.edit(path, old, new, replace_all),
            lambda: self.backend.aedit(path, old, new, replace_all),
        )

    def delete(self, path: str) -> DeleteResult:
        """See `BackendProtocol.delete`; skips the test where that is not supported."""
        path = self._at(path)
        if not supports_delete(self.backend):
            pytest.skip("this backend deletes nothing")
        return self._one(lambda: self.backend.delete(path), lambda: self.backend.adelete(path))

    def grep(
        self, text: str, path: str = "", glob: str | None = None, max_count: int | None = None
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.grep`."""
        path = self._at(path) or "/"
        return self._one(
            lambda: self.backend.grep(text, path, glob, max_count=max_count),
            lambda: self.backend.agrep(text, path, glob, max_count=max_count),
        )

    def glob(self, pattern: str, path: str = "") -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.glob`."""
        path = self._at(path) or "/"
        return self._one(
            lambda: self.backend.glob(pattern, path), lambda: self.backend.aglob(pattern, path)
        )

    def upload(self, files: Iterable[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        named = [(self._at(path), content) for path, content in files]
        return self._one(
            lambda: self.backend.upload_files(named), lambda: self.backend.aupload_files(named)
        )

    def download(self, *paths: str) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        named = [self._at(path) for path in paths]
        return self._one(
            lambda: self.backend.download_files(named),
            lambda: self.backend.adownload_files(named),
        )

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
        self, blocking: Callable[[], Result], awaited: Callable[[], Coroutine[None, None, Result]]
    ) -> Result:
        return asyncio.run(awaited()) if self.awaited else blocking()
