"""The agent's own operations on its context: read back, and request a compaction.

`OwnTools` decides which of these tools are in a request, and rejects another tool with the same
name. A reference implies that the tool which reads it is in the request (I51). Without a reference,
an agent without tools remains without them (I52); see decision 0072.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.archive import RECALL_TOOL, Archive, ThreadKey
from thalweg.archive.recall_tool import recall_content
from thalweg.archive.recalled_media import MediaRoom
from thalweg.archive.threads.journal import ThreadBranch, page_at
from thalweg.archive.threads.thread_history import branch_at
from thalweg.context.ready_tools import ReadyTool, Tool, tool_name
from thalweg.context.request.last_check import with_tool
from thalweg.context.request.models import DEFAULT_WINDOW
from thalweg.context.turn.threads import SessionPool, keeps_state, read_pointer_turn
from thalweg.engine.entries import Text
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ContextPolicy, ToolNames
from thalweg.engine.wires.langchain import write_content
from thalweg.errors import ArchiveError, ConfigError

_RUNTIME_ARGUMENT = "runtime"
"""The argument in which LangGraph passes a tool the context of its run."""
_NO_ARGUMENTS = {"type": "object", "properties": {}}
"""A schema without arguments. LangChain drops injected ones, too, for a class without fields."""


@dataclass(slots=True)
class OwnTools:
    """The tools of a request, the user's and ours."""

    given: tuple[Tool, ...]
    """As the request came: other middleware may have removed some."""
    registered: Mapping[str, BaseTool]
    """Ours that the agent can execute, by name."""
    policy: ContextPolicy
    is_taken: bool
    """Whether the model accepts our tools."""
    others: tuple[Tool, ...] = field(init=False)
    """Those that are not ours."""

    def __post_init__(self) -> None:
        self.others = tuple(tool for tool in self.given if not isinstance(tool, ContextTool))

    @classmethod
    def of(
        cls,
        request: ModelRequest[Any],
        registered: Sequence[BaseTool],
        policy: ContextPolicy,
        *,
        is_taken: bool = True,
    ) -> "OwnTools":
        """Read the tools of a request.

        Args:
            request: The request, before ours are removed or added.
            registered: Ours that the agent can execute.
            policy: When ours are sent.
            is_taken: Whether the model takes tools.

        Raises:
            ConfigError: Another tool has the name of one of ours.
        """
        known = {tool.name: tool for tool in registered}
        for tool in request.tools:
            name = tool_name(tool)
            if name in known and not isinstance(tool, ContextTool):
                raise _name_conflict_error(str(name), policy)
        return cls(tuple(request.tools), known, policy, is_taken and bool(known))

    @property
    def recall(self) -> BaseTool | None:
        """The tool that reads references, if the model takes it."""
        return self.registered.get(self.policy.tool_names.recall) if self.is_taken else None

    @property
    def reference(self) -> str:
        """The name that references have; empty if they are notes."""
        return "" if self.recall is None else self.recall.name

    def sent(self, *, refers: bool) -> list[Tool]:
        """Return the tools to send.

        Args:
            refers: Whether the request has a reference.
        """
        if refers and self.recall is not None:
            return with_tool(self.given, self.recall)
        always = self.policy.tools == "on" or bool(self.others)
        return [*self.given] if always and self.recall is not None else [*self.others]


def _name_conflict_error(name: str, policy: ContextPolicy) -> ConfigError:
    setting = next(
        setting_name
        for setting_name, tool_named in policy.tool_names.model_dump().items()
        if tool_named == name
    )
    return ConfigError(
        "tools",
        f"two tools are named {name!r}: yours, and the one of ContextMiddleware that "
        "references in requests name",
        f'rename ours, ContextPolicy(tool_names={{"{setting}": "{setting}_context"}}), or leave it '
        'out, ContextPolicy(tools="off")',
    )


