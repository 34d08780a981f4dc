"""Calls and messages that are rejected, and their replacements."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from thalweg_agent.backends.paths import path_or_none
from thalweg_agent.prompts import prompt

_MEDIA = {"image", "audio", "video", "file"}
_WHOLE = {"write_file", "delete"}
_CHANGES = {*_WHOLE, "edit_file"}


def clash(request: ToolCallRequest) -> ToolMessage | None:
    """Refuse a call that would race with an earlier one of the same answer for one file.

    Several edits are allowed: each is applied to the result of the others. If a file is written or
    deleted as a whole next to another change, the model cannot know the order.
    """
    call = request.tool_call
    path = _changed(call["name"], call["args"])
    if path is None:
        return None
    for earlier in latest_calls(request.state):
        if earlier["id"] == call["id"]:
            return None
        if _changed(earlier["name"], earlier["args"]) == path and (
            _WHOLE & {earlier["name"], call["name"]}
        ):
            text = prompt("clash").render()
            name, call_id = call["name"], call["id"] or ""
            return ToolMessage(text, name=name, tool_call_id=call_id, status="error")
    return None


def latest_calls(state: object) -> Sequence[Mapping[str, Any]]:
    """List the calls of the model's newest answer."""
    messages = state.get("messages", []) if isinstance(state, Mapping) else []
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return last.tool_calls if last else []


def _changed(name: str, args: Mapping[str, object]) -> str | None:
    path = args.get("file_path")
    if name not in _CHANGES or not isinstance(path, str):
        return None
    return path_or_none(path)


def without_media(messages: Sequence[AnyMessage]) -> dict[int, AnyMessage]:
    """Replace media that were read since the last answer, if the model does not accept them.

    Returns:
        The replacements of those messages, by their positions.
    """
    replacements: dict[int, AnyMessage] = {}
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, AIMessage):
            break
        if (
            isinstance(message, ToolMessage)
            and message.name == "read_file"
            and any(block["type"] in _MEDIA for block in message.content_blocks)
        ):
            text = prompt("media_rejected").text
            replacements[position] = message.model_copy(update={"content": text})
    return dict(sorted(replacements.items()))
