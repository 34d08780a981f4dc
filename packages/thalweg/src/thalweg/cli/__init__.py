"""The command line: one file a command, no logic."""

from thalweg.cli.entry import main

__all__ = ["main"]
