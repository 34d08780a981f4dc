"""Messages of Pydantic AI, parsed and written; unmodified ones are written as the same objects."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.fields import pack, pieces, unpack, with_origin

WIRE = "pydantic-ai"
_PART = ("id", "provider_name", "provider_details")
_RESPONSE = ("model_name", "provider_name", "provider_url", "canonical_system")
_URLS: dict[str, type[FileUrl]] = {
    kind.kind: kind for kind in (ImageUrl, AudioUrl, DocumentUrl, VideoUrl)
}


def read_messages(messages: Sequence[ModelMessage]) -> list[Message]:
    """Return our messages for Pydantic AI's: several for a request with several parts."""
    return [
        message
        for raw in messages
        for message in with_origin(
            WIRE,
            raw,
            [_read_response(raw)]
            if isinstance(raw, ModelResponse)
            else [_read_request(part) for part in raw.parts],
        )
    ]


def write_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return Pydantic AI's messages for ours; adjacent parts of a request are joined."""
    written: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for piece in pieces(messages, WIRE):
        if not piece.raws and piece.message.role != "assistant":
            parts.append(_write_request(piece.message))
            continue
        if parts:
            written.append(ModelRequest(parts=parts))
            parts = []
        made: Any = piece.raws or [_write_response(piece.message)]
        written += made
    return [*written, ModelRequest(parts=parts)] if parts else written


def _read_request(part: ModelRequestPart) -> Message:
    match part:
        case SystemPromptPart():
            return Message("system", (Text(part.content),))
        case UserPromptPart():
            content = [part.content] if isinstance(part.content, str) else part.content
            return Message("user", tuple(map(_read_content, content)))
        case ToolReturnPart():
            parts: list[Part] = [Text(part.model_response_str(wrap_if_error=False))]
            return Message(
                "tool",
                (*parts, *map(_read_content, part.files)),
                answers=part.tool_call_id,
                name=part.tool_name,
                is_error=part.outcome != "success",
                extra=pack(WIRE, {} if part.outcome == "success" else {"outcome": part.outcome}),
            )
        case RetryFeedbackPart():
            return Message("user", (Text(part.model_response()),), kind="injected")
        case _:
            return Message("user", (_opaque(ModelRequestPart, part),), kind="injected")


def _read_content(item: UserContent) -> Part:
    match item:
        case str():
            return Text(item)
        case TextContent():
            return Text(item.content)
        case BinaryContent():
            return Media(item.media_type, item.base64)
        case ImageUrl() | AudioUrl() | DocumentUrl() | VideoUrl():
            return Media("", url=item.url, extra=pack(WIRE, {"kind": item.kind}))
        case _:
            return _opaque(UserContent, item)


def _read_response(raw: ModelResponse) -> Message:
    parts = tuple(map(_read_answer, raw.parts))
    return Message("assistant", parts, extra=pack(WIRE, _fields(raw, _RESPONSE)))


def _read_answer(part: ModelResponsePart) -> Part:
    extra = pack(WIRE, _fields(part, _PART))
    match part:
        case TextPart():
            return Text(part.content, extra)
        case ThinkingPart():
            return Thinking(part.content, part.signature or "", extra)
        case ToolCallPart():
            return ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str(), extra)
        case _:
            return _opaque(ModelResponsePart, part)


def _fields(source: object, names: Sequence[str]) -> dict[str, Any]:
    found = ((name, getattr(source, name, None)) for name in names)
    return {name: value for name, value in found if value is not None}


def _write_request(message: Message) -> ModelRequestPart:
    origin = message.origin
    if origin is not None and origin.wire == WIRE:  # its request has other parts that changed
        raw: Any = origin.raws[0]
        part: ModelRequestPart = raw.parts[origin.share[0]]
        return part
    if message.role == "system":
        return SystemPromptPart(message.text)
    content = [*_content(message.parts)]
    if message.role == "tool":
        outcome = unpack(message.extra, WIRE).get("outcome", "failed")
        return ToolReturnPart(
            message.name,
            content[0] if len(content) == 1 else content,
            message.answers,
            outcome=outcome if message.is_error else "success",
        )
    match message.parts:
        case (Opaque(wire="pydantic-ai", json=text),) if message.kind == "injected":
            opened: ModelRequestPart = _adapter(ModelRequestPart).validate_json(text)
            return opened
        case (Text(text),):
            return UserPromptPart(text)
        case _:
            return UserPromptPart(content)


def _content(parts: Sequence[Part]) -> Iterator[Any]:
    for part in parts:
        match part:
            case Text(text):
                yield text
            case Media(mime, data, url, extra) if url:
                yield _URLS.get(unpack(extra, WIRE).get("kind", ""), ImageUrl)(url)
            case Media(mime, data):
                yield BinaryContent.from_data_uri(f"data:{mime};base64,{data}")
            case Opaque(wire="pydantic-ai", json=text):
                yield _adapter(UserContent).validate_json(text)


def _write_response(message: Message) -> ModelResponse:
    parts: list[ModelResponsePart] = []
    for part in message.parts:
        match part:
            case Text(text, extra):
                parts.append(TextPart(text, **unpack(extra, WIRE)))
            case Thinking(text, signature, extra):
                parts.append(ThinkingPart(text, signature=signature, **unpack(extra, WIRE)))
            case ToolCall(call_id, name, arguments, extra):
                parts.append(ToolCallPart(name, arguments, call_id, **unpack(extra, WIRE)))
            case Opaque(wire="pydantic-ai", json=text):
                parts.append(_adapter(ModelResponsePart).validate_json(text))
    return ModelResponse(parts=parts, **unpack(message.extra, WIRE))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 (a union of their types)
    return TypeAdapter(kind)


def _opaque(kind: Any, part: object) -> Opaque:  # noqa: ANN401 (as above)
    return Opaque(WIRE, _adapter(kind).dump_json(part).decode())
