"""Files of threads in a PostgreSQL database, for any number of processes on any machines.

Content is kept in rows of `CHUNK_BYTES`, so that a part of a film costs no more than that part,
and folders are listed without a byte of content.
"""

import hashlib
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from thalweg.database.postgres import PostgresDatabase, PostgresRows
from thalweg.errors import InvalidGlobPatternError, PathError, StorageError
from thalweg_agent.backends.calls.operations import Answer, BackendOperation, BlockingBackend
from thalweg_agent.backends.file_data import read_file_type
from thalweg_agent.backends.paths import ROOT_IS_KEPT, key_of, validate_path
from thalweg_agent.backends.protocol import (
    DEFAULT_GREP_TIMEOUT,
    FILE_NOT_FOUND,
    INVALID_PATH,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg_agent.backends.searches.matches import capped, chosen, folder_info, matching_lines
from thalweg_agent.backends.text import check_empty_content, edit_text, slice_read_response
from thalweg_server.uploads.base import FileMetadata, ThreadBackend
from thalweg_server.uploads.names import tag

CHUNK_BYTES: Final = 256 * 1_024
"""Bytes of a row of content: a range reads at most two of them more."""
_MOST_SEARCHED: Final = 10 << 20
"""Bytes of a file above which `grep` passes it over, as on a disk."""
_CHANGE: Final = (
    " ON CONFLICT (owner, thread, hash) DO UPDATE SET size = excluded.size, note = NULL,"
    " version = thread_file.version + 1, modified_at = clock_timestamp()"
)


class PostgresPlaces:
    """The tables `thread_file…` of a PostgreSQL database. See `Places`.

    Raises:
        StorageError: The server cannot be reached.
        ConfigError: The address cannot be read.
    """

    def __init__(self, url: str) -> None:
        self._database = PostgresDatabase(url, PostgresRows, _closed, as_owner=_of)

    def backend(self, owner: str, thread: str) -> "PostgresFiles":
        """Return the files of one thread; a cheap call that creates nothing.

        See `Places.backend`.
        """
        return PostgresFiles(self._database, tag(owner), tag(thread))

    def forget(self, owner: str, thread: str | None = None) -> None:
        """Delete all files of a thread, or of all, with their metadata; see `Places.forget`."""
        with self._database.writing(tag(owner)) as rows:
            gone, key = "DELETE FROM thread_file WHERE owner = ?", (tag(owner),)
            if thread is None:
                rows.run(gone, key)
            else:
                rows.run(f"{gone} AND thread = ?", (*key, tag(thread)))

    def close(self) -> None:
        """Release all connections; see `Places.close`."""
        self._database.close()


def _of(owner: str) -> str:
    """Write the statement that makes a transaction an owner's: it sees no files of others."""
    return f" SET LOCAL thalweg.files = '{owner}'"  # a tag: small letters, digits and -


def _closed(place: str) -> StorageError:
    return StorageError(place, "the files are closed", "open them again")


@dataclass(frozen=True, slots=True)
class _FileRow:
    """A file, without its content."""

    id: int
    path: str
    size: int
    version: int
    modified: datetime

    @property
    def kept(self) -> FileMetadata:
        return FileMetadata(self.path, self.size, self.modified, f"{self.id:x}-{self.version:x}")

    @property
    def info(self) -> FileInfo:
        modified = self.modified.isoformat()
        return FileInfo(path=self.path, is_dir=False, size=self.size, modified_at=modified)


class _Files:
    """A transaction on the files of one thread. Every statement of theirs is here."""

    def __init__(self, rows: PostgresRows, owner: str, thread: str) -> None:
        self._rows = rows
        self._whose = (owner, thread)

    def find(self, path: str, *, change: bool = False) -> _FileRow | None:
        lock = " FOR UPDATE" if change else ""
        statement = f"{_SELECT} AND hash = ?{lock}"
        row = self._rows.row(statement, (*self._whose, _hash(path)))
        return None if row is None else _FileRow(*row)

    def all(self, folder: str = "/", most: int | None = None) -> list[_FileRow]:
        """List files under a folder, which ends in `/`, by their paths."""
        statement = f"{_SELECT} AND starts_with(path, ?) ORDER BY path LIMIT ?"
        return [_FileRow(*row) for row in self._rows.rows(statement, (*self._whose, folder, most))]

    def content(self, file: _FileRow, start: int = 0, stop: int | None = None) -> bytes:
        start, stop = max(0, start), file.size if stop is None else min(stop, file.size)
        if stop <= start:
            return b""
        first = start // CHUNK_BYTES
        statement = (
            "SELECT data FROM thread_file_chunk WHERE file = ? AND number BETWEEN ? AND ?"
            " ORDER BY number"
        )
        bounds = (file.id, first, (stop - 1) // CHUNK_BYTES)
        whole = b"".join(data for (data,) in self._rows.rows(statement, bounds))
        return whole[start - first * CHUNK_BYTES : stop - first * CHUNK_BYTES]

    def put(self, path: str, content: bytes, *, over: bool = True) -> bool:
        """Write a file; false where one is there and it is not to be written over."""
        conflict = _CHANGE if over else " ON CONFLICT DO NOTHING"
        added = (
            "INSERT INTO thread_file (owner, thread, hash, path, size)"  # noqa: S608 (ours)
            f" VALUES (?, ?, ?, ?, ?){conflict} RETURNING id"
        )
        values = (*self._whose, _hash(path), path, len(content))
        row = self._rows.row(added, values)
        if row is None:
            return False
        self._rows.run("DELETE FROM thread_file_chunk WHERE file = ?", (row[0],))
        chunks = range(0, len(content), CHUNK_BYTES)
        # One at a time, so that a large file is never in memory twice.
        for number, start in enumerate(chunks):
            data = content[start : start + CHUNK_BYTES]
            add = "INSERT INTO thread_file_chunk VALUES (?, ?, ?)"
            self._rows.run(add, (row[0], number, data))
        return True


_DROP: Final = (
    "DELETE FROM thread_file WHERE owner = ? AND thread = ?"
    " AND (hash = ? OR starts_with(path, ?)) RETURNING 1"
)
_SELECT: Final = (
    "SELECT id, path, size, version, modified_at FROM thread_file WHERE owner = ? AND thread = ?"
)


def _hash(path: str) -> bytes:
    return hashlib.sha256(path.encode()).digest()


class PostgresFiles(BlockingBackend, ThreadBackend):
    """Files of one thread in a database. See `ThreadBackend`.

    An edit locks its file, so that of two edits in any two processes none is lost.
    """

    def __init__(self, database: PostgresDatabase[PostgresRows], owner: str, thread: str) -> None:
        self._database = database
        self._whose = (owner, thread)

    @contextmanager
    def _files(self, *, writes: bool = False) -> Iterator[_Files]:
        begin = self._database.writing if writes else self._database.reading
        with begin(self._whose[0]) as rows:
            yield _Files(rows, *self._whose)

    def stat(self, path: str) -> FileMetadata | None:
        """Return the metadata of a file; `None` if it is missing or not readable.

        See `ThreadBackend.stat`.
        """
        key = validate_path(path)
        with self._files() as files:
            row = files.find(key)
            return None if row is None else row.kept

    def read_range(self, path: str, start: int, stop: int) -> bytes | None:
        """Return a range of bytes of a file; see `ThreadBackend.read_range`."""
        key = validate_path(path)
        with self._files() as files:
            row = files.find(key)
            return None if row is None else files.content(row, start, stop)

    def files(self, most: int) -> list[FileMetadata]:
        """Return files in all folders, by their paths; see `ThreadBackend.files`."""
        with self._files() as files:
            return [row.kept for row in files.all(most=most)]

    def create(self, path: str, content: bytes) -> bool:
        """Write a new file; return False and change nothing if it exists.

        See `ThreadBackend.create`.
        """
        key = key_of(path)
        with self._files(writes=True) as files:
            return files.put(key, content, over=False)

    def annotate(self, path: str, note: str) -> None:
        """Store a note about the current version of a file; agents do not see it.

        See `ThreadBackend.annotate`.
        """
        annotated = "UPDATE thread_file SET note = ? WHERE owner = ? AND thread = ? AND hash = ?"
        values = (note, *self._whose, _hash(key_of(path)))
        with self._database.writing(self._whose[0]) as rows:
            rows.run(annotated, values)

    def notes(self, folder: str) -> dict[str, str]:
        """Read the notes about files directly in a folder that have not changed since, by path.

        See `ThreadBackend.notes`.
        """
        statement = (
            "SELECT path, note FROM thread_file WHERE owner = ? AND thread = ?"
            " AND starts_with(path, ?) AND note IS NOT NULL ORDER BY path"
        )
        with self._database.reading(self._whose[0]) as rows:
            found = rows.rows(statement, (*self._whose, f"{folder}/"))
            return {path: note for path, note in found if path.rpartition("/")[0] == folder}

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation; an agent reads why it failed."""
        try:
            return super()._perform(operation)
        except (PathError, InvalidGlobPatternError, StorageError, UnicodeError) as problem:
            return cast("Answer", operation.result(error=f"Error: {problem}"))

    def _ls(self, path: str) -> LsResult:
        folder = validate_path(path or "/").rstrip("/") + "/"
        with self._files() as files:
            rows = files.all(folder)
        entries: dict[str, FileInfo] = {}
        for row in rows:
            first, slash, _ = row.path[len(folder) :].partition("/")
            at = folder + first + slash
            entries[at] = folder_info(at) if slash else row.info
        return LsResult(entries=[entries[at] for at in sorted(entries)])

    def _read(self, path: str, offset: int, limit: int) -> ReadResult:
        raw = self._content(path)
        if raw is None:
            return ReadResult(error=f"File '{path}' not found")
        if read_file_type(path) != "text":
            data = FileData(content=b64encode(raw).decode(), encoding="base64")
            return ReadResult(file_data=data)
        content = raw.decode()
        if warning := check_empty_content(content):
            return ReadResult(file_data=FileData(content=warning, encoding="utf-8"))
        return slice_read_response(FileData(content=content, encoding="utf-8"), offset, limit)

    def _content(self, path: str) -> bytes | None:
        key = validate_path(path)
        with self._files() as files:
            row = files.find(key)
            return None if row is None else files.content(row)

    def _write(self, path: str, content: str) -> WriteResult:
        self._put(path, content.encode())
        return WriteResult(path=path)

    def _put(self, path: str, content: bytes) -> None:
        key = key_of(path)
        with self._files(writes=True) as files:
            files.put(key, content)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> EditResult:
        key = validate_path(path)
        with self._files(writes=True) as files:
            row = files.find(key, change=True)
            if row is None:
                return EditResult(error=f"Error: File '{path}' not found")
            edited = edit_text(files.content(row).decode(), old, new, replace_all=replace_all)
            if isinstance(edited, str):
                return EditResult(error=edited)
            files.put(key, edited[0].encode())
        return EditResult(path=path, occurrences=edited[1])

    def _delete(self, path: str) -> DeleteResult:
        key = validate_path(path)
        if key == "/":
            return DeleteResult(error=f"Error deleting '{path}': {ROOT_IS_KEPT}")
        with self._database.writing(self._whose[0]) as rows:
            gone = [*rows.rows(_DROP, (*self._whose, _hash(key), f"{key}/"))]
        if not gone:
            return DeleteResult(error=f"Error: '{path}' not found")
        return DeleteResult(path=path)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> GrepResult:
        """Find a text; files that are not UTF-8 are skipped."""
        deadline = time.monotonic() + DEFAULT_GREP_TIMEOUT
        late: list[str] = []

        def lines(files: _Files, rows: list[_FileRow]) -> Iterator[GrepMatch]:
            for row in rows:
                if time.monotonic() > deadline:
                    late.append(row.path)
                    return
                if row.size <= _MOST_SEARCHED:
                    with suppress(UnicodeDecodeError):
                        text = files.content(row).decode()
                        yield from matching_lines(row.path, text, pattern)

        with self._files() as files:
            found = capped(lines(files, _chosen(files, path, glob)), max_count)
        return GrepResult(matches=found.matches, truncated=found.truncated or bool(late))

    def _glob(self, pattern: str, path: str | None) -> GlobResult:
        with self._files() as files:
            return GlobResult(matches=[row.info for row in _chosen(files, path, pattern)])

    def _upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path, self._uploaded(path, raw)) for path, raw in files]

    def _uploaded(self, path: str, raw: bytes) -> str | None:
        try:
            self._put(path, raw)
        except PathError:
            return INVALID_PATH
        except StorageError as problem:
            return str(problem)
        return None

    def _download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._downloaded(path) for path in paths]

    def _downloaded(self, path: str) -> FileDownloadResponse:
        try:
            content = self._content(path)
        except PathError:
            return FileDownloadResponse(path, error=INVALID_PATH)
        except StorageError as problem:
            return FileDownloadResponse(path, error=str(problem))
        return FileDownloadResponse(path, content, None if content is not None else FILE_NOT_FOUND)


def _chosen(files: _Files, path: str | None, glob: str | None) -> list[_FileRow]:
    with suppress(PathError):
        return list(chosen({row.path: row for row in files.all()}, path, glob).values())
    return []
