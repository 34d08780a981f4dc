"""The tools for files and commands as LangChain objects.

Creating a tool infers no schema and costs microseconds. `execute` runs a command on the machine of
the files.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from thalweg.context.ready_tools import ReadyTool
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    ExecuteArtifact,
    ExecuteOffloadResult,
    ExecuteResponse,
    SandboxBackendProtocol,
    execute_accepts_timeout,
)
from thalweg_agent.prompts import prompt
from thalweg_agent.tools import schemas
from thalweg_agent.tools.answers import ToolAnswer, answered, refuse
from thalweg_agent.tools.asking import BackendRequest, Steps, arun, run
from thalweg_agent.tools.files import FileToolContext, delete, edit_file, glob, grep, ls, write_file
from thalweg_agent.tools.places import supports_execution
from thalweg_agent.tools.previews import ContentPreview, result_stub
from thalweg_agent.tools.viewing import read_file

FsToolName = Literal[
    "ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute"
]
"""Names of the file tools, in the order in which a model is shown them."""
FILE_TOOLS: tuple[FsToolName, ...] = get_args(FsToolName)


@runtime_checkable
class Capturing(Protocol):
    """A sandbox that can keep the output of a command in a file of its own."""

    def execute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        timeout: int | None = None,
    ) -> ExecuteOffloadResult:
        """Run a command; return its output, or a preview if it is too long."""
        ...


def execute(
    context: FileToolContext, call_id: str, command: str, timeout: int | None = None
) -> Steps[ToolAnswer]:
    """Run a command."""
    if problem := _problem(context, timeout):
        return refuse(problem)
    limit: dict[str, object] = {} if timeout is None else {"timeout": timeout}
    path = context.output_path(call_id) if call_id and context.output_path else ""
    sandbox = _capturing(context.access.backend, path)
    try:
        if sandbox is None:
            ran: ExecuteResponse = yield BackendRequest("execute", (command,), limit)
            return ToolAnswer(_printed(ran), artifact=_artifact(ran))
        limit["max_inline_bytes"] = context.read_chars
        kept: ExecuteOffloadResult
        kept = yield BackendRequest("execute_with_offload", (command, path), limit, of=sandbox)
    except NotImplementedError as missing:
        return refuse(prompt("shell_missing").render(problem=missing))
    except ValueError as wrong:
        return refuse(f"Error: Invalid parameter. {wrong}")
    if not kept.offloaded:
        return ToolAnswer(_printed(kept.response), artifact=_artifact(kept.response))
    return ToolAnswer(_filed(kept, path, call_id), artifact=_artifact(kept.response, path))


def _problem(context: FileToolContext, timeout: int | None) -> str | None:
    most = context.max_execute_timeout_s
    if timeout is not None and timeout < 0:
        return f"Error: timeout must be non-negative, got {timeout}."
    if timeout is not None and timeout > most:
        return f"Error: timeout {timeout}s exceeds maximum allowed ({most}s)."
    backend = context.access.backend
    if not supports_execution(backend):
        return prompt("no_shell").render()
    kind = type(backend)
    takes = not issubclass(kind, SandboxBackendProtocol) or execute_accepts_timeout(kind)
    return None if timeout is None or takes else prompt("no_timeout").render()


def _capturing(backend: BackendProtocol, path: str) -> BackendProtocol | None:
    """Return the sandbox that runs commands, if it can write to a path; else `None`."""
    if not path:
        return None
    below = None
    if isinstance(backend, CompositeBackend):
        place = backend.place(path)
        backend, below = place.backend, place.prefix
    return backend if below is None and isinstance(backend, Capturing) else None


def _printed(ran: ExecuteResponse) -> str:
    cut = f"\n{prompt('command_cut').text}" if ran.truncated else ""
    ended = f"\n{_ended(ran)}" if ran.exit_code is not None else ""
    return f"{ran.output}{ended}{cut}"


def _ended(ran: ExecuteResponse) -> str:
    how = "succeeded" if ran.exit_code == 0 else "failed"
    return prompt("command_ended").render(how=how, exit_code=ran.exit_code)


def _filed(kept: ExecuteOffloadResult, path: str, call_id: str) -> str:
    parts = [_ended(kept.response)]
    if kept.response.truncated:
        parts.append(prompt("capture_cut").text)
    shown = "\n".join([*parts, kept.response.output])
    omitted = kept.preview_has_truncation_marker
    preview = ContentPreview(shown, lines_omitted=omitted, lines_clipped=False)
    return result_stub(call_id, path, preview)


def _artifact(ran: ExecuteResponse, output_file: str | None = None) -> ExecuteArtifact:
    artifact: ExecuteArtifact = {"truncated": ran.truncated}
    if ran.exit_code is not None:
        artifact["exit_code"] = ran.exit_code
    if output_file is not None:
        artifact["output_file"] = output_file
    return artifact


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
    # LangGraph evaluates every annotation of every tool of an agent.
    blocking.__annotations__ = awaited.__annotations__ = {"runtime": ToolRuntime}
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
