"""`TodoListMiddleware`: LangChain's, with shorter texts and without a step of the graph.

State, tool and arguments are LangChain's, and so is the refusal: several `write_todos` in one turn
are all refused, since each replaces the whole list. Here the tool call refuses, and not a separate
step of the graph after every answer of the model; the schema of the tool is built once per process;
and the result counts the items instead of repeating them, since the call contains them.

The engine preserves a plan over compactions: its structured summary keeps the newest.
"""

from collections import Counter
from functools import cache
from typing import Any, ClassVar

from langchain.agents.middleware import TodoListMiddleware as LangChainTodoList
from langchain.agents.middleware.todo import PlanningState, Todo, WriteTodosInput
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ModelRequest,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.context.ready_tools import ReadyTool
from thalweg.context.turn.additions import with_text
from thalweg.context.turn.effects import RequestChange
from thalweg_agent.middleware.rejected import latest_calls
from thalweg_agent.prompts import prompt

WRITE_TODOS = "write_todos"


class TodoListMiddleware(RequestChange, LangChainTodoList):
    """Add a todo list in the state `todos`, with the tool `write_todos`.

    Args:
        system_prompt: Text for the system prompt, in place of the default.
        tool_description: Description of the tool, in place of the default.

    Example:
        >>> [tool.name for tool in TodoListMiddleware().tools]
        ['write_todos']
    """

    after_model: ClassVar[Any] = AgentMiddleware.after_model
    aafter_model: ClassVar[Any] = AgentMiddleware.aafter_model

    def __init__(
        self, *, system_prompt: str | None = None, tool_description: str | None = None
    ) -> None:
        super(LangChainTodoList, self).__init__()  # its tool is made anew every time
        self.system_prompt = prompt("todos").render() if system_prompt is None else system_prompt
        described = prompt("write_todos").render() if tool_description is None else tool_description
        self.tool_description = described
        self.tools = [_todo_tool(described)]

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add to the system prompt how the list is maintained."""
        return with_text(request, self.system_prompt)


@cache
def _todo_tool(description: str) -> BaseTool:
    return ReadyTool(
        name=WRITE_TODOS,
        description=description,
        args_schema=WriteTodosInput,
        func=_write,
        coroutine=_awrite,
    )


def _write(
    runtime: ToolRuntime[Any, PlanningState[Any]], todos: list[Todo]
) -> Command[Any] | ToolMessage:
    if _is_one_of_several(runtime):
        text, call_id = prompt("todos_in_parallel").render(), runtime.tool_call_id
        return ToolMessage(text, name=WRITE_TODOS, tool_call_id=call_id, status="error")
    states = Counter(todo["status"] for todo in todos)
    summary = ", ".join(
        f"{states[state]} {state.replace('_', ' ')}"
        for state in ("completed", "in_progress", "pending")
        if states[state]
    )
    answer = ToolMessage(
        prompt("todos_written").render(count=summary or "it is empty"),
        name=WRITE_TODOS,
        tool_call_id=runtime.tool_call_id,
    )
    return Command(update={"todos": todos, "messages": [answer]})


async def _awrite(
    runtime: ToolRuntime[Any, PlanningState[Any]], todos: list[Todo]
) -> Command[Any] | ToolMessage:
    return _write(runtime, todos)


def _is_one_of_several(runtime: ToolRuntime[Any, PlanningState[Any]]) -> bool:
    names = [call["name"] for call in latest_calls(runtime.state)]
    return names.count(WRITE_TODOS) > 1
