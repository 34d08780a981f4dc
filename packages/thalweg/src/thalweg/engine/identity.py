"""Identity of messages: by id and content, as a caller or a checkpointer returns them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import compress, count
from operator import is_not
from typing import Any

from thalweg.engine.entries import Message, Part


def stored_text(text: str) -> str:
    r"""Return a text as it is read back from UTF-8: each lone surrogate is a question mark.

    LangGraph's serializer writes it so (`OPT_REPLACE_SURROGATES` in `JsonPlusSerializer`, read
    2026-11-28), and `str.encode("utf-8", "replace")` does.

    Example:
        >>> stored_text("caf\udce9")
        'caf?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def stored_form(message: Message) -> Message:
    """Return a message with all its texts as they are read back from UTF-8; see `stored_text`."""
    return _with_texts(message, stored_text)


def is_same(first: Message, second: Message) -> bool:
    """Return whether two messages are one: the same id, and the same content.

    The same id with other content is an edit. Texts are compared as they are read back from UTF-8,
    so a checkpointer that cannot store half of a character edits nothing. Two halves in a row
    are a character in the log and two question marks in a checkpoint; those count as the same, too.
    """
    if first is second:
        return True
    if first.uid != second.uid and stored_text(first.uid) != stored_text(second.uid):
        return False
    if _content(first) == _content(second):
        return True
    comparable_contents = (
        _content(_with_texts(message, _comparable)) for message in (first, second)
    )
    return next(comparable_contents) == next(comparable_contents)


def _with_texts(message: Message, change: Callable[[str], str]) -> Message:
    """Return a message with each of its texts changed."""
    return replace(
        message,
        parts=tuple(_part_with_texts(part, change) for part in message.parts),
        answers=change(message.answers),
        name=change(message.name),
        uid=change(message.uid),
        extra=change(message.extra),
    )


def _part_with_texts(part: Part, change: Callable[[str], str]) -> Part:
    texts: dict[str, Any] = {f.name: change(getattr(part, f.name)) for f in fields(part)}
    return replace(part, **texts)


_ASTRAL_CHARACTER = re.compile("[\U00010000-\U0010ffff]")
"""A character of two halves in UTF-16."""


def _comparable(text: str) -> str:
    return text if text.isascii() else stored_text(_ASTRAL_CHARACTER.sub("??", text))


def _content(message: Message) -> tuple[str, str, tuple[Part, ...]]:
    return message.role, message.answers, message.parts


def common_prefix_length(stored: Sequence[Message], messages: Sequence[Message]) -> int:
    """Count the leading messages that both have in common."""
    compared_count = min(len(stored), len(messages))
    differing = compress(count(), map(is_not, stored, messages))  # most are the same objects
    return next((k for k in differing if not is_same(stored[k], messages[k])), compared_count)
