"""Threads to wake when their background tasks end: a table that outlives the process."""

import json
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thalweg.database.private_files import make_private_file
from thalweg.errors import StorageError
from thalweg_agent.subagents.background import AsyncTask

ThreadState = Literal["idle", "running", "waking"]
"""State of a parent's thread: its last run ended; a run is under way, or waits for a person; a run
that was started to report ended tasks is under way."""
_TABLE = """
CREATE TABLE IF NOT EXISTS pending_wakes (
    task TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    run TEXT NOT NULL,
    detail TEXT NOT NULL,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    held_until REAL NOT NULL
)
"""


@dataclass(frozen=True, slots=True)
class PendingWake:
    """A task whose end has yet to be reported to its parent's thread."""

    thread: str
    task: AsyncTask
    state: ThreadState


class PendingWakes:
    """The tasks that parents wait for, in a SQLite file or in memory.

    Each row is leased to one process, which polls the task. A process that dies stops renewing
    its leases, and another one takes the rows over.

    Args:
        path: The file, which is created if missing; `None` for memory.
        lease_s: Seconds that a lease lasts.

    Raises:
        StorageError: The file cannot be used; any method may raise it.
    """

    def __init__(self, path: Path | None, lease_s: float) -> None:
        self._place = ":memory:" if path is None else str(path)
        self._lease_s = lease_s
        self._holder = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        try:
            if path is not None:
                make_private_file(path)
            self._connection = sqlite3.connect(
                self._place, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._connection.close)  # a middleware need not be closed
            self._connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def add(self, thread: str, task: AsyncTask) -> None:
        """Add a task, with its newest run, for a thread whose run is under way."""
        self._execute(
            "INSERT OR REPLACE INTO pending_wakes VALUES (?, ?, ?, ?, 'running', ?, ?)",
            task["task_id"], thread, task["run_id"], json.dumps(task), self._holder, self._until(),
        )  # fmt: skip

    def set_state(self, thread: str, state: ThreadState) -> None:
        """Set the state of a thread and lease its rows to this process."""
        self._execute(
            "UPDATE pending_wakes SET state = ?, holder = ?, held_until = ? WHERE thread = ?",
            state, self._holder, self._until(), thread,
        )  # fmt: skip

    def held(self) -> list[PendingWake]:
        """Renew the leases of this process, take over those that ran out, and return the rows."""
        rows = self._execute(
            "UPDATE pending_wakes SET holder = ?, held_until = ? WHERE holder = ? OR held_until < ?"
            " RETURNING thread, detail, state",
            self._holder, self._until(), self._holder, time.time(),
        )  # fmt: skip
        return [PendingWake(thread, json.loads(task), state) for thread, task, state in rows]

    def remove(self, tasks: Collection[tuple[str, str]]) -> None:
        """Remove tasks, each named with its run; a later run of a task remains."""
        for task, run in tasks:
            self._execute("DELETE FROM pending_wakes WHERE task = ? AND run = ?", task, run)

    def has_due(self) -> bool:
        """Return whether any process has a thread to wake."""
        return bool(self._execute("SELECT 1 FROM pending_wakes WHERE state <> 'running' LIMIT 1"))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _until(self) -> float:
        return time.time() + self._lease_s

    def _execute(self, statement: str, *values: object) -> Sequence[Any]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._failed(error) from error

    def _failed(self, error: Exception) -> StorageError:
        fix = "set wake_store to the path of a file on a disk of this machine"
        return StorageError(self._place, str(error), fix)
