"""A process whose threads wait for background tasks when it is killed.

`python -m agent_tests.e2e.killed_parent FOLDER URL` forks once for each of `POINTS`; every fork
kills itself there.
"""

import os
import signal
import sqlite3
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.scripted import RuledModel, calls
from thalweg_agent import AsyncSubAgentMiddleware, create_deep_agent

AT: Any = {"configurable": {"thread_id": "parent"}}
POINTS = ("waiting", "before the wake", "in the model call", "after the wake")
"""Where a process is killed: its run has ended and the task has not; then three moments of a wake:
before its run begins, while the model is asked, and when the model has answered."""


def kill() -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


class Parent:
    """An agent with a subagent on a server, over a folder that outlives the process.

    Args:
        folder: Holds its checkpoints, its archive and what it waits for.
        url: The server.
        die_at: The point of a wake at which the process is killed.
    """

    def __init__(self, folder: Path, url: str, die_at: str = "") -> None:
        folder.mkdir(exist_ok=True)
        self.heard = 0
        """Model calls whose newest message is a notice."""
        self._die_at = die_at
        self.background = AsyncSubAgentMiddleware(
            async_subagents=[
                {"name": "far", "description": "x", "graph_id": folder.name, "url": url}
            ],
            wake=self._wake,
            wake_store=folder / "wakes.db",
            poll_s=0.1,
        )
        connection = sqlite3.connect(folder / "c.db", check_same_thread=False)
        self.agent: Any = create_deep_agent(
            RuledModel(rule=self._rule),
            middleware=[self.background],
            checkpointer=SqliteSaver(connection),
            archive=folder / "a.db",
        )

    def _rule(self, messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human" and "Background task" in messages[-1].text:
            self.heard += 1
            if self._die_at == "in the model call":
                kill()
            return AIMessage("It is 42.")
        if any(message.type == "tool" for message in messages):
            return AIMessage("Started.")
        return calls("start_async_task", "c1", description="Count.", subagent_type="far")

    def _wake(self, thread: str, text: str) -> None:
        if self._die_at == "before the wake":
            kill()
        config = {"configurable": {"thread_id": thread}}
        self.agent.invoke({"messages": text}, config)
        if self._die_at == "after the wake":
            kill()

    def messages(self) -> list[BaseMessage]:
        """Return the messages of the thread."""
        found: list[BaseMessage] = self.agent.get_state(AT).values.get("messages", [])
        return found


def until(done: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def die(folder: Path, url: str, point: str) -> None:
    """Start a task, and be killed at a point."""
    parent = Parent(folder, url, point)
    parent.agent.invoke({"messages": "Go."}, AT)
    if point == "waiting":
        kill()
    with urllib.request.urlopen(f"{url}/finish/{folder.name}", b"{}"):  # noqa: S310 (loopback)
        time.sleep(60)


if __name__ == "__main__":
    for number, each in enumerate(POINTS):
        if (pid := os.fork()) == 0:
            die(Path(sys.argv[1]) / str(number), sys.argv[2], each)
            os._exit(1)  # it was not killed
        _, status = os.waitpid(pid, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, each
