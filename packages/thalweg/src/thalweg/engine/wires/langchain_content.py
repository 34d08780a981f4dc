"""The content of a LangChain message: text, or blocks in the form of any provider."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thalweg.engine.entries import Media, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_object,
    arguments_text,
    is_of,
    opaque,
    pack,
    reopen,
    unpack,
)
from thalweg.engine.wires.media_blocks import block_of, is_private, take_content, unknown_media

WIRE = "langchain"
_CALLS = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args"),
    "function_call": ("call_id", "arguments"),
}
"""Blocks that repeat a tool call inside the content, with their keys for its id and arguments."""
_PLACES: tuple[tuple[str, ...], ...] = (
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
_IDS: tuple[tuple[str, ...], ...] = (
    ("file_id",),
    ("file", "file_id"),
    ("source", "file_id"),
    ("id",),
)
"""Keys under which blocks name a file that the provider stores."""
_MIMES = {
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
_BODIES = ("inline_data", "inlineData", "file_data", "fileData")
"""Keys of Gemini's parts, which have no type."""
_TYPES: tuple[tuple[str, ...], ...] = (
    ("mime_type",),
    ("mimeType",),
    ("source", "media_type"),
    *((body, name) for body in _BODIES for name in ("mime_type", "mimeType")),
)
_DOCUMENTS = {"url": "application/pdf", "file": "application/pdf"}
"""What Anthropic's `document` holds that is not there by value."""


def read_content(
    content: object,
    calls: Sequence[ToolCall],
    line: int,
    notes: list[Note],
    *,
    of_model: bool = False,
) -> list[Part]:
    """Return content and calls in one order: a call at the block that repeats it, else last.

    Args:
        content: A text, or blocks.
        calls: The calls of the message.
        line: Of the message.
        notes: The list to which irregularities are added.
        of_model: Whether the model wrote it: its unknown blocks are never media.
    """
    if isinstance(content, str):
        return [*([Text(content)] if content else []), *calls]
    waiting = list(calls)
    blocks = content if isinstance(content, list) else ([] if content is None else [content])
    parts = [_read_block(block, waiting, line, notes, of_model=of_model) for block in blocks]
    return [*parts, *waiting]


def _read_block(
    block: object, waiting: list[ToolCall], line: int, notes: list[Note], *, of_model: bool
) -> Part:
    if isinstance(block, str):
        return Text(block)
    if isinstance(block, Mapping):
        kind = block.get("type")
        part: Part | None = None
        if not isinstance(kind, str):
            part = None if of_model else _media(block, "media")
        elif kind == "text" and isinstance(block.get("text"), str):
            fields = Fields(block, "type")
            part = Text(fields.text("text"), pack(WIRE, fields.left))
        elif kind in {"thinking", "redacted_thinking", "reasoning"}:
            part = _thinking(block)
        elif kind in _CALLS:
            part = _call(block, kind, waiting)
        elif kind in _MIMES:
            part = _media(block, kind)
        if part is None and not of_model:
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


def _call(block: Mapping[str, Any], kind: str, waiting: list[ToolCall]) -> ToolCall:
    fields = Fields(block)
    id_field, payload = _CALLS[kind]
    call_id, name = fields.text(id_field), fields.text("name")
    arguments = arguments_text(fields.left.pop(payload, None))
    same = next((call for call in waiting if call.id == call_id and call.name == name), None)
    if same is None:
        return ToolCall(call_id, name, arguments, pack(WIRE, {"block": fields.left}))
    waiting.remove(same)
    aside = {"partial_json": fields.left.pop("partial_json", None)}
    if arguments_object(arguments) not in ({}, arguments_object(same.arguments)):
        aside["repeated"] = arguments
    aside = {field: value for field, value in aside.items() if value is not None}
    extra = pack(WIRE, {**unpack(same.extra, WIRE), "block": fields.left, **aside})
    return ToolCall(same.id, same.name, same.arguments, extra)


def _media(block: Mapping[str, Any], kind: str) -> Media | None:
    if _at(block, ("source", "type")) in {"text", "content"} or block.get("source_type") == "text":
        return None
    if kind == "media" and "type" not in block and not any(name in block for name in _BODIES):
        return None
    mime = _mime(block, kind)
    for place in _PLACES:
        value = _at(block, place)
        if isinstance(value, (str, bytes)) and value:
            return take_content(WIRE, block, place, mime)
    if any(isinstance(_at(block, place), str) for place in _IDS):
        return take_content(WIRE, block, (), mime)
    return None


def _mime(block: Mapping[str, Any], kind: str) -> str:
    for place in _TYPES:
        mime = _at(block, place)
        if isinstance(mime, str) and mime:
            return mime
    if isinstance(sound := _at(block, ("input_audio", "format")), str):
        return f"audio/{sound}"
    if kind == "document":
        return _DOCUMENTS.get(str(_at(block, ("source", "type"))), _MIMES[kind])
    return _MIMES[kind]


def _at(block: object, place: Iterable[str]) -> object:
    found: object = block
    for name in place:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


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
    left = unpack(part.extra, WIRE) if not isinstance(part, Opaque) else {}
    match part:
        case Text(text):
            return {"type": "text", "text": text, **left} if text else None
        case Thinking(text, signature, extra):
            at_home = is_of(extra, WIRE) and "field" not in left
            return _write_thinking(text, signature, left) if at_home else None
        case ToolCall():
            shell = left.get("block")
            return _write_call(part, shell) if isinstance(shell, dict) else None
        case Media():
            return _write_media(part)
        case Opaque(wire=wire):
            block = reopen(part) if wire == WIRE else None
            return block if isinstance(block, (str, dict)) else None


def _write_thinking(text: str, signature: str, left: dict[str, Any]) -> dict[str, Any]:
    match left.get("type"):
        case "redacted_thinking":
            return {**left, "data": signature}
        case "reasoning":
            reasoning = {} if "summary" in left else {"reasoning": text}
            return {**left, **reasoning, **({"encrypted_content": signature} if signature else {})}
        case _:
            signed = {"signature": signature} if signature else {}
            return {"type": "thinking", "thinking": text, **signed, **left}


def _write_call(call: ToolCall, shell: dict[str, Any]) -> dict[str, Any]:
    kind = shell.get("type", "tool_use")
    id_field, payload = _CALLS.get(kind, _CALLS["tool_use"])
    textual = kind == "function_call"
    given = call.arguments if textual else arguments_object(call.arguments)
    return {**shell, "type": kind, id_field: call.id, "name": call.name, payload: given}


def _write_media(media: Media) -> dict[str, Any] | None:
    if (block := block_of(media, WIRE)) is not None:
        return block
    if is_private(media, WIRE):
        return None
    kind = media.mime.partition("/")[0]
    kind = kind if kind in {"image", "audio", "video"} else "file"
    if media.data:
        return {"type": kind, "base64": media.data, "mime_type": media.mime}
    return {"type": kind, "url": media.url}
