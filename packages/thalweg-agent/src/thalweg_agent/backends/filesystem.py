"""Files of a folder on disk."""

import errno
import os
import time
from base64 import b64encode
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from thalweg.database.private_files import make_private_folder
from thalweg.errors import InvalidGlobPatternError, PathError
from thalweg_agent.backends.file_data import MAX_MEDIA_BYTES, MAX_VIDEO_INPUT_BYTES, read_file_type
from thalweg_agent.backends.local.disk import (
    FolderEntry,
    entries,
    opened,
    read_bytes,
    remove,
    target,
    turn,
    write_bytes,
)
from thalweg_agent.backends.local.places import (
    CAN_WALK,
    OUTSIDE,
    FolderPath,
    anywhere,
    beneath,
    resolved,
)
from thalweg_agent.backends.paths import ROOT_IS_KEPT, refuse_unwritable, validate_path
from thalweg_agent.backends.protocol import (
    DEFAULT_GREP_TIMEOUT,
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileOperationError,
    FileUploadResponse,
    GlobResult,
    GlobTruncationReason,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
    search_twin,
)
from thalweg_agent.backends.remote.script import on_disk, shown
from thalweg_agent.backends.results import PATH_NOT_FOUND
from thalweg_agent.backends.searches.folder import FolderSearch, error_text
from thalweg_agent.backends.searches.globs import compile_grep_include_glob
from thalweg_agent.backends.searches.matches import capped
from thalweg_agent.backends.text import (
    MAX_TEXT_BYTES,
    WHOLE_BYTES,
    check_empty_content,
    edit_text,
    read_window,
    slice_read_response,
)

_DEFAULT_GLOB_TIMEOUT: Final = 5
"""Seconds that a walk for `glob` may take; it then returns the matches found so far."""

_MIB = 1 << 20


