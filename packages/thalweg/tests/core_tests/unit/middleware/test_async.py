"""Agents on an event loop: nothing blocks it, and savers that are async alone are enough."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from core_tests.e2e.scripted import RuledModel, agent_with, says
from thalweg.archive import SqliteArchive
from thalweg.context.middleware import ContextMiddleware

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
CALLS = ("append", "attach", "add_turn", "length", "turns", "messages", "turn_state")


class Watched(SqliteArchive):
    """Notes what is called on an event loop."""

    on_loop: list[str]

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.close_when_collected()
        self.on_loop = []
        for name in CALLS:
            setattr(self, name, self._watched(name, getattr(self, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def watched(*args: object, **given: object) -> object:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                self.on_loop.append(name)
            return call(*args, **given)

        return watched


def user(said: str) -> dict[str, Any]:
    """Make a user's message."""
    return {"messages": [("user", said)]}


def test_the_archive_is_never_called_on_the_event_loop() -> None:
    """Also when the system prompt changes, and when the provider fails."""
    archive = Watched()
    down = RuntimeError("provider down")
    model = RuledModel(rule=says("ok", "ok", down))
    context, saver = ContextMiddleware(archive=archive), InMemorySaver()

    async def talk() -> None:
        for n in range(3):
            given = {"system_prompt": f"It is {n}.", "checkpointer": saver}
            await agent_with(model, context, **given).ainvoke(user(f"q{n}"), AT)

    with pytest.raises(RuntimeError, match="provider down"):
        asyncio.run(talk())
    assert archive.on_loop == []


class AsyncAlone(InMemorySaver):
    """Can be read on an event loop alone."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver`."""
        raise NotImplementedError

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver`."""
        return InMemorySaver.get_tuple(self, config)


@asynccontextmanager
async def opened(name: str, path: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a saver."""
    if name == "memory":
        yield AsyncAlone()
        return
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield saver


@pytest.mark.parametrize("name", ["memory", "sqlite"])
def test_a_rewind_is_seen_with_a_saver_that_is_async_alone(tmp_path: Path, name: str) -> None:
    """The messages after the rewind point are not in the next request."""
    model = RuledModel(rule=says("ok"))

    async def talk() -> None:
        async with opened(name, tmp_path / "checkpoints.db") as saver:
            agent = agent_with(model, ContextMiddleware(archive=":memory:"), checkpointer=saver)
            for n in range(3):
                await agent.ainvoke(user(f"q{n}"), AT)
            history = [state async for state in agent.aget_state_history(AT)]
            ends = [state for state in history if not state.next]
            await agent.aupdate_state(ends[1].config, {"messages": []})
            await agent.ainvoke(user("other"), AT)

    asyncio.run(talk())
    assert [message.text for message in model.requests[-1]] == ["q0", "ok", "q1", "ok", "other"]
