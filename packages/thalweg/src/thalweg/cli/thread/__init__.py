"""`thalweg thread`: the commands, and their output.

Two rules: a command opens the archive, calls `threads` and prints; the content of a message
never acts on a terminal.
"""

from thalweg.cli.thread.commands import thread

__all__ = ["thread"]
