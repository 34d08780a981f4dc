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
