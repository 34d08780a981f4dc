"""Messages without the secrets in them."""

from collections.abc import Iterator
from dataclasses import replace

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.redaction.secrets import redact


def without_secrets(message: Message) -> Message:
    """Redact every text of a message; media is unchanged.

    Example:
        >>> without_secrets(Message("user", (Text("use ghp_" + "a1B2" * 9),))).text
        'use [redacted: GitHub token]'
    """
    if _is_clean("\n".join(_texts(message))):
        return message
    parts = tuple(map(_redacted, message.parts))
    return replace(message, parts=parts, extra=redact(message.extra))


def _is_clean(text: str) -> bool:
    return redact(text) == text


def _texts(message: Message) -> Iterator[str]:
    yield message.extra
    for part in message.parts:
        match part:
            case Text(text, extra) | Thinking(text=text, extra=extra):
                yield from (text, extra)
            case ToolCall(arguments=arguments, extra=extra):
                yield from (arguments, extra)
            case Opaque(json=text):
                yield text
            case Media():
                pass


def _redacted(part: Part) -> Part:
    match part:
        case Text() | Thinking():
            return replace(part, text=redact(part.text), extra=redact(part.extra))
        case ToolCall():
            return replace(part, arguments=redact(part.arguments), extra=redact(part.extra))
        case Opaque():
            return replace(part, json=redact(part.json))
        case Media():
            return part
