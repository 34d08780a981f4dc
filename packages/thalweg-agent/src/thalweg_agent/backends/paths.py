"""Rules for paths: absolute, with `/` between names, and never out of the root.

Nothing here accesses a disk. A path that is valid by these rules may still lead out of a
folder through a symbolic link; `FilesystemBackend` prevents that.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final, TypeVar

from thalweg.errors import PathError

MAX_NAME_BYTES: Final = 255
"""Bytes of one name in a path: what every common file system takes."""

MAX_PATH_BYTES: Final = 4096
"""Bytes of a whole path."""

ROOT_IS_KEPT: Final = "the root directory cannot be deleted; delete what is in it"
"""Why `/` is not deleted."""

_MAX_ID_BYTES = 128
_DRIVE = re.compile(r"[a-zA-Z]:")

Value = TypeVar("Value")


def validate_path(path: str, *, allowed_prefixes: Sequence[str] | None = None) -> str:
    r"""Bring a path into its one form, or refuse it.

    The result begins with `/`, has no empty name, no `.` and no `/` at its end, and is its
    own result. Backslashes separate names, too.

    Args:
        path: As a model wrote it.
        allowed_prefixes: Folders of which the path must be in one.

    Raises:
        PathError: The path climbs (`..`, `~`), names a drive of Windows, is in none of the
            allowed folders, has a NUL or half a character in it, or is too long for a file.

    Example:
        >>> validate_path("notes//./today.md")
        '/notes/today.md'
        >>> validate_path("/notes/../../etc/passwd")
        Traceback (most recent call last):
        thalweg.errors.PathError: Path traversal not allowed: /notes/../../etc/passwd
    """
    names = to_posix_path(path).split("/")
    if ".." in names or path.startswith("~"):
        raise PathError(path, "Path traversal not allowed")
    if _DRIVE.match(path):
        raise PathError(
            path,
            "Windows absolute paths are not supported",
            "Please use virtual paths starting with / (e.g., /workspace/file.txt)",
        )
    refuse_unwritable(path)
    normalized = "/" + "/".join(name for name in names if name not in {"", "."})
    if allowed_prefixes is not None and not any(is_under(normalized, p) for p in allowed_prefixes):
        raise PathError(path, f"Path must start with one of {allowed_prefixes}")
    return normalized


def path_or_none(path: str) -> str | None:
    """Return a path in its one form, or `None` if `validate_path` refuses it."""
    try:
        return validate_path(path)
    except PathError:
        return None


def key_of(path: str) -> str:
    """Return the normalized path of a file, its key in a store or a state.

    Raises:
        PathError: No file can be at that path.
    """
    key = validate_path(path)
    if key == "/":
        raise PathError(path, "Path is a folder")
    return key


def key_or_none(path: str) -> str | None:
    """Return the key of a file, or `None` if there can be none."""
    try:
        return key_of(path)
    except PathError:
        return None


def is_under(path: str, folder: str) -> bool:
    """Return whether a path is that of a folder, or of something in it.

    Example:
        >>> is_under("/notes/a.md", "/notes"), is_under("/notes-old/a.md", "/notes")
        (True, False)
    """
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def refuse_unwritable(path: str) -> None:
    """Refuse what can be the path of no file on any medium.

    Raises:
        PathError: There is a NUL or half a character in it, or it is too long.
    """
    if "\0" in path:
        raise PathError(path, "Path has a NUL character in it")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise PathError(path, "Path is not valid Unicode") from None
    names = to_posix_path(path).split("/")
    if size > MAX_PATH_BYTES or any(len(name.encode()) > MAX_NAME_BYTES for name in names):
        raise PathError(
            path,
            f"Path is too long ({size} bytes)",
            f"Use at most {MAX_NAME_BYTES} bytes for a name and {MAX_PATH_BYTES} in all",
        )


def to_posix_path(path: str) -> str:
    r"""Return a path with `/` between names, for any separator.

    Example:
        >>> to_posix_path(r"C:\a\b")
        'C:/a/b'
    """
    return path.replace("\\", "/")


def normalize_path(path: str | None) -> str:
    """Return the folder of a search in its normal form: with `/` before it and none after it.

    Args:
        path: `None` or an empty text means everything.

    Raises:
        PathError: It contains only blanks.

    Example:
        >>> normalize_path("src/"), normalize_path(None)
        ('/src', '/')
    """
    path = path or "/"
    if not path.strip():
        raise PathError(path, "Path cannot be empty")
    return "/" + path.strip("/") if path.startswith("/") else "/" + path.rstrip("/")


def files_under(files: Mapping[str, Value], folder: str) -> dict[str, Value]:
    """Return the file at a path, and all files under it.

    Args:
        files: By absolute path.
        folder: As `normalize_path` returns it.
    """
    return {path: value for path, value in files.items() if is_under(path, folder)}


def relative_to(path: str, folder: str) -> str:
    """Return a file's path relative to the folder of a search; its name if it is that itself.

    Example:
        >>> relative_to("/src/app/main.py", "/src"), relative_to("/a/b.md", "/a/b.md")
        ('app/main.py', 'b.md')
    """
    if folder == "/":
        return path[1:]
    return path.rsplit("/", 1)[-1] if path == folder else path[len(folder) + 1 :]


def glob_anchor(pattern: str) -> str:
    """Name the deepest folder that every match of an absolute pattern is in.

    Example:
        >>> glob_anchor("/secrets/**"), glob_anchor("/a/*/b"), glob_anchor("/**/key")
        ('/secrets', '/a', '/')
    """
    plain: list[str] = []
    for name in PurePosixPath(to_posix_path(pattern)).parts:
        if not _WILD.isdisjoint(name):
            break
        plain.append(name)
    return str(PurePosixPath(*plain)) if plain else "/"


_WILD = frozenset("*?[{")


def sanitize_tool_call_id(tool_call_id: str) -> str:
    """Make a tool call's id the name of a file; one too long becomes its hash.

    Example:
        >>> sanitize_tool_call_id("call/1.2")
        'call_1_2'
    """
    name = tool_call_id.translate(_NO_PATH)
    if len(name.encode("utf-8", "surrogatepass")) <= _MAX_ID_BYTES:
        return name
    return f"call-{sha256(tool_call_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


_NO_PATH = str.maketrans("./\\", "___")
