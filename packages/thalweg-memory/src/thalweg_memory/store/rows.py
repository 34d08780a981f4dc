"""The statements of a memory's transaction, in addition to those of an archive's."""

from typing import Protocol

from thalweg.database.base import Rows


class MemoryRows(Rows, Protocol):
    """A transaction on the tables of a memory."""

    due_job: str
    """The `SELECT` of the scope, the thread and the attempt of the next job to lease at a time, of
    any owner. It locks the row; locked ones are skipped."""
    next_due: str
    """The `SELECT` of the time at which the first job of all is due."""
    bound: str
    """A column for the `SELECT` of a scope's row, which binds the transaction to that scope.

    From there on its reads and writes are that scope's, if the database itself can ensure it.
    """
