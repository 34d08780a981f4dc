"""A thread: its log, its journal, and the engine over both.

Two rules: content is in the log before it is removed from a context; every turn can be rebuilt from
the log and the journal alone.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.archive.threads.contexts import TurnContext, context_at
    from thalweg.archive.threads.operations import (
        OperationResult,
        compact,
        pin,
        rewind,
        undo,
        unpin,
    )
    from thalweg.archive.threads.thread_export import export
    from thalweg.archive.threads.thread_history import LoggedMessage, Taken, history, turns

__all__ = [
    "LoggedMessage",
    "OperationResult",
    "Taken",
    "TurnContext",
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
        "TurnContext": "thalweg.archive.threads.contexts",
        "OperationResult": "thalweg.archive.threads.operations",
        "LoggedMessage": "thalweg.archive.threads.thread_history",
        "Taken": "thalweg.archive.threads.thread_history",
        "compact": "thalweg.archive.threads.operations",
        "context_at": "thalweg.archive.threads.contexts",
        "export": "thalweg.archive.threads.thread_export",
        "history": "thalweg.archive.threads.thread_history",
        "pin": "thalweg.archive.threads.operations",
        "rewind": "thalweg.archive.threads.operations",
        "turns": "thalweg.archive.threads.thread_history",
        "undo": "thalweg.archive.threads.operations",
        "unpin": "thalweg.archive.threads.operations",
    },
)
