"""Asking before something is gone."""

import sys
from typing import Annotated

import typer

from thalweg.errors import ConfigError

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def agrees(question: str, purpose: str) -> bool:
    """Ask whether to go on.

    Args:
        question: What is asked.
        purpose: What `--yes` would be given for.

    Raises:
        ConfigError: Nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise ConfigError("--yes", "nobody is there to be asked", f"give it {purpose}")
    return typer.confirm(question)
