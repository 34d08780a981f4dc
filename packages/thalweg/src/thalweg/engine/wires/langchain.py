"""Messages of LangChain and LangGraph, as objects and as serialized dictionaries.

Content is text, or blocks in the form of any provider. `langchain_core` is imported when messages
are built, never when they are read.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from thalweg.engine.entries import (
    Kind,
    Media,
    Message,
    Opaque,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
)
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_object,
    arguments_text,
    as_usage,
    foreign_item,
    from_json,
    is_from_wire,
    is_private,
    opaque,
    opaque_value,
    pack,
    pieces,
    to_json,
    unpack,
)
from thalweg.engine.wires.media_blocks import original_block, take_content, unknown_media

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


WIRE = "langchain"
_CALL_KEYS = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args"),
    "function_call": ("call_id", "arguments"),
}
"""Blocks that repeat a tool call inside the content, with their keys for its id and arguments."""
_CONTENT_PATHS: tuple[tuple[str, ...], ...] = (
    ("image_url", "url"),
    ("image_url",),
    ("video_url", "url"),
    ("video_url",),
    ("audio_url", "url"),
    ("audio_url",),
    ("input_audio", "data"),
    ("file", "file_data"),
    ("source", "data"),
    ("source", "url"),
    ("inline_data", "data"),
    ("inlineData", "data"),
    ("file_data", "file_uri"),
    ("fileData", "fileUri"),
    ("base64",),
    ("data",),
    ("file_data",),
    ("file_url",),
    ("file_uri",),
    ("url",),
)
"""Keys under which blocks hold an image, a sound or a file, or its URL."""
_FILE_ID_PATHS: tuple[tuple[str, ...], ...] = (
    ("file_id",),
    ("file", "file_id"),
    ("source", "file_id"),
    ("id",),
)
"""Keys under which blocks name a file that the provider stores."""
_MIME_BY_TYPE = {
    "image": "image/*",
    "image_url": "image/*",
    "input_image": "image/*",
    "audio": "audio/*",
    "audio_url": "audio/*",
    "input_audio": "audio/*",
    "video": "video/*",
    "video_url": "video/*",
    "file": "application/octet-stream",
    "input_file": "application/octet-stream",
    "document": "application/octet-stream",
    "media": "application/octet-stream",
}
"""Types of blocks that hold media, with the media type to assume."""
_GEMINI_KEYS = ("inline_data", "inlineData", "file_data", "fileData")
"""Keys of Gemini's parts, which have no type."""
_MIME_PATHS: tuple[tuple[str, ...], ...] = (
    ("mime_type",),
    ("mimeType",),
    ("source", "media_type"),
    *((body, name) for body in _GEMINI_KEYS for name in ("mime_type", "mimeType")),
)
_DOCUMENT_MIMES = {"url": "application/pdf", "file": "application/pdf"}
"""What Anthropic's `document` holds that is not there by value."""


def read_content(
    content: object,
    calls: Sequence[ToolCall],
    line: int,
    notes: list[Note],
    *,
    is_from_model: bool = False,
) -> list[Part]:
    """Return content and calls in one order: a call at the block that repeats it, else last.

    Args:
        content: A text, or blocks.
        calls: The calls of the message.
        line: Of the message.
        notes: The list to which irregularities are added.
        is_from_model: Whether the model wrote it: its unknown blocks are never media.
    """
    if isinstance(content, str):
        return [*([Text(content)] if content else []), *calls]
    unplaced_calls = list(calls)
    blocks = content if isinstance(content, list) else ([] if content is None else [content])
    parts = [
        _read_block(block, unplaced_calls, line, notes, is_from_model=is_from_model)
        for block in blocks
    ]
    return [*parts, *unplaced_calls]


