"""Default paths of Thalweg's files, and opening an existing archive."""

import os
from os import PathLike, fspath
from pathlib import Path

from thalweg.archive.base import Archive
from thalweg.archive.opening import open_archive
from thalweg.database.sqlite_files import holds
from thalweg.errors import ConfigError


def home() -> Path:
    """Return the folder of Thalweg's files: `THALWEG_HOME`, by default `.thalweg`."""
    return Path(os.environ.get("THALWEG_HOME") or ".thalweg")


def default_place() -> Path:
    """Return the default path of the archive."""
    return home() / "thalweg.db"


def _usual_place() -> Path:
    """Return the default path, or where no archive is there, the one of recorded sessions."""
    place = default_place()
    if os.environ.get("THALWEG_HOME") or place.is_file():
        return place
    recorded = Path(os.path.expanduser("~"), place)  # noqa: PTH111 (a user may have no home)
    return recorded if recorded.is_file() else place


def open_existing(url_or_path: str | PathLike[str] | None = None) -> Archive:
    """Open an existing archive; nothing is created.

    Args:
        url_or_path: As for `open_archive`; by default `default_place`, and where that has no
            archive and THALWEG_HOME is not set, `.thalweg/thalweg.db` in the user's home folder,
            where sessions of other agents are recorded.

    Raises:
        ConfigError: There is none, or it cannot be opened.
        StorageError: Another process has locked it.
    """
    address = fspath(url_or_path or _usual_place())
    if "://" not in address:
        if not Path(address).is_file():
            mend = "name one with --archive, or the folder of one with THALWEG_HOME"
            raise ConfigError(address, "there is no archive", mend)
        if not holds(address, "archive"):
            raise ConfigError(address, "the file holds no archive", "name another file")
    return open_archive(address)
