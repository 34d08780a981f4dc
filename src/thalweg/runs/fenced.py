"""Checkpoints that only whoever has the claim of a run may write."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

Fence = Callable[[], AbstractAsyncContextManager[None]]
"""Keeps a claim good while it is entered; raises `ClaimLostError` where it is void."""


class FencedSaver(BaseCheckpointSaver[Any]):
    """A checkpointer whose async writes are refused under a void claim.

    A process that was taken for dead and lives might else write its checkpoint over that of
    whoever took the run up. Reads pass through, and so do the sync writes, which no run makes.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], fence: Fence) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._fence = fence

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint while the claim is good.

        Raises:
            ClaimLostError: It is void; nothing was stored.
        """
        async with self._fence():
            return await self._saver.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a step has written so far, while the claim is good.

        Raises:
            ClaimLostError: It is void; nothing was stored.
        """
        async with self._fence():
            await self._saver.aput_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.aget_tuple`."""
        return await self._saver.aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.alist`."""
        async for found in self._saver.alist(config, filter=filter, before=before, limit=limit):
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver.adelete_thread`."""
        await self._saver.adelete_thread(thread_id)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.get_tuple`."""
        return self._saver.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.list`."""
        return self._saver.list(config, filter=filter, before=before, limit=limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver.put`."""
        return self._saver.put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See `BaseCheckpointSaver.put_writes`."""
        self._saver.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver.delete_thread`."""
        self._saver.delete_thread(thread_id)

    def get_next_version(self, current: Any, channel: None = None) -> Any:  # noqa: ANN401 (LangGraph's signature)
        """See `BaseCheckpointSaver.get_next_version`."""
        return self._saver.get_next_version(current, channel)
