"""`MemoryMiddleware`: files of notes (AGENTS.md) that an agent always has before it."""

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

from thalweg.backends.protocol import FILE_NOT_FOUND, BackendProtocol, FileDownloadResponse
from thalweg.errors import ConfigError, MemoryFileError
from thalweg.middleware.memory_text import is_explained, write_memory
from thalweg.middleware.system_prompt import with_text
from thalweg.prompts import prompt
from thalweg.tokens import exact_counter
from thalweg.tools.asking import Ask, Steps, arun, run

__all__ = ["MEMORY_SYSTEM_PROMPT", "MemoryMiddleware", "MemoryState"]

MEMORY_SYSTEM_PROMPT = prompt("memory_files").text
DEFAULT_BUDGET = 10_000
"""Tokens of all memory files together: 5 % of a window of 200,000."""
LEAST_BUDGET = 150
"""Tokens for each file, of which at least something is to be shown."""
MAX_MEMORY_FILE_SIZE = 1024 * 1024
"""Bytes of a file that are kept in the state."""
_SLOT = "{agent_memory}"
_REMEMBERED = 8


class MemoryState(AgentState[Any]):
    """What the middleware keeps in an agent's state."""

    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The files as the model sees them, by path; one that does not exist is missing."""

    _memory_followed: NotRequired[Annotated[bool, PrivateStateAttr]]
    """Whether they were read here; somebody else may have put them there."""


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Put files of notes into the system prompt, within a budget, and follow them.

    The files are looked at when a run begins, never inside one: the prompt stays as it is while
    tools are at work. Where they changed, the new text takes the place of the old one. An edit of
    the agent's own is not shown a second time as long as the conversation shows it, so that it
    does not cost the provider's cache either.

    Args:
        backend: Where the files are.
        sources: Their paths. They are shown in this order; missing ones are left out.
        add_cache_control: Mark the end of the system prompt for the cache of `ChatAnthropic`.
        system_prompt: Template with `{agent_memory}`; `None` adds nothing to the prompt.
        budget: Most tokens of all files together. A file that is cut says how to read the rest.

    Raises:
        TypeError: The template is no text.
        ValueError: It lacks its slot.
        ConfigError: The budget is too small for that many files.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    state_schema = MemoryState

    def __init__(
        self,
        *,
        backend: BackendProtocol,
        sources: list[str],
        add_cache_control: bool = False,
        system_prompt: str | None = MEMORY_SYSTEM_PROMPT,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        super().__init__()
        _check_template(system_prompt)
        if budget < (least := LEAST_BUDGET * max(1, len(sources))):
            problem = f"{budget} tokens cannot show {len(sources)} files"
            raise ConfigError("budget", problem, f"give {least} or more")
        self._backend = backend
        self.sources = sources
        self._add_cache_control = add_cache_control
        self.system_prompt = system_prompt
        self._budget = budget
        self._written: dict[tuple[tuple[str, str], ...], str] = {}

    def before_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """Read the files when a thread begins, and see whether they changed when a run does.

        Raises:
            MemoryFileError: A file is there and cannot be read when a thread begins. Later, it
                stays as it was.
        """
        del runtime, config
        return run(self._look(state), self._backend)

    async def abefore_agent(
        self, state: MemoryState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> dict[str, Any] | None:
        """See `before_agent`."""
        del runtime, config
        return await arun(self._look(state), self._backend)

    def _look(self, state: MemoryState) -> Steps[dict[str, Any] | None]:
        shown = state.get("memory_contents")
        if shown is not None and not state.get("_memory_followed"):
            return None
        answers = yield Ask("download_files", (list(self.sources),))
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

    def _format_agent_memory(
        self, contents: Mapping[str, str], template: str = MEMORY_SYSTEM_PROMPT
    ) -> str:
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
            request = with_text(request, self._format_agent_memory(contents, self.system_prompt))
        return _marked(request) if self._add_cache_control else request

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
        """See `wrap_model_call`."""
        return await handler(self.modify_request(request))


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
    """Read a file that was read before; what the conversation explains stays as it is shown."""
    if answer.error is not None and answer.error != FILE_NOT_FOUND:
        return shown.get(path)
    now, before = _read(path, answer), shown.get(path)
    if now is None or now == before:
        return now
    return before if is_explained(before or "", now, _edits(path, messages)) else now


def _edits(path: str, messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str, bool]]:
    """List what the agent itself replaced in a file, as far as the conversation shows it."""
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
    """Mark the last block of the system prompt for the cache, where the model is `ChatAnthropic`.

    Its package is loaded if it is: nobody has to import it to see.
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
