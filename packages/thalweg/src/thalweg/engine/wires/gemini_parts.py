"""Reading parts of a content in Google's form, in the spelling of the API and of the Python SDK."""

from collections.abc import Iterable

from thalweg.engine.entries import Media, Message, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    arguments_text,
    as_dict,
    join_packed,
    opaque,
    pack,
    to_json,
)
from thalweg.engine.wires.media_blocks import unknown_media

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
