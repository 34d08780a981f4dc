"""The chat completions dialect of OpenAI and of all compatible providers.

Images, sounds and files are parts of a chat message in OpenAI's form; LangChain messages use the
same parts. Recordings of the dialect can be read as well: an `x` object next to a message holds its
uuid, time, error flag and whether the harness, not the user, wrote it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

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
    arguments_text,
    as_dict,
    as_usage,
    foreign_item,
    is_from_wire,
    is_private,
    media_from_url,
    opaque,
    opaque_value,
    pack,
    pieces,
    role_in,
    sendable,
    unpack,
    url_of,
)
from thalweg.engine.wires.media_blocks import original_block, take_content, unknown_media

MEDIA_TYPES = ("image_url", "input_audio", "file")
_MIME_BY_URL_TYPE = {"video_url": "video/*", "audio_url": "audio/*"}
"""Parts of vLLM and other servers."""
_WIRE = "openai-chat"
_RESPONSE_ONLY = frozenset({"annotations", "id", "parsed", "x"})
"""Fields of a message that a response, an SDK or a recorder adds and a request does not have."""
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_media(part: Mapping[str, Any], wire: str) -> Media | None:
    """Parse a part with an image, a sound, a film or a file; return `None` for any other part."""
    fields = Fields(part)
    kind = fields.peek("type")
    body = fields.left.get(kind)
    if kind in _MIME_BY_URL_TYPE and isinstance(body, Mapping) and isinstance(body.get("url"), str):
        return take_content(wire, part, (kind, "url"), _MIME_BY_URL_TYPE[kind])
    if kind == "file" and isinstance(body, Mapping) and isinstance(body.get("file_id"), str):
        return take_content(wire, part, (), "application/octet-stream")
    if isinstance(body, str):
        body = {"url": body}
    if kind not in MEDIA_TYPES or not isinstance(body, Mapping):
        return None
    del fields.left["type"], fields.left[kind]
    body_fields = Fields(body)
    media = _CONTENT_READERS[kind](body_fields)
    if media is None:
        return None
    extra_fields = {**fields.left, **({kind: body_fields.left} if body_fields.left else {})}
    return Media(media.mime, media.data, media.url, pack(wire, extra_fields))


def _image(body: Fields) -> Media | None:
    url = body.text("url")
    return media_from_url(url, "image/*") if url else None


def _sound(body: Fields) -> Media | None:
    data = body.text("data")
    return Media(f"audio/{body.text('format') or 'wav'}", data) if data else None


def _file(body: Fields) -> Media | None:
    data = body.text("file_data")
    return media_from_url(data, "application/octet-stream") if data else None


_CONTENT_READERS = {"image_url": _image, "input_audio": _sound, "file": _file}


def write_media(media: Media, wire: str) -> dict[str, Any]:
    """Return media as the part that OpenAI has for its type."""
    if (block := original_block(media, wire)) is not None:
        return block
    extra_fields = unpack(media.extra, wire)
    if media.url and not media.mime.startswith("image/"):
        return {"type": "text", "text": media.url}  # nothing but images is taken by address
    if media.mime.startswith("audio/") and media.data:
        kind = "input_audio"
        body = {"data": media.data, "format": media.mime.removeprefix("audio/")}
    elif media.mime.startswith("image/") or not media.data:
        kind, body = "image_url", {"url": url_of(media)}
    else:
        kind, body = "file", {"file_data": url_of(media)}
    inner = extra_fields.pop(kind, None)
    body_extra = inner if isinstance(inner, dict) else {}
    if kind == "file" and not body_extra:
        body_extra = {"filename": f"file.{media.mime.rpartition('/')[2]}"}
    return {"type": kind, kind: {**body_extra, **body}, **extra_fields}


class OpenAIChatWire:
    """Messages of `POST /chat/completions`."""

    name = _WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of request or response items, and a note per irregularity."""
        notes: list[Note] = []
        return [_read(item, line, notes) for line, item in enumerate(items)], notes

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return the request's items; media of tool results follow the batch in a user message."""
        written: list[object] = []
        result_media: list[Media] = []
        for piece in pieces(messages, _WIRE):
            message = piece.message
            if result_media and message.role != "tool":
                written.append(_media_of_results(result_media))
                result_media = []
            if piece.raws:
                written += piece.raws
            elif _has_content(message):
                written.append(_write(message))
                if message.role == "tool":
                    result_media += [
                        p for p in message.parts if isinstance(p, Media) and _is_sent(p)
                    ]
        if result_media:
            written.append(_media_of_results(result_media))
        return [
            sendable(item, _RESPONSE_ONLY) if role_in(item, _ROLES) else item for item in written
        ]


