"""Writes of a checkpointer as values, so that several fit in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

ErrorConversion = Callable[[], AbstractContextManager[None]]
"""Made around calls by runs: converts a failed medium to a `StorageError`, which ends no run."""
WriteMethod = Literal["put", "put_writes", "delete_before"]
"""The last deletes the youngest checkpoints of a thread's graph before one, `MOST_DELETED` of them,
without those of subgraphs, and returns whether more may be left."""
MOST_DELETED = 500


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    """A call of a method of a checkpointer that writes."""

    method: WriteMethod
    arguments: tuple[Any, ...]

    def apply(self, saver: BaseCheckpointSaver[Any]) -> object:
        """Perform the call on a checkpointer."""
        return getattr(saver, self.method)(*self.arguments)

    async def aapply(self, saver: BaseCheckpointSaver[Any]) -> object:
        """Perform the call on a checkpointer, async."""
        return await getattr(saver, f"a{self.method}")(*self.arguments)


class BatchSaver(BaseCheckpointSaver[Any], ABC):
    """A checkpointer that stores several writes in one transaction."""

    @abstractmethod
    async def awrite(self, batch: Sequence[CheckpointWrite]) -> object:
        """Store all writes, in order, or none of them; return what the last one returned.

        Storing the same writes again changes nothing.
        """


Medium = tuple[Callable[[str], BatchSaver], ErrorConversion]
"""Returns the saver for a tag, which a colon separates from a thread's id."""
