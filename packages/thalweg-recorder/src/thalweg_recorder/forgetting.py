"""Forgetting of sessions: selected by thread, project, time or words, and erased to the byte."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from thalweg.archive import Archive, ThreadKey, open_existing
from thalweg.engine.transcript import as_text
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.place import recorder_place
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


def forget_owner(address: str, owner: str, *, dry_run: bool) -> list[str]:
    """Prevent another import of an owner's sessions, and delete copies of logs and summaries.

    The sessions themselves are threads of the archive. See `thalweg.cli.plugins.OWNERS_GROUP`.
    """
    place = Path(address)
    if "://" in address or place.resolve() != recorder_place().resolve() or owner != OWNER:
        return []
    with open_existing(address) as archive:
        sessions = [thread for thread, _ in list_sessions(archive, owner)]
    if dry_run:
        return [f"recorder: {len(sessions):,} sessions"] if sessions else []
    if sessions:
        ForgottenNames(place.parent).add(sessions)
    for name in ("queue", "summaries"):
        if (folder := place.parent / name).is_dir():
            shutil.rmtree(folder)
    return [_LOGS_ARE_LEFT] if sessions else []


_LOGS_ARE_LEFT = "the agents' own logs, from which sessions were recorded"
