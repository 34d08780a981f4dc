"""Options and arguments of the commands on memory, and the memory that they open."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_args

import typer

from thalweg.archive.paths import default_place, existing_default
from thalweg.cli.shared_options import AsJson, GroupOptions, SharedOptions
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite_files import has_component_tables
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError, DocumentError
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Category, Scope
from thalweg_memory.handle import Memory, attach_document, documents_of, open_memory
from thalweg_memory.store.records import NAME_IS_LEFT, utc_now
from thalweg_memory.store.tables import MemoryStore

Words = Annotated[
    list[str], typer.Argument(metavar="WORDS", help="A question or some words, any language.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would change.")]
Kind = Annotated[
    str | None,
    typer.Option("--category", metavar="NAME", help=f"One of {', '.join(get_args(Category))}."),
]
Sure = Annotated[float | None, typer.Option("--confidence", metavar="X", help="From 0 to 1.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions(GroupOptions):
    """The memory that a command is about."""

    db: str | None = None
    """A file or a database; the usual place by default."""
    document: Path | None = None
    """The document of the memory; by default the one that is there."""
    owner: str = "local"
    agent: str = ""
    """Empty for the memory that all agents of an owner share."""


class MemoryGroup(SharedOptions):
    """The commands on memory."""

    unused: ClassVar = {"export": ("as_json",)}


def memory_options(
    ctx: typer.Context,
    *,
    db: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The memory: a file or a database. Default: thalweg.db in the folder "
            "THALWEG_HOME, or in .thalweg here.",
            show_default=False,
        ),
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The document of the memory (`storage: json`). Default: memory.json "
            "beside the memory, where there is one.",
            show_default=False,
        ),
    ] = None,
    owner: Annotated[str, typer.Option(metavar="NAME", help="Whose memory.")] = "local",
    agent: Annotated[
        str,
        typer.Option(metavar="NAME", help="The agent, if it has its own memory."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Store the options of the group, which may be before or after the name of a command."""
    ctx.obj = MemoryOptions(db=db, document=document, owner=owner, agent=agent, as_json=as_json)


def share_of(value: float) -> float:
    """Read `--confidence`.

    Raises:
        ConfigError: It is no share of one.
    """
    if not 0 <= value <= 1:
        raise ConfigError(
            "--confidence", f"{value:g} is not between 0 and 1", "pass a share such as 0.9"
        )
    return value


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


def forget_owner(address: str, owner: str, *, dry_run: bool) -> list[str]:
    """Delete the memories of an owner at an address; see `thalweg.cli.plugins.OWNERS_GROUP`."""
    if "://" not in address and not has_component_tables(address, "memory"):
        return []
    document = _find_document(address) or _find_any_document(address)
    with open_store(MemoryOptions(db=address, document=document)) as store:
        receipts = store.forget_owner(owner, now=utc_now(), dry_run=dry_run)
    if dry_run:
        facts, turns = sum(len(one.facts) for one in receipts), sum(one.turns for one in receipts)
        return [f"memory: {facts:,} facts, {turns:,} turns"] if facts or turns else []
    return [NAME_IS_LEFT, *(line for one in receipts for line in one.left)] if receipts else []


def open_store(options: MemoryOptions, *, makes: bool = False) -> MemoryStore:
    """Open a store with its document, if there is one."""
    place = options.db or str(default_place() if makes else existing_default())
    is_there = Path(place).is_file() and has_component_tables(place, "memory")
    if "://" not in place and not (makes or is_there):
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
    folder = _folder_of(place)
    candidates = (folder / DOCUMENT, folder / f".{DOCUMENT}.seen")
    return candidates[0] if any(path.exists() for path in candidates) else None


def _find_any_document(place: str) -> Path | None:
    """Find the document as above, also if only those of other owners or agents were written."""
    folder = _folder_of(place)
    scopes = ("agents/*/", "owners/*/", "owners/*/agents/*/")
    others = (any(folder.glob(f"{scope}.{DOCUMENT}.seen")) for scope in scopes)
    return folder / DOCUMENT if any(others) else None


def _folder_of(place: str) -> Path:
    return default_place().parent if "://" in place else Path(place).parent
