"""What a task came to is waited for, from when the graph asks for it to be kept."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.app.checkpoints import OwnSaver
from thalweg.errors import StorageError


class SlowSaver(InMemorySaver):
    """Keeps what tasks came to once it may, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Event()
        self.fails = False

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep them."""
        await self.may.wait()
        if self.fails:
            full = StorageError("a disk", "it is full", "make room")
            raise full
        await super().aput_writes(config, writes, task_id, task_path)


async def begun(saver: SlowSaver) -> tuple[OwnSaver, RunnableConfig]:
    own = OwnSaver(saver, "ada", nullcontext)
    config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    return own, await own.aput(config, empty_checkpoint(), {}, {})


def test_what_a_task_came_to_is_waited_for_before_its_writing_has_begun() -> None:
    async def tried() -> None:
        saver = SlowSaver()
        own, config = await begun(saver)
        assert await own.wrote()
        writing = own.aput_writes(config, [("messages", ["said"])], "task")
        waiting = asyncio.create_task(own.wrote())
        write = asyncio.create_task(writing)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        saver.may.set()
        assert await waiting
        await write
        found = await own.aget_tuple(config)
        assert found is not None
        assert found.pending_writes == [("task", "messages", ["said"])]

    asyncio.run(tried())


def test_it_is_told_that_it_could_not_be_kept() -> None:
    async def tried() -> None:
        saver = SlowSaver()
        saver.fails = True
        saver.may.set()
        own, config = await begun(saver)
        write = asyncio.create_task(own.aput_writes(config, [("messages", ["said"])], "task"))
        assert not await own.wrote()
        with pytest.raises(StorageError, match="full"):
            await write
        assert await own.wrote()

    asyncio.run(tried())
