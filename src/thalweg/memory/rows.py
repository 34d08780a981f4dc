"""What a memory asks of a transaction, beside what an archive asks."""

from typing import Protocol

from thalweg.archive.database import Rows


class MemoryRows(Rows, Protocol):
    """A transaction on the tables of a memory."""

    skip_held: str
    """Ends a `SELECT … FROM memory_job` of which rows held by others are to be passed over."""
    bound: str
    """A column for the `SELECT` of a scope's row: with it, what the transaction reads and writes
    from there on is that scope's, where the database itself can see to it."""
