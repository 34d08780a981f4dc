"""Confirmation before something is deleted."""

import sys
from typing import Annotated

import typer

from thalweg.errors import ConfigError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
UNCHANGED = "Nothing was changed."


def agrees(question: str, purpose: str) -> bool:
    """Ask for confirmation; return the answer.

    Args:
        question: The question.
        purpose: What `--yes` is for, in the error.

    Raises:
        ConfigError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise ConfigError("--yes", "there is no terminal to ask in", f"pass it {purpose}")
    return typer.confirm(question)


def confirm(question: str, purpose: str, *, yes: bool, refused: str) -> None:
    """Ask for confirmation unless `--yes` is given; end the command where the answer is no.

    Args:
        question: The question.
        purpose: What `--yes` is for, in the error.
        yes: Whether the answer is given.
        refused: What to print where the answer is no.

    Raises:
        ConfigError: There is no terminal.
    """
    if not yes and not agrees(question, purpose):
        sys.stderr.write(f"{refused}\n")
        raise typer.Exit(2)
