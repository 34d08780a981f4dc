"""Resolution of paths on a disk, confined to a folder.

`beneath` walks a path one name at a time, each from the open folder above it; the system follows
no link: links are read and walked the same way. So no concurrent change of the disk, such as a
folder replaced by a link, can lead out. If a platform cannot open relative to a folder, `resolved`
checks the path first and then acts.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thalweg.database.private_files import FILE_MODE, FOLDER_MODE, make_private_folder
from thalweg.errors import PathError

CAN_WALK: Final = {os.open, os.stat, os.unlink, os.mkdir, os.readlink, os.rename} <= (
    os.supports_dir_fd
) and hasattr(os, "O_NOFOLLOW")
"""Whether this platform opens files relative to an open folder."""

OUTSIDE: Final = "Path leads outside the root directory"

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class FolderPath:
    """A name in an open folder, of a file that may or may not exist.

    Valid while the folder is open; its creator closes it.
    """

    folder: int | None
    """Descriptor of the folder; without one, `name` is a whole path."""
    name: str
    shown: str
    """The path to show: the target of links, from the root."""
    is_private: bool = False
    """Whether files belong to one owner alone: created for the user of this process only, and not
    read if they have a second name (a hard link), which may be another owner's file."""

    @property
    def file_mode(self) -> int:
        """Permissions of a new file here, before the umask is applied."""
        return FILE_MODE if self.is_private else 0o644


@contextmanager
def beneath(
    root: str, path: str, *, make: bool = False, follow: bool = True, is_private: bool = False
) -> Iterator[FolderPath]:
    """Open the place of a path below a root, through links whose targets are below it, too.

    Args:
        root: A real path, without links.
        path: As `validate_path` returns it.
        make: Make the folders on the way.
        follow: Follow a link at the end of the path.
        is_private: See `FolderPath.is_private`.

    Raises:
        PathError: A link leads out.
        OSError: A folder is missing, is no folder, or may not be entered; or links form a cycle.
    """
    mode = FOLDER_MODE if is_private else 0o777
    todo = _names(path)[::-1]
    done: list[str] = []
    links = 0
    at = os.open(root, _FOLDER)
    try:
        while todo:
            name = todo.pop()
            if name == "..":
                # `..` is the folder that this walk came from, even if it was moved since.
                todo += [*done[:-1][::-1]] if done else _refuse(path)
                done, at = [], moved(at, os.open(root, _FOLDER))
                continue
            target = _link(name, at) if todo or follow else None
            if target is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if target.startswith("/"):
                    todo += _names(_below(root, target, path))[::-1]
                    done, at = [], moved(at, os.open(root, _FOLDER))
                else:
                    todo += _names(target)[::-1]
                continue
            if not todo:
                yield FolderPath(at, name, "/" + "/".join([*done, name]), is_private)
                return
            at = moved(at, _enter(name, at, make=make, mode=mode))
            done.append(name)
        yield FolderPath(at, ".", "/" + "/".join(done), is_private)
    finally:
        os.close(at)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in {"", "."}]


def _refuse(path: str) -> list[str]:
    raise PathError(path, OUTSIDE)


def moved(old: int, new: int) -> int:
    """Close an open folder in favour of another, and return that one."""
    os.close(old)
    return new


def _link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as problem:
        if problem.errno == errno.EINVAL:
            return None
        raise


def _below(root: str, target: str, path: str) -> str:
    # The root is a real path, and a link's target may be another name of it.
    for name in (target, os.path.realpath(target)):
        if name == root or name.startswith(f"{root.rstrip('/')}/"):
            return name[len(root) :]
    raise PathError(path, OUTSIDE)


def _enter(name: str, folder: int, *, make: bool, mode: int) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


@contextmanager
def resolved(
    root: str, path: str, *, make: bool = False, follow: bool = True, is_private: bool = False
) -> Iterator[FolderPath]:
    """Resolve a path below a root by name: for platforms without operations on open folders.

    Raises:
        PathError: It leads out.
        OSError: Links form a cycle, or a folder cannot be created.
    """
    whole = os.path.join(root, *_names(path))  # noqa: PTH118  # names, of a platform unknown
    folder, name = os.path.split(whole)
    real = Path(os.path.realpath(whole if follow or whole == root else folder))
    if not (follow or whole == root):
        real /= name
    if not real.is_relative_to(root):
        raise PathError(path, OUTSIDE)
    if make and is_private:
        make_private_folder(real.parent)
    elif make:
        real.parent.mkdir(parents=True, exist_ok=True)
    inside = real.relative_to(root).as_posix()
    yield FolderPath(None, str(real), "/" if inside == "." else f"/{inside}", is_private)


@contextmanager
def anywhere(
    root: str, path: str, *, make: bool = False, follow: bool = True
) -> Iterator[FolderPath]:
    """Find a path of this machine, relative to a root if it is relative; nothing is refused.

    Raises:
        PathError: It cannot be a path.
        OSError: A folder cannot be made.
    """
    whole = Path(root, path)
    real = Path(os.path.realpath(whole)) if follow else whole
    if make:
        real.parent.mkdir(parents=True, exist_ok=True)
    yield FolderPath(None, str(real), str(whole if Path(path).is_absolute() else real))
