"""An agent run by a blocking call and on an event loop: what holds of one holds of the other."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
Run = Callable[[Any, Any], dict[str, Any]]


def in_sync(agent: Any, given: Any) -> dict[str, Any]:  # noqa: ANN401 (any agent)
    """Run an agent."""
    result: dict[str, Any] = agent.invoke(given, AT)
    return result


def in_async(agent: Any, given: Any) -> dict[str, Any]:  # noqa: ANN401 (any agent)
    """Run an agent on an event loop."""
    result: dict[str, Any] = asyncio.run(agent.ainvoke(given, AT))
    return result


both_worlds = pytest.mark.parametrize("run", [in_sync, in_async])
