"""The commands, put together, and how an error ends one."""

import sys

import typer

from thalweg.cli.doctor import doctor
from thalweg.cli.replay import replay
from thalweg.errors import ThalwegError

app = typer.Typer(
    name="thalweg",
    help="Conversations and tasks of any length inside a model's window, with nothing lost.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(replay)
app.command()(doctor)


def main() -> None:
    """Run a command; an error that Thalweg raises on purpose is one sentence and exit code 2."""
    try:
        app()
    except ThalwegError as error:
        sys.stderr.write(f"thalweg: {error}\n")
        raise SystemExit(2) from None
