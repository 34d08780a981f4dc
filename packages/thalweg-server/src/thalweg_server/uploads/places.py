"""Selection of the storage of the files of threads."""

from os import PathLike
from pathlib import Path

from thalweg.engine.extras import needs_extra
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.disk import DiskPlaces


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
