"""`MemoryFilesMiddleware`: files of notes (AGENTS.md) in the system prompt, within a budget."""

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    TracePolicy,
    omit_payload,
)
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from thalweg.context.system_prompt import with_part
from thalweg.engine.additions import Addition
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ConfigError, MemoryFileError
from thalweg_agent.backends.protocol import FILE_NOT_FOUND, BackendProtocol, FileDownloadResponse
from thalweg_agent.middleware.memory_file_text import is_explained, write_memory
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.asking import BackendRequest, Steps, arun, run

MEMORY_SYSTEM_PROMPT = prompt("memory_files").text
DEFAULT_BUDGET = 10_000
"""Tokens of all memory files together: 5 % of a window of 200,000."""
LEAST_BUDGET = 150
"""Tokens for each file, of which at least something is to be shown."""
MAX_MEMORY_FILE_SIZE = 1024 * 1024
"""Bytes of a file that are kept in the state."""
_SLOT = "{agent_memory}"
_REMEMBERED = 8


class MemoryFilesState(AgentState[Any]):
    """State of the middleware in an agent's state."""

    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The files as the model sees them, by path; one that does not exist is missing."""

    _memory_followed: NotRequired[Annotated[bool, PrivateStateAttr]]
    """Whether they were read here; other code may have set them."""


class MemoryFilesMiddleware(AgentMiddleware[MemoryFilesState, Any, Any]):
    """Show an agent its files of notes, as `MemoryMiddleware` of deepagents does.

    They are part of the system prompt, within a budget. They are checked when a run begins, never
    during one: the prompt does not change between the steps of a run. The new text of a changed
    file replaces the old one. The agent's own edit is not repeated as long as the conversation
    shows it, which preserves the provider's cache.

    Args:
        backend: The backend of the files.
        sources: Their paths. They are shown in this order; missing ones are skipped.
        add_cache_control: Mark the end of the system prompt for the cache of `ChatAnthropic`.
        system_prompt: Template of the files with `{agent_memory}`; `None` adds nothing.
        budget: Most tokens of all files together. A truncated file ends with how to read the rest.

    Raises:
        TypeError: The template is no text.
        ValueError: It lacks its slot.
        ConfigError: The budget is too small for that many files.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    state_schema = MemoryFilesState

    def __init__(
        self,
        *,
        backend: BackendProtocol,
        sources: Sequence[str],
        add_cache_control: bool = False,
        system_prompt: str | None = MEMORY_SYSTEM_PROMPT,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        super().__init__()
        _check_template(system_prompt)
        if budget < (least := LEAST_BUDGET * max(1, len(sources))):
            problem = f"{budget} tokens are too few for {len(sources)} files"
            raise ConfigError("budget", problem, f"pass {least} or more")
        self.backend = backend
        self.sources = sources
        self.system_prompt = system_prompt
        self._budget = budget
        self._marks_cache = add_cache_control
        self._written: dict[tuple[tuple[str, str], ...], str] = {}

    def before_agent(
        self,
        state: MemoryFilesState,
        runtime: Runtime[Any],
        config: RunnableConfig | None = None,
    ) -> dict[str, Any] | None:
        """Read the files when a thread begins, and check for changes when a run does.

        Returns:
            The changes of the state.

        Raises:
            MemoryFileError: An existing file cannot be read when a thread begins. Later, its last
                text is used.
        """
        del runtime, config
        return run(self._read(state), self.backend)

    async def abefore_agent(
        self,
        state: MemoryFilesState,
        runtime: Runtime[Any],
        config: RunnableConfig | None = None,
    ) -> dict[str, Any] | None:
        """Read the files when a thread begins, and check for changes when a run does.

        See `before_agent`.
        """
        del runtime, config
        return await arun(self._read(state), self.backend)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Send the request with the files in its system prompt."""
        return handler(self.modify_request(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Send the request with the files in its system prompt."""
        return await handler(self.modify_request(request))

    def _read(self, state: Mapping[str, Any]) -> Steps[dict[str, Any] | None]:
        shown = state.get("memory_contents")
        if shown is not None and not state.get("_memory_followed"):
            return None
        answers = yield BackendRequest("download_files", (list(self.sources),))
        rows = zip(self.sources, answers, strict=True)
        if shown is None:
            read = {path: _read(path, answer) for path, answer in rows}
        else:
            messages = state.get("messages") or ()
            read = {path: _read_again(path, answer, shown, messages) for path, answer in rows}
        contents = {path: text for path, text in read.items() if text is not None}
        if contents == shown:
            return None
        return {"memory_contents": contents, "_memory_followed": True}

    def write(self, contents: Mapping[str, str], template: str = MEMORY_SYSTEM_PROMPT) -> str:
        """Write the files into a template."""
        key = tuple(contents.items())
        if (text := self._written.get(key)) is None:
            text = write_memory(contents, self.sources, self._budget, exact_counter())
            if len(self._written) >= _REMEMBERED:
                self._written.clear()
            self._written[key] = text
        return template.format(agent_memory=text or prompt("memory_none").render())

    def modify_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add the files to the system prompt, and the mark for the cache if it is wanted."""
        state: Mapping[str, Any] = request.state
        if self.system_prompt is not None:
            contents = state.get("memory_contents") or {}
            text = self.write(contents, self.system_prompt)
            request = with_part(request, Addition("memory files", text, ", ".join(contents)))
        return _marked(request) if self._marks_cache else request


MemoryMiddleware = MemoryFilesMiddleware
"""Its name in deepagents. The memory of the user is `thalweg_memory.MemoryMiddleware`."""
MemoryState = MemoryFilesState
"""Its name in deepagents."""


def _check_template(template: object) -> None:
    if template is None:
        return
    if not isinstance(template, str):
        msg = f"system_prompt must be str or None, got {type(template).__name__}"
        raise TypeError(msg)
    if _SLOT not in template:
        msg = "system_prompt must contain the `{agent_memory}` format slot"
        raise ValueError(msg)


def _read(path: str, answer: FileDownloadResponse) -> str | None:
    """Read a file; `None` when there is none."""
    if answer.error is not None and answer.error != FILE_NOT_FOUND:
        raise MemoryFileError(path, answer.error)
    if answer.error is not None or answer.content is None:
        return None
    return answer.content[:MAX_MEMORY_FILE_SIZE].decode("utf-8", "replace")


def _read_again(
    path: str,
    answer: FileDownloadResponse,
    shown: Mapping[str, str],
    messages: Sequence[AnyMessage],
) -> str | None:
    """Return a changed file's text; the shown one if the conversation's edits explain it."""
    if answer.error is not None and answer.error != FILE_NOT_FOUND:
        return shown.get(path)
    now, before = _read(path, answer), shown.get(path)
    if now is None or now == before:
        return now
    return before if is_explained(before or "", now, _edits(path, messages)) else now


def _edits(path: str, messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str, bool]]:
    """Yield the agent's own replacements in a file, as far as the conversation contains them."""
    done = {
        message.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage) and message.status != "error"
    }
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            arguments = call["args"]
            if call["id"] not in done or arguments.get("file_path") != path:
                continue
            if call["name"] == "write_file":
                yield "", str(arguments.get("content", "")), True
            elif call["name"] == "edit_file":
                old, new = arguments.get("old_string"), arguments.get("new_string")
                yield str(old), str(new), arguments.get("replace_all") is True


def _marked(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Mark the last block of the system prompt for the cache if the model is `ChatAnthropic`.

    An instance implies that its package is loaded, so the check imports nothing.
    """
    package = sys.modules.get("langchain_anthropic.chat_models")
    message = request.system_message
    if package is None or not isinstance(request.model, package.ChatAnthropic) or message is None:
        return request
    blocks: list[Any] = list(message.content_blocks)
    if not blocks:
        return request
    blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
    return request.override(system_message=SystemMessage(content_blocks=blocks))
