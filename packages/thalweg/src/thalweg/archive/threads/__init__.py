"""A thread: its log, its journal, and the engine over both.

Two rules: content is in the log before it is removed from a context; every turn can be rebuilt from
the log and the journal alone.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.archive.base import caller_id
    from thalweg.archive.threads.contexts import TurnContext, context_at, next_context
    from thalweg.archive.threads.finding import known_threads
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
    "caller_id",
    "compact",
    "context_at",
    "export",
    "history",
    "known_threads",
    "next_context",
    "pin",
    "rewind",
    "turns",
    "undo",
    "unpin",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg.archive.threads.operations")
    | {
        "TurnContext": "thalweg.archive.threads.contexts",
        "LoggedMessage": "thalweg.archive.threads.thread_history",
        "Taken": "thalweg.archive.threads.thread_history",
        "caller_id": "thalweg.archive.base",
        "known_threads": "thalweg.archive.threads.finding",
        "context_at": "thalweg.archive.threads.contexts",
        "next_context": "thalweg.archive.threads.contexts",
        "export": "thalweg.archive.threads.thread_export",
        "history": "thalweg.archive.threads.thread_history",
        "turns": "thalweg.archive.threads.thread_history",
    },
)
