"""Files and folders that no other user of the machine can read, for any umask.

If the mode is set after a file exists, others can open it in between. So everything is created with
its final mode: 0700 for folders, 0600 for files. What exists already keeps its mode: a user may
share a folder on purpose.
"""

import os
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHER_USERS_BITS: Final = 0o077


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, each with mode 0700.

    Raises:
        OSError: It cannot be created, or a file has its name.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    for missing_folder in reversed(missing):
        missing_folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def make_private_file(path: str | os.PathLike[str]) -> None:
    """Create an empty file with mode 0600 if it does not exist.

    SQLite creates its journal, its log and its shared memory with the mode of the database file, so
    creating that file first makes all of them private.

    Raises:
        OSError: It cannot be created.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        return


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file, and create it with mode 0600; the `opener` of `open`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder, "export.jsonl")
        ...     with open(place, "w", opener=open_private) as file:
        ...         _ = file.write("{}")
        ...     oct(place.stat().st_mode & 0o777)
        '0o600'
    """
    return os.open(path, flags, FILE_MODE)


def is_open_to_others(path: Path) -> bool:
    """Return whether other users of the machine may read, write or enter a path.

    Example:
        >>> is_open_to_others(Path("/"))
        True
    """
    return os.name == "posix" and path.exists() and bool(path.stat().st_mode & _OTHER_USERS_BITS)
