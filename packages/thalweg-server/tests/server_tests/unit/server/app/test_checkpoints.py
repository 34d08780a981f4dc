"""Checkpoints of a run wait for each other, and for nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from thalweg.engine.undocumented import DELTA_SNAPSHOT
from thalweg.errors import StorageError
from thalweg_server.checkpoints.batches import CheckpointWrite
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.checkpoints.sqlite import ThreadedSqliteSaver

WRITES = [("messages", ["said"])]
THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class CountingSaver(ThreadedSqliteSaver):
    """Counts batches, and fails where it is set to."""

    fails = False
    most: int | None = None
    """Batches after which it fails."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 (its base's own)
        super().__init__(*given)
        self.batches: list[int] = []

    async def awrite(self, batch: Sequence[CheckpointWrite]) -> object:
        """See `BatchSaver.awrite`."""
        if self.fails or len(self.batches) == self.most:
            full = StorageError("a disk", "it is full", "make room")
            raise full
        result = await super().awrite(batch)
        self.batches.append(len(batch))
        return result


Test = Callable[[CountingSaver, RunSaver], Awaitable[None]]


def with_saver(folder: Path, test: Test) -> None:
    """Run a test on a saver over a file."""

    async def run() -> None:
        async with CountingSaver.open(str(folder / "c.db"), busy_s=1) as inner:
            await test(inner, RunSaver(inner, "ada", nullcontext))

    asyncio.run(run())


async def begun(saver: RunSaver, namespace: str = "") -> RunnableConfig:
    """Put the first checkpoint of a thread."""
    config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
    return await saver.aput(config, empty_checkpoint(), {}, {})


async def kept(inner: CountingSaver) -> int:
    """Count the checkpoints that are durable."""
    return len([one async for one in inner.alist(None)])


def test_a_checkpoint_and_its_writes_are_one_batch(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        config = await begun(saver)
        writing = saver.aput_writes(config, WRITES, "task")
        await saver.flush()  # before the graph has awaited the write
        await writing
        assert inner.batches == [2]
        found = await saver.aget_tuple(config)
        assert found is not None
        assert found.pending_writes == [("task", "messages", ["said"])]
        assert inner.batches == [2]

    with_saver(tmp_path, test)


def test_a_read_sees_what_waits(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        config = await begun(saver)
        assert await kept(inner) == 0
        found = await saver.aget_tuple(config)
        assert found is not None
        assert found.config == config

    with_saver(tmp_path, test)


def test_nothing_waits_for_long(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        await begun(saver)
        async with asyncio.timeout(10):
            while not await kept(inner):  # noqa: ASYNC110 (the timer's own pace)
                await asyncio.sleep(0.02)

    with_saver(tmp_path, test)


def test_a_checkpoint_of_a_subagent_does_not_wait(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        await begun(saver, "tools:1")
        assert await kept(inner) == 1

    with_saver(tmp_path, test)


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        config = await begun(saver)
        await saver.aput_writes(config, [("messages", object)], "task")  # a type cannot be kept
        with pytest.raises(TypeError):
            await saver.flush()
        assert await kept(inner) == 0

    with_saver(tmp_path, test)


def test_what_could_not_be_kept_is_written_by_the_next_flush(tmp_path: Path) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        inner.fails = True
        await begun(saver)
        with pytest.raises(StorageError, match="full"):
            await saver.flush()
        inner.fails = False
        await saver.close()
        assert inner.batches == [1]

    with_saver(tmp_path, test)


def test_the_checkpoint_that_is_kept_has_snapshots(tmp_path: Path) -> None:
    """A failed deletion is not repeated by a later flush."""

    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        first = await begun(saver)
        newest = empty_checkpoint()
        newest["channel_versions"]["messages"] = "2"
        config = await saver.aput(first, newest, {}, {})
        await saver.flush()
        inner.fails = True
        with pytest.raises(StorageError, match="full"):
            await saver.keep_newest(THREAD, {"messages": ["a", "b"]})
        inner.fails = False
        await saver.close()
        assert await kept(inner) == 2
        await saver.keep_newest(THREAD, {"messages": ["a", "b"]})
        assert await kept(inner) == 1
        found = await saver.aget_tuple(config)
        assert found is not None
        value = found.checkpoint["channel_values"]["messages"]
        assert isinstance(value, DELTA_SNAPSHOT)
        assert value.value == ["a", "b"]

    with_saver(tmp_path, test)


def test_old_checkpoints_are_deleted_in_portions_that_a_later_call_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(inner: CountingSaver, saver: RunSaver) -> None:
        configs = [await begun(saver)]
        for version in range(2, 8):
            one = empty_checkpoint()
            one["channel_versions"]["messages"] = str(version)
            configs.append(await saver.aput(configs[-1], one, {}, {}))
        await saver.flush()
        inner.batches, inner.most = [], 2
        with pytest.raises(StorageError, match="full"):
            await saver.keep_newest(THREAD, {"messages": ["a"]})
        assert (inner.batches, await kept(inner)) == ([2, 1], 3)
        left = [one.config async for one in saver.alist(THREAD)]
        assert left == [configs[-1], configs[1], configs[0]]  # each with its ancestors
        found = await saver.aget_tuple(configs[-1])
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"].value == ["a"]
        inner.batches = []
        await saver.keep_newest(THREAD, {"messages": ["a"]})
        assert (inner.batches, await kept(inner)) == ([2, 1], 1)

    monkeypatch.setattr("thalweg_server.checkpoints.sqlite.MOST_DELETED", 2)
    with_saver(tmp_path, test)
