"""The command of memory."""

from typing import Final

COMMANDS: Final = {
    "memory": ("thalweg_memory.cli.commands:memory", "List, change or forget what is remembered."),
}
"""Where each command is, and its line of the help."""
