"""Operations at a place on a disk: read and replace whole files, list and delete folders.

A file is replaced by another that is first written next to it, so that a reader sees the old one or
the new one. Changes to one file are serialized within this process.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from thalweg.errors import PathError
from thalweg_agent.backends.local.places import CAN_WALK, FolderPath, moved

Find = Callable[[str], AbstractContextManager[FolderPath]]
"""Opens the place of a path."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0) | _NO_FOLLOW
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_OVER = os.O_WRONLY | os.O_TRUNC | _BINARY
HARD_LINK = "Path is a hard link: it names a file that is elsewhere, too"
_UNFINISHED = ".thalweg-write-"
_LOCKS = tuple(Lock() for _ in range(256))


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder."""

    place: FolderPath
    status: os.stat_result
    """Of a link itself, if it is one."""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a file that can be read as one."""
        return stat.S_ISREG(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)


@contextmanager
def turn(place: FolderPath) -> Iterator[None]:
    """Wait for exclusive access, within this process, to change the entry at a place.

    Raises:
        OSError: The folder does not exist.
    """
    folder, name = os.path.split(place.name)
    status = Path(folder).stat() if place.folder is None else os.fstat(place.folder)
    key = hash((status.st_dev, status.st_ino, name.casefold()))
    with _LOCKS[key % len(_LOCKS)]:
        yield


def entry_at(place: FolderPath) -> FolderEntry:
    """Return the entry at a place: the link itself, if it is one.

    Raises:
        OSError: There is no entry.
    """
    return FolderEntry(place, os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))


def target(place: FolderPath) -> FolderEntry:
    """Return the entry at a place to which links have led.

    Raises:
        OSError: There is no entry, or another link: the links form a cycle.
    """
    entry = entry_at(place)
    if entry.is_link:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return entry