def _read(item: object, line: int, notes: list[Note]) -> Message:
    source, role = as_dict(item), role_in(item, _ROLES)
    if source is None or not role:
        return foreign_item(_WIRE, item, line, notes)
    fields = Fields(source, "role")
    role_field = {"role": role} if role in {"developer", "function"} else {}
    parts = _parts(fields, line, notes, is_from_model=role == "assistant")
    recording = as_dict(source.get("x")) or {}
    return Message(
        _ROLES[role],
        tuple(parts),
        answers=fields.text("tool_call_id"),
        name=fields.text("name"),
        is_error=recording.get("is_error") is True,
        kind=_kind(recording),
        uid=_first_text(recording, "uuid", "id"),
        at=_first_text(recording, "timestamp"),
        line=line,
        usage=as_usage(recording.get("usage")) or as_usage(recording.get("tokens")),
        extra=pack(_WIRE, {**fields.left, **role_field}),
        origin=Origin(_WIRE, (item,)),
    )


def _kind(recording: Mapping[str, Any]) -> Kind:
    is_injected = any(recording.get(k) is True for k in ("is_compact_summary", "is_meta", "isMeta"))
    return "injected" if is_injected else "said"


def _first_text(recording: Mapping[str, Any], *names: str) -> str:
    return next((v for name in names if isinstance(v := recording.get(name), str)), "")


def _parts(fields: Fields, line: int, notes: list[Note], *, is_from_model: bool) -> list[Part]:
    parts: list[Part] = []
    if thought := fields.text("reasoning_content"):
        parts.append(Thinking(thought, extra=pack(_WIRE, {}, mark=True)))
    content = fields.take("content", str) or fields.take("content", list) or ()
    if isinstance(content, str):
        parts.append(Text(content))
    else:
        parts += [_read_part(part, line, notes, is_from_model=is_from_model) for part in content]
    if refusal := fields.text("refusal"):
        parts.append(Text(refusal, pack(_WIRE, {"refusal": "message"})))
    if isinstance(legacy_call := fields.left.get("function_call"), dict):
        del fields.left["function_call"]
        parts.append(_read_call({"function": legacy_call}, {"legacy": True}))
    parts += [_read_tool_call(call, line, notes) for call in fields.take("tool_calls", list) or ()]
    return parts


def _read_part(part: object, line: int, notes: list[Note], *, is_from_model: bool) -> Part:
    source = as_dict(part)
    if source is not None:
        fields = Fields(source)
        kind = fields.peek("type")
        if kind in {"text", "refusal"} and isinstance(fields.left.get(kind), str):
            text = fields.text(kind)
            extra_fields = {
                k: v for k, v in fields.left.items() if k != "type" or kind == "refusal"
            }
            return Text(text, pack(_WIRE, extra_fields))
        media = read_media(source, _WIRE) or (
            None if is_from_model else unknown_media(_WIRE, source)
        )
        if media is not None:
            return media
    elif isinstance(part, str):
        return Text(part)
    notes.append(Note(line, "unknown_part", "a part of the content was not understood; carried"))
    return opaque(_WIRE, part)


def _read_tool_call(call: object, line: int, notes: list[Note]) -> Part:
    source = as_dict(call)
    if source is None or as_dict(source.get("function", source.get("custom"))) is None:
        notes.append(Note(line, "unknown_call", "a tool call was not understood; carried"))
        return opaque(_WIRE, call)
    return _read_call(source, {})


