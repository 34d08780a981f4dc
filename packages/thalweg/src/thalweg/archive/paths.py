"""Default paths of Thalweg's files, and opening an archive by its address."""

import os
from os import PathLike, fspath
from pathlib import Path

from thalweg.archive.sqlite import SqliteArchive
from thalweg.archive.tables import Archive
from thalweg.database.sqlite_files import has_component_tables
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError


def home() -> Path:
    """Return the folder of Thalweg's files: `THALWEG_HOME`, by default `.thalweg`."""
    return Path(os.environ.get("THALWEG_HOME") or ".thalweg")


def default_place() -> Path:
    """Return the default path of the archive."""
    return home() / "thalweg.db"


def existing_default() -> Path:
    """Return the default path, or that of recorded sessions if the default has no archive."""
    place = default_place()
    if os.environ.get("THALWEG_HOME") or place.is_file():
        return place
    recorded_place = Path(os.path.expanduser("~"), place)  # noqa: PTH111 (a user may have no home)
    return recorded_place if recorded_place.is_file() else place


def open_archive(url_or_path: str | PathLike[str], *, secret: bytes | None = None) -> Archive:
    """Open the archive at an address; create it if there is none.

    Args:
        url_or_path: A file, `:memory:` for an archive that ends with the process, or
            `postgresql://user:password@host:port/database` (extra `postgres`).
        secret: Key from which references are derived. `None` uses the archive's own, generated
            at random on creation; the same secret derives the same references in every archive.

    Returns:
        An archive; one whose file cannot be written can be read, and changing it raises
        `StorageError`.

    Raises:
        ConfigError: The address cannot be opened.
        StorageError: Another process has locked it, or the server cannot be reached.

    Example:
        >>> from thalweg.archive.base import Logged, Span, ThreadKey
        >>> from thalweg.engine.entries import Message, Text
        >>> key = ThreadKey("ada", "t1")
        >>> with open_archive(":memory:") as archive:
        ...     archive.append(key, [Logged(Message("user", (Text("hello"),)))])
        ...     archive.read(key, archive.handle(key, Span(0, 0))).text
        1
        'hello'
    """
    address = fspath(url_or_path)
    scheme, separator, _ = address.partition("://")
    if not separator:
        return SqliteArchive(address, secret=secret)
    if scheme in {"postgres", "postgresql"}:
        return _open_postgres(address, secret)
    kind = f"{scheme}://"
    problem = "there is no such kind of archive"
    raise ConfigError(kind, problem, "pass a path to a SQLite file, or postgresql://…")


def open_autoclosing(url_or_path: str | PathLike[str]) -> Archive:
    """Open an archive as `open_archive` does, for an object that its users need not close.

    Its connections close when nothing refers to the archive any more, at the latest at exit.
    """
    archive = open_archive(url_or_path)
    archive.close_when_collected()
    return archive


def _open_postgres(url: str, secret: bytes | None) -> Archive:
    with needs_extra("postgresql://"):
        from thalweg.archive.postgres import PostgresArchive  # noqa: PLC0415 (an extra)
    return PostgresArchive(url, secret=secret)


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
    address = fspath(url_or_path or existing_default())
    if "://" not in address:
        if not Path(address).is_file():
            fix = "name one with --archive, or the folder of one with THALWEG_HOME"
            raise ConfigError(address, "there is no archive", fix)
        if not has_component_tables(address, "archive"):
            raise ConfigError(address, "the file holds no archive", "name another file")
    return open_archive(address)
