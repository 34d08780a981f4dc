"""Which processes live: the protocol of every presence."""

from collections.abc import Collection
from typing import Protocol


class Presence(Protocol):
    """Shows the other processes that this one lives, and tells which of them do not.

    What shows it is taken back by the operating system or by the server when a process dies,
    however it dies: nothing has to be written or to run out.

    Raises (all methods):
        StorageError: The medium failed.
    """

    async def enter(self) -> str:
        """Begin to live.

        Returns:
            The name of this process, which no other ever has.
        """
        ...

    async def dead(self, names: Collection[str]) -> Collection[str]:
        """Give those of some processes that do not live.

        Nobody is called dead by a process that has lost sight of the others lately.
        """
        ...

    async def leave(self) -> None:
        """Live no longer."""
        ...
