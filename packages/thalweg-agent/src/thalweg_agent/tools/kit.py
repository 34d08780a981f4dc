"""The tools as LangChain objects; creating one infers nothing and costs microseconds."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from thalweg.context.ready_tools import ReadyTool
from thalweg_agent.prompts import prompt
from thalweg_agent.tools import schemas
from thalweg_agent.tools.answers import ToolAnswer, answered
from thalweg_agent.tools.asking import Steps, arun, run
from thalweg_agent.tools.files import FileToolContext, delete, edit_file, glob, grep, ls, write_file
from thalweg_agent.tools.shell import execute
from thalweg_agent.tools.viewing import read_file

FsToolName = Literal[
    "ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute"
]
"""Names of the file tools, in the order in which a model is shown them."""

FILE_TOOLS: tuple[FsToolName, ...] = get_args(FsToolName)

_TOOLS: Mapping[FsToolName, tuple[type[BaseModel], Callable[..., Steps[ToolAnswer]]]] = {
    "ls": (schemas.LsSchema, ls),
    "read_file": (schemas.ReadFileSchema, read_file),
    "write_file": (schemas.WriteFileSchema, write_file),
    "edit_file": (schemas.EditFileSchema, edit_file),
    "delete": (schemas.DeleteSchema, delete),
    "glob": (schemas.GlobSchema, glob),
    "grep": (schemas.GrepSchema, grep),
    "execute": (schemas.ExecuteSchema, execute),
}


def file_tool(context: FileToolContext, name: FsToolName, description: str) -> BaseTool:
    """Create one of the tools.

    Args:
        context: Context that the tools of the agent share.
        name: Name of the tool.
        description: Description for the model.
    """
    schema, make = _TOOLS[name]
    if name == "read_file" and context.samples_video:
        schema = schemas.ReadVideoFileSchema

    def steps(call_id: str | None, arguments: Mapping[str, Any]) -> Steps[ToolAnswer]:
        by_call = {"call_id": call_id or ""} if name == "execute" else {}
        return answered(name, make(context, **by_call, **arguments))

    def blocking(runtime: ToolRuntime[Any, Any], **arguments: Any) -> ToolMessage:  # noqa: ANN401
        call_id = runtime.tool_call_id
        return run(steps(call_id, arguments), context.backend, context.slots).message(name, call_id)

    async def awaited(runtime: ToolRuntime[Any, Any], **arguments: Any) -> ToolMessage:  # noqa: ANN401
        call_id = runtime.tool_call_id
        return (await arun(steps(call_id, arguments), context.backend)).message(name, call_id)

    # LangChain, too, documents its tools on the functions.
    blocking.__doc__ = awaited.__doc__ = description
    return ReadyTool(
        name=name,
        description=description,
        args_schema=schema,
        func=blocking,
        coroutine=awaited,
    )


def described(name: FsToolName, visible: frozenset[str], *, samples_video: bool = False) -> str:
    """Return a tool's description for the model; it names other tools only if they are visible.

    Args:
        name: The tool.
        visible: The tools that the model sees.
        samples_video: Whether `read_file` shows frames of a video.
    """
    if name == "read_file" and samples_video:
        return f"{prompt('tool_read_file').text}\n{prompt('tool_read_file_video').text}"
    if name == "grep":
        return _grep(with_shell="execute" in visible)
    if name == "execute":
        return _execute(finds="glob" in visible, greps="grep" in visible)
    return prompt(f"tool_{name}").text


@lru_cache(maxsize=2)
def _grep(*, with_shell: bool) -> str:
    shell = f" {prompt('tool_grep_shell').text}" if with_shell else ""
    return prompt("tool_grep").render(shell=shell)


@lru_cache(maxsize=4)
def _execute(*, finds: bool, greps: bool) -> str:
    chosen = {(True, True): "both", (False, True): "grep", (True, False): "glob"}.get(
        (finds, greps)
    )
    searching = f"{prompt(f'tool_execute_{chosen}').text} " if chosen else ""
    bad = [("tool_execute_no_find", finds), ("tool_execute_no_grep", greps)]
    examples = "".join(f"\n{prompt(name).text}" for name, shown in bad if shown)
    return prompt("tool_execute").render(searching=searching, examples=examples)