def _read_call(source: Mapping[str, Any], more_fields: Mapping[str, Any]) -> ToolCall:
    fields = Fields(source)
    if fields.peek("type") == "function":
        del fields.left["type"]
    body_name, arguments_field = (
        ("function", "arguments") if "function" in source else ("custom", "input")
    )
    body_fields = Fields(as_dict(fields.left.pop(body_name)) or {})
    call_id, name = fields.text("id"), body_fields.text("name")
    arguments = arguments_text(body_fields.left.pop(arguments_field, None))
    body_extra = {body_name: body_fields.left} if body_fields.left else {}
    return ToolCall(
        call_id, name, arguments, pack(_WIRE, {**fields.left, **body_extra, **more_fields})
    )


def _has_content(message: Message) -> bool:
    """Return whether a model's message has more to send than another dialect's reasoning."""
    return message.role != "assistant" or not message.parts or any(map(_is_sent, message.parts))


def _is_sent(part: Part) -> bool:
    match part:
        case Thinking(extra=extra):
            return is_from_wire(extra, _WIRE)
        case Opaque(wire=wire):
            return wire == _WIRE
        case Media():
            return not is_private(part, _WIRE)
        case Text() | ToolCall():
            return True
        case _:
            assert_never(part)


def _write(message: Message) -> dict[str, Any]:
    extra_fields = unpack(message.extra, _WIRE)
    role = extra_fields.pop("role", None)
    is_legacy = role == "function" and not message.answers
    body: dict[str, Any] = {"role": role if role == "developer" or is_legacy else message.role}
    body["content"] = _content(message)
    if message.name:
        body["name"] = message.name
    if message.role == "tool" and not is_legacy:
        body["tool_call_id"] = message.answers
    thoughts = [
        p.text for p in message.parts if isinstance(p, Thinking) and is_from_wire(p.extra, _WIRE)
    ]
    if any(thoughts):
        body["reasoning_content"] = "\n".join(thoughts)
    body |= _write_calls(message.calls)
    refusals = [p.text for p in message.parts if isinstance(p, Text) and _is_refusal(p)]
    if refusals:
        body["refusal"] = "\n".join(refusals)
    return {**extra_fields, **body}


def _is_refusal(part: Text) -> bool:
    return "refusal" in part.extra and unpack(part.extra, _WIRE).get("refusal") == "message"


def _content(message: Message) -> str | list[Any] | None:
    is_result = message.role == "tool"
    parts: list[Part] = [
        part
        for part in message.parts
        if (isinstance(part, Text) and not _is_refusal(part))
        or (isinstance(part, Media) and not is_result and not is_private(part, _WIRE))
        or (isinstance(part, Opaque) and part.wire == _WIRE)
    ]
    if not parts:
        return None if message.calls else ""
    if (
        len(parts) == 1
        and isinstance(part := parts[0], Text)
        and not is_from_wire(part.extra, _WIRE)
    ):
        return part.text
    return [_write_part(part) for part in parts]


def _write_part(part: Part) -> object:
    match part:
        case Text(text, extra):
            extra_fields = unpack(extra, _WIRE)
            kind = "refusal" if extra_fields.pop("type", "") == "refusal" else "text"
            return {"type": kind, kind: text, **extra_fields}
        case Media():
            return write_media(part, _WIRE)
        case Opaque():
            return opaque_value(part)
        case Thinking() | ToolCall():  # pragma: no cover (these have fields of their own)
            return None
        case _:
            assert_never(part)


def _write_calls(calls: Iterable[ToolCall]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for call in calls:
        extra_fields = unpack(call.extra, _WIRE)
        is_legacy = extra_fields.pop("legacy", False)
        is_custom = extra_fields.get("type") == "custom"
        kind, arguments_field = ("custom", "input") if is_custom else ("function", "arguments")
        inner = extra_fields.pop(kind, None)
        call_fields = {"name": call.name, arguments_field: call.arguments}
        function = {**inner, **call_fields} if isinstance(inner, dict) else call_fields
        if is_legacy and not call.id:
            body["function_call"] = function
        else:
            call_item = {**extra_fields, "id": call.id, "type": kind, kind: function}
            body.setdefault("tool_calls", []).append(call_item)
    return body


def _media_of_results(result_media: Sequence[Media]) -> dict[str, Any]:
    """Return a user message with the media of tool results, which cannot hold them here."""
    return {"role": "user", "content": [write_media(media, _WIRE) for media in result_media]}