def _read_block(
    block: object,
    unplaced_calls: list[ToolCall],
    line: int,
    notes: list[Note],
    *,
    is_from_model: bool,
) -> Part:
    if isinstance(block, str):
        return Text(block)
    if isinstance(block, Mapping):
        kind = block.get("type")
        part: Part | None = None
        if not isinstance(kind, str):
            part = None if is_from_model else _media(block, "media")
        elif kind == "text" and isinstance(block.get("text"), str):
            fields = Fields(block, "type")
            part = Text(fields.text("text"), pack(WIRE, fields.left))
        elif kind in {"thinking", "redacted_thinking", "reasoning"}:
            part = _thinking(block)
        elif kind in _CALL_KEYS:
            part = _block_call(block, kind, unplaced_calls)
        elif kind in _MIME_BY_TYPE:
            part = _media(block, kind)
        if part is None and not is_from_model:
            part = unknown_media(WIRE, block)
        if part is not None:
            return part
    notes.append(Note(line, "unknown_part", "a block of the content was carried as it is"))
    return opaque(WIRE, block)


def _thinking(block: Mapping[str, Any]) -> Thinking:
    fields = Fields(block)
    kind = fields.peek("type")
    if kind == "redacted_thinking":
        return Thinking("", fields.text("data"), pack(WIRE, fields.left, mark=True))
    if kind == "thinking":
        text, signature = fields.text("thinking"), fields.text("signature")
        return Thinking(text, signature, pack(WIRE, Fields(fields.left, "type").left, mark=True))
    summary = block.get("summary")
    texts = (
        [s.get("text") for s in summary if isinstance(s, dict)] if isinstance(summary, list) else []
    )
    text = fields.text("reasoning") or "\n\n".join(t for t in texts if isinstance(t, str))
    return Thinking(text, fields.text("encrypted_content"), pack(WIRE, fields.left, mark=True))


def _block_call(block: Mapping[str, Any], kind: str, unplaced_calls: list[ToolCall]) -> ToolCall:
    fields = Fields(block)
    id_field, arguments_field = _CALL_KEYS[kind]
    call_id, name = fields.text(id_field), fields.text("name")
    arguments = arguments_text(fields.left.pop(arguments_field, None))
    repeated_call = next(
        (call for call in unplaced_calls if call.id == call_id and call.name == name), None
    )
    if repeated_call is None:
        return ToolCall(call_id, name, arguments, pack(WIRE, {"block": fields.left}))
    unplaced_calls.remove(repeated_call)
    extra_fields = {"partial_json": fields.left.pop("partial_json", None)}
    if arguments_object(arguments) not in ({}, arguments_object(repeated_call.arguments)):
        extra_fields["repeated"] = arguments
    extra_fields = {field: value for field, value in extra_fields.items() if value is not None}
    extra = pack(WIRE, {**unpack(repeated_call.extra, WIRE), "block": fields.left, **extra_fields})
    return ToolCall(repeated_call.id, repeated_call.name, repeated_call.arguments, extra)


def _media(block: Mapping[str, Any], kind: str) -> Media | None:
    if (
        _value_at(block, ("source", "type")) in {"text", "content"}
        or block.get("source_type") == "text"
    ):
        return None
    if kind == "media" and "type" not in block and not any(name in block for name in _GEMINI_KEYS):
        return None
    mime = _mime(block, kind)
    for path in _CONTENT_PATHS:
        value = _value_at(block, path)
        if isinstance(value, (str, bytes)) and value:
            return take_content(WIRE, block, path, mime)
    if any(isinstance(_value_at(block, path), str) for path in _FILE_ID_PATHS):
        return take_content(WIRE, block, (), mime)
    return None


def _mime(block: Mapping[str, Any], kind: str) -> str:
    for path in _MIME_PATHS:
        mime = _value_at(block, path)
        if isinstance(mime, str) and mime:
            return mime
    if isinstance(audio_format := _value_at(block, ("input_audio", "format")), str):
        return f"audio/{audio_format}"
    if kind == "document":
        return _DOCUMENT_MIMES.get(str(_value_at(block, ("source", "type"))), _MIME_BY_TYPE[kind])
    return _MIME_BY_TYPE[kind]


