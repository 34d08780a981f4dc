"""The saver in a file of SQLite keeps what the saver of LangGraph keeps."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg_server.checkpoints.sqlite import ThreadedSqliteSaver

THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


async def _fill(saver: ThreadedSqliteSaver, count: int) -> None:
    config = THREAD
    for step in range(count):
        checkpoint = empty_checkpoint()
        checkpoint["id"] = f"{step:04}"
        config = await saver.aput(config, checkpoint, {"step": step}, {})
        await saver.aput_writes(config, [("said", step)], f"task-{step}")


async def _ids(
    saver: ThreadedSqliteSaver, limit: int | None, before: RunnableConfig | None = None
) -> list[str]:
    listed = saver.alist(THREAD, before=before, limit=limit)
    return [found.checkpoint["id"] async for found in listed]


@pytest.mark.parametrize("limit", [None, 0, 1, 49, 50, 51, 100, 120, 500])
def test_pages_of_a_list_join_without_gap(tmp_path: Path, limit: int | None) -> None:
    async def main() -> None:
        async with ThreadedSqliteSaver.open(str(tmp_path / "c.db"), busy_s=1) as saver:
            await _fill(saver, 120)
            newest_first = [f"{step:04}" for step in reversed(range(120))]
            assert await _ids(saver, limit) == newest_first[:limit]
            before: RunnableConfig = {
                "configurable": {**THREAD["configurable"], "checkpoint_id": "0060"}
            }
            assert await _ids(saver, limit, before) == newest_first[60:][:limit]

    asyncio.run(main())


def test_what_is_kept_is_in_the_file_for_the_saver_of_langgraph(tmp_path: Path) -> None:
    async def main() -> None:
        path = str(tmp_path / "c.db")
        async with ThreadedSqliteSaver.open(path, busy_s=1) as saver:
            await _fill(saver, 3)
            here = await saver.aget_tuple(THREAD)
            with SqliteSaver.from_conn_string(path) as other:
                there = other.get_tuple(THREAD)
            assert isinstance(here, CheckpointTuple)
            assert here == there
            assert here.pending_writes == [("task-2", "said", 2)]
            await saver.adelete_thread("t")
            assert await saver.aget_tuple(THREAD) is None

    asyncio.run(main())


def test_a_write_that_failed_leaves_no_transaction_open(tmp_path: Path) -> None:
    async def main() -> None:
        path = str(tmp_path / "c.db")
        async with ThreadedSqliteSaver.open(path, busy_s=0.01) as saver:
            await _fill(saver, 1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                await _fill(saver, 1)
            other.execute("ROLLBACK")
            other.close()
            assert not saver.conn.in_transaction
            await _fill(saver, 2)
            assert await _ids(saver, None) == ["0001", "0000"]

    asyncio.run(main())
