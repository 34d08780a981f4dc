"""Options and arguments of the commands on memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_args

import typer

from thalweg.cli.shared_options import AsJson, GroupOptions, SharedOptions
from thalweg.errors import ConfigError
from thalweg_memory.facts.values import Category

Words = Annotated[
    list[str], typer.Argument(metavar="WORDS", help="A question or some words, any language.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would change.")]
AsOf = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Facts valid at that time, such as 2025-03-01. Default: now."
    ),
]
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
