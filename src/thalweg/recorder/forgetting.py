"""Forgetting sessions: chosen by thread, project, time or words, and gone to the byte."""

from collections.abc import Sequence

from thalweg.archive import Archive, ThreadKey
from thalweg.recorder.forgotten import Forgotten
from thalweg.recorder.searching import SearchFilter
from thalweg.recorder.sessions import OWNER, list_sessions
from thalweg.transcript import as_text


def plan_forgetting(
    archive: Archive,
    only: SearchFilter,
    *,
    threads: Sequence[str] = (),
    words: str = "",
    owner: str = OWNER,
) -> list[str]:
    """List the threads of the sessions that all conditions choose.

    Args:
        archive: Where they are.
        only: Projects, agents and times.
        threads: Names; where none is given, of any name.
        words: A text that stands in one of the messages, in any case.
        owner: Whose threads.
    """
    return [
        thread
        for thread, session in list_sessions(archive, owner)
        if (not threads or thread in threads)
        and only.admits(session)
        and (not words or _holds(archive, ThreadKey(owner, thread), words.casefold()))
    ]


def _holds(archive: Archive, key: ThreadKey, words: str) -> bool:
    return any(words in as_text(message).casefold() for message in archive.messages(key))


def forget(
    archive: Archive, threads: Sequence[str], forgotten: Forgotten, *, owner: str = OWNER
) -> int:
    """Delete threads with all that only they hold, and keep imports from bringing them back.

    That they are forgotten is written first: after a crash in between, forget them again. A
    SQLite file keeps copies of deleted rows in its pages until it is written anew.

    Returns:
        Bytes that were freed.

    Raises:
        OSError: It cannot be written that they are forgotten; nothing was deleted.
        StorageError: The archive cannot be written.
    """
    forgotten.add(threads)
    for thread in threads:
        archive.delete(ThreadKey(owner, thread))
    return archive.prune()
