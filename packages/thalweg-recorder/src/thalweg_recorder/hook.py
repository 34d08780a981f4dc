"""The hook of a coding agent: it enqueues the event, and injects a summary that is due.

Run by path, `python -I -S hook.py FOLDER`, with the event as JSON on its input: it imports nothing
but the standard library, takes milliseconds, and ends with 0 in every case. A worker, a process
of its own, does the rest (`recorder.worker`).

Files in FOLDER: `queue/*.json` are events to work on, each with a folder of its name, in which is a
copy of the log; `queue/failed/*.json` are those whose log cannot be read; `worker.log` has the
errors of the worker; `summaries/SESSION.md` is the summary of a session that was compacted;
`summaries/SESSION.due` marks that the agent has not received it.
Nothing is written for a project that is opted out.
"""

import json
import os
import sys
import time

QUEUED = {
    "Stop",
    "SubagentStop",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "AfterAgent",
    "PreCompress",
}
"""Events at which an agent has written new rows."""
INJECTING = {"SessionStart", "UserPromptSubmit"}
"""Events whose answer may add to the context."""
COMPACTING = {"PreCompact", "PreCompress"}
"""Events after which an agent may rewrite its log: any log is copied before."""
MOST_COPIED = 32_000_000
"""Largest log, in bytes, that is copied at other events."""
MOST_QUEUED = 50
"""Entries of the queue from which on no log is copied at them: the worker does not work."""
CHUNK_BYTES = 1 << 20
LOCK, LOG = "worker.lock", "worker.log"
MOST_LOGGED = 1_000_000
"""Bytes of the worker's log from which on it is begun anew."""
OPT_OUT = ".thalweg-off"
"""A file of this name in a folder keeps the sessions of that folder, and of all below it, out."""


def main(folder: str, given: str) -> str:
    """Handle an event.

    Args:
        folder: The recorder's folder.
        given: The event, as JSON.

    Returns:
        The answer to the agent: JSON with a summary to inject, or nothing.
    """
    event = json.loads(given)
    name = event["hook_event_name"]
    paths = [os.path.join(folder, part) for part in ("queue", "summaries")]
    place = os.path.join(paths[1], session_file(event["session_id"]))
    log = event["transcript_path"]
    if is_opted_out(event.get("cwd") or "") or is_opted_out(folder_in(log)):
        remove_traces(folder, place)
        return ""
    for path in paths:
        os.makedirs(path, mode=0o700, exist_ok=True)
    if name in COMPACTING:
        remove_file(f"{place}.md")  # of a compaction that was cancelled
    if name in QUEUED:
        kept = ("hook_event_name", "session_id", "transcript_path")
        enqueue(paths[0], {key: event[key] for key in kept})
        start_worker(folder)
    if name == "PostCompact" or (name == "SessionStart" and event.get("source") == "compact"):
        with open(f"{place}.due", "w"):
            pass
    return inject(place, name) if name in INJECTING else ""


def is_opted_out(project: str) -> bool:
    """Return whether a project, or a folder above it, has the file that keeps it out.

    Example:
        >>> is_opted_out("/")
        False
    """
    while project:
        if os.path.exists(os.path.join(project, OPT_OUT)):
            return True
        parent = os.path.dirname(project)
        project = "" if parent == project else parent
    return False


def folder_in(log: str) -> str:
    """Return the first folder that a log of JSON Lines states as the agent's; empty without one.

    The agent may have changed its folder since: the event names another one then.
    """
    key = b'"cwd":'
    try:
        with open(log, "rb") as file:
            for line in file:
                if key in line:
                    text = line.partition(key)[2].decode("utf-8", "replace").lstrip()
                    found = json.JSONDecoder().raw_decode(text)[0]
                    return found if isinstance(found, str) else ""
    except (OSError, ValueError):
        pass
    return ""


def remove_traces(folder: str, place: str) -> None:
    """Remove files written about a session before its project was opted out.

    Events that wait are the worker's: it drops those of such a project, with their copies.
    """
    for path in (f"{place}.md", f"{place}.due"):
        remove_file(path)
    queue = os.path.join(folder, "queue")
    if os.path.isdir(queue) and os.listdir(queue):
        start_worker(folder)


def remove_file(path: str) -> None:
    """Remove a file, if another process did not remove it."""
    try:  # noqa: SIM105 (`contextlib` takes longer to load)
        os.unlink(path)
    except FileNotFoundError:
        pass


def session_file(session: str) -> str:
    """Return a file name for a session of any id; `hashlib` takes longer to load than this."""
    return session.encode().hex()[:200]


def enqueue(queue: str, event: dict[str, str]) -> None:
    """Write an event into the queue, whole or not at all, with a copy of the log.

    The agent may rewrite its log before the worker reads it. Without a copy, as on a full disk,
    the worker reads the log alone.
    """
    name = os.path.join(queue, f"{time.time_ns():020}-{os.getpid()}")
    log = event["transcript_path"]
    try:
        is_small = os.stat(log).st_size <= MOST_COPIED and len(os.listdir(queue)) < MOST_QUEUED
        if is_small or event["hook_event_name"] in COMPACTING:
            os.mkdir(name, 0o700)
            copy_log(log, os.path.join(name, os.path.basename(log)))
    except OSError:
        pass
    with open(os.open(f"{name}.part", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(json.dumps(event))
    os.replace(f"{name}.part", f"{name}.json")


def copy_log(log: str, copy: str) -> None:
    """Copy a log that may grow meanwhile; if it fails, the copy is removed."""
    try:
        with (
            open(log, "rb") as source,
            open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target,
        ):
            while chunk := source.read(CHUNK_BYTES):
                target.write(chunk)
    except OSError:
        os.unlink(copy)
        raise


def start_worker(folder: str) -> None:
    """Start the worker unless one runs: that one looks at the queue again before it ends."""
    import fcntl  # noqa: PLC0415 (of POSIX alone; an import of sessions loads this module anywhere)

    with open(os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
    # A module of the project or of PYTHONPATH must not take the place of one that is imported.
    command = [sys.executable, "-EP", "-m", "thalweg_recorder.worker", folder]
    log = os.path.join(folder, LOG)
    is_large = os.path.exists(log) and os.stat(log).st_size > MOST_LOGGED
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_large else os.O_APPEND)
    streams = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
    streams.append((os.POSIX_SPAWN_OPEN, 2, log, flags, 0o600))
    os.nice(10)  # inherited: the agent and its hooks go first
    os.posix_spawn(command[0], command, os.environ, file_actions=streams, setsid=True)


def inject(place: str, name: str) -> str:
    """Answer with the summary of a session if it is due and written."""
    if not os.path.exists(f"{place}.due"):
        return ""
    try:
        # Renamed first: of two hooks at once, one has it.
        os.replace(f"{place}.md", f"{place}.{os.getpid()}")
    except FileNotFoundError:
        return ""
    with open(f"{place}.{os.getpid()}", encoding="utf-8") as file:
        summary = file.read()
    os.unlink(f"{place}.{os.getpid()}")
    os.unlink(f"{place}.due")
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": summary}})


if __name__ == "__main__":
    try:
        sys.stdout.write(main(sys.argv[1], sys.stdin.read()))
        sys.stdout.flush()
    except Exception:  # noqa: BLE001, S110 (a hook never fails its agent)
        pass
    os._exit(0)
