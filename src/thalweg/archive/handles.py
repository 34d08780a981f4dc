"""Handles: names of spans that nobody can guess and that open nothing elsewhere."""

import hmac
import re
from base64 import b32encode

from thalweg.archive.base import Handle, Span, ThreadKey
from thalweg.errors import HandleError

_LENGTH = 16
_SHAPE = re.compile(r"([a-z2-7]{16})(?:#(0|[1-9][0-9]{0,8})(?:-(0|[1-9][0-9]{0,8}))?)?")


def make_handle(secret: bytes, key: ThreadKey, span: Span) -> Handle:
    """Name a span of a thread: the same name for the same secret, always.

    Example:
        >>> make_handle(b"secret", ThreadKey("ada", "t1"), Span(0, 3))
        'cgpcctafethaz4kb'
    """
    named = "\0".join((key.owner, key.thread, str(span.first), str(span.last)))
    digest = hmac.digest(secret, named.encode("utf-8", "surrogatepass"), "sha256")
    return Handle(b32encode(digest)[:_LENGTH].decode().lower())


def parse_handle(text: str) -> tuple[Handle, Span | None]:
    """Take `HANDLE`, `HANDLE#position` or `HANDLE#first-last` apart.

    Raises:
        HandleError: The text has not the shape of a handle.

    Example:
        >>> parse_handle("abcdefghijklmnop#12")
        ('abcdefghijklmnop', Span(first=12, last=12))
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise HandleError(text)
    handle, first, last = match.groups()
    if first is None:
        return Handle(handle), None
    return Handle(handle), Span(int(first), int(first if last is None else last))


def is_handle(text: str) -> bool:
    """Tell whether a text has the shape of a handle.

    Example:
        >>> is_handle("abcdefghijklmnop#12"), is_handle("the budget")
        (True, False)
    """
    return _SHAPE.fullmatch(text) is not None
