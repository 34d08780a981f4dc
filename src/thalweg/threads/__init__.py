"""A thread at work: its log, its journal, and the engine that stands on both.

Two rules: whatever leaves a context is in the log before; every turn can be made again from
the log and the journal alone.
"""

from thalweg.threads.contexts import Context, context_at
from thalweg.threads.export import export
from thalweg.threads.hand import Done, compact, pin, rewind, undo, unpin
from thalweg.threads.history import Said, Taken, history, turns

__all__ = [
    "Context",
    "Done",
    "Said",
    "Taken",
    "compact",
    "context_at",
    "export",
    "history",
    "pin",
    "rewind",
    "turns",
    "undo",
    "unpin",
]
