"""The protocol of a backend: files by path, with the names and result types of Deep Agents.

Two rules: errors are part of the result, never raised; a path in a result is always absolute, so
that a rule about paths sees it.
"""

import abc
import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import lru_cache, partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from thalweg_agent.backends.results import (
    ASYNC_GLOB_TIMEOUT,
    ASYNC_GREP_TIMEOUT,
    DEFAULT_GREP_TIMEOUT,
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
    ContextLine,
    DeleteResult,
    EditResult,
    ExecuteArtifact,
    ExecuteOffloadResult,
    ExecuteResponse,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileOperationError,
    FileUploadResponse,
    GlobResult,
    GlobTruncationReason,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
    cap_matches,
)

__all__ = [
    "ASYNC_GLOB_TIMEOUT",
    "ASYNC_GREP_TIMEOUT",
    "DEFAULT_GREP_TIMEOUT",
    "FILE_NOT_FOUND",
    "INVALID_PATH",
    "IS_DIRECTORY",
    "PERMISSION_DENIED",
    "BackendProtocol",
    "ContextLine",
    "DeleteResult",
    "EditResult",
    "ExecuteArtifact",
    "ExecuteOffloadResult",
    "ExecuteResponse",
    "FileData",
    "FileDownloadResponse",
    "FileInfo",
    "FileOperationError",
    "FileUploadResponse",
    "GlobResult",
    "GlobTruncationReason",
    "GrepMatch",
    "GrepResult",
    "LsResult",
    "ReadResult",
    "SandboxBackendProtocol",
    "WriteResult",
    "accepts_max_count",
    "cap_matches",
    "execute_accepts_timeout",
    "in_time",
    "supports_delete",
]


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _twin(
    method: Callable[Concatenate[Any, _P], _R],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _R]]:
    """Make the awaited twin of a method: the backend's own method, in a thread."""

    @wraps(method)
    async def twin(self: object, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        own: Callable[_P, _R] = getattr(self, method.__name__)
        return await asyncio.to_thread(own, *args, **kwargs)

    twin.__name__ = f"a{method.__name__}"
    return twin


def search_twin(
    method: Callable[Concatenate[Any, _P], GrepResult],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, GrepResult]]:
    """Make the awaited twin of a `grep`, which waits `ASYNC_GREP_TIMEOUT` seconds at most.

    `max_count` holds for a backend whose own `grep` does not know it, too.
    """

    @wraps(method)
    async def twin(self: "BackendProtocol", /, *args: _P.args, **kwargs: _P.kwargs) -> GrepResult:
        options: dict[str, Any] = dict(kwargs)
        most = options.get("max_count")
        if not accepts_max_count(type(self), "grep"):
            options.pop("max_count", None)
        own: Callable[..., GrepResult] = self.grep
        return cap_matches(await in_time(partial(own, *args, **options)), most)

    twin.__name__ = "agrep"
    return twin


