"""`FilesystemMiddleware`: tools for files and a shell, over any backend.

A model sees the tools that the backend supports; their default descriptions mention no missing
tool.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from threading import BoundedSemaphore
from typing import Annotated, Any, Literal, NotRequired
from uuid import uuid4

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.exceptions import ModelInvalidRequestError
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.context.ready_tools import Tool, tool_name
from thalweg.context.request.messages import common_prefix
from thalweg.context.turn.additions import with_text
from thalweg.context.turn.effects import (
    Flow,
    ModelCallFlow,
    Response,
    Send,
    ToolCallFlow,
    ToolResult,
)
from thalweg.errors import ConfigError
from thalweg_agent.backends.calls.foreign import BackendKindError, as_backend
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.concurrency.shared import shared, with_notices
from thalweg_agent.backends.concurrency.state_channel import (
    FilesChannel,
    FilesystemState,
    merge_notes,
)
from thalweg_agent.backends.paths import sanitize_tool_call_id
from thalweg_agent.backends.protocol import BackendProtocol, FileData, supports_delete
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.backends.text import EMPTY_CONTENT_WARNING
from thalweg_agent.middleware.backend_calls import of_backend
from thalweg_agent.middleware.rejected import clash, without_media
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.access import Access
from thalweg_agent.tools.asking import Steps
from thalweg_agent.tools.files import (
    GLOB_PATHLESS_DENIED_HINT,
    GLOB_TRUNCATION_NOTE,
    GLOB_UNREADABLE_NOTE,
    GREP_TRUNCATION_NOTE,
    FileToolContext,
)
from thalweg_agent.tools.filing import FILED, as_stub, file_message, file_result, text_of
from thalweg_agent.tools.kit import FILE_TOOLS, FsToolName, described, file_tool
from thalweg_agent.tools.places import (
    artifacts_root,
    below_routes,
    keeps_in_state,
    shell_folder,
    supports_execution,
)
from thalweg_agent.tools.rights import (
    FilesystemOperation,
    FilesystemPermission,
    Permissions,
    Rights,
    UnsupportedRuleError,
    rights,
)
from thalweg_agent.tools.schemas import (
    GrepSchema,
)
from thalweg_agent.tools.video import video_dependencies_available
from thalweg_agent.tools.viewing import NO_LINES_REQUESTED_WARNING

_OF_OTHERS: tuple[FsToolName, ...] = ("grep", "execute")
"""Tools whose descriptions mention other tools, which may be missing."""
_FINDS = ("glob", "grep")
_VARIANTS = {
    described(name, frozenset(visible))
    for name in _OF_OTHERS
    for visible in ((), ("execute",), ("glob",), ("grep",), _FINDS)
}
"""All default descriptions of these tools."""
__all__ = [
    "EMPTY_CONTENT_WARNING",
    "GLOB_PATHLESS_DENIED_HINT",
    "GLOB_TIMEOUT",
    "GLOB_TRUNCATION_NOTE",
    "GLOB_UNREADABLE_NOTE",
    "GREP_TOOL_DESCRIPTION",
    "GREP_TRUNCATION_NOTE",
    "NO_LINES_REQUESTED_WARNING",
    "NUM_CHARS_PER_TOKEN",
    "READ_FILE_TOOL_DESCRIPTION",
    "TOOLS_EXCLUDED_FROM_EVICTION",
    "TOO_LARGE_TOOL_MSG",
    "WRITE_FILE_TOOL_DESCRIPTION",
    "BackendKindError",
    "FileData",
    "FilesystemMiddleware",
    "FilesystemOperation",
    "FilesystemPermission",
    "FilesystemState",
    "FsToolName",
    "GrepSchema",
    "SharedState",
    "supports_execution",
]
NUM_CHARS_PER_TOKEN = 4
"""Characters that count as a token if no token counter is available."""
GLOB_TIMEOUT = 10.0
"""Seconds that one `glob` may take."""
GLOBS_AT_ONCE = 4
"""Blocking searches that may go on although they ran out of time."""
DEFAULT_READ_TOKENS = 20_000
"""Bound on one `read_file` where results are not evicted."""
TOOLS_EXCLUDED_FROM_EVICTION = tuple(name for name in FILE_TOOLS if name != "execute")
"""Tools whose results have bounds of their own."""
READ_FILE_TOOL_DESCRIPTION = prompt("tool_read_file").text
WRITE_FILE_TOOL_DESCRIPTION = prompt("tool_write_file").text
GREP_TOOL_DESCRIPTION = described("grep", frozenset(FILE_TOOLS))
TOO_LARGE_TOOL_MSG = prompt("too_large_result").text
Messages = list[AnyMessage]


def servable(tools: Sequence[Tool], backend: BackendProtocol) -> list[Tool]:
    """Remove the tools that a backend does not support."""
    missing = set() if supports_execution(backend) else {"execute"}
    missing |= set() if supports_delete(backend) else {"delete"}
    return [tool for tool in tools if tool_name(tool) not in missing]


def retold(tools: Sequence[Tool], made: dict[tuple[str, str], BaseTool]) -> list[Tool]:
    """Return tools whose descriptions mention only existing tools; the user's own are kept.

    Args:
        tools: The tools that the model sees.
        made: The copies that were made before, by name and description: the same request has the
            same tools.
    """
    visible = frozenset(name for name in map(tool_name, tools) if name)
    return [_retold(tool, visible, made) for tool in tools]


def _retold(tool: Tool, visible: frozenset[str], made: dict[tuple[str, str], BaseTool]) -> Tool:
    name = tool_name(tool)
    if name not in _OF_OTHERS:
        return tool
    current = tool.get("description") if isinstance(tool, dict) else tool.description
    expected = described(name, visible)
    if current == expected or current not in _VARIANTS:
        return tool
    if isinstance(tool, dict):
        return {**tool, "description": expected}
    key = (name, expected)
    if key not in made:
        made[key] = tool.model_copy(update={"description": expected})
    return made[key]


def shell_paths(backend: BackendProtocol) -> str:
    """Return which folders of the file tools have another path in a command, or none at all."""
    default = backend.default if isinstance(backend, CompositeBackend) else backend
    routes = backend.sorted_routes if isinstance(backend, CompositeBackend) else ()
    mapped: dict[str, str | None] = {p: shell_folder(backend, at) for p, at in routes}
    if root := getattr(default, "command_root", ""):
        mapped["/"] = root
    pairs = [f"- `{_folder(p)}` -> `{_folder(host)}`" for p, host in mapped.items() if host]
    others = [f"- `{_folder(p)}`" for p, host in mapped.items() if not host]
    if not mapped:
        return ""
    return prompt("shell_paths").render(
        mapped=_section("shell_paths_mapped", pairs),
        unmapped=_section("shell_paths_unmapped", others),
    )


def _folder(path: str) -> str:
    # A line break in a folder's name would make its rest look like words of ours.
    return path.rstrip("/").encode("unicode_escape").decode() + "/"


def _section(name: str, lines: Sequence[str]) -> str:
    shown = "\n".join(lines)
    return f"\n\n{prompt(name).render(lines=shown)}" if lines else ""


class ArgumentError(ConfigError, ValueError):
    """An argument is of the right kind and cannot be used."""


class SharedState(AgentState[Any]):
    """The state of an agent whose files are in a backend: changes with their authors, no files.

    It has the channels of `FilesystemState`, through which the agents of a run learn of each
    other's changes; they are private to the run.
    """

    files: NotRequired[Annotated[dict[str, FileData], PrivateStateAttr, FilesChannel()]]
    files_unseen: NotRequired[Annotated[dict[str, str], PrivateStateAttr, merge_notes]]


class FilesystemMiddleware(ModelCallFlow, ToolCallFlow, AgentMiddleware[FilesystemState, Any, Any]):
    """Add tools for files, and for a shell if the backend has one.

    The tools are `ls`, `read_file`, `write_file`, `edit_file`, `delete`, `glob`, `grep` and
    `execute`; the model sees those that the backend supports. Its changes are visible to its
    subagents during a run.

    Results of other tools, and messages of humans, that are too long for a context are offloaded to
    the backend; the context keeps their path, their beginning and their end.

    Args:
        backend: The store of files; the agent's state by default.
        system_prompt: Text about files for the system prompt, in place of the default; empty for
            none.
        custom_tool_descriptions: Descriptions of tools, by the tool's name.
        tool_token_limit_before_evict: Longest result in tokens that is not offloaded; `None`
            offloads none.
        preview_lines: Lines of the beginning and of the end of an offloaded result that the context
            keeps.
        human_message_token_limit_before_evict: The same for messages of humans.
        max_execute_timeout: Seconds that a call may ask for its command at most.
        grep_max_count: Matches of one `grep` if the call sets no limit; `None` for all.
        tools: Names of the tools to have; all by default.
        offload_binary_content: Accepted for compatibility: an archive keeps media once.
        permissions: Rules about paths; see `FilesystemPermission`. Rules that make calls wait for a
            human need `HumanInTheLoopMiddleware` as well: see `interrupts`.

    Raises:
        ConfigError: An argument is invalid; also a `ValueError`, `TypeError` or
            `NotImplementedError`.

    Example:
        >>> from langchain.agents import create_agent
        >>> from thalweg.testing import ScriptedModel
        >>> model = ScriptedModel(script=lambda messages: "Hello!")
        >>> agent = create_agent(model, middleware=[FilesystemMiddleware()])
        >>> agent.invoke({"messages": [("user", "hi")]})["messages"][-1].content
        'Hello!'
    """

    state_schema: type[Any]

    def __init__(
        self,
        *,
        backend: BackendProtocol | None = None,
        system_prompt: str | None = None,
        custom_tool_descriptions: Mapping[str, str] | None = None,
        tool_token_limit_before_evict: int | None = 20_000,
        human_message_token_limit_before_evict: int | None = 50_000,
        max_execute_timeout: int = 3600,
        grep_max_count: int | None = 1000,
        tools: Sequence[FsToolName] | Literal["all"] | None = None,
        offload_binary_content: bool = False,
        permissions: Permissions = None,
        preview_lines: tuple[int, int] = (5, 5),
        _permissions: Permissions = None,
    ) -> None:
        del offload_binary_content
        self.backend = StateBackend() if backend is None else as_backend(backend)
        _check(tools, max_execute_timeout, grep_max_count)
        in_state = keeps_in_state(self.backend)
        self.state_schema = FilesystemState if in_state else SharedState
        self._custom_system_prompt = system_prompt
        self._descriptions = dict(custom_tool_descriptions or {})
        self._result_chars = _chars(tool_token_limit_before_evict)
        self._preview_lines = preview_lines
        self._message_chars = _chars(human_message_token_limit_before_evict)
        self._max_execute_timeout = max_execute_timeout
        self._grep_max_count = grep_max_count
        chosen = FILE_TOOLS if tools is None or tools == "all" else tools
        self._enabled = frozenset(chosen)
        root = artifacts_root(self.backend)
        self._results_folder = f"{root}/large_tool_results"
        self._messages_folder = f"{root}/conversation_history"
        self._slots = BoundedSemaphore(GLOBS_AT_ONCE)
        self._variants: dict[tuple[str, str], BaseTool] = {}
        self._set_rights(rights(permissions or _permissions))

    @property
    def _permissions(self) -> list[FilesystemPermission]:
        return list(self._access.rights)

    @property
    def rights(self) -> Rights:
        """The agent's rights to paths."""
        return self._access.rights

    def with_permissions(self, permissions: Permissions) -> "FilesystemMiddleware":
        """Copy the middleware, with other rules about paths.

        Args:
            permissions: In place of those it has; for a child, `both` of hers and its own.

        Raises:
            ConfigError: See the class.
        """
        copied = copy(self)
        copied._set_rights(rights(permissions))  # noqa: SLF001  # of the same class
        return copied

    def _set_rights(self, given: Rights) -> None:
        _check_rights(given, self.backend)
        samples_video = video_dependencies_available()
        self._access = Access(given, self.backend)
        context = FileToolContext(
            backend=shared(self.backend),
            access=self._access,
            slots=self._slots,
            read_chars=self._result_chars or DEFAULT_READ_TOKENS * NUM_CHARS_PER_TOKEN,
            grep_max_count=self._grep_max_count,
            glob_within_s=lambda: GLOB_TIMEOUT,
            max_execute_timeout_s=self._max_execute_timeout,
            output_path=self._output_path if self._result_chars else None,
            samples_video=samples_video,
        )
        self.tools = [
            file_tool(
                context,
                name,
                self._descriptions.get(name)
                or described(name, self._enabled, samples_video=samples_video),
            )
            for name in FILE_TOOLS
            if name in self._enabled
        ]

    def _output_path(self, tool_call_id: str) -> str:
        return f"{self._results_folder}/{sanitize_tool_call_id(tool_call_id)}"

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Show the supported tools, and the paths of offloaded long messages."""
        request, tagged = yield of_backend(self._prepared(request), self.backend, self._slots)
        try:
            return _with_changes((yield Send(request)), tagged)
        except ModelInvalidRequestError:
            replacements = without_media(request.messages)
            if not replacements:
                raise
        messages = [replacements.get(n, message) for n, message in enumerate(request.messages)]
        smaller = request.override(messages=messages)
        return _with_changes((yield Send(smaller)), [*tagged, *replacements.values()])

    def _prepared(self, request: ModelRequest[Any]) -> Steps[tuple[ModelRequest[Any], Messages]]:
        """Return the prepared request, and the messages of the state that changed."""
        request = self._with_tools_and_prompt(request)
        messages = list(request.messages)
        tagged: Messages = []
        last = messages[-1] if messages else None
        if isinstance(last, HumanMessage) and self._is_long(last):
            path = f"{self._messages_folder}/{uuid4()}.md"
            if marked := (yield from file_message(last, path)):
                messages[-1] = marked
                tagged = [marked]
        for place, message in enumerate(messages):
            if isinstance(message, HumanMessage) and _is_filed(message):
                messages[place] = as_stub(message)
        if common_prefix(request.messages, messages) < len(messages):
            request = request.override(messages=messages)
        return request, tagged

    def _is_long(self, message: HumanMessage) -> bool:
        most = self._message_chars
        return most is not None and not _is_filed(message) and len(text_of(message)) > most

    def _with_tools_and_prompt(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        given = list(request.tools)
        tools = retold(servable(given, self.backend), self._variants)
        if [*map(id, tools)] != [*map(id, given)]:
            request = request.override(tools=tools)
        own = self._custom_system_prompt
        parts = [prompt("files").render(tools=_documentation(tools)) if own is None else own]
        if any(tool_name(tool) == "execute" for tool in tools):
            parts.append(shell_paths(self.backend))
        text = "\n\n".join(filter(None, parts)).strip()
        return with_text(request, text) if text else request

    def tool_call(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Run a call, offload a long result, and report what other agents changed meanwhile."""
        if refused := clash(request):
            return refused
        result: ToolResult = with_notices((yield Send(request)))
        if self._result_chars and request.tool_call["name"] not in TOOLS_EXCLUDED_FROM_EVICTION:
            steps = file_result(
                result, self._results_folder, self._result_chars, self._preview_lines
            )
            result = yield of_backend(steps, self.backend, self._slots)
        return result


