"""A compiled graph of LangGraph's as an agent under evaluation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

STEPS = 2_000
"""Most steps of a graph in one turn."""


@dataclass(slots=True)
class GraphAgent:
    """Speaks with a graph whose state has `messages`.

    One without a checkpointer is handed the whole conversation each time, as its callers do.
    """

    graph: Any
    settling: Callable[[], None] = lambda: None
    closing: Callable[[], None] = lambda: None
    reading: Callable[[], Mapping[str, str]] | None = None
    """Gives the files, where they are not in the state."""
    _kept: dict[str, list[BaseMessage]] = field(default_factory=dict)
    _state: Mapping[str, Any] = field(default_factory=dict)

    def say(self, text: str, thread: str, callbacks: Sequence[object]) -> str:
        """See `Agent.say`."""
        config = {
            "configurable": {"thread_id": thread},
            "callbacks": list(callbacks),
            "recursion_limit": STEPS,
        }
        is_stateless = getattr(self.graph, "checkpointer", None) is None
        before = self._kept.get(thread, []) if is_stateless else []
        state = self.graph.invoke({"messages": [*before, HumanMessage(text)]}, config)
        self._state = state
        messages: list[BaseMessage] = state["messages"]
        if is_stateless:
            self._kept[thread] = messages
        last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
        return str(last.text) if last is not None else ""

    def files(self) -> Mapping[str, str]:
        """See `Agent.files`."""
        if self.reading is not None:
            return self.reading()
        found = self._state.get("files") or {}
        return {path: _text_of(data) for path, data in found.items()}

    def settle(self) -> None:
        """See `Agent.settle`."""
        self.settling()

    def close(self) -> None:
        """See `Agent.close`."""
        self.closing()


def _text_of(data: Any) -> str:  # noqa: ANN401 (a file of a deep agent's state)
    content = data.get("content", "") if isinstance(data, Mapping) else data
    return "\n".join(content) if isinstance(content, list) else str(content)
