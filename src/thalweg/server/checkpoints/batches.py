"""Writes of a checkpointer as values, so that several fit in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)


@dataclass(frozen=True, slots=True)
class PutCheckpoint:
    """A call of `BaseCheckpointSaver.put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions

    def apply(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Perform the call on a checkpointer."""
        saver.put(self.config, self.checkpoint, self.metadata, self.new_versions)

    async def aapply(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Perform the call on a checkpointer, async."""
        await saver.aput(self.config, self.checkpoint, self.metadata, self.new_versions)


@dataclass(frozen=True, slots=True)
class PutWrites:
    """A call of `BaseCheckpointSaver.put_writes`."""

    config: RunnableConfig
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str

    def apply(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Perform the call on a checkpointer."""
        saver.put_writes(self.config, self.writes, self.task_id, self.task_path)

    async def aapply(self, saver: BaseCheckpointSaver[Any]) -> None:
        """Perform the call on a checkpointer, async."""
        await saver.aput_writes(self.config, self.writes, self.task_id, self.task_path)


CheckpointWrite = PutCheckpoint | PutWrites


class BatchSaver(BaseCheckpointSaver[Any], ABC):
    """A checkpointer that stores several writes in one transaction."""

    @abstractmethod
    async def awrite(self, batch: Sequence[CheckpointWrite]) -> None:
        """Store all writes, in order, or none of them.

        Storing the same writes again changes nothing.
        """
