"""`ToolProfileMiddleware`: which tools a model sees and how they are described."""

from collections.abc import Mapping
from typing import Any

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ToolCallRequest,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import Tool, tool_name
from thalweg.context.turn.effects import Flow, RequestChange, Send, ToolCallFlow, ToolResult
from thalweg_agent.prompts import prompt


class ToolProfileMiddleware(
    RequestChange, ToolCallFlow, AgentMiddleware[AgentState[Any], Any, Any]
):
    """Hide tools from the model, refuse calls of them, and replace descriptions.

    Args:
        excluded: Names of the tools to hide.
        descriptions: Descriptions by the name of a tool.
    """

    def __init__(
        self, excluded: frozenset[str] = frozenset(), descriptions: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._excluded = excluded
        self._descriptions = dict(descriptions or {})
        self._described: dict[str, tuple[Tool, Tool]] = {}

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Send the tools that the model is to see."""
        tools = [self._as_described(tool) for tool in request.tools if not self._hides(tool)]
        return request.override(tools=tools)

    def _hides(self, tool: Tool) -> bool:
        return tool_name(tool) in self._excluded

    def _as_described(self, tool: Tool) -> Tool:
        name = tool_name(tool)
        description = self._descriptions.get(name or "")
        if name is None or description is None or not isinstance(tool, BaseTool):
            return tool
        given, made = self._described.get(name, (None, tool))
        if given is not tool:
            made = tool.model_copy(update={"description": description})
            self._described[name] = (tool, made)
        return made

    def tool_call(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Refuse a call of a tool that the model does not see."""
        name, call_id = request.tool_call["name"], request.tool_call["id"]
        if name not in self._excluded:
            result: ToolResult = yield Send(request)
            return result
        text = prompt("tool_excluded").render(name=name)
        return ToolMessage(text, name=name, tool_call_id=call_id, status="error")