def _documentation(tools: Sequence[Tool]) -> str:
    """Return the first line of the description of each file tool, and of `execute`."""
    lines: list[str] = []
    for tool in tools:
        text = tool.get("description") if isinstance(tool, dict) else tool.description
        if text and (name := tool_name(tool)) in FILE_TOOLS:
            lines.append(f"- `{name}`: {text.strip().splitlines()[0].rstrip()}")
    return "\n".join(lines)


def _is_filed(message: HumanMessage) -> bool:
    return FILED in message.additional_kwargs


def _with_changes(response: ModelResponse[Any], changed: Sequence[AnyMessage]) -> Response:
    if not changed:
        return response
    command: Command[Any] = Command(update={"messages": list(changed)})
    return ExtendedModelResponse(model_response=response, command=command)


def _chars(tokens: int | None) -> int | None:
    return tokens * NUM_CHARS_PER_TOKEN if tokens else None


def _check(
    tools: Sequence[FsToolName] | Literal["all"] | None,
    max_execute_timeout: int,
    grep_max_count: int | None,
) -> None:
    if tools is not None and tools != "all" and "read_file" not in tools:
        what = "read_file must be included in tools"
        raise ArgumentError(what, f"{list(tools)} has no way to read", "add 'read_file'")
    if max_execute_timeout <= 0:
        what = f"max_execute_timeout must be positive, got {max_execute_timeout}"
        raise ArgumentError(what, "no command could run", "give seconds")
    if grep_max_count is not None and grep_max_count <= 0:
        what = f"grep_max_count must be positive or None, got {grep_max_count}"
        raise ArgumentError(what, "no search could answer", "pass a number of matches")


def _check_rights(given: Rights, backend: BackendProtocol) -> None:
    if given and supports_execution(backend) and not below_routes(given, backend):
        what = "FilesystemMiddleware does not yet support permissions with backends that execute"
        problem = "a command of the execute tool could touch what the rules deny"
        fix = (
            "drop the rules, use a backend without a shell, or limit them to routes it cannot reach"
        )
        raise UnsupportedRuleError(what, problem, fix)
