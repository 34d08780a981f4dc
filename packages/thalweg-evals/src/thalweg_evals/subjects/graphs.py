"""A LangGraph graph as an agent under evaluation.

All async calls run on one event loop. Clients of models keep connections that belong to the loop in
which they were opened, and are shared by trials: with a loop per trial, the next trial would get
dead connections.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar
from uuid import uuid4

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables.config import RunnableConfig, set_config_context
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.context.turn.effects import UNSEEN_TAGS
from thalweg.errors import ConfigError
from thalweg_evals.base import Setting

T = TypeVar("T")
_LOCK = Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []
"""The loop, created at its first use."""
AnyMiddleware = AgentMiddleware[Any, Any, Any]
STEPS = 2_000
"""Default limit of a graph's steps in one turn."""
NO_SYNC = ("no synchronous function", "defined only the async version", "not support sync")
"""Parts of the errors of LangGraph, LangChain's middleware and its tools for async-only code."""


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and return its result; an interrupt cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        if not _LOOPS:
            _LOOPS.append(asyncio.new_event_loop())
            Thread(target=_LOOPS[0].run_forever, name="thalweg-evals", daemon=True).start()
        return _LOOPS[0]


@dataclass(slots=True)
class GraphAgent:
    """Talks to a graph whose state has `messages`.

    One without a checkpointer receives the whole conversation each time, as from its callers. One
    that turns out to be async-only is awaited from then on.
    """

    graph: Any
    settling: Callable[[], None] = lambda: None
    closing: Callable[[], None] = lambda: None
    reading: Callable[[], Mapping[str, str]] | None = None
    """Returns the files, if they are not in the state."""
    forgetting: Callable[[str], bool] = lambda _words: False
    """Deletes memories with these words, if a user can."""
    prefix: str = ""
    """Prefix of its threads: a graph that several trials share must keep them apart."""
    is_awaited: bool = False
    """Whether it has to be awaited."""
    _kept: dict[str, list[BaseMessage]] = field(default_factory=dict)
    _state: Any = field(default_factory=dict)
    _callbacks: list[Any] = field(default_factory=list)

    @property
    def is_stateless(self) -> bool:
        """Whether the graph has no memory of a conversation between runs."""
        return not getattr(self.graph, "checkpointer", None)

    def send(self, text: str, thread: str, callbacks: Sequence[object]) -> str:
        """Send a message and return the answer; errors of the graph are passed to the caller."""
        self._callbacks = list(callbacks)
        own = getattr(self.graph, "config", None) or {}
        config: RunnableConfig = {
            "configurable": {"thread_id": f"{self.prefix}{thread}"},
            "callbacks": self._callbacks,
            "recursion_limit": own.get("recursion_limit", STEPS),
        }
        before = self._kept.get(thread, [])
        given = [*before, HumanMessage(text, id=uuid4().hex)]
        self._state = self._run(given, config)
        added = _added(self._messages(), given)
        if self.is_stateless:
            self._kept[thread] = [*given, *added]
        last = next((one for one in reversed(added) if isinstance(one, AIMessage)), None)
        return str(last.text) if last is not None else ""

    def _run(self, messages: list[BaseMessage], config: RunnableConfig) -> Any:  # noqa: ANN401 (a graph's own state)
        given: dict[str, Any] | None = {"messages": messages}
        if not self.is_awaited:
            try:
                return self.graph.invoke(given, config)
            except (TypeError, NotImplementedError) as error:
                if not any(phrase in str(error).lower() for phrase in NO_SYNC):
                    raise
                self.is_awaited = True
                given = given if self.is_stateless else None  # it resumes where it stopped
        return awaited(self.graph.ainvoke(given, config))

    def _messages(self) -> list[BaseMessage]:
        """Return the messages of the state.

        Raises:
            ConfigError: It has none.
        """
        if not isinstance(self._state, Mapping) or "messages" not in self._state:
            held = ", ".join(self._state) if isinstance(self._state, Mapping) else self._state
            problem = f"the graph came back with {held or 'nothing'}, and no messages"
            raise ConfigError("subject", problem, "let its output have `messages`")
        return convert_to_messages(self._state["messages"])

    def files(self) -> Mapping[str, str]:
        """Return the texts of its files by path."""
        if self.reading is not None:
            return self.reading()
        found = self._state.get("files") or {}
        return {path: _text_of(data) for path, data in found.items()}

    def forget(self, words: str) -> bool:
        """Delete memories that contain all these words; return whether it can."""
        return self.forgetting(words)

    def settle(self) -> None:
        """Wait until background learning has finished; its model calls are recorded, too."""
        with set_config_context(
            {"callbacks": self._callbacks, "tags": list(UNSEEN_TAGS)}
        ) as context:
            context.run(self.settling)

    def close(self) -> None:
        """Release the graph's resources."""
        self.closing()


def langchain_graph(setting: Setting, model: BaseChatModel, *middleware: AnyMiddleware) -> Any:  # noqa: ANN401 (a graph of any state)
    """Create LangChain's agent with the tools and the instructions of a trial."""
    return create_agent(
        model,
        list(setting.tools),
        system_prompt=setting.system_prompt or None,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )


def _added(messages: Sequence[BaseMessage], given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that a graph added in a run: those after all of its input.

    Messages that it inserts earlier, such as a summary, are internal.
    """
    known = {one.id for one in given}
    last = max((place for place, one in enumerate(messages) if one.id in known), default=-1)
    added = messages[last + 1 :]
    return [one if one.id else one.model_copy(update={"id": uuid4().hex}) for one in added]


def files_below(folder: Path) -> dict[str, str]:
    """Return the files of a folder that an agent sees as `/`."""
    return {
        f"/{path.relative_to(folder).as_posix()}": path.read_text("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _text_of(data: Any) -> str:  # noqa: ANN401 (a file of a deep agent's state)
    content = data.get("content", "") if isinstance(data, Mapping) else data
    return "\n".join(content) if isinstance(content, list) else str(content)
