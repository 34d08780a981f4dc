"""The commands of the core package."""

from typing import Final

COMMANDS: Final = {
    "thread": ("thalweg.cli.thread:thread", "Inspect, undo, rewind or export a thread."),
    "prices": ("thalweg.cli.prices:prices", "Show what tokens cost."),
    "db": ("thalweg.cli.db:db", "Create and upgrade the tables in PostgreSQL."),
}
"""Where each command is, and its line of the help."""