def _value_at(block: object, path: Iterable[str]) -> object:
    value: object = block
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def write_content(parts: Iterable[Part]) -> str | list[str | dict[str, Any]]:
    """Return content in its short form where one exists; foreign reasoning is dropped."""
    blocks = [block for part in parts if (block := _write_block(part)) is not None]
    if not blocks:
        return ""
    if (
        len(blocks) == 1
        and isinstance(block := blocks[0], dict)
        and block.keys() == {"type", "text"}
        and block["type"] == "text"
    ):
        return str(block["text"])
    return blocks


def _write_block(part: Part) -> str | dict[str, Any] | None:
    extra_fields = unpack(part.extra, WIRE) if not isinstance(part, Opaque) else {}
    match part:
        case Text(text):
            return {"type": "text", "text": text, **extra_fields} if text else None
        case Thinking(text, signature, extra):
            is_own = is_from_wire(extra, WIRE) and "field" not in extra_fields
            return _write_thinking(text, signature, extra_fields) if is_own else None
        case ToolCall():
            call_block = extra_fields.get("block")
            return _write_call(part, call_block) if isinstance(call_block, dict) else None
        case Media():
            return _write_media(part)
        case Opaque(wire=wire):
            block = opaque_value(part) if wire == WIRE else None
            return block if isinstance(block, (str, dict)) else None


def _write_thinking(text: str, signature: str, extra_fields: dict[str, Any]) -> dict[str, Any]:
    match extra_fields.get("type"):
        case "redacted_thinking":
            return {**extra_fields, "data": signature}
        case "reasoning":
            reasoning = {} if "summary" in extra_fields else {"reasoning": text}
            return {
                **extra_fields,
                **reasoning,
                **({"encrypted_content": signature} if signature else {}),
            }
        case _:
            signature_field = {"signature": signature} if signature else {}
            return {"type": "thinking", "thinking": text, **signature_field, **extra_fields}


def _write_call(call: ToolCall, call_block: dict[str, Any]) -> dict[str, Any]:
    kind = call_block.get("type", "tool_use")
    id_field, arguments_field = _CALL_KEYS.get(kind, _CALL_KEYS["tool_use"])
    is_text = kind == "function_call"
    arguments = call.arguments if is_text else arguments_object(call.arguments)
    return {
        **call_block,
        "type": kind,
        id_field: call.id,
        "name": call.name,
        arguments_field: arguments,
    }


def _write_media(media: Media) -> dict[str, Any] | None:
    if (block := original_block(media, WIRE)) is not None:
        return block
    if is_private(media, WIRE):
        return None
    kind = media.mime.partition("/")[0]
    kind = kind if kind in {"image", "audio", "video"} else "file"
    if media.data:
        return {"type": kind, "base64": media.data, "mime_type": media.mime}
    return {"type": kind, "url": media.url}


_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


class LangChainWire:
    """`HumanMessage`, `AIMessage`, `ToolMessage` and the other message classes of LangChain."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return our messages for LangChain's, and a note per irregularity."""
        return _read_all(items, WIRE)

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return LangChain's messages for ours."""
        written: list[object] = []
        for piece in pieces(messages, WIRE):
            if piece.raws:
                written += piece.raws
            elif (built := _write(piece.message)) is not None:
                written.append(built)
        return written


