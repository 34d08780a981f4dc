"""The tool with which an agent finds and loads deferred tools."""

from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.context.deferral.shelf import card_of
from thalweg.context.turn.context_tools import ContextTool
from thalweg.engine.deferral import ToolCard, find_cards
from thalweg.engine.prompts import prompt

_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": prompt("find_tools_query").render()}},
    "required": ["query"],
}


def find_tool(name: str) -> BaseTool:
    """Make the tool; a request replaces its description by one with the names to find."""

    def run(runtime: ToolRuntime[Any, Any], query: str = "") -> Command[Any]:
        call = runtime.tool_call_id or ""
        known = {tool.name: tool for tool in runtime.tools}
        cards = [
            card_of(known[one]) if one in known else ToolCard(one)
            for one in runtime.state.get("thalweg_deferred") or ()
        ]
        names = [card.name for card in find_cards(cards, query)]
        if names:
            text = prompt("find_tools_found").render(names=", ".join(names))
        else:
            text = prompt("find_tools_nothing").render(query=repr(query))
        answer = ToolMessage(text, tool_call_id=call, name=name)
        return Command(update={"messages": [answer], "thalweg_tools": dict.fromkeys(names, call)})

    description = prompt("find_tools").render(number="Some", names="")
    return ContextTool(func=run, name=name, description=description, args_schema=_QUERY)
