"""Agents by a plan, with file tools and subagents: what each does in its turns is data."""

# ruff: noqa: ANN401  # what LangGraph and tools hand on is anything

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from thalweg.testing import ScriptedModel
from thalweg_agent.backends.concurrency.shared import child_of, shared, with_notices
from thalweg_agent.backends.concurrency.state_channel import FilesystemState
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.state import StateBackend

Plan = Sequence[Sequence[ToolCall]]
"""The calls of each turn of one agent."""
FOREVER_S = 60
"""Longer than anything here takes; a gate that is never opened is a failed test."""


def do(name: str, /, **args: Any) -> ToolCall:
    """Plan a call."""
    do.count += 1  # type: ignore[attr-defined]
    return tool_call(name=name, args=args, id=f"c{do.count}")  # type: ignore[attr-defined]


do.count = 0  # type: ignore[attr-defined]


def task(who: str, uid: str = "") -> ToolCall:
    """Plan to send the agent of another plan."""
    call = do("task", who=who)
    return {**call, "id": uid or who}


def data(content: str) -> dict[str, str]:
    """Write a file as state keeps it."""
    return {"content": content, "encoding": "utf-8"}


class Family:
    """A main agent and its subagents, all by their plans.

    Args:
        plans: By name; the first request of an agent is its name. `main` is the parent.
        backend: Where files are.
        checkpointer: Of the main agent.
        is_async: Run subagents with `ainvoke`.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        *,
        backend: BackendProtocol | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        is_async: bool = False,
    ) -> None:
        self.plans = plans
        self.backend = backend or StateBackend()
        self.gates: dict[str, threading.Event] = {}
        self.fails: set[str] = set()
        """Plans whose agent dies once, when it comes to its end."""
        self.results: dict[str, list[str]] = {}
        """The tool results of each agent."""
        self.is_async = is_async
        self.main = self._agent(checkpointer)
        self._child = self._agent(None)

    def run(
        self, files: Mapping[str, Any] | None = None, config: Any = None, ask: Any = "main"
    ) -> dict[str, Any]:
        """Run the main agent."""
        given = ask if isinstance(ask, Command) or ask is None else self._input(ask, files)
        return self.main.invoke(given, config)

    async def arun(
        self, files: Mapping[str, Any] | None = None, config: Any = None, ask: Any = "main"
    ) -> dict[str, Any]:
        """See `run`."""
        given = ask if isinstance(ask, Command) or ask is None else self._input(ask, files)
        return await self.main.ainvoke(given, config)

    def _input(self, ask: str, files: Mapping[str, Any] | None) -> dict[str, Any]:
        asked: dict[str, Any] = {"messages": [HumanMessage(ask)]}
        return asked | ({"files": dict(files)} if files is not None else {})

    def _script(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = max(k for k, message in enumerate(messages) if message.type == "human")
        who = str(messages[asked].text)
        since = messages[asked + 1 :]
        self.results[who] = [str(m.text) for m in since if m.type == "tool"]
        turn = sum(message.type == "ai" for message in since)
        if turn < len(self.plans[who]):
            return AIMessage("", tool_calls=list(self.plans[who][turn]))
        if who in self.fails:
            self.fails.discard(who)
            raise ConnectionError(who)
        return f"report of {who}"

    def _agent(self, checkpointer: BaseCheckpointSaver[Any] | None) -> CompiledStateGraph[Any]:
        model = ScriptedModel(script=self._script)
        return create_agent(model, middleware=[_Tools(self)], checkpointer=checkpointer)

    def gate(self, name: str) -> threading.Event:
        """Find a gate, shut until it is opened."""
        return self.gates.setdefault(name, threading.Event())

    def in_time(self, answer: str) -> str:
        """Wait with an answer `wait: gate` until the gate is open."""
        if answer.startswith("wait: "):
            self.gate(answer.removeprefix("wait: ")).wait(FOREVER_S)
        return answer

    def send(self, who: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Run a subagent as a task tool does."""
        files = runtime.state.get("files", {})
        asked = self._input(who, files)
        with child_of(name="worker", call_id=str(runtime.tool_call_id)) as child:
            result = self._child.invoke(asked, child.config())
        return self._report(child, result, files, runtime)

    async def asend(self, who: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """See `send`."""
        files = runtime.state.get("files", {})
        asked = self._input(who, files)
        with child_of(name="worker", call_id=str(runtime.tool_call_id)) as child:
            result = await self._child.ainvoke(asked, child.config())
        return self._report(child, result, files, runtime)

    def _report(
        self, child: Any, result: Mapping[str, Any], files: Any, runtime: ToolRuntime[Any, Any]
    ) -> Command[Any]:
        told = str(result["messages"][-1].text) + child.notices()
        message = ToolMessage(told, tool_call_id=runtime.tool_call_id)
        return Command(
            update={**child.update(result.get("files"), given=files), "messages": [message]}
        )


class _Tools(AgentMiddleware[Any, Any, Any]):
    state_schema = FilesystemState

    def __init__(self, family: Family) -> None:
        super().__init__()
        self.tools = family_tools(family)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        return with_notices(handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        return with_notices(await handler(request))


def family_tools(family: Family) -> list[BaseTool]:
    """Make the tools of every agent of a family."""
    backend = shared(family.backend)

    @tool
    def write(path: str, content: str) -> str:
        """Write a file."""
        return backend.write(path, content).error or "written"

    @tool
    def edit(path: str, old: str, new: str) -> str:
        """Edit a file."""
        return backend.edit(path, old, new).error or "edited"

    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        return backend.delete(path).error or "deleted"

    @tool
    def read(path: str) -> str:
        """Read a file."""
        result = backend.read(path)
        return result.error or str(result.file_data and result.file_data["content"])

    @tool
    def ask(question: str) -> str:
        """Ask the user."""
        return family.in_time(str(interrupt(question)))

    @tool
    def pass_gate(name: str) -> str:
        """Wait until a gate is open."""
        return "passed" if family.gate(name).wait(FOREVER_S) else "the gate stayed shut"

    @tool
    def open_gate(name: str) -> str:
        """Open a gate."""
        family.gate(name).set()
        return "opened"

    @tool("task")
    def task_(who: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Send a subagent."""
        return family.send(who, runtime)

    @tool("task")
    async def atask(who: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Send a subagent."""
        return await family.asend(who, runtime)

    sending = atask if family.is_async else task_
    return [write, edit, delete, read, ask, pass_gate, open_gate, sending]


def contents(result: Mapping[str, Any]) -> dict[str, str]:
    """Read the files of a state."""
    return {path: file["content"] for path, file in result.get("files", {}).items()}
