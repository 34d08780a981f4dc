"""What a memory asks of a transaction, beside what an archive asks."""

from typing import Protocol

from thalweg.database.base import Rows


class MemoryRows(Rows, Protocol):
    """A transaction on the tables of a memory."""

    due_job: str
    """The `SELECT` of the scope, the thread and the attempt of the job that is the next to be
    leased at a time, whosever it is. Nobody else has it to the end; those held are passed over."""
    next_due: str
    """The `SELECT` of the time at which the first job of all is due."""
    bound: str
    """A column for the `SELECT` of a scope's row: with it, what the transaction reads and writes
    from there on is that scope's, where the database itself can see to it."""
