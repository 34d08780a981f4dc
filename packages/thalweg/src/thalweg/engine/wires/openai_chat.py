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
    as_usage,
    is_of,
    media_at,
    opaque,
    pack,
    plain,
    reopen,
    sendable,
    unpack,
    url_of,
)
from thalweg.engine.wires.media_blocks import block_of, is_private, take_content, unknown_media
from thalweg.engine.wires.origins import foreign_item, pieces

MEDIA_TYPES = ("image_url", "input_audio", "file")
_BY_ADDRESS = {"video_url": "video/*", "audio_url": "audio/*"}
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
    if kind in _BY_ADDRESS and isinstance(body, Mapping) and isinstance(body.get("url"), str):
        return take_content(wire, part, (kind, "url"), _BY_ADDRESS[kind])
    if kind == "file" and isinstance(body, Mapping) and isinstance(body.get("file_id"), str):
        return take_content(wire, part, (), "application/octet-stream")
    if isinstance(body, str):
        body = {"url": body}
    if kind not in MEDIA_TYPES or not isinstance(body, Mapping):
        return None
    del fields.left["type"], fields.left[kind]
    inner = Fields(body)
    media = _CONTENT[kind](inner)
    if media is None:
        return None
    left = {**fields.left, **({kind: inner.left} if inner.left else {})}
    return Media(media.mime, media.data, media.url, pack(wire, left))


def _image(body: Fields) -> Media | None:
    url = body.text("url")
    return media_at(url, "image/*") if url else None


def _sound(body: Fields) -> Media | None:
    data = body.text("data")
    return Media(f"audio/{body.text('format') or 'wav'}", data) if data else None


def _file(body: Fields) -> Media | None:
    data = body.text("file_data")
    return media_at(data, "application/octet-stream") if data else None


_CONTENT = {"image_url": _image, "input_audio": _sound, "file": _file}


def write_media(media: Media, wire: str) -> dict[str, Any]:
    """Return media as the part that OpenAI has for its type."""
    if (block := block_of(media, wire)) is not None:
        return block
    left = unpack(media.extra, wire)
    if media.url and not media.mime.startswith("image/"):
        return {"type": "text", "text": media.url}  # nothing but images is taken by address
    if media.mime.startswith("audio/") and media.data:
        kind = "input_audio"
        body = {"data": media.data, "format": media.mime.removeprefix("audio/")}
    elif media.mime.startswith("image/") or not media.data:
        kind, body = "image_url", {"url": url_of(media)}
    else:
        kind, body = "file", {"file_data": url_of(media)}
    inner = left.pop(kind, None)
    kept = inner if isinstance(inner, dict) else {}
    if kind == "file" and not kept:
        kept = {"filename": f"file.{media.mime.rpartition('/')[2]}"}
    return {"type": kind, kind: {**kept, **body}, **left}


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
        shown: list[Media] = []
        for piece in pieces(messages, _WIRE):
            message = piece.message
            if shown and message.role != "tool":
                written.append(_media_of_results(shown))
                shown = []
            if piece.raws:
                written += piece.raws
            elif _has_content(message):
                written.append(_write(message))
                if message.role == "tool":
                    shown += [p for p in message.parts if isinstance(p, Media) and _is_sent(p)]
        if shown:
            written.append(_media_of_results(shown))
        return [sendable(item, _RESPONSE_ONLY) if _role(item) else item for item in written]


def _role(item: object) -> str:
    """Return the role of a message; empty for an item that is not of this dialect."""
    role = (plain(item) or {}).get("role")
    return role if isinstance(role, str) and role in _ROLES else ""


def _read(item: object, line: int, notes: list[Note]) -> Message:
    source, role = plain(item), _role(item)
    if source is None or not role:
        return foreign_item(_WIRE, item, line, notes)
    fields = Fields(source, "role")
    aside = {"role": role} if role in {"developer", "function"} else {}
    parts = _parts(fields, line, notes, of_model=role == "assistant")
    recorded = plain(source.get("x")) or {}
    return Message(
        _ROLES[role],
        tuple(parts),
        answers=fields.text("tool_call_id"),
        name=fields.text("name"),
        is_error=recorded.get("is_error") is True,
        kind=_kind(recorded),
        uid=_first_text(recorded, "uuid", "id"),
        at=_first_text(recorded, "timestamp"),
        line=line,
        usage=as_usage(recorded.get("usage")) or as_usage(recorded.get("tokens")),
        extra=pack(_WIRE, {**fields.left, **aside}),
        origin=Origin(_WIRE, (item,)),
    )


def _kind(recorded: Mapping[str, Any]) -> Kind:
    injected = any(recorded.get(k) is True for k in ("is_compact_summary", "is_meta", "isMeta"))
    return "injected" if injected else "said"


def _first_text(recorded: Mapping[str, Any], *names: str) -> str:
    return next((v for name in names if isinstance(v := recorded.get(name), str)), "")


def _parts(fields: Fields, line: int, notes: list[Note], *, of_model: bool) -> list[Part]:
    parts: list[Part] = []
    if thought := fields.text("reasoning_content"):
        parts.append(Thinking(thought, extra=pack(_WIRE, {}, mark=True)))
    content = fields.take("content", str) or fields.take("content", list) or ()
    if isinstance(content, str):
        parts.append(Text(content))
    else:
        parts += [_read_part(part, line, notes, of_model=of_model) for part in content]
    if refusal := fields.text("refusal"):
        parts.append(Text(refusal, pack(_WIRE, {"refusal": "message"})))
    if isinstance(legacy := fields.left.get("function_call"), dict):
        del fields.left["function_call"]
        parts.append(_read_call({"function": legacy}, {"legacy": True}))
    parts += [_read_tool_call(call, line, notes) for call in fields.take("tool_calls", list) or ()]
    return parts


