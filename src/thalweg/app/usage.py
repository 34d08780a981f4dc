"""What one owner spent, on which thread, which model and what for."""

from __future__ import annotations

from thalweg.api.usage import OwnerUsage, ThreadUsage


class TenantUsage:
    """The usage of one owner."""

    async def thread(self, thread: str) -> ThreadUsage:
        """Tell what a thread spent, by who called a model, and how its window is filled.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        raise NotImplementedError

    async def owner(self) -> OwnerUsage:
        """Tell what all threads spent, each and together, and by model."""
        raise NotImplementedError
