"""Forgetting of sessions: selected by thread, project, time or words, and erased to the byte."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from thalweg.archive import Archive, ThreadKey, open_existing
from thalweg.database.sqlite_files import has_component_tables
from thalweg.engine.transcript import as_text
from thalweg_recorder.forgotten import ForgottenNames, earlier_name, names_with_parents
from thalweg_recorder.hook import session_file
from thalweg_recorder.place import recorder_place
from thalweg_recorder.searching import SearchFilter
from thalweg_recorder.sessions import OWNER, list_compactions, list_sessions


def plan_forgetting(
    archive: Archive,
    only: SearchFilter,
    *,
    threads: Sequence[str] = (),
    words: str = "",
    owner: str = OWNER,
) -> list[str]:
    """Return the threads of the sessions that match all conditions, and of their parts.

    Args:
        archive: The archive of the sessions.
        only: Projects, agents and times.
        threads: Names; empty for any name.
        words: A text in the title, a message or a summary, ignoring case.
        owner: The owner of the threads.

    Raises:
        ConfigError: See `SearchFilter.select`.
    """
    sessions = [*list_sessions(archive, owner)]
    found = [
        thread
        for thread, one in only.select(sessions)
        if (not threads or thread in threads)
        and (not words or _holds(archive, ThreadKey(owner, thread), one.title, words.casefold()))
    ]
    chosen = set(found)
    # An earlier version named the thread of a subagent after its log, without its session.
    folders = {(Path(one.source).parent, one.id) for name, one in sessions if name in chosen}
    return [
        thread
        for thread, one in sessions
        if not chosen.isdisjoint(names_with_parents(thread))
        or not folders.isdisjoint((path.parent, path.name) for path in Path(one.source).parents)
    ]


def _holds(archive: Archive, key: ThreadKey, title: str, words: str) -> bool:
    made = (archive.attachment(key, one["summary"]) for one in list_compactions(archive, key))
    texts = chain([title], map(as_text, archive.messages(key)), made)
    return any(words in text.casefold() for text in texts)


def forget(
    archive: Archive, threads: Sequence[str], forgotten: ForgottenNames, *, owner: str = OWNER
) -> int:
    """Delete threads with all their own data, and prevent another import of them.

    Their summaries, and logs that could not be read, are deleted from the recorder's folder as
    well; its worker drops events of theirs that wait. The record of forgotten sessions is written
    first: after a crash in between, call it again. A SQLite file contains copies of deleted rows
    in its pages until it is rewritten.

    Returns:
        Bytes that were freed.

    Raises:
        OSError: The record cannot be written; nothing was deleted.
        StorageError: The archive cannot be written.
    """
    forgotten.add(threads)
    for thread in threads:
        archive.delete(ThreadKey(owner, thread))
        failed = forgotten.folder / "queue" / "failed"
        # Events of a subagent have its own id alone.
        sessions = {name.partition(":")[2] for name in (thread, earlier_name(thread))}
        for name in filter(None, map(session_file, sessions)):
            for file in (*forgotten.folder.glob(f"summaries/{name}.*"), failed / f"{name}.json"):
                file.unlink(missing_ok=True)
            shutil.rmtree(failed / name, ignore_errors=True)
    return archive.prune()


def forget_owner(address: str, owner: str, *, dry_run: bool) -> list[str]:
    """Prevent another import of an owner's sessions, and delete copies of logs and summaries.

    The sessions themselves are threads of the archive. See `thalweg.cli.plugins.OWNERS_GROUP`.
    """
    if owner != OWNER or "://" in address or not has_component_tables(address, "archive"):
        return []
    place = Path(address)
    if place.resolve() != recorder_place().resolve():
        return []
    with _worker_lock(place.parent) as is_idle, open_existing(address) as archive:
        sessions = [thread for thread, _ in list_sessions(archive, owner)]
        if dry_run:
            return [f"recorder: {len(sessions):,} sessions"] if sessions else []
        if sessions:
            ForgottenNames(place.parent).add(sessions)
        folders = [place.parent / name for name in ("queue", "summaries")]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)  # a hook may write to it
    left = [str(folder) for folder in folders if folder.is_dir()]
    left += [] if is_idle else [_IS_RECORDING]
    return [*left, _LOGS_ARE_LEFT] if sessions else left


@contextmanager
def _worker_lock(folder: Path) -> Iterator[bool]:
    """Keep the recorder's worker from importing; `False` if it imports for longer than that."""
    from thalweg_recorder.worker import lock  # noqa: PLC0415 (of POSIX)

    for _ in range(round(_PATIENCE_S / _PAUSE_S)):
        with lock(folder) as acquired:
            if acquired:
                yield True
                return
        time.sleep(_PAUSE_S)
    yield False


_PATIENCE_S, _PAUSE_S = 10.0, 0.1
_LOGS_ARE_LEFT = "the agents' own logs, from which sessions were recorded"
_IS_RECORDING = "sessions that the recorder imports now: run the command again"
