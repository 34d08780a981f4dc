"""Checkpoints of all owners in one database, and a saver that sees those of one owner alone."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    copy_checkpoint,
)

from thalweg.context.turn.thread_deletion import adelete_namespaces
from thalweg.database.base import POSTGRES_SCHEMES
from thalweg.engine.extras import needs_extra
from thalweg.engine.undocumented import DELTA_SNAPSHOT
from thalweg.errors import ClaimLostError, ConfigError, StorageError
from thalweg_server.checkpoints.batches import (
    BatchSaver,
    CheckpointWrite,
    ErrorConversion,
    Medium,
    WriteMethod,
)
from thalweg_server.runs.running import fence

LINGER_S = 0.2
"""How long a checkpoint of a run may wait for others."""
MOST_WAITING = 64
"""Writes of a run that wait at most."""


class OwnSaver(BaseCheckpointSaver[Any]):
    """The checkpoints of one owner, separated from those of the same thread id of another owner.

    LangGraph identifies threads by id alone. Writes get the owner's tag as a prefix of the id, and
    reads lose it; so a caller with this saver can address no thread of another owner. The
    application is asynchronous, and so are all methods that work here.

    Args:
        inner: Stores the checkpoints.
        tag: The owner's.
        converting_errors: See `Telling`.
    """

    def __init__(
        self, inner: BaseCheckpointSaver[Any], tag: str, converting_errors: ErrorConversion
    ) -> None:
        super().__init__(serde=inner.serde)
        self._inner = inner
        self._mark = f"{tag}:"
        self._converting_errors = converting_errors

    async def flush(self) -> None:
        """Return once all that was written is durable: here at once."""

    @property
    def config_specs(self) -> list[Any]:
        """Return the fields of a config that the saver reads.

        See `BaseCheckpointSaver.config_specs`.
        """
        return self._inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ANN401 (the saver's own)
        """Return the next version of a channel; see `BaseCheckpointSaver.get_next_version`."""
        return self._inner.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint of a thread; see `BaseCheckpointSaver.aget_tuple`."""
        await self.flush()
        with self._converting_errors():
            found = await self._inner.aget_tuple(self._down(config))
        return None if found is None else self._raised(found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.alist`; a thread has to be named."""
        if config is None or "thread_id" not in config.get("configurable", {}):
            fix = "name a thread: the checkpoints of all owners are never listed"
            raise ConfigError("thread_id", "none is given", fix)
        await self.flush()
        # `before` may name a checkpoint and no thread: of a subagent whose run is a replay.
        inner = self._inner.alist(self._down(config), filter=filter, before=before, limit=limit)
        with self._converting_errors():  # a caller may need another connection before the next one
            listed = [found async for found in inner]
        for found in listed:
            yield self._raised(found)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; see `BaseCheckpointSaver.aput`."""
        below = self._down(config)
        async with fence():
            with self._converting_errors():
                return self._raise(
                    await self._inner.aput(below, checkpoint, metadata, new_versions)
                )

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the stored writes of delta channels.

        See `BaseCheckpointSaver.aget_delta_channel_history`.
        """
        await self.flush()
        below = self._down(config)
        with self._converting_errors():
            return await self._inner.aget_delta_channel_history(config=below, channels=channels)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task; see `BaseCheckpointSaver.aput_writes`."""
        async with fence():
            with self._converting_errors():
                await self._inner.aput_writes(self._down(config), writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints and writes of a thread.

        See `BaseCheckpointSaver.adelete_thread`.
        """
        await self.flush()
        with self._converting_errors():
            await self._inner.adelete_thread(self._mark + thread_id)

    async def adelete_namespaces(self, thread_id: str, namespaces: Collection[str]) -> bool:
        """Delete the checkpoints of some namespaces of a thread; see `delete_namespaces`."""
        await self.flush()
        async with fence():
            with self._converting_errors():
                return await adelete_namespaces(self._inner, self._mark + thread_id, namespaces)

    def _down(self, config: RunnableConfig) -> RunnableConfig:
        given = config.get("configurable", {})
        thread = f"{self._mark}{given['thread_id']}"
        return {**config, "configurable": {**given, "thread_id": thread}}

    def _raised(self, found: CheckpointTuple) -> CheckpointTuple:
        parent = found.parent_config
        return found._replace(
            config=self._raise(found.config),
            parent_config=None if parent is None else self._raise(parent),
        )

    def _raise(self, config: RunnableConfig) -> RunnableConfig:
        given = config.get("configurable", {})
        thread = str(given["thread_id"]).removeprefix(self._mark)
        return {**config, "configurable": {**given, "thread_id": thread}}


class RunSaver(OwnSaver):
    """The checkpoints of one run, written in batches.

    A step of a graph writes twice, and most of it is needed only after a crash. Writes wait here
    for `flush`, for a read, or for `LINGER_S`. A checkpoint of a subagent does not wait, since its
    graph continues without a read.

    Args:
        inner: Stores the checkpoints.
        tag: The owner's.
        converting_errors: See `OwnSaver`.
    """

    def __init__(self, inner: BatchSaver, tag: str, converting_errors: ErrorConversion) -> None:
        super().__init__(inner, tag, converting_errors)
        self._batches = inner
        self._waiting: list[CheckpointWrite] = []
        self._flushing = asyncio.Lock()
        self._lingering: asyncio.Task[None] | None = None

    async def flush(self) -> None:
        """Return once all that was written is durable.

        Raises:
            ClaimLostError: Another process performs the run.
            StorageError: The medium failed. The next flush tries again.
        """
        async with self._flushing:
            if not (batch := self._waiting[:]):
                return
            async with fence():
                with self._converting_errors():
                    await self._batches.awrite(batch)
            del self._waiting[: len(batch)]

    async def keep_newest(self, config: RunnableConfig, values: Mapping[str, Any]) -> None:
        """Delete a thread's checkpoints except the newest, the youngest first.

        Each transaction deletes a limited number. If the process ends between two of them, the next
        call of the thread deletes the rest: the first has made the newest independent of them, and
        those that are left have their ancestors, from which their delta channels are computed.

        Args:
            config: Names the thread.
            values: The values of its delta channels, which the newest checkpoint then holds: it
                would need the deleted ones to compute them.

        Raises:
            ClaimLostError: Another process performs the run.
            StorageError: The medium failed.
        """
        newest = await self.aget_tuple(config)
        if newest is None or newest.parent_config is None:
            return
        checkpoint = copy_checkpoint(newest.checkpoint)
        checkpoint["channel_values"] |= {n: DELTA_SNAPSHOT(values[n]) for n in values}
        versions = {name: checkpoint["channel_versions"][name] for name in values}
        place = self._down(newest.parent_config)
        thread = place["configurable"]["thread_id"]
        delete = CheckpointWrite("delete_before", (thread, checkpoint["id"]))
        put = CheckpointWrite("put", (place, checkpoint, newest.metadata, versions))
        batch = [put, delete]
        while batch:
            async with fence():
                with self._converting_errors():
                    batch = [delete] if await self._batches.awrite(batch) else []

    async def close(self) -> None:
        """Flush, and stop the timer."""
        if self._lingering is not None:
            self._lingering.cancel()
            await asyncio.wait([self._lingering])
        await self.flush()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; see `BaseCheckpointSaver.aput`."""
        self._add("put", self._down(config), checkpoint, metadata, new_versions)
        given = config.get("configurable", {})
        namespace = given.get("checkpoint_ns", "")
        if namespace or len(self._waiting) >= MOST_WAITING:
            await self.flush()
        return {
            "configurable": {
                "thread_id": given["thread_id"],
                "checkpoint_ns": namespace,
                "checkpoint_id": checkpoint["id"],
            }
        }

    def aput_writes(  # a function that returns a coroutine
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> Coroutine[Any, Any, None]:
        """Queue the writes of a task; see `BaseCheckpointSaver.aput_writes`.

        Not a coroutine function, so that `flush` has the writes from the moment of the call: the
        graph emits a task's result directly after it.
        """
        self._add("put_writes", self._down(config), writes, task_id, task_path)

        async def added() -> None:
            pass

        return added()

    def _add(self, method: WriteMethod, *arguments: object) -> None:
        self._waiting.append(CheckpointWrite(method, arguments))
        if self._lingering is None or self._lingering.done():
            self._lingering = asyncio.create_task(self._linger(), name="thalweg-checkpoints")

    async def _linger(self) -> None:
        await asyncio.sleep(LINGER_S)
        with suppress(ClaimLostError, StorageError):  # the next flush raises it
            await self.flush()


class Checkpoints:
    """The checkpoints of all owners, accessed for one owner at a time."""

    def __init__(self, medium: Medium) -> None:
        self._behind, self._converting_errors = medium

    def of(self, owner: str) -> OwnSaver:
        """Return the checkpoints of one owner."""
        tag = _tag(owner)
        return OwnSaver(self._behind(tag), tag, self._converting_errors)

    def of_run(self, owner: str) -> RunSaver:
        """Return the same for one run, which has to be flushed at its end."""
        tag = _tag(owner)
        return RunSaver(self._behind(tag), tag, self._converting_errors)


def _tag(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


@asynccontextmanager
async def open_checkpoints(address: str) -> AsyncIterator[Checkpoints]:
    """Open the checkpoints of all owners for the running event loop.

    Args:
        address: The path of a file, or `postgresql://…`.

    Raises:
        ConfigError: An extra is not installed, or the file cannot be opened.
        StorageError: Another process holds it, or the server cannot be reached.
    """
    opened: Callable[[str], AbstractAsyncContextManager[Medium]]
    with needs_extra("checkpoints"):
        if address.startswith(POSTGRES_SCHEMES):
            from thalweg_server.checkpoints.postgres import (  # noqa: PLC0415 (an extra)
                open_server as opened,
            )
        else:
            from thalweg_server.checkpoints.sqlite import (  # noqa: PLC0415 (an extra)
                open_file as opened,
            )
    async with opened(address) as medium:
        yield Checkpoints(medium)
