"""Working off the events that hooks enqueued: one process for each archive at a time."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg.archive import Archive, ThreadKey
from thalweg.database.private_files import open_private
from thalweg.errors import ThalwegError
from thalweg.recorder.forgotten import ForgottenNames
from thalweg.recorder.hook import LOCK, session_file
from thalweg.recorder.importing import import_sessions
from thalweg.recorder.place import open_recorder
from thalweg.recorder.sessions import OWNER
from thalweg.recorder.summary import summarize

SUMMARIZED = "PreCompact"
"""The event before a compaction; Gemini CLI emits its own whether or not it compacts."""


def work(folder: Path) -> int:
    """Work off the queue; return at once where another process does.

    An event whose import fails stays in the queue for the next time. One that is no event is
    dropped.

    Returns:
        How many events were handled.
    """
    done = 0
    while any(_queued(folder)):
        with _lock(folder) as is_ours:
            if not is_ours:
                return done
            with open_recorder(folder / "thalweg.db") as archive:
                handled = sum(_handle(archive, folder, place) for place in _queued(folder))
                archive.update_index(OWNER)
        if not handled:
            return done
        done += handled
        # A hook that came while the lock was held started no worker: look again.
    return done


def _queued(folder: Path) -> Iterator[Path]:
    yield from sorted((folder / "queue").glob("*.json"))


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the lock of the folder, if it is free; a process that is killed releases it."""
    with open(folder / LOCK, "w", opener=open_private) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def _handle(archive: Archive, folder: Path, place: Path) -> bool:
    """Import the session of an event, and summarize it before a compaction."""
    try:
        event = json.loads(place.read_text("utf-8"))
        source, session, name = (
            str(event[key]) for key in ("transcript_path", "session_id", "hook_event_name")
        )
    except (ValueError, KeyError, TypeError):
        place.unlink()
        return True
    try:
        (imported,) = import_sessions(archive, [Path(source)], forgotten=ForgottenNames(folder))
        if name == SUMMARIZED and imported.thread and imported.skipped in {"", "unchanged"}:
            text = summarize(archive, ThreadKey(OWNER, imported.thread))
            _write(folder / "summaries" / f"{session_file(session)}.md", text)
    except (ThalwegError, OSError) as error:
        sys.stderr.write(f"thalweg: {error}\n")
        return False
    place.unlink()
    return True


def _write(place: Path, text: str) -> None:
    """Write a file for this user alone, whole or not at all."""
    beside = place.with_suffix(f".{os.getpid()}.part")
    with open(beside, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)
    beside.replace(place)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
