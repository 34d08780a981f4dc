"""The protocol of a backend: files by path, with the names and result types of Deep Agents.

Two rules: errors are part of the result, never raised; a path in a result is always absolute, so
that a rule about paths sees it.
"""

import abc
import asyncio
import inspect
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal, NotRequired

from typing_extensions import TypedDict

DEFAULT_GREP_TIMEOUT: Final = 15
"""Seconds that one search of a blocking `grep` may take."""

ASYNC_GREP_TIMEOUT: Final = 2 * DEFAULT_GREP_TIMEOUT + 5
"""Seconds an awaited `grep` may take: two searches, of which the second is the fallback."""

ASYNC_GLOB_TIMEOUT: Final = 30
"""Seconds for a `glob` on another machine."""

FileOperationError = Literal["file_not_found", "permission_denied", "is_directory", "invalid_path"]
"""Common errors of one file in a batch, in words that a model can act on."""

FILE_NOT_FOUND: Final = "file_not_found"
PERMISSION_DENIED: Final = "permission_denied"
IS_DIRECTORY: Final = "is_directory"
INVALID_PATH: Final = "invalid_path"

GlobTruncationReason = Literal["budget", "unreadable", "transport"]
"""Why a glob is incomplete: out of time or matches (a narrower pattern shows the rest), a
folder that cannot be read (nothing shows it), or output clipped on its way here."""


class FileInfo(TypedDict):
    """One entry of a listing; only `path` is always there."""

    path: str
    """Absolute; a folder's ends in `/`."""
    is_dir: NotRequired[bool]
    size: NotRequired[int]
    """Bytes."""
    modified_at: NotRequired[str]
    """ISO 8601."""


class ContextLine(TypedDict):
    """A line of context around a match, itself no match."""

    line: int
    """From 1."""
    text: str


class GrepMatch(TypedDict):
    """One line that holds the words searched for."""

    path: str
    line: int
    """From 1."""
    text: str
    context_before: NotRequired[list[ContextLine]]
    """Set on every match, with `context_after`, when context was asked for; else on none."""
    context_after: NotRequired[list[ContextLine]]


class FileData(TypedDict):
    """A file as state and stores keep it."""

    content: str
    """Text, or bytes as base64."""
    encoding: str
    """`utf-8` or `base64`."""
    created_at: NotRequired[str]
    """ISO 8601."""
    modified_at: NotRequired[str]
    """ISO 8601."""


@dataclass
class FileDownloadResponse:
    """One file of a download."""

    path: str
    """As it was asked for."""
    content: bytes | None = None
    """`None` when it failed."""
    error: FileOperationError | str | None = None


@dataclass
class FileUploadResponse:
    """One file of an upload."""

    path: str
    """The path as passed by the caller."""
    error: FileOperationError | str | None = None


@dataclass
class ReadResult:
    """Lines of a file, not yet numbered, and their position in it.

    Raises:
        ValueError: The fields contradict each other, so that reading on at `next_offset` would skip
            lines that were never shown.
    """

    error: str | None = None
    file_data: FileData | None = None
    """`None` when it failed."""
    total_lines: int | None = None
    start_line: int | None = None
    """First line in `file_data`, from 1."""
    end_line: int | None = None
    """Last line in `file_data`, included."""
    next_offset: int | None = None
    """Offset, from 0, of the first line not read; `None` at the end."""
    no_lines_requested: bool = False
    """No line was requested, so the file's content is unknown: not the same as an empty one."""

    def __post_init__(self) -> None:
        if problem := self._contradiction():
            raise ValueError(problem)

    def _contradiction(self) -> str | None:
        start, end = self.start_line, self.end_line
        if (start is None) != (end is None):
            return "ReadResult.start_line and end_line must be set together or both left unset"
        if start is None or end is None:
            return self._claims_without_a_window()
        if self.no_lines_requested:
            return _UNINSPECTED
        return self._disagreement(start, end)

    def _disagreement(self, start: int, end: int) -> str | None:
        if not 1 <= start <= end:
            return (
                "ReadResult window must satisfy 1 <= start_line <= end_line, "
                f"got start_line={start}, end_line={end}"
            )
        if self.total_lines is not None and self.total_lines < end:
            return (
                f"ReadResult.total_lines ({self.total_lines}) cannot be less than end_line ({end})"
            )
        if self.next_offset is not None and self.next_offset != end:
            return (
                f"ReadResult.next_offset ({self.next_offset}) must equal end_line ({end}), "
                "the 0-indexed line after the last shown"
            )
        return None

    def _claims_without_a_window(self) -> str | None:
        claims = {"next_offset": self.next_offset, "total_lines": self.total_lines}
        claimed = [name for name, value in claims.items() if value is not None]
        if self.no_lines_requested and (claimed or self.error is not None):
            return _UNINSPECTED
        if claimed:
            return f"ReadResult.{claimed[0]} requires start_line and end_line to be set"
        return None


_UNINSPECTED = (
    "ReadResult.no_lines_requested describes an uninspected window; "
    "it cannot be combined with error or pagination fields"
)


@dataclass
class WriteResult:
    """What a write did."""

    error: str | None = None
    path: str | None = None
    """What was written; `None` when it failed."""


@dataclass
class EditResult:
    """What an edit did."""

    error: str | None = None
    path: str | None = None
    """What was edited; `None` when it failed."""
    occurrences: int | None = None
    """How many places were replaced; `None` when it failed."""


@dataclass
class DeleteResult:
    """What a delete did."""

    error: str | None = None
    path: str | None = None
    """What was deleted; `None` when it failed."""


@dataclass
class LsResult:
    """The entries of a folder."""

    error: str | None = None
    entries: list[FileInfo] | None = None
    """`None` after a failure; next to an error, the entries that could be listed."""


