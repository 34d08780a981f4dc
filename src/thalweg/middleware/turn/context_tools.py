"""What the agent itself can do with its context: read back, and ask to compact."""

from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.agent.tools.ready import ReadyTool
from thalweg.archive import RECALL_TOOL, recall
from thalweg.archive.threads.branch import ThreadBranch
from thalweg.archive.threads.thread_history import line_at
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ToolNames
from thalweg.errors import ArchiveError
from thalweg.middleware.turn.checkpoint_pointer import read_mark
from thalweg.middleware.turn.lineage import keeps_state
from thalweg.middleware.turn.session_pool import SessionPool

_RUNTIME = "runtime"
"""The argument in which LangGraph passes a tool the context of its run."""
_NOTHING = {"type": "object", "properties": {}}
"""Takes no arguments. Of a model class without fields LangChain drops what is injected, too."""


class LenientTool(ReadyTool):
    """A tool that passes over arguments which it does not take: models make some up."""

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """See `BaseTool.run`; `arun` comes here as well."""
        if isinstance(tool_input, dict):
            takes = {*self.args, _RUNTIME}
            tool_input = {name: given for name, given in tool_input.items() if name in takes}
        return super().run(tool_input, *args, **kwargs)


class ContextTool(LenientTool):
    """A tool of the context engine: requests have it only where it is of use."""


def last_written(before: bool, after: bool) -> bool:  # noqa: FBT001 (LangGraph calls it so)
    """Let several calls of one step ask for the same."""
    del before
    return after


def with_loaded(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Let several searches load tools; the first that found one stays."""
    return {**before, **{name: call for name, call in after.items() if name not in before}}


def recall_tool(desk: SessionPool) -> BaseTool:
    """Return the tool that reads what a compaction removed from the context of its thread.

    It sees the branch of the state: neither removed messages nor those after a rewind.
    """

    def run(runtime: ToolRuntime[Any, Any], **asked: Any) -> str:  # noqa: ANN401 (a model's)
        key = desk.key(runtime.config, runtime.state)
        try:
            turn = read_mark(runtime.state.get("thalweg_turn"), key, desk.archive.identity)
            is_new = turn is None and keeps_state(runtime.config)
            line = ThreadBranch() if is_new else line_at(desk.archive, key, turn)
        except ArchiveError:
            return prompt("recall_failed").render()
        return recall(desk.archive, key, within=line.spans, count=desk.count, name=name, **asked)

    name = desk.policy.tool_names.recall
    return ContextTool(
        func=run,
        name=name,
        description=RECALL_TOOL["description"],
        args_schema=RECALL_TOOL["parameters"],
    )


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
        args_schema=_NOTHING,
    )