def _read_part(part: object, line: int, notes: list[Note], *, of_model: bool) -> Part:
    source = plain(part)
    if source is not None:
        fields = Fields(source)
        kind = fields.peek("type")
        if kind in {"text", "refusal"} and isinstance(fields.left.get(kind), str):
            text = fields.text(kind)
            left = {k: v for k, v in fields.left.items() if k != "type" or kind == "refusal"}
            return Text(text, pack(_WIRE, left))
        media = read_media(source, _WIRE) or (None if of_model else unknown_media(_WIRE, source))
        if media is not None:
            return media
    elif isinstance(part, str):
        return Text(part)
    notes.append(Note(line, "unknown_part", "a part of the content was not understood; carried"))
    return opaque(_WIRE, part)


def _read_tool_call(call: object, line: int, notes: list[Note]) -> Part:
    source = plain(call)
    if source is None or plain(source.get("function", source.get("custom"))) is None:
        notes.append(Note(line, "unknown_call", "a tool call was not understood; carried"))
        return opaque(_WIRE, call)
    return _read_call(source, {})


def _read_call(source: Mapping[str, Any], aside: Mapping[str, Any]) -> ToolCall:
    fields = Fields(source)
    if fields.peek("type") == "function":
        del fields.left["type"]
    body, payload = ("function", "arguments") if "function" in source else ("custom", "input")
    inner = Fields(plain(fields.left.pop(body)) or {})
    call_id, name = fields.text("id"), inner.text("name")
    arguments = arguments_text(inner.left.pop(payload, None))
    kept = {body: inner.left} if inner.left else {}
    return ToolCall(call_id, name, arguments, pack(_WIRE, {**fields.left, **kept, **aside}))


def _has_content(message: Message) -> bool:
    """Return whether a model's message has more to send than another dialect's reasoning."""
    return message.role != "assistant" or not message.parts or any(map(_is_sent, message.parts))


def _is_sent(part: Part) -> bool:
    match part:
        case Thinking(extra=extra):
            return is_of(extra, _WIRE)
        case Opaque(wire=wire):
            return wire == _WIRE
        case Media():
            return not is_private(part, _WIRE)
        case Text() | ToolCall():
            return True
        case _:
            assert_never(part)


def _write(message: Message) -> dict[str, Any]:
    left = unpack(message.extra, _WIRE)
    role = left.pop("role", None)
    legacy = role == "function" and not message.answers
    body: dict[str, Any] = {"role": role if role == "developer" or legacy else message.role}
    body["content"] = _content(message)
    if message.name:
        body["name"] = message.name
    if message.role == "tool" and not legacy:
        body["tool_call_id"] = message.answers
    thoughts = [p.text for p in message.parts if isinstance(p, Thinking) and is_of(p.extra, _WIRE)]
    if any(thoughts):
        body["reasoning_content"] = "\n".join(thoughts)
    body |= _calls(message.calls)
    refusals = [p.text for p in message.parts if isinstance(p, Text) and _is_refusal(p)]
    if refusals:
        body["refusal"] = "\n".join(refusals)
    return {**left, **body}


def _is_refusal(part: Text) -> bool:
    return "refusal" in part.extra and unpack(part.extra, _WIRE).get("refusal") == "message"


def _content(message: Message) -> str | list[Any] | None:
    tool = message.role == "tool"
    parts: list[Part] = [
        part
        for part in message.parts
        if (isinstance(part, Text) and not _is_refusal(part))
        or (isinstance(part, Media) and not tool and not is_private(part, _WIRE))
        or (isinstance(part, Opaque) and part.wire == _WIRE)
    ]
    if not parts:
        return None if message.calls else ""
    if len(parts) == 1 and isinstance(part := parts[0], Text) and not is_of(part.extra, _WIRE):
        return part.text
    return [_write_part(part) for part in parts]


def _write_part(part: Part) -> object:
    match part:
        case Text(text, extra):
            left = unpack(extra, _WIRE)
            kind = "refusal" if left.pop("type", "") == "refusal" else "text"
            return {"type": kind, kind: text, **left}
        case Media():
            return write_media(part, _WIRE)
        case Opaque():
            return reopen(part)
        case Thinking() | ToolCall():  # pragma: no cover (these have fields of their own)
            return None
        case _:
            assert_never(part)


def _calls(calls: Iterable[ToolCall]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for call in calls:
        left = unpack(call.extra, _WIRE)
        legacy = left.pop("legacy", False)
        custom = left.get("type") == "custom"
        kind, payload = ("custom", "input") if custom else ("function", "arguments")
        inner = left.pop(kind, None)
        named = {"name": call.name, payload: call.arguments}
        function = {**inner, **named} if isinstance(inner, dict) else named
        if legacy and not call.id:
            body["function_call"] = function
        else:
            written = {**left, "id": call.id, "type": kind, kind: function}
            body.setdefault("tool_calls", []).append(written)
    return body


def _media_of_results(shown: Sequence[Media]) -> dict[str, Any]:
    """Return a user message with the media of tool results, which cannot hold them here."""
    return {"role": "user", "content": [write_media(media, _WIRE) for media in shown]}
