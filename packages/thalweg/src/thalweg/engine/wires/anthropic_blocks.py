"""Reading content blocks in Anthropic's form."""

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.engine.entries import Media, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_text,
    as_dict,
    opaque,
    pack,
)
from thalweg.engine.wires.media_blocks import take_content, unknown_media

WIRE = "anthropic"
_SERVER_SIDE = ("_tool_use", "_tool_result")
"""Type suffixes of the provider's own tool runs: both halves belong to one message."""


def read_blocks(
    blocks: Iterable[object], line: int, notes: list[Note], *, is_from_model: bool = False
) -> tuple[Part, ...]:
    """Return the parts of blocks; an unsupported block is carried as is and noted.

    Args:
        blocks: The content of a message.
        line: Of the message.
        notes: Where irregularities are noted.
        is_from_model: Whether the model wrote it: its unknown blocks are never media.
    """
    return tuple(_read_block(block, line, notes, is_from_model=is_from_model) for block in blocks)


def _read_block(block: object, line: int, notes: list[Note], *, is_from_model: bool) -> Part:
    if isinstance(block, str):
        return Text(block)
    source = as_dict(block) or {}
    kind = source.get("type")
    if isinstance(kind, str):
        reader = _BLOCK_READERS.get(kind)
        if reader is not None and (part := reader(source)) is not None:
            return part
        if kind.endswith(_SERVER_SIDE):
            return opaque(WIRE, block if isinstance(block, dict) else source)
    if not is_from_model and (media := unknown_media(WIRE, source)) is not None:
        return media
    notes.append(Note(line, "unknown_part", f"a block of type {kind!r} was carried as it is"))
    return opaque(WIRE, source or block)


def _text(source: Mapping[str, Any]) -> Text | None:
    fields = Fields(source, "type")
    text = fields.take("text", str)
    return None if text is None else Text(text, pack(WIRE, fields.left))


def _thinking(source: Mapping[str, Any]) -> Thinking | None:
    fields = Fields(source, "type")
    text = fields.take("thinking", str)
    if text is None:
        return None
    signature = fields.text("signature")
    return Thinking(text, signature, pack(WIRE, fields.left, mark=True))


def _redacted(source: Mapping[str, Any]) -> Thinking | None:
    fields = Fields(source)
    data = fields.take("data", str)
    return None if data is None else Thinking("", data, pack(WIRE, fields.left))


def _tool_use(source: Mapping[str, Any]) -> ToolCall:
    fields = Fields(source, "type")
    arguments = arguments_text(fields.left.pop("input", None))
    return ToolCall(fields.text("id"), fields.text("name"), arguments, pack(WIRE, fields.left))


def _media(source: Mapping[str, Any]) -> Part | None:
    fields = Fields(source)
    kind = fields.text("type")
    source_fields = Fields(fields.take("source", dict) or {})
    source_type, mime = source_fields.text("type"), source_fields.text("media_type")
    if source_type == "file" and source_fields.peek("file_id"):
        return take_content(WIRE, source, (), "image/*" if kind == "image" else "application/pdf")
    content = (
        source_fields.text("data")
        if source_type in {"base64", "text"}
        else source_fields.text("url")
    )
    if (
        not content
        or source_type not in {"base64", "url", "text"}
        or not (mime or source_type == "url")
    ):
        return None
    extra_fields = {**fields.left, **({"source": source_fields.left} if source_fields.left else {})}
    if source_type == "text":
        document = {
            "type": kind,
            "source": {"type": source_type, "media_type": mime, **source_fields.left},
        }
        return Text(content, pack(WIRE, {**extra_fields, **document}))
    if not mime:
        mime = "image/*" if kind == "image" else "application/pdf"
    content_field = {"data": content} if source_type == "base64" else {"url": content}
    is_usual_kind = kind == ("image" if mime.startswith("image/") else "document")
    return Media(
        mime,
        **content_field,
        extra=pack(WIRE, {**extra_fields, **({} if is_usual_kind else {"type": kind})}),
    )


_BLOCK_READERS = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "image": _media,
    "document": _media,
}
