"""Files of an agent's repository in LangSmith's Context Hub."""

import re
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final, TypeVar

from langsmith import Client
from langsmith.schemas import Entry, FileEntry
from langsmith.utils import LangSmithConflictError, LangSmithError, LangSmithNotFoundError

from thalweg.backends.file_data import create_file_data
from thalweg.backends.paths import ROOT_IS_KEPT, files_under, validate_path
from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg.backends.searches.matches import (
    entries_of,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg.backends.text import perform_string_replacement, slice_read_response
from thalweg.errors import PathError

_TRIES: Final = 4
"""How often a change is committed when others commit at the same time."""
_COMMIT: Final = re.compile(r"[/:]([0-9a-f]{8,64})(?:\?|$)")
"""The commit's hash at the end of the address that a commit returns."""
_ROOT_IS_KEPT: Final = f"Error: {ROOT_IS_KEPT}"

Changes = Mapping[str, str | None]
"""New contents by path; `None` deletes."""
_Result = TypeVar(
    "_Result", DeleteResult, EditResult, GlobResult, GrepResult, LsResult, ReadResult, WriteResult
)


class _RefusedChangeError(Exception):
    """A change does not apply to the files as they are."""


class ContextHubBackend(BackendProtocol):
    """Text files in a repository of Context Hub; each change is a commit.

    The repository is read at the first use and kept in memory. A commit with a conflict is retried
    on the current files: an edit whose text is missing there fails. An error of the hub is in the
    result, and the next call reads the repository again.

    Args:
        identifier: Owner and name, `"-/my-agent"`; the first commit creates it.
        client: LangSmith's client; one from the environment by default.
    """

    def __init__(self, identifier: str, *, client: Client | None = None) -> None:
        self._identifier = identifier
        self._client = Client() if client is None else client
        self._lock = RLock()
        self._files: dict[str, FileData] | None = None
        self._linked: dict[str, str] = {}
        self._commit_hash: str | None = None

    def has_prior_commits(self) -> bool:
        """Whether anything was ever committed.

        Raises:
            LangSmithError: The hub cannot be reached.
        """
        self._load()
        return self._commit_hash is not None

    def get_linked_entries(self) -> dict[str, str]:
        """Return the repositories that this one links to, by path.

        Raises:
            LangSmithError: The hub cannot be reached.
        """
        self._load()
        return dict(self._linked)

    def _load(self) -> dict[str, FileData]:
        with self._lock:
            if self._files is None:
                try:
                    found = self._client.pull_agent(self._identifier)
                except LangSmithNotFoundError:
                    self._files, self._linked, self._commit_hash = {}, {}, None
                else:
                    entries: Mapping[str, Any] = found.files
                    self._files = {
                        f"/{path}": create_file_data(entry.content)
                        for path, entry in entries.items()
                        if entry.type == "file"
                    }
                    self._linked = {
                        path: entry.repo_handle
                        for path, entry in entries.items()
                        if entry.type != "file"
                    }
                    self._commit_hash = found.commit_hash
            return self._files

    def _commit(self, plan: Callable[[Mapping[str, FileData]], Changes]) -> None:
        """Commit what a plan makes of the files as they are.

        Raises:
            _RefusedChangeError: The plan's own.
            LangSmithError: The hub refuses, or others commit all the time.
            RuntimeError: The commit was made, and its hash cannot be found out.
        """
        with self._lock:
            for left in reversed(range(_TRIES)):
                changes = plan(self._load())
                try:
                    self._push(changes)
                except LangSmithConflictError:
                    self._files = None
                    if not left:
                        raise
                except LangSmithError:
                    self._files = None
                    raise
                else:
                    return

    def _push(self, changes: Changes) -> None:
        entries: dict[str, Entry | None] = {
            path.removeprefix("/"): None
            if content is None
            else FileEntry(type="file", content=content)
            for path, content in changes.items()
        }
        address = self._client.push_agent(
            self._identifier, files=entries, parent_commit=self._commit_hash
        )
        if found := _COMMIT.search(address):
            self._commit_hash = found[1]
            files = self._load() | {
                path: create_file_data(content)
                for path, content in changes.items()
                if content is not None
            }
            self._files = {path: data for path, data in files.items() if _stays(path, changes)}
            return
        self._files = None
        self._load()
        if self._commit_hash is None:
            message = "the commit succeeded but its hash could not be resolved"
            raise RuntimeError(message)

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `BackendProtocol.ls`."""
        folder = path.rstrip("/") + "/"

        def listed() -> LsResult:
            entries = entries_of(self._load(), folder)
            return LsResult(
                entries=[{**info, "path": info["path"].rstrip("/")} for info in entries]
            )

        return _told(LsResult, listed)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""

        def window() -> ReadResult:
            data = self._load().get(file_path)
            if data is None:
                return ReadResult(error=f"File '{file_path}' not found")
            return slice_read_response(data, offset, limit)

        return _told(ReadResult, window)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.grep`."""
        return _told(
            GrepResult,
            lambda: grep_matches_from_files(self._load(), pattern, path, glob, max_count=max_count),
        )

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.glob`."""
        return _told(GlobResult, lambda: glob_matches_from_files(self._load(), pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.write`.
        """

        def written() -> WriteResult:
            path = validate_path(file_path)
            self._commit(lambda _: {path: content})
            return WriteResult(path=path)

        return _told(WriteResult, written)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `BackendProtocol.edit`; applies to the file as it is when the commit is made."""
        count = 0

        def plan(files: Mapping[str, FileData]) -> Changes:
            nonlocal count
            if file_path not in files:
                raise _missing(file_path)
            content = files[file_path]["content"]
            edited = perform_string_replacement(content, old_string, new_string, replace_all)
            if isinstance(edited, str):
                raise _RefusedChangeError(edited)
            count = edited[1]
            return {file_path: edited[0]}

        def done() -> EditResult:
            self._commit(plan)
            return EditResult(path=file_path, occurrences=count)

        return _told(EditResult, done)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it; see `BackendProtocol.delete`."""
        path = file_path.rstrip("/")

        def plan(files: Mapping[str, FileData]) -> Changes:
            if not path:
                raise _RefusedChangeError(_ROOT_IS_KEPT)
            if not (doomed := files_under(files, path)):
                raise _missing(file_path)
            return dict.fromkeys(doomed)

        def done() -> DeleteResult:
            self._commit(plan)
            return DeleteResult(path=file_path)

        return _told(DeleteResult, done)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`; texts only, in one commit."""
        changes: dict[str, str] = {}
        errors: list[str | None] = []
        for path, raw in files:
            try:
                changes[validate_path(path)] = raw.decode()
            except (UnicodeDecodeError, PathError):
                errors.append("invalid_path")
            else:
                errors.append(None)
        done = _told(WriteResult, lambda: self._uploaded(changes))
        return [
            FileUploadResponse(path, error or done.error)
            for (path, _), error in zip(files, errors, strict=True)
        ]

    def _uploaded(self, changes: Changes) -> WriteResult:
        if changes:
            self._commit(lambda _: changes)
        return WriteResult()

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        loaded = _told(LsResult, lambda: LsResult(entries=[]) if self._load() else LsResult())
        if loaded.error:
            return [FileDownloadResponse(path, error=loaded.error) for path in paths]
        files = self._load()
        return [
            FileDownloadResponse(path, content=files[path]["content"].encode())
            if path in files
            else FileDownloadResponse(path, error="file_not_found")
            for path in paths
        ]


def _missing(path: str) -> _RefusedChangeError:
    return _RefusedChangeError(f"Error: '{path}' not found")


def _stays(path: str, changes: Changes) -> bool:
    return changes.get(path, "") is not None


def _told(kind: type[_Result], make: Callable[[], _Result]) -> _Result:
    """Return a result; what a model can act on is its error, and never raised."""
    try:
        return make()
    except LangSmithError as problem:
        return kind(error=f"Hub unavailable: {problem}")
    except (_RefusedChangeError, PathError) as refused:
        return kind(error=str(refused))