class BackendProtocol(abc.ABC):  # noqa: B024  # every method is optional
    """Files by path.

    A backend overrides the blocking methods; the awaited twins run them in a thread, and are
    overridden if the medium is itself asynchronous. A method that a backend does not implement
    raises `NotImplementedError`.
    """

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it.

        Args:
            path: Absolute, with or without a `/` at the end.
        """
        raise NotImplementedError

    als = _twin(ls)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers.

        A negative `offset` reads from the first line; a `limit` below 1 reads nothing and sets
        `no_lines_requested`. Text always has a `start_line`. Binary files, by their extension, are
        returned whole as base64.

        Args:
            file_path: Absolute.
            offset: Lines to skip.
            limit: Lines to read at most.
        """
        raise NotImplementedError

    aread = _twin(read)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that contain a text.

        Args:
            pattern: The text itself; nothing in it has a special meaning.
            path: Folder or file to search; everything when `None`.
            glob: Which files to search, with the meaning that `glob` has, relative to `path`.
            max_count: Matches at most, over all files; `truncated` when there are more, and
                only then.
        """
        raise NotImplementedError

    agrep = search_twin(grep)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths.

        | pattern | meaning |
        |---|---|
        | no `/` in it (`*.py`) | the name of a file at any depth under `path` |
        | a `/` in it (`src/**/*.py`) | the path relative to `path` |
        | a `/` at its beginning (`/*.py`) | the same: it narrows and never widens |
        | `*`, `?`, `[abc]`, `[!abc]` | within one name |
        | `**` | any number of folders |
        | `{a,b}` | either, also nested |

        A name that begins with a dot matches only a segment that does, and `**` passes no such
        folder; so `*.yml` finds `.github/ci.yml` and `**/*.yml` does not. A pattern with `..`,
        or whose braces explode, is an error.

        Args:
            pattern: See above.
            path: Folder to search; the whole backend when `None`.
        """
        raise NotImplementedError

    aglob = _twin(glob)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        Args:
            file_path: Absolute.
            content: The whole text.
        """
        raise NotImplementedError

    awrite = _twin(write)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """Replace an exact text in an existing file.

        Args:
            file_path: Absolute.
            old_string: The present text, character for character.
            new_string: The new text.
            replace_all: Replace every occurrence; otherwise `old_string` must occur once.
        """
        raise NotImplementedError

    aedit = _twin(edit)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it. Optional: see `supports_delete`.

        Args:
            file_path: Absolute.
        """
        raise NotImplementedError

    adelete = _twin(delete)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        Args:
            files: Absolute paths and their contents.
        """
        raise NotImplementedError

    aupload_files = _twin(upload_files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        Args:
            paths: Absolute.
        """
        raise NotImplementedError

    adownload_files = _twin(download_files)


class SandboxBackendProtocol(BackendProtocol):
    """A backend that also runs commands where its files are."""

    @property
    def id(self) -> str:
        """Name of this sandbox, unlike any other."""
        raise NotImplementedError

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command to its end.

        Args:
            command: A line for the shell.
            timeout: Maximum seconds; `None` is the backend's own limit, and 0 is no limit if
                the backend accepts that.
        """
        raise NotImplementedError

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # handed on to the blocking method
    ) -> ExecuteResponse:
        """Run a command of a shell to its end; see `execute`."""
        takes = timeout is not None and execute_accepts_timeout(type(self))
        named = {"timeout": timeout} if takes else {}
        return await asyncio.to_thread(partial(self.execute, command, **named))


def supports_delete(backend: BackendProtocol) -> bool:
    """Whether a backend implements `delete`, which is optional."""
    return type(backend).delete is not BackendProtocol.delete


@lru_cache(maxsize=128)
def execute_accepts_timeout(cls: type[SandboxBackendProtocol]) -> bool:
    """Whether `execute` of a class takes `timeout`; those written long ago do not."""
    try:
        return "timeout" in inspect.signature(cls.execute).parameters
    except (ValueError, TypeError):
        return False


@lru_cache(maxsize=256)
def accepts_max_count(
    cls: type[BackendProtocol], method_name: Literal["grep", "agrep"] = "grep"
) -> bool:
    """Whether `grep` or `agrep` of a class takes `max_count`; those written long ago do not."""
    try:
        parameters = inspect.signature(getattr(cls, method_name)).parameters
    except (AttributeError, ValueError, TypeError):
        return False
    return "max_count" in parameters or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )


async def in_time(search: partial[GrepResult]) -> GrepResult:
    """Run a blocking search in a thread, and stop waiting for it after `ASYNC_GREP_TIMEOUT`."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(search), timeout=ASYNC_GREP_TIMEOUT)
    except TimeoutError:
        return GrepResult(
            error=f"Error: grep timed out after {ASYNC_GREP_TIMEOUT}s. "
            "Try a more specific pattern or a narrower path."
        )
