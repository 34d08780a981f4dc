"""The tool that runs a command on the machine of the files."""

from typing import Protocol, runtime_checkable

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
from thalweg_agent.tools.answers import ToolAnswer, refuse
from thalweg_agent.tools.asking import BackendRequest, Steps
from thalweg_agent.tools.files import FileToolContext
from thalweg_agent.tools.places import supports_execution
from thalweg_agent.tools.previews import ContentPreview, result_stub


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
