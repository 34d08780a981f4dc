"""Content blocks in Anthropic's form, which LangChain messages use, too."""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from thalweg.engine.entries import Media, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_object,
    arguments_text,
    is_of,
    opaque,
    pack,
    plain,
    reopen,
    unpack,
    url_of,
)
from thalweg.engine.wires.media_blocks import block_of, is_private, take_content, unknown_media

WIRE = "anthropic"
_SERVER_SIDE = ("_tool_use", "_tool_result")
"""Type suffixes of the provider's own tool runs: both halves belong to one message."""


def read_blocks(
    blocks: Iterable[object], line: int, notes: list[Note], *, of_model: bool = False
) -> tuple[Part, ...]:
    """Return the parts of blocks; an unsupported block is carried as is and noted.

    Args:
        blocks: The content of a message.
        line: Of the message.
        notes: Where irregularities are noted.
        of_model: Whether the model wrote it: its unknown blocks are never media.
    """
    return tuple(_read_block(block, line, notes, of_model=of_model) for block in blocks)


def _read_block(block: object, line: int, notes: list[Note], *, of_model: bool) -> Part:
    if isinstance(block, str):
        return Text(block)
    source = plain(block) or {}
    kind = source.get("type")
    if isinstance(kind, str):
        reader = _READERS.get(kind)
        if reader is not None and (part := reader(source)) is not None:
            return part
        if kind.endswith(_SERVER_SIDE):
            return opaque(WIRE, block if isinstance(block, dict) else source)
    if not of_model and (media := unknown_media(WIRE, source)) is not None:
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
    inner = Fields(fields.take("source", dict) or {})
    form, mime = inner.text("type"), inner.text("media_type")
    if form == "file" and inner.peek("file_id"):
        return take_content(WIRE, source, (), "image/*" if kind == "image" else "application/pdf")
    content = inner.text("data") if form in {"base64", "text"} else inner.text("url")
    if not content or form not in {"base64", "url", "text"} or not (mime or form == "url"):
        return None
    left = {**fields.left, **({"source": inner.left} if inner.left else {})}
    if form == "text":
        document = {"type": kind, "source": {"type": form, "media_type": mime, **inner.left}}
        return Text(content, pack(WIRE, {**left, **document}))
    if not mime:
        mime = "image/*" if kind == "image" else "application/pdf"
    given = {"data": content} if form == "base64" else {"url": content}
    fitting = kind == ("image" if mime.startswith("image/") else "document")
    return Media(mime, **given, extra=pack(WIRE, {**left, **({} if fitting else {"type": kind})}))


_READERS = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "image": _media,
    "document": _media,
}


def write_blocks(parts: Iterable[Part]) -> tuple[object, ...]:
    """Return the blocks of parts, without blank text, foreign reasoning and foreign parts."""
    return tuple(block for part in parts if (block := _write_block(part)) is not None)


def _write_block(part: Part) -> object:
    match part:
        case Text():
            return _write_text(part)
        case Thinking(text, signature, extra):
            return _write_thinking(text, signature, extra)
        case Media():
            return _write_media(part)
        case ToolCall(call_id, name, arguments, extra):
            body = {"id": call_id, "name": name, "input": arguments_object(arguments)}
            return {"type": "tool_use", **unpack(extra, WIRE), **body}
        case Opaque(wire=wire):
            return reopen(part) if wire == WIRE else None
        case _:
            assert_never(part)


def _write_text(part: Text) -> dict[str, Any] | None:
    if not part.text.strip():
        return None
    left = unpack(part.extra, WIRE)
    if left.get("type") == "document" and isinstance(source := left.get("source"), dict):
        return {**left, "source": {**source, "data": part.text}}
    return {"type": "text", "text": part.text, **left}


def _write_thinking(text: str, signature: str, extra: str) -> dict[str, Any] | None:
    if not signature or not is_of(extra, WIRE):
        return None
    left = unpack(extra, WIRE)
    if left.get("type") == "redacted_thinking":
        return {**left, "data": signature}
    return {"type": "thinking", "thinking": text, "signature": signature, **left}


def _write_media(media: Media) -> dict[str, Any] | None:
    if (block := block_of(media, WIRE)) is not None:
        return block
    if is_private(media, WIRE):
        return None
    left = unpack(media.extra, WIRE)
    kind = "image" if media.mime.startswith("image/") else "document"
    if media.data:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
    else:
        source = {"type": "url", "url": url_of(media)}
    kept = left.pop("source", None)
    return {"type": kind, **left, "source": {**(kept if isinstance(kept, dict) else {}), **source}}
