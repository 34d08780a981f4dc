"""Write texts that are too long for a context to files that the file tools can read.

Two rules: a text that could not be written remains in the context; a file is never overwritten,
since a reused call id would destroy an earlier result.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from thalweg_agent.backends.paths import sanitize_tool_call_id
from thalweg_agent.backends.protocol import ReadResult, WriteResult
from thalweg_agent.tools.asking import Steps, ask
from thalweg_agent.tools.previews import message_stub, preview_of, result_stub

FILED = "lc_evicted_to"
"""Key of `additional_kwargs`: the file that contains the text of a message."""

Result = ToolMessage | Command[Any]
Kept = TypeVar("Kept", bound=BaseMessage)


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, without its images and documents."""
    if isinstance(message.content, str):
        return message.content
    blocks = message.content_blocks
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def file_result(
    result: Result, folder: str, most: int, lines: tuple[int, int] = (5, 5)
) -> Steps[Result]:
    """Write the messages of a tool's result that are too long to files.

    Args:
        result: The message, or a command with messages.
        folder: Folder for the files, without a `/` at the end.
        most: Most characters of one message.
        lines: Lines of the beginning and of the end that a reference shows.
    """
    if isinstance(result, ToolMessage):
        return (yield from _file_message(result, folder, most, lines))
    update = result.update
    if not isinstance(update, Mapping) or not isinstance(update.get("messages"), list):
        return result
    messages: list[object] = []
    for message in update["messages"]:
        if isinstance(message, ToolMessage):
            message = yield from _file_message(message, folder, most, lines)  # noqa: PLW2901
        messages.append(message)
    return replace(result, update={**update, "messages": messages})


def _file_message(
    message: ToolMessage, folder: str, most: int, lines: tuple[int, int]
) -> Steps[ToolMessage]:
    text = text_of(message)
    if len(text) <= most:
        return message
    name = sanitize_tool_call_id(message.tool_call_id) or "unknown"
    path = yield from _free(f"{folder}/{name}", text)
    written = yield from ask(WriteResult, "write", path, text)
    if written.error:
        return message
    preview = preview_of(text, head_lines=lines[0], tail_lines=lines[1])
    stub = result_stub(message.tool_call_id, written.path or path, preview)
    return retold(message, stub)


def _free(path: str, text: str) -> Steps[str]:
    there = yield from ask(ReadResult, "read", path, offset=0, limit=1)
    if there.error:
        return path
    return f"{path}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def file_message(message: HumanMessage, path: str) -> Steps[HumanMessage | None]:
    """Write the text of a human's message to a file; the message itself is kept and marked.

    Returns:
        The marked message; `None` if its text could not be written.
    """
    written = yield from ask(WriteResult, "write", path, text_of(message))
    if written.error:
        return None
    return message.model_copy(
        update={"additional_kwargs": {**message.additional_kwargs, FILED: path}}
    )


def as_stub(message: HumanMessage) -> HumanMessage:
    """Replace the text of a marked message by its path and a preview."""
    path = message.additional_kwargs[FILED]
    return retold(message, message_stub(path, preview_of(text_of(message))))


def retold(message: Kept, text: str) -> Kept:
    """Return a message with another text; its images and documents are kept."""
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    others = [block for block in message.content_blocks if block["type"] != "text"]
    content = [{"type": "text", "text": text}, *others] if others else text
    return message.model_copy(update={"content": content})
