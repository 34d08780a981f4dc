"""Confirmation before something is deleted."""

import sys
from typing import Annotated

import typer

from thalweg.errors import ConfigError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


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
