"""The queue of threads to learn from: who is due, who has which, and until when.

Times are microseconds. A leased job is due again when its lease runs out; turns noted meanwhile
wait apart, and make it a new job when it is finished.
"""

import secrets
from datetime import UTC, datetime, timedelta

from thalweg.database.base import decode
from thalweg_memory.base import Job
from thalweg_memory.store.scoped import (
    MemoryRows,
    ScopeTransaction,
    get_or_create_thread,
    save_thread,
    scope_of,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def ticks(at: str) -> int:
    """Count the microseconds of a time since 1970.

    Example:
        >>> ticks("1970-01-01T00:00:01Z"), time_of(1_000_000)
        (1000000, '1970-01-01T00:00:01Z')
    """
    read = datetime.fromisoformat(at)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _TICK


def time_of(ticks: int) -> str:
    """Write a time as memory does."""
    return (_EPOCH + ticks * _TICK).isoformat().replace("+00:00", "Z")


def _span(seconds: float) -> int:
    return round(seconds * 1_000_000)


def note(
    scoped: ScopeTransaction, name: str, now: int, debounce_s: float, max_wait_s: float
) -> None:
    """See `MemoryStore.note`. The longest wait is counted from the first note of a job."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name)
    save_thread(scoped.db, scoped.id, name, thread)
    row = scoped.db.row(
        "SELECT lease, deadline, not_before, noted, noted_deadline FROM memory_job"  # noqa: S608 (fixed text)
        f" WHERE scope = ? AND thread = ?{scoped.db.for_update}",
        (scoped.id, thread.number),
    )
    deadline, quiet = now + _span(max_wait_s), now + _span(debounce_s)
    if row is None:
        scoped.db.run(
            "INSERT INTO memory_job (scope, thread, since, deadline, due) VALUES (?, ?, ?, ?, ?)",
            (scoped.id, thread.number, now, deadline, min(quiet, deadline)),
        )
        return
    lease, known_deadline, not_before, noted, noted_deadline = row
    if not lease:
        scoped.db.run(
            "UPDATE memory_job SET due = ? WHERE scope = ? AND thread = ?",
            (max(not_before, min(quiet, known_deadline)), scoped.id, thread.number),
        )
        return
    deadline = noted_deadline if noted else deadline
    scoped.db.run(
        "UPDATE memory_job SET noted = ?, noted_deadline = ?, noted_due = ?"
        " WHERE scope = ? AND thread = ?",
        (noted or now, deadline, min(quiet, deadline), scoped.id, thread.number),
    )


DUE_JOB = (
    "SELECT memory_job.scope, thread, attempt FROM memory_job"
    " LEFT JOIN memory_served ON memory_served.scope = memory_job.scope"
    " WHERE due <= ?"
    " ORDER BY CASE WHEN COALESCE(at, 0) > since THEN at ELSE since END, since LIMIT 1"
)
"""A scope waits since its job was noted, or since its last one was leased."""


def lease(db: MemoryRows, now: int, lease_s: float, worker: str) -> Job | None:
    """See `MemoryStore.lease`. Owners take turns: one with many threads is served no sooner."""
    row = db.row(db.due_job, (now,))
    if row is None:
        return None
    number, thread, attempt = row
    scope = scope_of(db, number)
    token = f"{secrets.token_hex(16)} {worker!a}"
    db.run(
        "UPDATE memory_job SET lease = ?, due = ?, attempt = ?, noted = 0"
        " WHERE scope = ? AND thread = ?",
        (token, now + _span(lease_s), attempt + 1, number, thread),
    )
    db.run(
        "INSERT INTO memory_served VALUES (?, ?)"
        " ON CONFLICT (scope) DO UPDATE SET at = excluded.at",
        (number, now),
    )
    (name,) = db.row(
        "SELECT name FROM memory_thread WHERE scope = ? AND thread = ?", (number, thread)
    )
    return Job(scope, decode(name), token, attempt + 1)


def is_any_due(db: MemoryRows, now: int) -> bool:
    """Return whether there may be a job to lease."""
    (due,) = db.row(db.next_due)
    return due is not None and due <= now


def is_live(scoped: ScopeTransaction, lease: str, now: int) -> bool:
    """Return whether a lease of this scope is valid, and lock its job for the transaction."""
    row = scoped.db.row(
        f"SELECT due FROM memory_job WHERE scope = ? AND lease = ?{scoped.db.for_update}",  # noqa: S608 (fixed text)
        (scoped.id, lease),
    )
    return row is not None and row[0] > now


def finish(scoped: ScopeTransaction, job: Job, now: int, retry_s: float | None) -> None:
    """See `MemoryStore.finish`."""
    row = scoped.db.row(
        "SELECT thread, due, noted FROM memory_job"  # noqa: S608 (fixed text)
        f" WHERE scope = ? AND lease = ?{scoped.db.for_update}",
        (scoped.id, job.lease),
    )
    if row is None or row[1] <= now:
        return
    thread, _, noted = row
    if retry_s is not None:
        again = now + _span(retry_s)
        scoped.db.run(
            "UPDATE memory_job SET lease = '', due = ?, not_before = ?, noted = 0"
            " WHERE scope = ? AND thread = ?",
            (again, again, scoped.id, thread),
        )
    elif noted:
        scoped.db.run(
            "UPDATE memory_job SET lease = '', since = noted, deadline = noted_deadline,"
            " due = noted_due, not_before = 0, attempt = 0, noted = 0"
            " WHERE scope = ? AND thread = ?",
            (scoped.id, thread),
        )
    else:
        scoped.db.run("DELETE FROM memory_job WHERE scope = ? AND thread = ?", (scoped.id, thread))


def next_due(db: MemoryRows) -> str | None:
    """See `MemoryStore.next_due`."""
    (due,) = db.row(db.next_due)
    return None if due is None else time_of(due)
