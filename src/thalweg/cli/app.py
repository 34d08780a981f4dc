"""The commands, put together."""

from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from thalweg.cli.chat import chat
from thalweg.cli.config import config
from thalweg.cli.db import db
from thalweg.cli.doctor import doctor
from thalweg.cli.eval import evaluate
from thalweg.cli.memory import memory
from thalweg.cli.model import model
from thalweg.cli.prices import prices
from thalweg.cli.replay import replay
from thalweg.cli.serve import serve
from thalweg.cli.thread import thread

app = typer.Typer(
    name="thalweg",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(short_help="Chat with an agent in the terminal.")(chat)
app.command(short_help="See what a policy does to recorded threads.")(replay)
app.command("eval", short_help="See whether an agent keeps its objective, and finds again.")(
    evaluate
)
app.command(short_help="Serve the HTTP API.")(serve)
app.command(short_help="Show what tokens cost.")(prices)
app.command(short_help="Check this installation.")(doctor)
app.add_typer(config, short_help="Check a configuration, show what holds, write one.")
app.add_typer(model, short_help="Fetch models in files; see which models could answer.")
app.add_typer(memory, short_help="See what is remembered across threads; change, forget.")
app.add_typer(db, short_help="Make the tables in PostgreSQL; let a role use them.")
app.add_typer(thread, short_help="See what a thread was sent; undo, rewind, export.")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it so)
    if wanted:
        typer.echo(f"thalweg {installed_version('thalweg')}")
        raise typer.Exit


@app.callback()
def _thalweg(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Conversations and tasks of any length inside a model's window, with nothing lost.

    Start with `thalweg chat`; `thalweg replay` needs no model, no key and no network.
    """
    del version
