"""The command of the evals."""

from typing import Final

COMMANDS: Final = {
    "eval": ("thalweg_evals.cli:evaluate", "Test whether an agent keeps its goal and its details.")
}
"""Where each command is, and its line of the help."""
