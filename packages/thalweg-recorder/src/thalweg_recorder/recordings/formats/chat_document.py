"""One JSON document with the messages of a chat.

A list of messages; a request body of OpenAI, Anthropic or Google; a result of tau-bench (`traj`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.engine.wires.anthropic import AnthropicReader
from thalweg.engine.wires.base import WireReader
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.gemini import GeminiReader
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.formats.openai_chat_log import is_chat_message
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_list,
    as_objects,
    as_str,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "chat-document"

_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_LOG_FIELDS = frozenset({"timestamp", "usage"})
"""Fields next to a message's own, added by the log."""
_RESPONSES_ITEMS = frozenset({"function_call", "function_call_output", "reasoning", "message"})


@dataclass(frozen=True, slots=True)
class _Chat:
    """The messages found in a document."""

    wire: WireReader
    items: Sequence[Any]
    ahead: int = 0
    """Items before the first of the list: a system prompt that is a field of its own."""


def detect(source: RecordedFile) -> bool:
    """Return whether the document has a list of messages in one of the forms."""
    return _chat(source.document) is not None


def read(source: RecordedFile) -> Recording:
    """Return the recording; `Message.line` is the index in the list of messages."""
    chat = _chat(source.document)
    assert chat is not None  # noqa: S101 (`detect` checked it)
    rows = SessionRows.of(source)
    rows.items += [
        Recorded(
            max(index - chat.ahead, 0),
            {key: value for key, value in raw.items() if key not in _LOG_FIELDS},
            uid=as_str(raw.get("id")),
            at=iso_time(raw.get("timestamp")),
            usage=as_usage(raw.get("usage")),
        )
        for index, raw in enumerate(map(_object, chat.items))
    ]
    return rows.recording(NAME, chat.wire.read)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {"content": value}


def _chat(document: object) -> _Chat | None:
    """Return the chat of a list, of a request body, or of messages under a common key."""
    if not isinstance(document, dict):
        return _of_list(as_list(document))
    for name in ("messages", "contents", "input", "traj"):
        if (chat := _of_list(as_list(document.get(name)))) is not None:
            return _with_system(document, chat)
    return None


def _of_list(messages: list[Any]) -> _Chat | None:
    objects = as_objects(messages)
    if any("parts" in one and as_str(one.get("role")) in {"user", "model"} for one in objects):
        return _Chat(GeminiReader(), messages)
    if any(as_str(one.get("type")) in _RESPONSES_ITEMS for one in objects):
        return _Chat(OpenAIResponsesWire(), messages)
    if any(map(is_chat_message, objects)):
        return _Chat(AnthropicReader() if _is_anthropic(objects) else OpenAIChatWire(), messages)
    return None


def _is_anthropic(messages: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        as_str(block.get("type")) in _ANTHROPIC_BLOCKS
        for message in messages
        for block in as_objects(message.get("content"))
    )


def _with_system(document: JsonObject, chat: _Chat) -> _Chat:
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        if instructions := document.get(name):
            wire = AnthropicReader() if name == "system" else chat.wire
            return _Chat(wire, [_system(name, instructions), *chat.items], ahead=1)
    return chat


def _system(name: str, instructions: object) -> JsonObject:
    if name.startswith("system") and isinstance(instructions, dict):
        return {"role": "system", **instructions}
    return {"role": "system", "content": instructions}


FORMAT = LogFormat(NAME, detect, read)