@contextmanager
def opened(place: FolderPath) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file to read; yield it and its bytes.

    Raises:
        OSError: Nothing is there, or it is no file.
        PathError: The place is private, and the file has a second name.
    """
    with os.fdopen(os.open(place.name, _READ, dir_fd=place.folder), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if place.is_private and status.st_nlink > 1:
            raise PathError(place.shown, HARD_LINK, "copy it")
        yield file, status.st_size


def read_bytes(place: FolderPath, most: int | None = None) -> bytes:
    """Read a whole file.

    Args:
        place: Of the file.
        most: Bytes above which nothing is read.

    Raises:
        OSError: See `opened`; or it is larger than `most` (`EFBIG`).
        PathError: See `opened`.
    """
    with opened(place) as (file, size):
        if most is not None and size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return file.read()


def write_bytes(place: FolderPath, content: bytes) -> None:
    """Write a file at a place, or replace an existing one.

    That one keeps its permissions and, if permitted, its owner.

    Raises:
        OSError: It cannot be written, or is write-protected; the existing file is unchanged.
    """
    status = _status(place)
    if status is not None and not os.access(place.name, os.W_OK, dir_fd=place.folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = FolderPath(place.folder, _temporary_name(place.name), place.shown)
    try:
        made = os.open(temporary.name, _NEW, place.file_mode, dir_fd=place.folder)
    except PermissionError:
        # A file may be open to us in a folder that is not.
        if status is None:
            raise
        _write_over(place, content)
        return
    try:
        with os.fdopen(made, "wb") as file:
            if status is not None and hasattr(os, "fchmod"):
                # EPERM; EINVAL for an owner who has no id in this user namespace; Windows has none.
                with suppress(OSError, AttributeError):
                    os.fchown(made, status.st_uid, status.st_gid)
                os.fchmod(made, stat.S_IMODE(status.st_mode))
            file.write(content)
        os.replace(temporary.name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary.name, dir_fd=place.folder)
        raise


def create_bytes(place: FolderPath, content: bytes) -> bool:
    """Create a file; return False and change nothing if the path exists.

    Of two concurrent calls, also in two processes, one succeeds.

    Raises:
        OSError: It cannot be written.
    """
    temporary = FolderPath(place.folder, _temporary_name(place.name), place.shown)
    folders = {"src_dir_fd": place.folder, "dst_dir_fd": place.folder}
    try:
        made = os.open(temporary.name, _NEW, place.file_mode, dir_fd=place.folder)
        with os.fdopen(made, "wb") as file:
            file.write(content)
        os.link(temporary.name, place.name, **folders, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(temporary.name, dir_fd=place.folder)
    return True


def _status(place: FolderPath) -> os.stat_result | None:
    try:
        entry = entry_at(place)
    except FileNotFoundError:
        return None
    if entry.is_folder:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not entry.is_file:
        raise OSError(errno.ELOOP if entry.is_link else errno.EINVAL, "Not a regular file")
    return entry.status


def _temporary_name(name: str) -> str:
    return os.path.join(os.path.dirname(name), f"{_UNFINISHED}{os.urandom(8).hex()}")  # noqa: PTH118, PTH120  # relative to a descriptor


def _write_over(place: FolderPath, content: bytes) -> None:
    with os.fdopen(os.open(place.name, _OVER, dir_fd=place.folder), "wb") as file:
        file.write(content)


def remove(place: FolderPath) -> None:
    """Delete a file, a link (not its target), or a whole folder.

    Raises:
        OSError: It does not exist, or cannot be deleted; part of a folder may then be deleted.
    """
    if not entry_at(place).is_folder:
        os.unlink(place.name, dir_fd=place.folder)
    elif CAN_WALK:
        _empty(os.open(place.name, _LIST, dir_fd=place.folder))
        os.rmdir(place.name, dir_fd=place.folder)
    else:
        shutil.rmtree(place.name)


def _empty(at: int) -> None:
    """Delete everything in an open folder, and close it.

    Neither as many calls nor as many open folders deep as the folders are, which may be deeper
    than both may be. The way back up is taken only to the folder we came from.
    """
    names: list[str] = []
    above: list[tuple[int, int]] = []
    todo = [_files_unlinked(at)]
    try:
        while True:
            if todo[-1]:
                names.append(todo[-1].pop())
                above.append(_identity(at))
                at = moved(at, os.open(names[-1], _LIST, dir_fd=at))
                todo.append(_files_unlinked(at))
                continue
            todo.pop()
            if not names:
                return
            at = moved(at, os.open("..", _LIST, dir_fd=at))
            if _identity(at) != above.pop():
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
            os.rmdir(names.pop(), dir_fd=at)
    finally:
        os.close(at)


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _files_unlinked(folder: int) -> list[str]:
    """Delete all entries that are not folders; return the names of the folders."""
    with os.scandir(folder) as found:
        inside = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in inside:
        if not is_folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in inside if is_folder]


def entries(place: FolderPath) -> Iterator[FolderEntry]:
    """Yield the names in a folder in their order, each good until the next one is asked for.

    Raises:
        OSError: There is no folder, or it cannot be listed.
    """
    if place.folder is None:
        yield from _looked_at(place, None, sorted(os.listdir(place.name)))  # noqa: PTH208  # as below
        return
    folder = os.open(place.name, _LIST, dir_fd=place.folder)
    try:
        yield from _looked_at(place, folder, sorted(os.listdir(folder)))  # noqa: PTH208  # of a descriptor
    finally:
        os.close(folder)


def _looked_at(place: FolderPath, folder: int | None, names: list[str]) -> Iterator[FolderEntry]:
    for name in names:
        if name.startswith(_UNFINISHED):
            continue
        inside = name if folder is not None else os.path.join(place.name, name)  # noqa: PTH118  # relative to a descriptor
        # Missing by now counts as never existing.
        with suppress(FileNotFoundError):
            shown = f"{place.shown.rstrip('/')}/{name}"
            yield entry_at(FolderPath(folder, inside, shown, place.is_private))


def walk(
    find: Find, path: str, *, unread: Callable[[str], None], stop: Callable[[], bool]
) -> Iterator[FolderEntry]:
    """Yield everything below a folder except folders, its own files before deeper ones.

    Links are not followed. One folder is open at a time, at any depth.

    Args:
        find: Opens a folder by its shown path.
        path: The folder to begin with.
        unread: Called with every folder that cannot be listed.
        stop: Called before every folder and every entry in it.
    """
    todo = [path]
    while todo and not stop():
        at = todo.pop()
        folders: list[str] = []
        try:
            with find(at) as place:
                for entry in entries(place):
                    if stop():
                        return
                    if entry.is_folder:
                        folders.append(entry.place.shown)
                    else:
                        yield entry
        except FileNotFoundError:
            continue
        except OSError:
            unread(at)
        todo += reversed(folders)
