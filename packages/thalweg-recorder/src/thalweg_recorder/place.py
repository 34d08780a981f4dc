"""The recorder's location for its archive and its own files: one folder per machine user."""

import os
from os import PathLike, fspath
from pathlib import Path

from thalweg.archive import Archive, open_archive
from thalweg.cli.home import user_folder
from thalweg.database.private_files import make_private_folder, open_private


def recorder_place() -> Path:
    """Name the archive that sessions are recorded in."""
    return user_folder() / "thalweg.db"


def open_recorder(address: str | PathLike[str] | None = None) -> Archive:
    """Open the archive that sessions are recorded in; create it if there is none.

    Args:
        address: As for `open_archive`; `recorder_place()` if it is not passed.

    Raises:
        ConfigError: It cannot be opened.
        StorageError: Another process holds it, or the disk is full.
    """
    if address is None:
        make_private_folder(user_folder())
    return open_archive(fspath(recorder_place() if address is None else address))


def write_private(path: Path, text: str) -> None:
    """Write a file whole or not at all: mode 0600, or that of the file that it replaces."""
    make_private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb", opener=open_private) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
