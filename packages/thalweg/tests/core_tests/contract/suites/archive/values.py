"""Threads and messages for the tests of an archive."""

from collections.abc import Callable

from thalweg.archive import Archive, Logged, ThreadKey
from thalweg.engine.entries import Media, Message, Opaque, Role, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage

Reopen = Callable[[], Archive]
"""Opens the archive under test again, as another process would."""

KEY = ThreadKey("ada", "t1")
"""The thread of most tests."""

OTHERS = (ThreadKey("ada", "t2"), ThreadKey("bob", "t1"), ThreadKey("ada\0t1", ""))
"""Threads and owners that must not be confused with it."""

ODD = (
    Message("system", (Text("You are helpful.", extra='{"cache_control":{"type":"ephemeral"}}'),)),
    Message("user", (Text("half an emoji \ud83d, a NUL \0, two ends \r\n"), Text("")), name="ada"),
    Message("assistant", (Thinking("hm" * 900, signature="s" * 3_000), Text("𝔘 long " * 400))),
    Message("assistant", (ToolCall("", "write", "{not json" * 500, extra='{"k":1}'),)),
    Message("tool", (), answers="c1", name="write", is_error=True, uid="u", at="2026-01-01"),
    Message("user", (Media("image/png", data="A" * 5_000), Opaque("other", '{"a":"\\ud800"}'))),
    Message("assistant", (), kind="injected", line=7, usage=Usage(9, 8, 7, 6), extra='{"x":[]}'),
)
"""Messages with unusual content, which an archive returns unchanged."""


def said(text: str, role: Role = "user") -> Logged:
    """Log a plain message."""
    return Logged(Message(role, (Text(text),)))