@dataclass
class GrepResult:
    """The lines that hold what was searched for."""

    error: str | None = None
    matches: list[GrepMatch] | None = None
    """`None` after a failure; next to an error, the matches found so far."""
    truncated: bool = False
    """There may be more: the search stopped at its time or at the number asked for."""


@dataclass
class GlobResult:
    """The files whose paths match."""

    error: str | None = None
    matches: list[FileInfo] | None = None
    """`None` after a failure; next to an error, the matches found so far."""
    truncated: bool = False
    truncation_reason: GlobTruncationReason | None = None
    """`None` also if the reason is unknown."""


class BackendProtocol(abc.ABC):  # noqa: B024  # every method is optional
    """Files by path.

    A backend overrides the blocking methods; the awaited twins run them in a thread, and are
    overridden where the medium is itself asynchronous. What a backend does not implement
    raises `NotImplementedError`.
    """

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it.

        Args:
            path: Absolute, with or without a `/` at the end.
        """
        raise NotImplementedError

    async def als(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `ls`."""
        return await asyncio.to_thread(self.ls, path)

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

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `read`."""
        return await asyncio.to_thread(self.read, file_path, offset=offset, limit=limit)

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

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`; waits `ASYNC_GREP_TIMEOUT` seconds at most.

        `max_count` holds for a backend whose `grep` does not know it, too.
        """
        search = partial(self.grep, pattern, path=path, glob=glob)
        if accepts_max_count(type(self), "grep"):
            search = partial(search, max_count=max_count)
        return cap_matches(await in_time(search), max_count)

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

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths; see `glob`."""
        return await asyncio.to_thread(self.glob, pattern, path=path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        Args:
            file_path: Absolute.
            content: The whole text.
        """
        raise NotImplementedError

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders; see `write`."""
        return await asyncio.to_thread(self.write, file_path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """Replace an exact text in a file that exists.

        Args:
            file_path: Absolute.
            old_string: What is there, to the character.
            new_string: What shall be there.
            replace_all: Everywhere; else `old_string` must be there once.
        """
        raise NotImplementedError

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """Replace an exact text in a file that exists; see `edit`."""
        edit = partial(self.edit, file_path, old_string, new_string, replace_all=replace_all)
        return await asyncio.to_thread(edit)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it. Optional: see `supports_delete`.

        Args:
            file_path: Absolute.
        """
        raise NotImplementedError

    async def adelete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it. Optional: see `supports_delete`.

        See `delete`.
        """
        return await asyncio.to_thread(self.delete, file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        Args:
            files: Absolute paths and their contents.
        """
        raise NotImplementedError

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `upload_files`.
        """
        return await asyncio.to_thread(self.upload_files, files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        Args:
            paths: Absolute.
        """
        raise NotImplementedError

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `download_files`.
        """
        return await asyncio.to_thread(self.download_files, paths)


@dataclass
class ExecuteResponse:
    """What a command printed and how it ended."""

    output: str
    """Both streams, as they came."""
    exit_code: int | None = None
    """`None` if unknown."""
    truncated: bool = False
    """Some of the output is lost."""


class ExecuteArtifact(TypedDict):
    """How a command ended, for programs: the artifact of the message that shows its output.

    A command that ran and failed is a message of status `success`; look at `exit_code`.
    """

    exit_code: NotRequired[int]
    """Missing if unknown."""
    truncated: NotRequired[bool]
    """Some of the output is lost, and not only moved to a file."""
    output_file: NotRequired[str]
    """Path in the backend at which the output was kept."""


@dataclass(frozen=True, slots=True)
class ExecuteOffloadResult:
    """The result of a command whose output may be stored where it ran."""

    offloaded: bool
    """The output is in a file over there, and `response` has a preview of it."""
    response: ExecuteResponse
    preview_has_truncation_marker: bool = False
    """The preview contains a line with the number of missing lines. A separate field, because a
    command may print such a line itself."""


class SandboxBackendProtocol(BackendProtocol):
    """A backend that also runs commands where its files are."""

    @property
    def id(self) -> str:
        """Name of this sandbox, unlike any other."""
        raise NotImplementedError

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command of a shell to its end.

        Args:
            command: A line for the shell.
            timeout: Seconds at most; the backend's own limit when `None`, and none at all
                where a backend takes 0 to mean that.
        """
        raise NotImplementedError

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # handed on to the blocking method
    ) -> ExecuteResponse:
        """Run a command of a shell to its end; see `execute`."""
        return await asyncio.to_thread(partial(self.execute, command, **timeout_of(self, timeout)))


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


def timeout_of(sandbox: SandboxBackendProtocol, seconds: int | None) -> dict[str, int]:
    """Make the `timeout` of a call of `execute`: none where none is wanted, or none is taken."""
    takes = seconds is not None and execute_accepts_timeout(type(sandbox))
    return {"timeout": seconds} if takes and seconds is not None else {}


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


def cap_matches(result: GrepResult, max_count: int | None) -> GrepResult:
    """Cut a search's result to `max_count` matches, and mark it as truncated if there were more."""
    if max_count is None or result.matches is None or len(result.matches) <= max_count:
        return result
    return GrepResult(error=result.error, matches=result.matches[:max_count], truncated=True)


async def in_time(search: partial[GrepResult]) -> GrepResult:
    """Run a blocking search in a thread, and stop waiting for it after `ASYNC_GREP_TIMEOUT`."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(search), timeout=ASYNC_GREP_TIMEOUT)
    except TimeoutError:
        return GrepResult(
            error=f"Error: grep timed out after {ASYNC_GREP_TIMEOUT}s. "
            "Try a more specific pattern or a narrower path."
        )
