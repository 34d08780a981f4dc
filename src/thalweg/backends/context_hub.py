"""Files of an agent's repository in LangSmith's Context Hub."""

import re
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final, cast

from langsmith import Client
from langsmith.schemas import Entry, FileEntry
from langsmith.utils import LangSmithConflictError, LangSmithError, LangSmithNotFoundError

from thalweg.backends.calls.operations import Answer, BackendOperation, BlockingBackend
from thalweg.backends.file_data import create_file_data
from thalweg.backends.paths import ROOT_IS_KEPT, files_under, validate_path
from thalweg.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
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


class _RefusedChangeError(Exception):
    """A change does not apply to the files as they are."""


class ContextHubBackend(BlockingBackend):
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

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        try:
            return super()._perform(operation)
        except _FAILURES as problem:
            return cast("Answer", operation.result(error=_told(problem)))

    def _ls(self, path: str) -> LsResult:
        entries = entries_of(self._load(), path.rstrip("/") + "/")
        return LsResult(entries=[{**info, "path": info["path"].rstrip("/")} for info in entries])

    def _read(self, path: str, offset: int, limit: int) -> ReadResult:
        data = self._load().get(path)
        if data is None:
            return ReadResult(error=f"File '{path}' not found")
        return slice_read_response(data, offset, limit)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> GrepResult:
        return grep_matches_from_files(self._load(), pattern, path, glob, max_count=max_count)

    def _glob(self, pattern: str, path: str | None) -> GlobResult:
        return glob_matches_from_files(self._load(), pattern, path)

    def _write(self, file_path: str, content: str) -> WriteResult:
        path = validate_path(file_path)
        self._commit(lambda _: {path: content})
        return WriteResult(path=path)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> EditResult:
        count = 0

        def plan(files: Mapping[str, FileData]) -> Changes:
            nonlocal count
            if path not in files:
                raise _missing(path)
            edited = perform_string_replacement(files[path]["content"], old, new, replace_all)
            if isinstance(edited, str):
                raise _RefusedChangeError(edited)
            count = edited[1]
            return {path: edited[0]}

        self._commit(plan)
        return EditResult(path=path, occurrences=count)

    def _delete(self, file_path: str) -> DeleteResult:
        path = file_path.rstrip("/")

        def plan(files: Mapping[str, FileData]) -> Changes:
            if not path:
                raise _RefusedChangeError(_ROOT_IS_KEPT)
            if not (doomed := files_under(files, path)):
                raise _missing(file_path)
            return dict.fromkeys(doomed)

        self._commit(plan)
        return DeleteResult(path=file_path)

    def _upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        # Texts only, in one commit.
        changes: dict[str, str] = {}
        errors: list[str | None] = []
        for path, raw in files:
            try:
                changes[validate_path(path)] = raw.decode()
            except (UnicodeDecodeError, PathError):
                errors.append(INVALID_PATH)
            else:
                errors.append(None)
        failure = None
        try:
            if changes:
                self._commit(lambda _: changes)
        except _FAILURES as problem:
            failure = _told(problem)
        return [
            FileUploadResponse(path, error or failure)
            for (path, _), error in zip(files, errors, strict=True)
        ]

    def _download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        try:
            files = self._load()
        except LangSmithError as problem:
            return [FileDownloadResponse(path, error=_told(problem)) for path in paths]
        return [
            FileDownloadResponse(path, content=files[path]["content"].encode())
            if path in files
            else FileDownloadResponse(path, error=FILE_NOT_FOUND)
            for path in paths
        ]


def _missing(path: str) -> _RefusedChangeError:
    return _RefusedChangeError(f"Error: '{path}' not found")


def _stays(path: str, changes: Changes) -> bool:
    return changes.get(path, "") is not None


_FAILURES: Final = (LangSmithError, _RefusedChangeError, PathError)
"""What a model can act on: the error of a result, and never raised."""


def _told(problem: Exception) -> str:
    return f"Hub unavailable: {problem}" if isinstance(problem, LangSmithError) else str(problem)