class FilesystemBackend(BackendProtocol):
    """Files of a folder on disk.

    In virtual mode the folder is `/`, and no path leads out of it: not by `..`, not by a link, even
    if other processes change the disk concurrently. That confines the file tools, but not a shell
    on the same machine (`LocalShellBackend`).

    Without virtual mode a path is a path of this machine, relative to the folder if it is relative,
    and nothing is refused: for a developer's own machine alone.

    An edit reads, replaces and writes under a lock, so that of two edits in one process none is
    lost. A write replaces the old file atomically.

    Args:
        root_dir: The folder; the current one when `None`.
        virtual_mode: See above.
        max_file_size_mb: Mebibytes of a file above which `grep` skips it.
    """

    is_private: bool = False
    """Whether files and folders that are made are for the user of this process alone, and a file
    with a second name (a hard link) is not read; holds in virtual mode."""

    def __init__(
        self,
        root_dir: str | Path | None = None,
        virtual_mode: bool = True,  # noqa: FBT001, FBT002  # the peers' signature
        max_file_size_mb: int = 10,
    ) -> None:
        self.cwd = Path(root_dir).resolve() if root_dir else Path.cwd()
        self.virtual_mode = virtual_mode
        self.max_file_size_bytes = max_file_size_mb * _MIB

    def real_path(self, path: str) -> str:
        """Return the target of a path after links are resolved, for rules about paths.

        Returns:
            In virtual mode a virtual path, else one of this machine; always with `/`.

        Raises:
            PathError: In virtual mode, it leads out.
        """
        if not self.virtual_mode:
            real = Path(os.path.realpath(self.cwd / path))
            return "/" + "/".join(real.relative_to(real.anchor).parts)
        real = Path(os.path.realpath(self.cwd / self._as_on_disk(validate_path(path))[1:]))
        if not real.is_relative_to(self.cwd):
            raise PathError(path, OUTSIDE)
        return "/" + shown("/".join(real.relative_to(self.cwd).parts))

    _real_path = real_path  # the name by which the peers' permissions look for it

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`. Links are listed by their own names, with their targets."""
        problems: list[str] = []
        try:
            with self._at(path) as place:
                if not target(place).is_folder:
                    return LsResult(error=f"Path '{path}': not_a_directory")
                found = [self._listed(entry, problems) for entry in entries(place)]
        except (FileNotFoundError, NotADirectoryError):
            return LsResult(error=f"Path '{path}': {PATH_NOT_FOUND}")
        except (PathError, OSError) as problem:
            return LsResult(error=f"Cannot list '{path}': {error_text(problem)}")
        infos = sorted((info for info in found if info), key=lambda info: info["path"])
        return LsResult(error="\n".join(sorted(problems)) or None, entries=infos)

    def _listed(self, entry: FolderEntry, problems: list[str]) -> FileInfo | None:
        try:
            return _info(self._led(entry), self._shown(entry.place.shown))
        except (PathError, FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            problems.append(
                f"child error: cannot resolve '{entry.place.shown}': {error_text(problem)}"
            )
            return None

    def _led(self, entry: FolderEntry) -> FolderEntry:
        """Return an entry, or the target of a link."""
        if not entry.is_link:
            return entry
        with self._at(self._shown(entry.place.shown)) as place:
            return target(place)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
        kind = read_file_type(file_path)
        most = MAX_VIDEO_INPUT_BYTES if kind == "video" else MAX_MEDIA_BYTES
        try:
            with self._at(file_path) as place:
                if kind == "text":
                    with opened(place) as (file, size):
                        return _text_page(file, size, offset, limit)
                raw = read_bytes(place, most)
            data = FileData(content=b64encode(raw).decode(), encoding="base64")
            return ReadResult(file_data=data)
        except _NO_FILE:
            return ReadResult(error=f"File '{file_path}' not found")
        except (PathError, OSError, UnicodeDecodeError) as problem:
            if isinstance(problem, OSError) and problem.errno == errno.EFBIG:
                what = "Video file" if kind == "video" else "File"
                return ReadResult(error=f"{what} exceeds maximum input size of {most} bytes")
            return ReadResult(error=f"Error reading file '{file_path}': {error_text(problem)}")

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`. The file keeps the rights it had."""
        try:
            raw = content.encode()
            with self._at(file_path, make=True) as place, turn(place):
                write_bytes(place, raw)
        except (PathError, OSError, UnicodeEncodeError) as problem:
            return WriteResult(error=f"Error writing file '{file_path}': {error_text(problem)}")
        return WriteResult(path=file_path)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """Replace a text in a file and keep its line endings; see `BackendProtocol.edit`."""
        try:
            with self._at(file_path) as place, turn(place):
                content = read_bytes(place, MAX_TEXT_BYTES).decode()
                edited = edit_text(content, old_string, new_string, replace_all=replace_all)
                if isinstance(edited, str):
                    return EditResult(error=edited)
                write_bytes(place, edited[0].encode())
        except _NO_FILE:
            return EditResult(error=f"Error: File '{file_path}' not found")
        except (PathError, OSError, UnicodeError) as problem:
            return EditResult(error=f"Error editing file '{file_path}': {error_text(problem)}")
        return EditResult(path=file_path, occurrences=edited[1])

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file or a link itself, not its target; see `BackendProtocol.delete`."""
        try:
            with self._at(file_path, follow=False) as place:
                if self._holds_root(place):
                    return DeleteResult(error=f"Error deleting '{file_path}': {ROOT_IS_KEPT}")
                with turn(place):
                    remove(place)
        except (FileNotFoundError, NotADirectoryError):
            return DeleteResult(error=f"Error: '{file_path}' not found")
        except (PathError, OSError) as problem:
            return DeleteResult(error=f"Error deleting '{file_path}': {error_text(problem)}")
        return DeleteResult(path=file_path)

    def _holds_root(self, place: FolderPath) -> bool:
        if self.virtual_mode:
            return place.shown == "/"
        return self.cwd.is_relative_to(os.path.normpath(place.name))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        context_lines: int = 0,
    ) -> GrepResult:
        """See `BackendProtocol.grep`. Hidden and ignored files are searched like all others.

        Binary files are skipped, and so are links: their targets are found at their own paths.
        Files above `max_file_size_mb` are in `skipped`.

        Args:
            pattern: The text.
            path: Folder or file.
            glob: Which files.
            max_count: Matches at most.
            context_lines: Lines before and after each match.

        Raises:
            ValueError: `context_lines` is negative.
        """
        if context_lines < 0:
            problem = f"context_lines must be non-negative, not {context_lines}"
            raise ValueError(problem)
        where = path or "."
        search = self._search(DEFAULT_GREP_TIMEOUT)
        try:
            included = compile_grep_include_glob(glob) if glob else None
            with self._at(where) as place:
                found = search.lines(target(place), pattern, included, context_lines)
                result = capped(found, max_count)
        except InvalidGlobPatternError as refused:
            return GrepResult(error=str(refused), matches=[])
        except (FileNotFoundError, NotADirectoryError):
            return GrepResult(matches=[])
        except (PathError, OSError) as problem:
            return GrepResult(
                error=f"Error searching path '{where}': {error_text(problem)}", matches=[]
            )
        is_cut = result.truncated or search.is_late
        return GrepResult(search.error, result.matches, is_cut, search.skipped)

    agrep = search_twin(grep)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`. Links to files are found, links to folders not entered."""
        where = "." if path in {None, "/"} else str(path)
        search = self._search(_DEFAULT_GLOB_TIMEOUT)
        try:
            matches = compile_grep_include_glob(pattern)
            with self._at(where) as place:
                found = search.files(target(place), matches)
                infos = [_info(entry, self._shown(path)) for entry, path in found]
        except InvalidGlobPatternError as refused:
            return GlobResult(error=str(refused))
        except (FileNotFoundError, NotADirectoryError):
            return GlobResult(matches=[])
        except (PathError, OSError) as problem:
            where = path if path is not None else "<default>"
            return GlobResult(
                error=f"Error globbing path '{where}': {error_text(problem)}", matches=[]
            )
        files = sorted((info for info in infos if info), key=lambda info: info["path"])
        reason: GlobTruncationReason | None = "unreadable" if search.problems else None
        reason = "budget" if search.is_late else reason
        return GlobResult(matches=files, truncated=bool(reason), truncation_reason=reason)

    def _search(self, seconds: float) -> FolderSearch:
        return FolderSearch(
            find=self._exactly,
            led=self._led,
            most_bytes=self.max_file_size_bytes,
            disk=str(self.cwd) if self.virtual_mode else "",
            shown=self._shown,
            deadline=time.monotonic() + seconds,
        )

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        return [FileUploadResponse(path, self._uploaded(path, raw)) for path, raw in files]

    def _uploaded(self, path: str, raw: bytes) -> str | None:
        try:
            with self._at(path, make=True) as place, turn(place):
                write_bytes(place, raw)
        except (PathError, OSError) as problem:
            return file_operation_error(problem) or error_text(problem)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        return [self._downloaded(path) for path in paths]

    def _downloaded(self, path: str) -> FileDownloadResponse:
        try:
            with self._at(path) as place:
                return FileDownloadResponse(path, read_bytes(place))
        except (PathError, OSError) as problem:
            error = file_operation_error(problem) or error_text(problem)
            return FileDownloadResponse(path, error=error)

    def _at(
        self, path: str, *, make: bool = False, follow: bool = True
    ) -> AbstractContextManager[FolderPath]:
        """Open the place of a path as it was asked for."""
        if make:
            self._make_root()
        if not self.virtual_mode:
            refuse_unwritable(path)
            return anywhere(str(self.cwd), path, make=make, follow=follow)
        return self._beneath(self._as_on_disk(validate_path(path)), make=make, follow=follow)

    def _as_on_disk(self, path: str) -> str:
        """Return a path whose names are as the disk has them."""
        if path.isascii():
            return path
        found = Path(on_disk(str(self.cwd), path))
        return f"/{found.relative_to(self.cwd).as_posix()}"

    def _shown(self, path: str) -> str:
        """Return a path as results have it: one that the file tools find."""
        return shown(path) if self.virtual_mode else path

    def _make_root(self) -> None:
        if self.is_private:
            make_private_folder(self.cwd)
        else:
            self.cwd.mkdir(parents=True, exist_ok=True)

    def _exactly(self, shown: str) -> AbstractContextManager[FolderPath]:
        """Open the place of a path from a walk; it may be longer than a model's paths."""
        if self.virtual_mode:
            return self._beneath(shown, make=False, follow=False)
        return anywhere(str(self.cwd), shown, follow=False)

    def _beneath(
        self, path: str, *, make: bool, follow: bool
    ) -> AbstractContextManager[FolderPath]:
        find = beneath if CAN_WALK else resolved
        return find(str(self.cwd), path, make=make, follow=follow, is_private=self.is_private)


_NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def _text_page(file: BinaryIO, size: int, offset: int, limit: int) -> ReadResult:
    if size > WHOLE_BYTES:
        return read_window(file, offset, limit)
    content = file.read().decode()
    if warning := check_empty_content(content):
        return ReadResult(file_data=FileData(content=warning, encoding="utf-8"))
    return slice_read_response(FileData(content=content, encoding="utf-8"), offset, limit)


def _info(entry: FolderEntry, shown: str) -> FileInfo | None:
    if not (entry.is_folder or entry.is_file):
        return None
    changed = datetime.fromtimestamp(entry.status.st_mtime, UTC).isoformat()
    size = 0 if entry.is_folder else entry.status.st_size
    path = f"{shown}/" if entry.is_folder else shown
    return FileInfo(path=path, is_dir=entry.is_folder, size=size, modified_at=changed)


def file_operation_error(problem: Exception) -> FileOperationError | None:
    """Name what went wrong with a file in the words that every backend has, if they have one.

    Example:
        >>> file_operation_error(FileNotFoundError())
        'file_not_found'
    """
    if _names_no_file(problem):
        return INVALID_PATH
    return next((error for kinds, error in _ERRORS if isinstance(problem, kinds)), None)


_map_exception_to_standard_error = file_operation_error  # the name that the peers' tests know

_ERRORS: tuple[tuple[tuple[type[Exception], ...], FileOperationError], ...] = (
    ((FileNotFoundError,), FILE_NOT_FOUND),
    ((PermissionError,), PERMISSION_DENIED),
    ((IsADirectoryError,), IS_DIRECTORY),
    ((NotADirectoryError, FileExistsError, ValueError), INVALID_PATH),
)


def _names_no_file(problem: BaseException | None) -> bool:
    if isinstance(problem, RuntimeError):  # what Path.resolve makes of a circle before 3.13
        return _names_no_file(problem.__cause__) or _names_no_file(problem.__context__)
    return isinstance(problem, OSError) and problem.errno in {errno.ELOOP, errno.ENAMETOOLONG}
