"""The command line: one file a command, no logic."""

from thalweg.cli.app import main

__all__ = ["main"]
