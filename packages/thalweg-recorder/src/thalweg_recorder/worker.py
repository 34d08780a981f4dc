"""Working off the events that hooks enqueued: one process for each archive at a time.

If a session is about to be compacted, its structured summary is written, without a model.
"""

import fcntl
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from thalweg.archive import Archive, ThreadKey
from thalweg.database.private_files import open_private
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.snapshot import Record
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader
from thalweg.errors import ThalwegError
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.hook import CHUNK_BYTES, LOCK, session_file
from thalweg_recorder.importing import Imported, import_copy, import_sessions
from thalweg_recorder.place import open_recorder, write_private
from thalweg_recorder.recordings.files import file_of
from thalweg_recorder.searching import cut_to
from thalweg_recorder.sessions import OWNER

SUMMARY_TOKENS = 1_500
SUMMARIZED = "PreCompact"
"""The event before a compaction; Gemini CLI emits its own whether or not it compacts."""
ORPHAN_S = 60
"""Seconds after which a file in the queue without its event is of a process that was killed."""


def summarize(archive: Archive, key: ThreadKey) -> str:
    """Write what happened in a thread: requests, files, commands with outcome, open errors.

    It is made from the messages themselves, in at most `SUMMARY_TOKENS` tokens; each line names
    the position of its message, which `recall` of `thalweg record mcp` reads.
    """
    count = exact_counter()
    reader = Reader(count)
    record = absorb(Record(), map(reader.read, archive.messages(key)))
    budget = SUMMARY_TOKENS
    while True:
        text = render(record, handle=key.thread, budget=budget, count=count)
        spent = count(text)
        if spent <= SUMMARY_TOKENS or budget <= 1:
            return cut_to(SUMMARY_TOKENS, text)  # the goal alone may be longer
        budget = max(1, budget * SUMMARY_TOKENS // (spent + 1))


def work(folder: Path) -> int:
    """Work off the queue; return at once if another process does.

    An event is kept in the queue for the next time while the archive cannot be written. One whose
    log cannot be read is moved to the folder `failed` of the queue, the newest of each session; a
    line on stderr states why. One that is no event is dropped.

    Returns:
        How many events were handled.
    """
    done = 0
    while waiting(folder):
        with lock(folder) as acquired:
            if not acquired:
                return done
            with open_recorder(folder / "thalweg.db") as archive:
                handled = sum(_handle(archive, folder, place) for place in waiting(folder))
                archive.update_index(OWNER)
            _drop_orphans(folder)
        if not handled:
            return done
        done += handled
        # A hook that came while the lock was held started no worker: look again.
    return done


def failed(folder: Path) -> list[Path]:
    """Return the events whose log could not be read."""
    return sorted((folder / "queue" / "failed").glob("*.json"))


def requeue(folder: Path) -> None:
    """Return the failed events to the queue."""
    for place in failed(folder):
        _move(place, folder / "queue" / place.name)


def waiting(folder: Path) -> list[Path]:
    """Return the events that wait for the worker."""
    return sorted((folder / "queue").glob("*.json"))


@contextmanager
def lock(folder: Path) -> Iterator[bool]:
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
        _drop(place)
        return True
    try:
        log = Path(source)
        for imported in _import(archive, place, log, session):
            is_own = Path(imported.source) == log
            if imported.error and is_own:
                return _set_aside(place, event, imported.error)
            if imported.error:
                _report(imported.error)  # the next event of the session tries again
            elif name == SUMMARIZED and is_own and imported.skipped in {"", "unchanged"}:
                text = summarize(archive, ThreadKey(OWNER, imported.thread))
                write_private(folder / "summaries" / f"{session_file(session)}.md", text)
    except (ThalwegError, OSError) as error:
        _report(str(error))
        return False
    except Exception as error:  # noqa: BLE001 (one event must not keep the others waiting)
        return _set_aside(place, event, f"{log}: {type(error).__name__}: {error}")
    _drop(place)
    return True


def _import(archive: Archive, place: Path, log: Path, session: str) -> list[Imported]:
    """Import the copy of a log, the log, and the logs of the session's subagents."""
    forgotten = ForgottenNames(place.parent.parent)
    copy = place.with_suffix("") / log.name
    subagents_folder = log.parent / session
    results: list[Imported] = []
    if copy.is_file() and not _begins_with(log, copy):
        results.append(import_copy(archive, copy, log, forgotten=forgotten))
    if file_of(log).exists():
        # Those of Claude Code and of Gemini CLI, in a folder that is named by the session.
        patterns = ("subagents/**/agent-*.jsonl", "*.jsonl") if session else ()
        subagents = [path for pattern in patterns for path in subagents_folder.glob(pattern)]
        results += import_sessions(archive, [log, *subagents], forgotten=forgotten)
    elif not results:
        _report(f"{log}: the log is gone")
    return results


def _set_aside(place: Path, event: dict[str, str], error: str) -> bool:
    """Keep the event of a log that cannot be read."""
    _report(error)
    target = place.parent / "failed" / f"{session_file(event['session_id'])}.json"
    target.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(place, json.dumps({**event, "error": error}))
    _move(place, target)
    return True


def _move(place: Path, target: Path) -> None:
    """Move an event, with its copy of a log, over an earlier one."""
    copy = place.with_suffix("")
    if copy.is_dir():
        shutil.rmtree(target.with_suffix(""), ignore_errors=True)
        copy.replace(target.with_suffix(""))
    place.replace(target)


def _report(problem: str) -> None:
    sys.stderr.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {problem}\n")
    sys.stderr.flush()


def _begins_with(log: Path, copy: Path) -> bool:
    """Return whether a log holds all that a copy of it does: then the copy need not be read."""
    try:
        with log.open("rb") as now, copy.open("rb") as then:
            while chunk := then.read(CHUNK_BYTES):
                if now.read(len(chunk)) != chunk:
                    return False
    except FileNotFoundError:
        return False
    return True


def _drop(place: Path) -> None:
    """Remove an event, then its copy of a log."""
    place.unlink()
    shutil.rmtree(place.with_suffix(""), ignore_errors=True)


def _drop_orphans(folder: Path) -> None:
    """Remove a killed process's remains from the queue: copies and beginnings of events."""
    for path in (folder / "queue").iterdir():
        if (
            path.name != "failed"
            and path.suffix != ".json"
            and not path.with_suffix(".json").exists()
        ):
            if path.stat().st_mtime > time.time() - ORPHAN_S:
                continue  # a hook may be writing it
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        work(Path(sys.argv[1]))
    except (ThalwegError, OSError) as problem:
        _report(str(problem))
        raise SystemExit(1) from None