class LenientTool(ReadyTool):
    """A tool that passes over arguments which it does not take: models make some up."""

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """See `BaseTool.run`; `arun` comes here as well."""
        if isinstance(tool_input, dict):
            accepted_names = {*self.args, _RUNTIME_ARGUMENT}
            tool_input = {
                name: value for name, value in tool_input.items() if name in accepted_names
            }
        return super().run(tool_input, *args, **kwargs)


class ContextTool(LenientTool):
    """A tool of the context engine: requests have it only if it is of use."""


def last_written(before: bool, after: bool) -> bool:  # noqa: FBT001 (LangGraph calls it so)
    """Let several calls of one step ask for the same."""
    del before
    return after


def with_loaded(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Let several searches load tools; of each tool the first search that found it is kept."""
    return {**before, **{name: call for name, call in after.items() if name not in before}}


def recall_tool(sessions: SessionPool) -> BaseTool:
    """Return the tool that reads content that a compaction removed from the context of its thread.

    It sees the branch of the state: neither removed messages nor those after a rewind. Images and
    other media are in its result as they were received; the sender of the next request puts them
    in a place that the model accepts.
    """

    def run(runtime: ToolRuntime[Any, Any], **arguments: Any) -> str | Command[Any]:  # noqa: ANN401 (a model's)
        key = sessions.key(runtime.config, runtime.state)
        try:
            turn = read_pointer_turn(
                runtime.state.get("thalweg_turn"), key, sessions.archive.identity
            )
            is_new = turn is None and keeps_state(runtime.config)
            branch = ThreadBranch() if is_new else branch_at(sessions.archive, key, turn)
            room = _media_room(sessions, sessions.archive, key, turn)
        except ArchiveError:
            return prompt("recall_failed").render()
        recalled = recall_content(
            sessions.archive,
            key,
            room=room,
            within=branch.spans,
            count=sessions.count,
            name=name,
            **arguments,
        )
        if not recalled.media or runtime.tool_call_id is None:
            return recalled.text
        content: Any = [
            _without_cache_mark(block)
            for block in write_content((Text(recalled.text), *recalled.media))
        ]
        answer = ToolMessage(content, tool_call_id=runtime.tool_call_id, name=name)
        return Command(update={"messages": [answer]})  # else LangGraph makes sounds a text

    name = sessions.policy.tool_names.recall
    return ContextTool(
        func=run,
        name=name,
        description=RECALL_TOOL["description"],
        args_schema=RECALL_TOOL["parameters"],
    )


def _without_cache_mark(block: object) -> object:
    """Return a block without the cache breakpoint that it had at its first place."""
    if not isinstance(block, dict) or "cache_control" not in block:
        return block
    return {name: value for name, value in block.items() if name != "cache_control"}


def _media_room(
    sessions: SessionPool, archive: Archive, key: ThreadKey, turn: int | None
) -> MediaRoom:
    """Return the limits on media in one result: half of those of a request of the thread."""
    window, limit, model = DEFAULT_WINDOW, None, ""
    if turn is not None or archive.turn_count(key):
        _, page = page_at(archive, key, turn)
        window, limit, model = page.window, page.limit, page.model
    budget = sessions.policy.budget(window, model=model)
    number = min(budget.max_media, budget.limits.images or budget.max_media)
    tokens = budget.limit if limit is None else limit
    max_media = max(1, number // 2)
    return MediaRoom(tokens // 2, budget.max_bytes // 2, max_media, model, budget.limits)


def compact_tool(names: ToolNames) -> BaseTool:
    """Make the tool with which an agent asks for its context to be compacted."""
    name = names.compact_conversation

    def run(runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        answer = ToolMessage(
            prompt("compact_answer").render(), tool_call_id=runtime.tool_call_id, name=name
        )
        return Command(update={"thalweg_compact": True, "messages": [answer]})

    return ContextTool(
        func=run,
        name=name,
        description=prompt("compact_tool").render(recall=names.recall),
        args_schema=_NO_ARGUMENTS,
    )
