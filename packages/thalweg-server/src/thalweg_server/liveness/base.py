"""Liveness of processes: the protocol."""

from collections.abc import Collection
from typing import Protocol


class Liveness(Protocol):
    """Marks this process as alive for others, and finds processes that have died.

    The operating system or the server removes the mark when a process dies for any reason:
    nothing has to be written or to expire.


    Raises (all methods):
        StorageError: The medium failed.
    """

    async def enter(self) -> str:
        """Mark this process as alive.

        Returns:
            A name of this process that is never reused.
        """
        ...

    async def dead(self, names: Collection[str]) -> Collection[str]:
        """Return those of some processes that have died.

        A process that has recently lost its connection to the others reports none as dead.
        """
        ...

    async def leave(self) -> None:
        """Remove the mark of this process."""
        ...
