"""What the agent itself can do with its context: read back, and ask to compact."""

from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command

from thalweg.archive import RECALL_TOOL, recall
from thalweg.context.plan import RECALL
from thalweg.middleware.desk import Desk
from thalweg.prompts import prompt

COMPACT = "compact_conversation"


def recall_tool(desk: Desk) -> BaseTool:
    """Make the tool that reads back what left the context, of the thread that calls it."""

    def run(
        runtime: ToolRuntime[Any, Any],
        handle: str = "",
        query: str = "",
        lines: list[int] | None = None,
        chars: list[int] | None = None,
        path: str = "",
    ) -> str:
        return recall(
            desk.archive,
            desk.key(runtime.config, runtime.state),
            handle=handle,
            query=query,
            lines=lines,
            chars=chars,
            path=path,
            count=desk.count,
        )

    return StructuredTool.from_function(
        run,
        name=RECALL,
        description=RECALL_TOOL["description"],
        args_schema=RECALL_TOOL["parameters"],
    )


def compact_tool() -> BaseTool:
    """Make the tool with which an agent asks for its context to be compacted."""

    def run(runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        answer = ToolMessage(
            prompt("compact_answer").render(), tool_call_id=runtime.tool_call_id, name=COMPACT
        )
        return Command(update={"thalweg_compact": True, "messages": [answer]})

    return StructuredTool.from_function(
        run, name=COMPACT, description=prompt("compact_tool").render()
    )
