"""Parts of a content in Google's form, in the spelling of the API and of the Python SDK."""

from collections.abc import Iterable
from typing import Any, assert_never

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_object,
    arguments_text,
    as_dict,
    from_json,
    is_from_wire,
    is_private,
    join_packed,
    opaque,
    opaque_value,
    pack,
    to_json,
    unpack,
)
from thalweg.engine.wires.media_blocks import original_block, unknown_media

WIRE = "gemini"
_BODY = "gemini:body"
_RESPONSE = "gemini:response"
_OPAQUE_KEYS = ("executableCode", "executable_code", "codeExecutionResult", "code_execution_result")


def read_parts(
    parts: Iterable[object], line: int, notes: list[Note], *, is_from_model: bool = False
) -> tuple[Part, ...]:
    """Return the parts of a content; an unsupported part is carried as is and noted.

    Args:
        parts: The parts of a content.
        line: Of the content.
        notes: Where irregularities are noted.
        is_from_model: Whether the model wrote it: its unknown parts are never media.
    """
    return tuple(_read_part(part, line, notes, is_from_model=is_from_model) for part in parts)


def _read_part(part: object, line: int, notes: list[Note], *, is_from_model: bool) -> Part:
    if isinstance(part, str):
        return Text(part)
    source = as_dict(part)
    if source is not None:
        fields = Fields(source)
        parsed = _text(fields) or _call(fields) or _media(fields)
        if parsed is None and not is_from_model:
            parsed = unknown_media(WIRE, source)
        if parsed is not None:
            return parsed
    if not any(name in (source or {}) for name in _OPAQUE_KEYS):
        notes.append(Note(line, "unknown_part", "a part of the content was carried as it is"))
    return opaque(WIRE, part)


def _text(fields: Fields) -> Text | Thinking | None:
    text = fields.take("text", str)
    if text is None:
        return None
    if fields.take("thought", bool):
        signature = fields.text("thoughtSignature", "thought_signature")
        return Thinking(text, signature, pack(WIRE, fields.left, mark=True))
    return Text(text, pack(WIRE, fields.left))


def _call(fields: Fields) -> ToolCall | None:
    body = _take_body(fields, "functionCall", "function_call")
    if body is None:
        return None
    arguments = arguments_text(body.left.pop("args", None))
    call_id, name = body.text("id"), body.text("name")
    extra = join_packed(pack(WIRE, fields.left), pack(_BODY, body.left))
    return ToolCall(call_id, name, arguments, extra)


def _media(fields: Fields) -> Media | None:
    inline = _take_body(fields, "inlineData", "inline_data")
    body = inline or _take_body(fields, "fileData", "file_data")
    if body is None:
        return None
    mime = body.text("mimeType", "mime_type")
    data = body.text("data") if inline else ""
    url = "" if inline else body.text("fileUri", "file_uri")
    return Media(mime, data, url, join_packed(pack(WIRE, fields.left), pack(_BODY, body.left)))


def _take_body(fields: Fields, *names: str) -> Fields | None:
    key = next((name for name in names if isinstance(fields.left.get(name), dict)), None)
    return None if key is None else Fields(fields.left.pop(key))


def is_response(part: object) -> bool:
    """Return whether a part is the result of a call."""
    source = as_dict(part) or {}
    return any(isinstance(source.get(n), dict) for n in ("functionResponse", "function_response"))


def read_response(part: object, line: int, notes: list[Note]) -> Message:
    """Parse the result of a call: the text under its only key, or the whole object as JSON."""
    fields = Fields(as_dict(part) or {})
    body = _take_body(fields, "functionResponse", "function_response") or Fields({})
    response = body.left.pop("response", None)
    key, text = _response_text(response)
    media = read_parts(body.take("parts", list) or (), line, notes)
    return Message(
        "tool",
        (*((Text(text),) if text else ()), *media),
        answers=body.text("id"),
        name=body.text("name"),
        is_error=key == "error",
        line=line,
        extra=join_packed(
            pack(WIRE, fields.left),
            pack(_BODY, body.left),
            pack(_RESPONSE, {"key": key} if key not in {"", "output", "error"} else {}),
        ),
    )


def _response_text(response: object) -> tuple[str, str]:
    if isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if isinstance(value, str) and key in _TEXT_KEYS:
            return key, value
    return ("*", to_json(response)) if response else ("", "")


_TEXT_KEYS = ("output", "result", "content", "error")


def write_response(message: Message, tool: str) -> dict[str, Any]:
    """Return a tool result as a part.

    Args:
        message: The result.
        tool: Tool name of the call it answers, which Gemini requires; empty if it is not recorded.
    """
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    body = unpack(message.extra, _BODY)
    if message.answers:
        body["id"] = message.answers
    body["name"] = tool or message.name
    key = unpack(message.extra, _RESPONSE).get("key", "error" if message.is_error else "output")
    response = from_json(text) if key == "*" else None
    if isinstance(response, dict):
        body["response"] = response
    else:
        body["response"] = {"output" if key == "*" else key: text}
    other_parts = write_parts(part for part in message.parts if isinstance(part, (Media, Opaque)))
    if other_parts:
        body["parts"] = list(other_parts)
    return {**unpack(message.extra, WIRE), "functionResponse": body}


def write_parts(parts: Iterable[Part]) -> tuple[object, ...]:
    """Return parts in Google's form, without empty text, foreign reasoning and foreign parts."""
    return tuple(written for part in parts if (written := _write_part(part)) is not None)


def _write_part(part: Part) -> object:
    match part:
        case Text(text, extra):
            extra_fields = unpack(extra, WIRE)
            return {**extra_fields, "text": text} if text or extra_fields else None
        case Thinking(text, signature, extra):
            if not is_from_wire(extra, WIRE):
                return None
            signature_field = {"thoughtSignature": signature} if signature else {}
            return {**unpack(extra, WIRE), "text": text, "thought": True, **signature_field}
        case ToolCall(call_id, name, arguments, extra):
            body = {**unpack(extra, _BODY), "name": name, "args": arguments_object(arguments)}
            id_field = {"id": call_id} if call_id else {}
            return {**unpack(extra, WIRE), "functionCall": {**body, **id_field}}
        case Media():
            return _write_media(part)
        case Opaque(wire=wire):
            return opaque_value(part) if wire == WIRE else None
        case _:
            assert_never(part)


def _write_media(media: Media) -> dict[str, Any] | None:
    if (block := original_block(media, WIRE)) is not None:
        return block
    if is_private(media, WIRE):
        return None
    body = unpack(media.extra, _BODY)
    if media.mime and not media.mime.endswith("*"):
        body["mimeType"] = media.mime
    if media.data:
        return {**unpack(media.extra, WIRE), "inlineData": {**body, "data": media.data}}
    return {**unpack(media.extra, WIRE), "fileData": {**body, "fileUri": media.url}}
