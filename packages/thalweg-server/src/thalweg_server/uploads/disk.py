"""Files of threads in a folder on disk, of one machine or mounted by several.

    files/<owner>/<thread>/          the folder that the agent of the thread sees as `/`
    files/<owner>/<thread>.notes/    metadata of its files, which it cannot access

Neither an owner's nor a thread's id is ever the name of a folder: see `tag`.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final

from thalweg.database.base import encode
from thalweg.database.private_files import make_private_folder
from thalweg.engine.extras import needs_extra
from thalweg.errors import PathError, StorageError
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local.disk import (
    HARD_LINK,
    FolderEntry,
    create_bytes,
    turn,
    walk,
    write_bytes,
)
from thalweg_agent.backends.local.places import FolderPath
from thalweg_agent.backends.paths import validate_path
from thalweg_agent.backends.results import LsResult
from thalweg_server.uploads.base import FileMetadata, Places, ThreadBackend
from thalweg_server.uploads.names import tag

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_FOLLOW
_NOTES: Final = ".notes"
_ATTEMPTS: Final = 1_000
"""At most so often a folder is deleted of which another process deletes files."""
_NOT_HERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})


def open_places(
    *, url: str | None, home: str | PathLike[str], files: str | PathLike[str] = "database"
) -> Places:
    """Open the files of all threads at the place set in `storage:`.

    Args:
        url: `storage.url`: a PostgreSQL database, or `None` for files in `home`.
        home: `storage.home`.
        files: `storage.files`: `database`, or a folder that all machines have mounted.

    Returns:
        With `database` and a URL, files in that database, seen by all machines; otherwise files in
        a folder.

    Raises:
        ConfigError: The extra `postgres` is not installed, or the address is invalid.
        StorageError: The server cannot be reached.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home:
        ...     backend = open_places(url=None, home=home).backend("ada", "t1")
        ...     backend.write("/notes.md", "hello").error is None
        True
    """
    if files != "database":
        return DiskPlaces(files)
    if url is None:
        return DiskPlaces(Path(home) / "files")
    with needs_extra("storage.url"):
        from thalweg_server.uploads.postgres import PostgresPlaces  # noqa: PLC0415 (an extra)
    return PostgresPlaces(url)


class DiskPlaces:
    """Folders inside one folder: a folder for each owner, which has one for each thread."""

    def __init__(self, root: str | PathLike[str]) -> None:
        self._root = Path(os.path.realpath(root))

    def backend(self, owner: str, thread: str) -> "DiskFiles":
        """Return the files of one thread; a cheap call that creates nothing.

        See `Places.backend`.
        """
        return DiskFiles(self._root / tag(owner) / tag(thread))

    def forget(self, owner: str, thread: str | None = None) -> None:
        """Delete all files of a thread, or of all, with their metadata; see `Places.forget`."""
        folder = self._root / tag(owner)
        folder = folder if thread is None else folder / tag(thread)
        for one in (folder, folder.with_name(folder.name + _NOTES)):
            attempts = 0
            while os.path.lexists(one):
                attempts += 1
                try:
                    # Does not follow links, and keeps to open folders where the platform can.
                    shutil.rmtree(one)
                except OSError as problem:
                    # Another process may delete files of it: the rest is still there.
                    if attempts == _ATTEMPTS or not isinstance(problem, FileNotFoundError):
                        raise _storage_error(self._root, problem) from None
        with suppress(OSError):  # that of the owner, if it is empty
            (self._root / tag(owner)).rmdir()

    def close(self) -> None:
        """See `Places.close`: there is nothing to let go of."""


class DiskFiles(FilesystemBackend, ThreadBackend):
    """Files of one thread in a folder; implements `ThreadBackend`.

    A file that has another name as well, by a hard link, is not read: a command may have linked
    another owner's file.
    """

    is_private = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, virtual_mode=True)
        self.folder = folder
        self._notes_folder = folder.with_name(folder.name + _NOTES)

    def ls(self, path: str) -> LsResult:
        """List a folder, see `BackendProtocol.ls`; a thread without files has none."""
        return super().ls(path) if self.folder.exists() else LsResult(entries=[])

    def stat(self, path: str) -> FileMetadata | None:
        """Return the metadata of a file; `None` if it is missing or not readable.

        See `ThreadBackend.stat`.
        """
        with self._opened(path) as file:
            return None if file is None else _kept(validate_path(path), os.fstat(file))

    def read_range(self, path: str, start: int, stop: int) -> bytes | None:
        """Return a range of bytes of a file; see `ThreadBackend.read_range`."""
        with self._opened(path) as file:
            if file is None:
                return None
            start, stop = max(0, start), min(stop, os.fstat(file).st_size)
            if stop <= start:
                return b""
            with os.fdopen(os.dup(file), "rb") as readable:
                readable.seek(start)
                return readable.read(stop - start)

    @contextmanager
    def _opened(self, path: str) -> Iterator[int | None]:
        """Open a file; no link is followed at its end, and none that leads out on the way."""
        try:
            with self._at(path) as place:
                file = os.open(place.name, _READ, dir_fd=place.folder)
        except OSError as problem:
            if problem.errno not in _NOT_HERE | {errno.ENXIO}:
                raise _storage_error(self.folder.parent.parent, problem) from None
            yield None
            return
        try:
            status = os.fstat(file)
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                raise PathError(path, HARD_LINK, "copy it")
            yield file if stat.S_ISREG(status.st_mode) else None
        finally:
            os.close(file)

    def files(self, most: int) -> list[FileMetadata]:
        """See `ThreadBackend.files`; links and their targets are skipped."""
        entries = walk(self._exactly, "/", unread=_passed_over, stop=lambda: False)
        found = islice((entry for entry in entries if _is_own(entry)), most)
        kept = [_kept(entry.place.shown, entry.status) for entry in found]
        return sorted(kept, key=lambda one: one.path)

    def create(self, path: str, content: bytes) -> bool:
        """Write a new file; return False and change nothing if it exists.

        See `ThreadBackend.create`.
        """
        try:
            with self._at(path, make=True, follow=False) as place, turn(place):
                return create_bytes(place, content)
        except OSError as problem:
            if problem.errno in {errno.EEXIST, errno.ENOTDIR, errno.ELOOP}:
                raise PathError(path, "Path conflicts with an existing file or folder") from None
            if problem.errno == errno.ENOENT:
                raise PathError(
                    path, "Its folder was deleted in the meantime", "try again"
                ) from None
            raise _storage_error(self.folder.parent.parent, problem) from None

    def annotate(self, path: str, note: str) -> None:
        """Store a note about the current version of a file; agents do not see it.

        See `ThreadBackend.annotate`.
        """
        kept = self.stat(path)
        if kept is None:
            return
        text = json.dumps({"path": kept.path, "version": kept.version, "note": note})
        at = self._notes_folder / f"{hashlib.sha256(encode(kept.path)).hexdigest()}.json"
        try:
            make_private_folder(at.parent)
            write_bytes(FolderPath(None, str(at), at.name, is_private=True), text.encode())
        except OSError as problem:
            raise _storage_error(self.folder.parent.parent, problem) from None

    def notes(self, folder: str) -> dict[str, str]:
        """Return notes, and delete those of missing or changed files; see `ThreadBackend.notes`."""
        found: dict[str, str] = {}
        for at in sorted(self._notes_folder.glob("*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, PathError):
                record = json.loads(at.read_bytes())
                path, version, note = record["path"], record["version"], record["note"]
                if path.rpartition("/")[0] != folder:
                    continue
                kept = self.stat(path)
                if kept is not None and kept.version == version:
                    found[path] = note
                else:
                    at.unlink()
        return found


def _kept(path: str, status: os.stat_result) -> FileMetadata:
    version = f"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"
    return FileMetadata(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC), version)


def _is_own(entry: FolderEntry) -> bool:
    """Whether an entry is a file of this thread alone, by a name that a path can have."""
    if not entry.is_file or entry.status.st_nlink > 1:
        return False
    try:
        return validate_path(entry.place.shown) == entry.place.shown
    except PathError:
        return False


def _passed_over(_path: str) -> None:
    """Skip a folder that cannot be listed: an agent may create one."""


def _storage_error(root: Path, problem: OSError) -> StorageError:
    fix = "free some space" if problem.errno == errno.ENOSPC else "check the folder's rights"
    return StorageError(root.name, problem.strerror or str(problem), fix)
