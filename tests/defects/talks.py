"""One scripted agent, as we build it and as `deepagents` does, to be led into the same scenes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.archive import Archive, Logged, ThreadKey, open_archive
from thalweg.archive.sqlite import SqliteArchive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.messages import read_state
from thalweg.engine.entries import message_to_json
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter, measure
from thalweg.engine.transcript import as_text
from thalweg.engine.window.budget import Cost
from thalweg.errors import StorageError
from thalweg.testing import ScriptedModel
from thalweg_agent.graph import create_deep_agent

Side = Literal["ours", "deepagents"]
Script = Callable[[Sequence[BaseMessage]], AIMessage | str]
KEY = ThreadKey("local", "t")
SUMMARIES = (
    "Context Extraction Assistant",
    "not the user speaking",
    "Part of a conversation between",
)
GOOD = "## Goal\n- Keep the books.\n## State of work\n- Some files were read."


def call(name: str, uid: str = "", **arguments: Any) -> AIMessage:  # noqa: ANN401 (any tool's)
    """Make an answer that calls a tool."""
    call.count += 1  # type: ignore[attr-defined]
    uid = uid or f"call_{call.count}"  # type: ignore[attr-defined]
    return AIMessage("", tool_calls=[{"id": uid, "name": name, "args": arguments}])


call.count = 0  # type: ignore[attr-defined]


def file_call(name: str, path: str, **arguments: str) -> dict[str, Any]:
    """Make a call of a file tool."""
    return {"id": f"{name}{path}", "name": name, "args": {"file_path": path, **arguments}}


def family(
    side: Side, main: Sequence[dict[str, Any] | str], children: dict[str, dict[str, Any]]
) -> dict[str, str]:
    """Let an agent make calls of one turn, tasks among them; return the remaining files.

    Args:
        side: Whose agent.
        main: Its calls; a name is short for a task of that name.
        children: The one call that each task is about.
    """
    tasks = {
        name: {
            "id": name,
            "name": "task",
            "args": {"description": name, "subagent_type": "general-purpose"},
        }
        for name in children
    }

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        asked = next(str(message.text) for message in messages if message.type == "human")
        if any(message.type == "tool" for message in messages):
            return "Done."
        if asked in children:
            return AIMessage("", tool_calls=[children[asked]])
        calls = [tasks[one] if isinstance(one, str) else one for one in main]
        return AIMessage("", tool_calls=calls)

    model = ScriptedModel(script=script)
    if side == "ours":
        agent: Any = create_deep_agent(model, archive=":memory:")
    else:
        import deepagents  # noqa: PLC0415 (only where it is installed)

        agent = deepagents.create_deep_agent(model)
    content = {"content": "first second", "encoding": "utf-8"}
    given = {"/a": dict(content), "/b": dict(content)}
    done = agent.invoke({"messages": [("user", "Work.")], "files": given})
    return {path: str(file["content"]) for path, file in done["files"].items()}


def tokens_of(messages: Sequence[BaseMessage]) -> int:
    """Count a request as it is sent, without its tools."""
    return sum(measure(message, exact_counter()).tokens for message in read_state(messages))


@dataclass
class Talk:
    """A thread of one side, and every request that its model was sent."""

    side: Side
    folder: Path
    script: Script
    window: int = 20_000
    tools: Sequence[BaseTool] = ()
    memory: str = ""
    """What is injected into every request: by the peer's memory, by a middleware after ours."""
    archive_fails: bool = False
    cost: Cost = "balanced"
    """Our preset of amounts; the peer has none."""
    summary: Callable[[], str] = lambda: GOOD
    sent: list[list[BaseMessage]] = field(default_factory=list)
    summaries: int = 0
    archive: Archive = field(init=False)
    agent: Any = field(init=False)

    def __post_init__(self) -> None:
        profile: Any = {"max_input_tokens": self.window, "max_output_tokens": self.window // 8}
        model = ScriptedModel(script=self._answer, profile=profile)
        self.agent = self._ours(model) if self.side == "ours" else self._theirs(model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.side == "ours":
            self.archive.close()

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        edges = f"{messages[0].text[:500]} {messages[-1].text[:500]}"
        if any(words in edges for words in SUMMARIES):
            self.summaries += 1
            return self.summary()
        self.sent.append(list(messages))
        return self.script(messages)

    def _ours(self, model: ScriptedModel) -> Any:  # noqa: ANN401 (LangGraph's own)
        path = self.folder / "thalweg.db"
        self.archive = FullDisk(path) if self.archive_fails else open_archive(path)
        behind = [Memory(self.memory)] if self.memory else []
        return create_agent(
            model,
            [*self.tools, write_file],
            system_prompt="You keep the books.",
            middleware=[
                ContextMiddleware(
                    ContextPolicy(background=False, cost=self.cost), archive=self.archive
                ),
                *behind,
            ],
            checkpointer=InMemorySaver(),
        )

    def _theirs(self, model: ScriptedModel) -> Any:  # noqa: ANN401 (as above)
        from deepagents import create_deep_agent  # noqa: PLC0415 (only where it is installed)
        from deepagents.backends import FilesystemBackend  # noqa: PLC0415

        if self.memory:
            (self.folder / "AGENTS.md").write_text(self.memory)
        backend = FilesystemBackend(root_dir=self.folder, virtual_mode=True)
        if self.archive_fails:
            (self.folder / "conversation_history").write_text("a file where a folder should be")
        return create_deep_agent(
            model,
            [*self.tools],
            system_prompt="You keep the books.",
            memory=["/AGENTS.md"] if self.memory else None,
            backend=backend,
            checkpointer=InMemorySaver(),
        )

    @property
    def config(self) -> dict[str, Any]:
        """Name the thread."""
        return {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000}

    def say(self, words: str) -> str:
        """Send a message; return the answer."""
        done = self.agent.invoke({"messages": [("user", words)]}, self.config)
        return str(done["messages"][-1].text)

    def results(self) -> list[str]:
        """List the results of tools as the model was shown them, newest request only."""
        return [message.text for message in self.sent[-1] if message.type == "tool"]

    def archived(self) -> str:
        """Return everything that was archived, as text that can be searched."""
        if self.side == "ours":
            log = self.archive.messages(KEY)
            return "\n".join([*map(as_text, log), *map(message_to_json, log)])
        files = sorted((self.folder / "conversation_history").rglob("*.md"))
        return "\n".join(file.read_text() for file in files)

    def delete_oldest_answer(self) -> None:
        """Delete the oldest message of the model that calls a tool, as a person may."""
        messages = self.agent.get_state(self.config).values["messages"]
        oldest = next(m for m in messages if isinstance(m, AIMessage) and m.tool_calls)
        self.agent.update_state(self.config, {"messages": [RemoveMessage(id=oldest.id or "")]})


class Memory(AgentMiddleware[Any, Any, Any]):
    """Adds a memory to the system prompt of every request."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        system = SystemMessage(f"{request.system_prompt}\n{self._words}")
        return handler(request.override(system_message=system))


class FullDisk(SqliteArchive):
    """An archive on a disk that is full."""

    def append(
        self,
        key: ThreadKey,
        messages: Sequence[Logged],
        *,
        expected: int | None = None,
        generation: int = 0,
    ) -> int:
        """Fail."""
        del key, messages, expected, generation
        raise StorageError("disk", "it is full", "free some space")


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"{len(content)} characters in {file_path}"


def shown_handles(messages: Sequence[BaseMessage]) -> list[str]:
    """List the ways to read back that a request shows: our handles, the peer's paths."""
    text = "\n".join(message.text for message in messages)
    ours = re.findall(r'recall\(handle="([^"]+)"\)', text)
    return ours or list(dict.fromkeys(re.findall(r"/large_tool_results/[\w.-]+", text)))
