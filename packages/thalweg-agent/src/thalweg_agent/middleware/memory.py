"""`MemoryFilesMiddleware`: files of notes (AGENTS.md) in the system prompt, within a budget.

The model sees the files without their comments, and inside a fence.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    PrivateStateAttr,
    TracePolicy,
    omit_payload,
)
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from thalweg.context.turn.additions import with_part
from thalweg.context.turn.effects import Flow, RequestChange, sync_and_async
from thalweg.engine.additions import Addition
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.errors import ConfigError, MemoryFileError
from thalweg_agent.backends.protocol import FILE_NOT_FOUND, BackendProtocol, FileDownloadResponse
from thalweg_agent.middleware.backend_calls import of_backend
from thalweg_agent.middleware.templates import check_template
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.asking import BackendRequest, Steps

LONGEST_TOKEN = 16
"""More characters than this per token are not expected of text: so much of it is looked at."""
NOTE_TOKENS = 60
"""Tokens for the line that explains how to read the rest of a file, without its path."""
STEP = 64
"""Characters by which a line is cut that does not fit whole."""
MEMORY_SYSTEM_PROMPT = prompt("memory_files").text
DEFAULT_BUDGET = 10_000
"""Tokens of all memory files together: 5 % of a window of 200,000."""
LEAST_BUDGET = 150
"""Tokens for each file, of which at least something is to be shown."""
MAX_MEMORY_FILE_SIZE = 1024 * 1024
"""Bytes of a file that are kept in the state."""
_SLOTS = ("agent_memory",)
_REMEMBERED = 8


def write_memory(
    contents: Mapping[str, str], sources: Sequence[str], budget: int, count: Counter
) -> str:
    """Render files one after the other, each after its path, in the order of the sources.

    If they do not fit, the longest are truncated at the ends of lines to equal shares; each
    truncated file ends with how to read on. HTML comments are removed, and what would end the fence
    around the files is escaped.

    Returns:
        The text; empty if there is nothing to show.
    """
    files = {path: File(contents[path]) for path in sources if contents.get(path)}
    shown = {path: file for path, file in files.items() if file.text.strip()}
    frame = sum(count(f"{path}\n\n\n\n") + 2 for path in shown)
    whole = {path: file.text.rstrip() for path, file in shown.items()}
    tokens = {path: _count_upto(text, budget, count) for path, text in whole.items()}
    rooms = share(tokens, budget - frame)
    parts = [
        whole[path] if tokens[path] <= rooms[path] else _cut(path, file, rooms[path], count)
        for path, file in shown.items()
    ]
    return "\n\n".join(f"{path}\n\n{part}" for path, part in zip(shown, parts, strict=True))


def share(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Share tokens fairly: the unused rest of one file's equal part is split among the others.

    Example:
        >>> share({"a": 10, "b": 500, "c": 900}, 300)
        {'a': 10, 'b': 145, 'c': 145}
    """
    given: dict[str, int] = {}
    left = max(0, room)
    for k, (name, need) in enumerate(sorted(needs.items(), key=lambda pair: pair[1])):
        given[name] = min(need, left // (len(needs) - k))
        left -= given[name]
    return {name: given[name] for name in needs}


def fenced(text: str) -> str:
    """Escape text that looks like the fence of memory."""
    return re.sub(r"<(?=\s*/?\s*agent_memory)", r"<\\", text, flags=re.IGNORECASE)


class File:
    r"""The shown form of a file, without comments and fenced, with the lines of the original.

    Example:
        >>> File("one <!-- not\\nthis -->two").text
        'one two'
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._kept = list(_between_comments(raw))
        self.text = self.upto(len(raw))

    def upto(self, end: int) -> str:
        """Return the shown text of the file's first characters."""
        kept = (self.raw[start : min(stop, end)] for start, stop in self._kept if start < end)
        return fenced("".join(kept))


def _between_comments(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (opened := text.find("<!--", at)) >= 0 and (closed := text.find("-->", opened + 4)) >= 0:
        yield at, opened
        at = closed + 3
    yield at, len(text)


def _count_upto(text: str, most: int, count: Counter) -> int:
    """Count tokens; a text that is far too long is not looked at, and has one too many."""
    return most + 1 if len(text) > (most + 1) * LONGEST_TOKEN else count(text)


def _cut(path: str, file: File, room: int, count: Counter) -> str:
    """Keep the head of a file: whole lines, or the beginning of the first one."""
    room = max(0, room - NOTE_TOKENS - count(path))

    def fits(end: int) -> bool:
        return _count_upto(file.upto(end).rstrip(), room, count) <= room

    ends = [0, *(match.end() for match in re.finditer("\n", file.raw))]
    lines = _last(ends, fits)
    end = ends[lines]
    if not lines:
        chars = range(0, min(len(file.raw), room * LONGEST_TOKEN) + 1, STEP)
        end = chars[_last(chars, fits)]
    total = file.raw.count("\n") + (not file.raw.endswith("\n"))
    note = prompt("memory_cut").render(shown=lines, total=total, path=path)
    head = file.upto(end).rstrip()
    return f"{head}\n{note}" if head else note


def _last(ends: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Find the last of some ends that fits; the first always does."""
    at = max(0, bisect_right(ends, 0, key=lambda end: int(not fits(end))) - 1)
    while at and not fits(ends[at]):
        at -= 1
    return at


def is_explained(before: str, after: str, edits: Iterable[tuple[str, str, bool]]) -> bool:
    """Return whether edits, in their order, turn one text into another.

    Args:
        before: The old text.
        after: The new text.
        edits: Old text, new text, and whether all occurrences are replaced; an empty old text means
            the whole file.
    """
    text = before
    for old, new, everywhere in edits:
        if not old:
            text = new
        elif old in text:
            text = text.replace(old, new, -1 if everywhere else 1)
    return text == after


class MemoryFilesState(AgentState[Any]):
    """State of the middleware in an agent's state."""

    memory_contents: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The files as the model sees them, by path; one that does not exist is missing."""

    _memory_followed: NotRequired[Annotated[bool, PrivateStateAttr]]
    """Whether they were read here; other code may have set them."""


class MemoryFilesMiddleware(RequestChange, AgentMiddleware[MemoryFilesState, Any, Any]):
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
        check_template(system_prompt, _SLOTS)
        if budget < (least := LEAST_BUDGET * max(1, len(sources))):
            problem = f"{budget} tokens are too few for {len(sources)} files"
            raise ConfigError("budget", problem, f"pass {least} or more")
        self.backend = backend
        self.sources = sources
        self.system_prompt = system_prompt
        self._budget = budget
        self._marks_cache = add_cache_control
        self._written: dict[tuple[tuple[str, str], ...], str] = {}

    def _load(
        self, state: MemoryFilesState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> Flow[dict[str, Any] | None]:
        """Read the files when a thread begins, and check for changes when a run does.

        Raises:
            MemoryFileError: An existing file cannot be read when a thread begins. Later, its last
                text is used.
        """
        del runtime, config
        update: dict[str, Any] | None = yield of_backend(self._read(state), self.backend)
        return update

    before_agent, abefore_agent = sync_and_async(_load)

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

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """See `modify_request`, which a subclass may replace."""
        return self.modify_request(request)

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
