"""Threads to learn from, as jobs of `thalweg.database.jobs`.

A job's key has ids alone: the owner and the agent in hexadecimal, and the number of the thread.
Turns that are noted while a thread is learned from are a job of their own.
"""

from datetime import UTC, datetime, timedelta

from thalweg.database.base import decode, encode
from thalweg.database.jobs import Job
from thalweg_memory.facts.values import Scope
from thalweg_memory.store.scoped import (
    MemoryRows,
    ScopeTransaction,
    get_or_create_thread,
    save_thread,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE_MS = 60_000


def milliseconds(at: str) -> int:
    """Count the milliseconds of a time since 1970.

    Example:
        >>> milliseconds("1970-01-01T00:00:01Z"), time_of(1_000)
        (1000, '1970-01-01T00:00:01Z')
    """
    read = datetime.fromisoformat(at)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


def time_of(milliseconds: int) -> str:
    """Write a time as memory does."""
    return (_EPOCH + milliseconds * _MILLISECOND).isoformat().replace("+00:00", "Z")


def key_of(scope: Scope, thread: int | None = None) -> str:
    """Return the key of a thread's job; without a thread, the prefix of all keys of the scope."""
    prefix = f"{encode(scope.owner).hex()}.{encode(scope.agent).hex()}."
    return prefix if thread is None else f"{prefix}{thread}."


def thread_of(key: str) -> tuple[Scope, int]:
    """Return the scope and the number of the thread that a key names.

    Example:
        >>> thread_of(key_of(Scope("ada"), 7))[1]
        7
    """
    owner, agent, thread, _ = key.split(".")
    return Scope(decode(bytes.fromhex(owner)), decode(bytes.fromhex(agent))), int(thread)


def note(
    scoped: ScopeTransaction,
    scope: Scope,
    name: str,
    now: int,
    debounce_s: float,
    max_wait_s: float,
) -> None:
    """See `MemoryStore.note`. The longest wait is counted from the first note of a job."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name)
    save_thread(scoped.db, scoped.id, name, thread)
    latest = now + round(1_000 * max_wait_s)
    due = min(now + round(1_000 * debounce_s), latest)
    jobs, key = scoped.db.jobs, key_of(scope, thread.number)
    (waiting,) = scoped.db.row(*jobs.waiting(key_of(scope)))
    # Owners take turns: each job that waits already counts as a minute.
    priority = -(now // _MINUTE_MS + waiting)
    submitted = jobs.submit(key, key, due_ms=due, latest_ms=latest, priority=priority)
    scoped.db.run(*submitted)


def finish(db: MemoryRows, job: Job, now: int, retry_s: float | None) -> None:
    """See `MemoryStore.finish`."""
    if retry_s is None:
        db.run(*db.jobs.finish(job))
    elif is_live(db, job):
        db.run(*db.jobs.cancel(job.key))
        db.run(*db.jobs.release(job, due_ms=now + round(1_000 * retry_s)))


def is_live(db: MemoryRows, job: Job) -> bool:
    """Return whether a claim is valid, and lock its job for the transaction."""
    text, values = db.jobs.hold(job)
    return db.row(text + db.for_update, values) is not None
