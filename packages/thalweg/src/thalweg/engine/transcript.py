"""Messages as text, for people, archives and search."""

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.media.labels import media_label, without_base64


def as_text(message: Message) -> str:
    r"""Return a message as plain text, verbatim, without markup around it.

    Text and thinking are unchanged; a tool call is its name and arguments; media is a line that
    names its type and size; content in base64 is never text.

    Example:
        >>> as_text(Message("assistant", (Text("look:"), ToolCall("c1", "ls", '{"path":"."}'))))
        'look:\nls {"path":"."}'
    """
    return "\n".join(filter(None, map(_part_as_text, message.parts)))


def _part_as_text(part: Part) -> str:
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments}".rstrip()
        case Media():
            return f"[{media_label(part)}]"
        case Opaque(wire=wire, json=raw):
            return f"[{wire}] {without_base64(raw)}"
        case _:
            assert_never(part)


def media_spans(message: Message) -> Iterator[tuple[int, int, Media]]:
    """Yield the media of a message, each with start and end of its line in `as_text`.

    Example:
        >>> message = Message("user", (Text("look:"), Media("image/png", "AAAA")))
        >>> [as_text(message)[start:end] for start, end, _ in media_spans(message)]
        ['[image/png, 3 bytes]']
    """
    offset = 0
    for part in message.parts:
        if text := _part_as_text(part):
            if isinstance(part, Media):
                yield offset, offset + len(text), part
            offset += len(text) + 1


def speaker(message: Message) -> str:
    """Return the author of a message in one or two words, as in a transcript's headings.

    Example:
        >>> speaker(Message("tool", (), name="grep"))
        'tool grep'
    """
    author = message.role if message.kind == "said" else f"{message.role} (injected)"
    has_name = message.role in {"tool", "user"} and message.name
    return f"{author} {message.name}" if has_name else author


def as_transcript(messages: Iterable[Message], first: int = 0) -> str:
    """Write a stretch of a thread for reading, each message headed by position and speaker.

    Args:
        messages: Oldest first.
        first: Position of the first one in its thread.

    Example:
        >>> print(as_transcript([Message("user", (Text("hi"),))], first=7))
        #7 user
        hi
    """
    return "\n\n".join(
        f"#{position} {speaker(message)}\n{as_text(message)}"
        for position, message in enumerate(messages, first)
    )


OUTLINE_CHARS = 120
"""Beginning of a message that an outline shows."""


def as_outline(messages: Iterable[Message], first: int = 0) -> str:
    r"""Return a part of a thread as one line per message: positions and beginnings.

    Args:
        messages: Oldest first.
        first: Position of the first one in its thread.

    Example:
        >>> print(as_outline([Message("user", (Text("Fix the\nbuild"),))], first=7))
        #7 user (13 characters): Fix the build
    """
    return "\n".join(
        f"#{position} {speaker(message)} ({len(text)} characters): {one_line(text, OUTLINE_CHARS)}"
        for position, message in enumerate(messages, first)
        for text in [as_text(message)]
    )


def one_line(text: str, chars: int) -> str:
    r"""Return the beginning of a text on one line of at most this length.

    Example:
        >>> one_line("Fix the\nbuild today", 12)
        'Fix the bui…'
    """
    return clip(" ".join(text[: 4 * chars].split()), chars)


def clip(text: str, chars: int) -> str:
    """Return a text of at most this length; a longer one ends with an ellipsis."""
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


_TERMINAL_CONTROLS = re.compile(
    r"\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Characters that a terminal would act on instead of showing: all but line feeds and tabs."""


def printable(text: str) -> str:
    r"""Escape the characters that a terminal would act on, so that no message can act on it.

    Example:
        >>> print(printable("red: \x1b[31m"))
        red: \x1b[31m
    """
    return _TERMINAL_CONTROLS.sub(lambda match: _escaped(match[0]), text)


def _escaped(control: str) -> str:
    if control == "\r\n":
        return "\n"
    code = ord(control)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 (two digits)
