"""What the commands on memory have in common to be given."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from thalweg.errors import ConfigError
from thalweg.facts.values import Category
from thalweg.sections import choices

Id = Annotated[str, typer.Argument(metavar="ID", help="Of the fact, as it is listed.")]
Words = Annotated[
    list[str], typer.Argument(metavar="WORDS", help="A question or some words, any language.")
]
Place = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="ADDRESS",
        help="The memory: a file or a database. Default: thalweg.db in the folder THALWEG_HOME, "
        "or in .thalweg here.",
        show_default=False,
    ),
]
Beside = Annotated[
    Path | None,
    typer.Option(
        "--document",
        metavar="FILE",
        help="The document that is kept in step (`storage: json`). Default: memory.json beside "
        "the memory, where there is one.",
        show_default=False,
    ),
]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Whose memory.")]
Agent = Annotated[
    str, typer.Option(metavar="NAME", help="Of an agent with a memory of its own for the owner.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell what would.")]
AsOf = Annotated[
    str, typer.Option(metavar="TIME", help="What held then, such as 2025-03-01; now otherwise.")
]
Kind = Annotated[
    str | None,
    typer.Option("--category", metavar="NAME", help=f"One of {', '.join(get_args(Category))}."),
]
Sure = Annotated[float | None, typer.Option("--confidence", metavar="X", help="From 0 to 1.")]


def category_of(name: str | None) -> Category | None:
    """Read `--category`.

    Raises:
        ConfigError: There is no such category.
    """
    if name is None:
        return None
    known: dict[str, Category] = {category: category for category in get_args(Category)}
    if name not in known:
        problem = f"there is no category {name!r}"
        raise ConfigError("--category", problem, choices(name, [*known]))
    return known[name]


def share_of(value: float) -> float:
    """Read `--confidence`.

    Raises:
        ConfigError: It is no share of one.
    """
    if not 0 <= value <= 1:
        raise ConfigError("--confidence", f"{value:g} is not between 0 and 1", "give such as 0.9")
    return value
