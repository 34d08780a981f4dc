"""A thread: its log, its journal, and the engine over both.

Two rules: content is in the log before it is removed from a context; every turn can be rebuilt from
the log and the journal alone.
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.threads.contexts import Context, context_at
    from thalweg.threads.hand import Done, compact, pin, rewind, undo, unpin
    from thalweg.threads.thread_export import export
    from thalweg.threads.thread_history import Said, Taken, history, turns

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Context": "thalweg.threads.contexts",
        "Done": "thalweg.threads.hand",
        "Said": "thalweg.threads.thread_history",
        "Taken": "thalweg.threads.thread_history",
        "compact": "thalweg.threads.hand",
        "context_at": "thalweg.threads.contexts",
        "export": "thalweg.threads.thread_export",
        "history": "thalweg.threads.thread_history",
        "pin": "thalweg.threads.hand",
        "rewind": "thalweg.threads.hand",
        "turns": "thalweg.threads.thread_history",
        "undo": "thalweg.threads.hand",
        "unpin": "thalweg.threads.hand",
    },
)
