"""Options that the recorder's commands share."""

from typing import Annotated

import typer

Place = Annotated[
    str | None,
    typer.Option(
        "--archive",
        metavar="ADDRESS",
        help="The archive: a file or a database. Default: thalweg.db in the folder THALWEG_HOME, "
        "or in ~/.thalweg.",
        show_default=False,
    ),
]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Whose threads.")]
Project = Annotated[str, typer.Option(metavar="PATH", help="Sessions in this folder, or below it.")]
Agent = Annotated[str, typer.Option(metavar="NAME", help="Sessions of this agent.")]
Since = Annotated[
    str, typer.Option(metavar="DATE", help="Sessions that ended then or later: 2026-11-20.")
]
Until = Annotated[str, typer.Option(metavar="DATE", help="Sessions that began then or earlier.")]
