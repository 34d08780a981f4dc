"""Forgetting of sessions: selected by thread, project, time or words, and erased to the byte."""

from collections.abc import Sequence

from thalweg.archive import Archive, ThreadKey
from thalweg.engine.transcript import as_text
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.searching import SearchFilter
from thalweg_recorder.sessions import OWNER, list_sessions


def plan_forgetting(
    archive: Archive,
    only: SearchFilter,
    *,
    threads: Sequence[str] = (),
    words: str = "",
    owner: str = OWNER,
) -> list[str]:
    """Return the threads of the sessions that match all conditions.

    Args:
        archive: The archive of the sessions.
        only: Projects, agents and times.
        threads: Names; empty for any name.
        words: A text in one of the messages, ignoring case.
        owner: The owner of the threads.

    Raises:
        ConfigError: See `SearchFilter.select`.
    """
    return [
        thread
        for thread, _ in only.select(list_sessions(archive, owner))
        if (not threads or thread in threads)
        and (not words or _holds(archive, ThreadKey(owner, thread), words.casefold()))
    ]


def _holds(archive: Archive, key: ThreadKey, words: str) -> bool:
    return any(words in as_text(message).casefold() for message in archive.messages(key))


def forget(
    archive: Archive, threads: Sequence[str], forgotten: ForgottenNames, *, owner: str = OWNER
) -> int:
    """Delete threads with all their own data, and prevent another import of them.

    The record of forgotten sessions is written first: after a crash in between, call it again. A
    SQLite file contains copies of deleted rows in its pages until it is rewritten.

    Returns:
        Bytes that were freed.

    Raises:
        OSError: The record cannot be written; nothing was deleted.
        StorageError: The archive cannot be written.
    """
    forgotten.add(threads)
    for thread in threads:
        archive.delete(ThreadKey(owner, thread))
    return archive.prune()
