"""Threads that were deleted in a checkpointer: their logs go, too, where both share a file.

Nothing is concluded from rows that are missing: a trigger on the checkpointer's table records the
deletion of a thread's last checkpoint when it happens. A table that is empty, new or dropped, and
one that cannot be read, record none.
"""

import logging
import time

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.sqlite import SqliteArchive
from thalweg.archive.threads.journal import read_page
from thalweg.archive.threads.session import LIVE_S
from thalweg.middleware.turn.thread_names import INSIDE, escaped

CHECKPOINTS = "checkpoints"
"""The table of LangGraph's SQLite savers that has the checkpoints."""
_log = logging.getLogger("thalweg.threads")
_ERASED = "thread %r: its checkpoints were deleted, and so is its log"


def record_deletions(archive: Archive) -> None:
    """Have deletions recorded from now on in a file that an archive shares with a checkpointer."""
    if isinstance(archive, SqliteArchive):
        archive.record_deletions(CHECKPOINTS)


def erase_deleted(archive: Archive) -> None:
    """Erase the logs of threads whose checkpoints were deleted, with those of their subagents.

    A thread that has checkpoints again keeps its log; one with an active run is skipped until the
    next call.

    Raises:
        StorageError: The archive cannot be written.
    """
    if not isinstance(archive, SqliteArchive):
        return
    if not (deletions := archive.deletions(CHECKPOINTS)):
        return
    keys = archive.keys()
    for thread, is_gone in deletions.items():
        name = escaped(thread)
        logs = [key for key in keys if key.thread == name or key.thread.startswith(name + INSIDE)]
        if is_gone and any(_is_live(archive, key) for key in logs):
            continue
        for key in logs if is_gone else ():
            archive.delete(key)
            _log.info(_ERASED, key.thread)
        archive.forget_deletion(thread)
    archive.prune()


def _is_live(archive: Archive, key: ThreadKey) -> bool:
    newest = archive.turn_count(key) - 1
    if newest < 0:
        return False
    page = read_page(archive, key, newest)
    return page.kind == "call" and time.time() - page.at < LIVE_S
