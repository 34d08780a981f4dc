"""Opening of a memory by its address, and of its document."""

from os import PathLike, fspath
from pathlib import Path

from thalweg.archive.paths import home
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError
from thalweg_memory.document_files import DocumentFiles
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.search.vectors import Embed
from thalweg_memory.store.sqlite import SqliteMemory
from thalweg_memory.store.tables import MemoryStore


def open_memory(
    url_or_path: str | PathLike[str], *, secret: bytes | None = None, embed: Embed | None = None
) -> MemoryStore:
    """Open the memory at an address; a new one is made if there is none.

    Args:
        url_or_path: A file, which may hold an archive, too; `:memory:` for a memory that ends
            with the process; or `postgresql://user:password@host:port/database` (extra
            `postgres`).
        secret: The key of the digests of forgotten texts. `None` takes the memory's own,
            made at random when the memory is.
        embed: Makes vectors of texts (extra `vectors`): items stored from now on are found by
            them, too.

    Raises:
        ConfigError: Nothing can be opened there.
        StorageError: Another process holds it, or the server cannot be reached.

    Example:
        >>> from thalweg_memory.facts.values import Scope
        >>> with open_memory(":memory:") as memory:
        ...     memory.version(Scope("ada"))
        0
    """
    address = fspath(url_or_path)
    scheme, separator, _ = address.partition("://")
    if not separator:
        return SqliteMemory(address, secret=secret, embed=embed)
    if scheme in {"postgres", "postgresql"}:
        return _open_postgres(address, secret, embed)
    kind = f"{scheme}://"
    problem = "there is no such kind of memory"
    raise ConfigError(kind, problem, "pass a path to a SQLite file, or postgresql://…")


def _open_postgres(url: str, secret: bytes | None, embed: Embed | None) -> MemoryStore:
    with needs_extra("postgresql://"):
        from thalweg_memory.store.postgres import PostgresMemory  # noqa: PLC0415 (an extra)
    return PostgresMemory(url, secret=secret, embed=embed)


def attach_document(store: MemoryStore, settings: MemorySettings, *, owner: str = "local") -> None:
    """Keep the document of the settings equal to a store, from now on.

    A store has one document: an existing one is kept.

    Args:
        store: The memory.
        settings: The settings `storage` and `storage_path`.
        owner: The owner of the document; see `DocumentFiles`.
    """
    if settings.storage == "json" and store.documents is None:
        path = Path(settings.storage_path) if settings.storage_path else home() / "memory.json"
        store.documents = DocumentFiles(store, path, owner=owner)


def documents_of(store: MemoryStore) -> DocumentFiles | None:
    """Return the documents of a store, if it has any."""
    return store.documents if isinstance(store.documents, DocumentFiles) else None
