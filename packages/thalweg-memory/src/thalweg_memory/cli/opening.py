"""Opening the memory of a command: its database, its scope and its document."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from thalweg.archive.paths import default_place
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite_files import has_component_tables
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError, DocumentError
from thalweg_memory.cli.options import MemoryOptions
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import Memory
from thalweg_memory.opening import attach_document, documents_of, open_memory
from thalweg_memory.store.tables import MemoryStore

DOCUMENT = "memory.json"


@contextmanager
def opened(
    ctx: typer.Context, *, makes: bool = False, needs_document: bool = False
) -> Iterator[Memory]:
    """Open the memory of a command, and commit the edits made by hand.

    Args:
        ctx: Of the command, with its `MemoryOptions`.
        makes: Whether to create a missing memory.
        needs_document: Whether the command ends with exit code 2, after its output, if the
            document cannot be read.

    Raises:
        ConfigError: There is none, or it cannot be opened.
        StorageError: Another process holds it.
    """
    options = ctx.ensure_object(MemoryOptions)
    is_readable = True
    with open_store(options, makes=makes) as store:
        scope = Scope(options.owner, options.agent)
        documents = documents_of(store)
        if documents is not None and documents.path_of(scope).parent.is_dir():
            try:
                documents.reload(scope)
            except DocumentError as error:
                sys.stderr.write(f"thalweg: {printable(str(error))}\n")
                is_readable = False
        yield Memory(store, scope, settings=MemorySettings())
    if needs_document and not is_readable:
        raise typer.Exit(2)


def open_store(options: MemoryOptions, *, makes: bool = False) -> MemoryStore:
    """Open a store with its document, if there is one."""
    place = options.db or str(default_place())
    if (
        "://" not in place
        and not makes
        and not (Path(place).is_file() and has_component_tables(place, "memory"))
    ):
        fix = "name one with --db, or the folder of one with THALWEG_HOME"
        raise ConfigError(place, "there is no memory", fix)
    if "://" not in place:
        make_private_folder(Path(place).parent)
    path = options.document or _find_document(place)
    store = open_memory(place)
    if path is not None:
        attach_document(store, MemorySettings(storage="json", storage_path=str(path)))
    return store


def _find_document(place: str) -> Path | None:
    """Find the document of a database: there is one, or there was."""
    folder = default_place().parent if "://" in place else Path(place).parent
    candidates = (folder / DOCUMENT, folder / f".{DOCUMENT}.seen")
    return candidates[0] if any(path.exists() for path in candidates) else None
