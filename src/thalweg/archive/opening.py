"""Open an archive by its address."""

from os import PathLike, fspath

from thalweg.archive.base import Archive
from thalweg.archive.sqlite import SqliteArchive
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError


def open_archive(
    url_or_path: str | PathLike[str], *, secret: bytes | None = None, is_shared: bool = False
) -> Archive:
    """Open the archive at an address; create it if there is none.

    Args:
        url_or_path: A file, `:memory:` for an archive that ends with the process, or
            `postgresql://user:password@host:port/database` (extra `postgres`).
        secret: Key from which references are derived. `None` uses the archive's own, generated
            at random on creation; the same secret derives the same references in every archive.
        is_shared: Whether the SQLite file may hold tables of other programs; the archive's tables
            are added to them. Otherwise a file with tables of another program is refused.

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
        return SqliteArchive(address, secret=secret, is_shared=is_shared)
    if scheme in {"postgres", "postgresql"}:
        return _open_postgres(address, secret)
    kind = f"{scheme}://"
    problem = "there is no such kind of archive"
    raise ConfigError(kind, problem, "pass a path to a SQLite file, or postgresql://…")


def _open_postgres(url: str, secret: bytes | None) -> Archive:
    with needs_extra("postgresql://"):
        from thalweg.archive.postgres import PostgresArchive  # noqa: PLC0415 (an extra)
    return PostgresArchive(url, secret=secret)
