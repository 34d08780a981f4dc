"""Results of a backend's methods, and the errors and limits that they name."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType
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
"""The path does not exist."""
PATH_NOT_FOUND: Final = "path_not_found"
"""Ends the error of an `ls` of a folder that does not exist."""
DENIED: Final = MappingProxyType({"denied": True})
"""Artifact of the result of a file tool's call that a rule about paths denied."""
PERMISSION_DENIED: Final = "permission_denied"
"""The file may not be read or written."""
IS_DIRECTORY: Final = "is_directory"
"""The path is a folder."""
INVALID_PATH: Final = "invalid_path"
"""The path is malformed or outside the root."""
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
    """The result of a write."""

    error: str | None = None
    path: str | None = None
    """Path of the written file; `None` when it failed."""


@dataclass
class EditResult:
    """The result of an edit."""

    error: str | None = None
    path: str | None = None
    """Path of the edited file; `None` when it failed."""
    occurrences: int | None = None
    """How many places were replaced; `None` when it failed."""


@dataclass
class DeleteResult:
    """The result of a delete."""

    error: str | None = None
    path: str | None = None
    """The deleted path; `None` when it failed."""


@dataclass
class LsResult:
    """The entries of a folder."""

    error: str | None = None
    entries: list[FileInfo] | None = None
    """`None` after a failure; next to an error, the entries that could be listed."""


@dataclass
class GrepResult:
    """The lines that contain the search text."""

    error: str | None = None
    matches: list[GrepMatch] | None = None
    """`None` after a failure; next to an error, the matches found so far."""
    truncated: bool = False
    """There may be more: the search stopped at its time or at the number asked for."""
    skipped: list[FileInfo] = field(default_factory=list[FileInfo])
    """Files that were too large to be searched."""


@dataclass
class GlobResult:
    """The files whose paths match."""

    error: str | None = None
    matches: list[FileInfo] | None = None
    """`None` after a failure; next to an error, the matches found so far."""
    truncated: bool = False
    truncation_reason: GlobTruncationReason | None = None
    """`None` also if the reason is unknown."""


@dataclass
class ExecuteResponse:
    """The output of a command and how it ended."""

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
    """The result of a command whose output may be stored on the machine that ran it."""

    offloaded: bool
    """The output is in a file over there, and `response` has a preview of it."""
    response: ExecuteResponse
    preview_has_truncation_marker: bool = False
    """The preview contains a line with the number of missing lines. A separate field, because a
    command may print such a line itself."""


def cap_matches(result: GrepResult, max_count: int | None) -> GrepResult:
    """Cut a search's result to `max_count` matches, and mark it as truncated if there were more."""
    if max_count is None or result.matches is None or len(result.matches) <= max_count:
        return result
    return replace(result, matches=result.matches[:max_count], truncated=True)