def read_dumped(items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
    """Parse messages from the dictionaries that LangChain and LangGraph serialize them to.

    Supports `messages_to_dict` (`type`, `data`), the flat form of LangGraph's server (`type`,
    `content`, …) and the constructor form (`lc`, `id`, `kwargs`). The messages' origin is
    `langchain-dumped`, so `LangChainWire` builds new objects from them.
    """
    return _read_all(items, "langchain-dumped")


def _read_all(items: Sequence[Any], wire: str) -> tuple[list[Message], list[Note]]:
    notes: list[Note] = []
    return [read_message(item, line, wire, notes) for line, item in enumerate(items)], notes


def read_message(
    item: object, line: int, wire: str, notes: list[Note], kind_of_message: Kind = "said"
) -> Message:
    """Return our message for one of LangChain's, and add a note per irregularity."""
    source = _flat_fields(item)
    kind = source.get("type") or source.get("role")
    role = _role(kind, source)
    if not isinstance(kind, str) or role is None:
        return foreign_item(wire, item, line, notes)
    fields = Fields(source)
    fields.left = {
        name: value
        for name, value in source.items()
        if value is not None and (not isinstance(value, (str, list, dict)) or value)
    }
    fields.left.pop("type", None)
    if "type" not in source:
        del fields.left["role"]
    if _short_type(kind) in {"function", "chat"}:
        fields.left["type"] = _short_type(kind)
    parts = _parts(fields, line, notes, is_from_model=role == "assistant")
    return Message(
        role,
        tuple(parts),
        answers=fields.text("tool_call_id"),
        name=fields.text("name"),
        is_error=fields.left.get("status") == "error",
        kind=kind_of_message,
        uid=fields.text("id"),
        line=line,
        usage=as_usage(fields.left.get("usage_metadata")),
        extra=pack(WIRE, fields.left),
        origin=Origin(wire, (item,)),
    )


def _flat_fields(item: object) -> dict[str, Any]:
    """Return a message as one dictionary with its `type` and fields."""
    if not isinstance(item, Mapping):
        if isinstance(item, type) or not (hasattr(item, "type") and hasattr(item, "content")):
            return {}
        return {**(getattr(item, "__pydantic_extra__", None) or {}), **vars(item)}
    if isinstance(data := item.get("data"), Mapping) and item.keys() == {"type", "data"}:
        return {**data, "type": item["type"]}
    if isinstance(kwargs := item.get("kwargs"), Mapping) and item.keys() >= {"lc", "id"}:
        path = item["id"]
        return {**kwargs, "type": path[-1] if isinstance(path, list) and path else None}
    return dict(item)


def _role(kind: object, source: Mapping[str, Any]) -> Role | None:
    if not isinstance(kind, str):
        return None
    if (name := _short_type(kind)) == "chat":
        return _ROLES.get(str(source.get("role")), "user")
    return _ROLES.get(name)


@lru_cache(maxsize=64)
def _short_type(kind: str) -> str:
    """Return the short type name used in every form: `AIMessageChunk` is `ai`."""
    return kind.removesuffix("Chunk").removesuffix("Message").lower()


def _parts(fields: Fields, line: int, notes: list[Note], *, is_from_model: bool) -> list[Part]:
    artifact = fields.left.get("artifact")
    if artifact is not None and from_json(to_json(artifact)) != artifact:
        del fields.left["artifact"]
        notes.append(Note(line, "artifact", "an artifact that is not JSON is not converted"))
    calls: list[ToolCall] = []
    for name in ("tool_calls", "invalid_tool_calls"):
        if name in fields.left:
            is_invalid = name != "tool_calls"
            calls += [_call(call, is_invalid=is_invalid) for call in _objects(fields, name)]
    content = fields.left.pop("content", None)
    thoughts: list[Part] = []
    kwargs = fields.left.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and isinstance(text := kwargs.get(_REASONING), str) and text:
        other_kwargs = {name: value for name, value in kwargs.items() if name != _REASONING}
        fields.left["additional_kwargs"] = other_kwargs
        thoughts.append(Thinking(text, extra=pack(WIRE, {"field": _REASONING})))
    return [*thoughts, *read_content(content, calls, line, notes, is_from_model=is_from_model)]


_REASONING = "reasoning_content"


def _objects(fields: Fields, name: str) -> list[Mapping[str, Any]]:
    """Remove and return a list of objects; a list with any other item is not removed."""
    value = fields.left.get(name)
    if not isinstance(value, list) or not all(isinstance(call, Mapping) for call in value):
        return []
    del fields.left[name]
    return value


def _call(source: Mapping[str, Any], *, is_invalid: bool = False) -> ToolCall:
    fields = Fields(source)
    if is_invalid or fields.peek("type") == "tool_call":
        fields.left.pop("type", None)
    arguments = arguments_text(fields.left.pop("args", None))
    call_id, name = fields.text("id"), fields.text("name")
    extra_fields = {
        key: value for key, value in fields.left.items() if is_invalid or value is not None
    }
    return ToolCall(
        call_id,
        name,
        arguments,
        pack(WIRE, {"invalid": extra_fields} if is_invalid else extra_fields),
    )


def _write(message: Message) -> "BaseMessage | None":
    from langchain_core import messages as core  # noqa: PLC0415 (0.5 s, and only who builds needs it)

    extra_fields = unpack(message.extra, WIRE)
    kind = extra_fields.pop("type", "")
    message_fields = _common_fields(message, extra_fields)
    if message.role == "tool":
        if kind == "function":
            return _build_message(core.FunctionMessage, {**message_fields, "name": message.name})
        status = "error" if message.is_error else "success"
        return _build_message(
            core.ToolMessage, {**message_fields, "tool_call_id": message.answers, "status": status}
        )
    if kind == "chat":
        return _build_message(core.ChatMessage, {"role": message.role, **message_fields})
    if message.role == "system":
        return _build_message(core.SystemMessage, message_fields)
    if message.role == "user":
        return _build_message(core.HumanMessage, message_fields)
    return _write_ai(message, message_fields)


_STREAMED = ("tool_call_chunks", "chunk_position")


def _common_fields(message: Message, extra_fields: Mapping[str, Any]) -> dict[str, Any]:
    kept_fields = {name: value for name, value in extra_fields.items() if name not in _STREAMED}
    message_fields: dict[str, Any] = {**kept_fields, "content": write_content(message.parts)}
    if message.name:
        message_fields["name"] = message.name
    if message.uid:
        message_fields["id"] = message.uid
    return message_fields


def _write_ai(message: Message, message_fields: dict[str, Any]) -> "BaseMessage | None":
    from langchain_core.messages import AIMessage  # noqa: PLC0415 (as above)

    calls = [(call, unpack(call.extra, WIRE)) for call in message.calls]
    message_fields["tool_calls"] = [
        {"type": "tool_call", "id": call.id or None, "name": call.name}
        | {"args": arguments_object(call.arguments)}
        for call, extra_fields in calls
        if "invalid" not in extra_fields
    ]
    message_fields["invalid_tool_calls"] = [
        {"error": None, **extra_fields["invalid"], "type": "invalid_tool_call"}
        | {"id": call.id or None, "name": call.name, "args": call.arguments}
        for call, extra_fields in calls
        if isinstance(extra_fields.get("invalid"), dict)
    ]
    thoughts = [
        part.text
        for part in message.parts
        if isinstance(part, Thinking) and "field" in unpack(part.extra, WIRE)
    ]
    kwargs = message_fields.get("additional_kwargs")
    kwargs = dict(kwargs) if isinstance(kwargs, Mapping) else {}
    if calls:
        kwargs.pop("tool_calls", None)  # OpenAI's form of the same calls
    if thoughts:
        kwargs[_REASONING] = "\n".join(thoughts)
    is_empty = not message_fields["content"] and not calls and not thoughts
    if is_empty and any(isinstance(part, (Thinking, Opaque)) for part in message.parts):
        return None
    return _build_message(AIMessage, {**message_fields, "additional_kwargs": kwargs})


_ESSENTIAL_TYPES: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "tool_calls": (list,),
    "invalid_tool_calls": (list,),
    "tool_call_id": (str,),
    "status": (str,),
    "role": (str,),
    "name": (str,),
    "id": (str,),
}


def _build_message(kind: "type[BaseMessage]", message_fields: Mapping[str, Any]) -> "BaseMessage":
    """Build a message; fields of a recording that LangChain refuses are dropped."""
    try:
        return kind(**message_fields)
    except ValueError:
        essential = {
            name: message_fields[name]
            for name, kinds in _ESSENTIAL_TYPES.items()
            if isinstance(message_fields.get(name), kinds)
        }
        return kind(**essential)
