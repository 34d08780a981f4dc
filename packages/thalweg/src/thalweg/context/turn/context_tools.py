"""The agent's own operations on its context: read back, and request a compaction."""

from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.archive import RECALL_TOOL, Archive, ThreadKey
from thalweg.archive.recall_tool import recall_content
from thalweg.archive.recalled_media import MediaRoom
from thalweg.archive.threads.journal import ThreadBranch, page_at
from thalweg.archive.threads.thread_history import branch_at
from thalweg.context.ready_tools import ContextTool
from thalweg.context.request.models import DEFAULT_WINDOW
from thalweg.context.turn.threads import SessionPool, keeps_state, read_pointer_turn
from thalweg.engine.entries import Text
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ToolNames
from thalweg.engine.wires.langchain import write_content
from thalweg.errors import ArchiveError

_NO_ARGUMENTS = {"type": "object", "properties": {}}
"""A schema without arguments. LangChain drops injected ones, too, for a class without fields."""


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
