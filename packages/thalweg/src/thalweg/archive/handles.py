"""References to spans (`handles`): unguessable names, valid only in one thread."""

import hmac
import re
from base64 import b32encode

from thalweg.archive.base import Handle, Span, ThreadKey
from thalweg.errors import HandleError

_HANDLE_CHARS = 16
_HANDLE_PATTERN = re.compile(r"([a-z2-7]{16})(?:#(0|[1-9][0-9]{0,8})(?:-(0|[1-9][0-9]{0,8}))?)?")


def make_handle(secret: bytes, key: ThreadKey, span: Span) -> Handle:
    """Return the reference to a span of a thread: always the same for the same secret.

    Example:
        >>> make_handle(b"secret", ThreadKey("ada", "t1"), Span(0, 3))
        'cgpcctafethaz4kb'
    """
    span_name = "\0".join((key.owner, key.thread, str(span.first), str(span.last)))
    digest = hmac.digest(secret, span_name.encode("utf-8", "surrogatepass"), "sha256")
    return Handle(b32encode(digest)[:_HANDLE_CHARS].decode().lower())


def parse_handle(text: str) -> tuple[Handle, Span | None]:
    """Parse `HANDLE`, `HANDLE#position` or `HANDLE#first-last`.

    Raises:
        HandleError: The text does not have the form of a reference.

    Example:
        >>> parse_handle("abcdefghijklmnop#12")
        ('abcdefghijklmnop', Span(first=12, last=12))
    """
    match = _HANDLE_PATTERN.fullmatch(text)
    if match is None:
        raise HandleError(text)
    handle, first, last = match.groups()
    if first is None:
        return Handle(handle), None
    return Handle(handle), Span(int(first), int(first if last is None else last))


def is_handle(text: str) -> bool:
    """Return whether a text has the form of a reference.

    Example:
        >>> is_handle("abcdefghijklmnop#12"), is_handle("the budget")
        (True, False)
    """
    return _HANDLE_PATTERN.fullmatch(text) is not None
