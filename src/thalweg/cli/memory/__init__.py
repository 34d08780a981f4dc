"""`thalweg memory`: the commands, and what they print.

Two rules: a command opens one memory for one scope, calls it and prints; what a fact says never
acts on a terminal.
"""

from thalweg.cli.memory.commands import memory

__all__ = ["memory"]
