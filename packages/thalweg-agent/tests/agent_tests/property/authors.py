"""Agents that share files, driven call by call without a graph: every interleaving is a list."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_READ,
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
)
from langgraph._internal._typing import MISSING

from thalweg_agent.backends.concurrency.child_files import RunningSubagent, child_of
from thalweg_agent.backends.concurrency.shared import SharedBackend
from thalweg_agent.backends.concurrency.state_channel import FilesChannel, merge_notes

Result = TypeVar("Result")


class Agent:
    """One agent: its graph's channels, and what its tasks wrote in the running step.

    Args:
        backend: What it works with.
        inside: The steps of graphs in which its own runs.
        child: Its part in its parent's files.
    """

    def __init__(
        self, backend: SharedBackend, inside: str = "", child: RunningSubagent | None = None
    ) -> None:
        self.backend = backend
        self.child = child
        self.channel = FilesChannel(typ=dict).from_checkpoint(MISSING)
        self.unseen: dict[str, Any] = {}
        self.step = 0
        self.sent: list[tuple[str, Any]] = []
        self.written: list[Any] = []
        self.calls = 0
        self._inside = inside

    @contextmanager
    def acting(self, *, anew: bool = True) -> Iterator[str]:
        """Be in a tool call, of a turn of its own or of the last one."""
        self.step += anew
        self.calls += 1
        here = "|".join(part for part in (self._inside, f"tools:{self.calls}") if part)
        config: Any = {
            "metadata": {"langgraph_step": self.step},
            "configurable": {
                **(self.child.config().get("configurable", {}) if self.child else {}),
                CONFIG_KEY_CHECKPOINT_NS: here,
                CONFIG_KEY_TASK_ID: str(self.calls),
                CONFIG_KEY_READ: self._read,
                CONFIG_KEY_SEND: self.sent.extend,
            },
        }
        token = var_child_runnable_config.set(config)
        try:
            yield here
        finally:
            var_child_runnable_config.reset(token)

    def call(self, function: Callable[[], Result], *, anew: bool = True) -> Result:
        """Call a function as a tool."""

        def inside() -> Result:
            with self.acting(anew=anew):
                return function()

        return copy_context().run(inside)

    def spawn(self, name: str, *, anew: bool = True) -> "Agent":
        """Send a subagent."""

        def sent() -> Agent:
            with self.acting(anew=anew) as inside:
                return Agent(self.backend, inside, child_of(name=name, call_id=name))

        return copy_context().run(sent)

    def receive(self, child: "Agent") -> str:
        """End a subagent and collect its changes; return the notices that it did not receive."""
        assert child.child is not None
        with child.child:
            pass
        self.sent.extend(child.child.update(None).items())
        return child.child.notices()

    def end_step(self, order: Sequence[int]) -> None:
        """Apply what the tasks of the step wrote, in the order passed."""
        files = [value for name, value in self.sent if name == "files"]
        self.written = _mixed(files, order)
        self.channel.update(self.written)
        for name, value in self.sent:
            if name == "files_unseen":
                self.unseen = merge_notes(self.unseen, value)
        self.sent.clear()

    def _read(self, name: str, fresh: bool) -> Any:  # noqa: ANN401, FBT001 (LangGraph's signature)
        assert not fresh
        return self.channel.get() if name == "files" else self.unseen


def _mixed(deltas: list[Any], order: Sequence[int]) -> list[Any]:
    """Put deltas in another order."""
    keys = [order[k % len(order)] if order else 0 for k in range(len(deltas))]
    return [delta for _, _, delta in sorted(zip(keys, range(len(deltas)), deltas, strict=True))]
