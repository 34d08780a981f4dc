"""Opening an archive by its address."""

from os import PathLike, fspath

from thalweg.archive.base import Archive
from thalweg.archive.sqlite import SqliteArchive
from thalweg.errors import ConfigError


def open_archive(url_or_path: str | PathLike[str], *, secret: bytes | None = None) -> Archive:
    """Open the archive at an address; a new one is made where there is none.

    Args:
        url_or_path: A file, or `:memory:` for one that ends with the process.
        secret: What handles are derived from. `None` takes the archive's own, made at random
            when the archive is; the same secret gives the same handles in every archive.

    Raises:
        ConfigError: Nothing can be opened there.
        StorageError: Another process holds it.

    Example:
        >>> from thalweg.archive.base import Logged, Span, ThreadKey
        >>> from thalweg.entries import Message, Text
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
    kind = f"{scheme}://"
    if scheme in {"postgres", "postgresql"}:
        problem = "an archive on PostgreSQL is not there yet"
        raise ConfigError(kind, problem, "give a path to a SQLite file")
    problem = "there is no such kind of archive"
    raise ConfigError(kind, problem, "give a path to a SQLite file")
