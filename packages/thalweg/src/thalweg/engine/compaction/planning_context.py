"""The planning context: the inputs of a decision."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from thalweg.engine.entries import Entry, Message
from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import measure
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import is_blank
from thalweg.engine.window.window import Window

_BYTES_PER_TOKEN, _FRAME_BYTES = 4, 60
"""Bytes of a token of a tool's schema, and of the JSON around one message."""
_TOKENS_PER_ESCAPE = 4
"""Tokens of text with one character that JSON escapes: source code has the most."""
NameSpan = Callable[[int, int], str]
"""Returns the reference to the messages from one position to another, both included. They must
be stored durably when it returns."""


@dataclass(frozen=True)
class PlanningContext:
    """A window before a model call, with functions to plan edits of it."""

    window: Window
    budget: Budget
    name_span: NameSpan
    turn: int
    """The model call that is being prepared, from 1."""
    binds: bool = False
    """Whether the model binds signed reasoning to its prefix."""
    read_back: Callable[[int], Message] | None = None
    """Returns a compacted message by its position; `None` if no message can be shown again."""

    @property
    def newest(self) -> int:
        """Position of the newest message."""
        return next(reversed(self.window.entries), self.window.record.last)

    @cached_property
    def fixed(self) -> int:
        """Tokens that no edit can free: the system prompt, and the overhead of the request."""
        overhead, ledger = self.window.overhead, self.window.ledger.tokens
        return sum(overhead.values()) + ledger["system"] - overhead.get("system", 0)

    @property
    def thread_tokens(self) -> int:
        """Tokens of the request that are not fixed, the structured summary included."""
        return self.window.tokens - self.fixed

    @property
    def tokens_to_fit(self) -> int:
        """Tokens of the request that have to fit; see `Budget.tokens_to_fit`."""
        return self.budget.tokens_to_fit(self.window.ledger)

    @property
    def body_bytes(self) -> int:
        """Bytes of the request's body: estimated for tools, frames and what JSON escapes."""
        window = self.window
        overhead = sum(window.overhead.values()) * _BYTES_PER_TOKEN
        escaped = window.tokens // _TOKENS_PER_ESCAPE
        return window.ledger.bytes + overhead + len(window.items) * _FRAME_BYTES + escaped

    @property
    def latest_request(self) -> Entry | None:
        """The last message of a person, if it is live and not empty."""
        requests = (e for e in reversed(self.window.entries.values()) if e.is_request)
        return next((e for e in requests if not is_blank(e.message)), None)

    def pointer(self, position: int) -> str:
        """Return the instruction for the model to read one message in full."""
        return prompt("pointer").render(handle=self.name_span(position, position))

    def shown(self, entry: Entry) -> Message:
        """Return a message after all rewrites so far; stripped reasoning is included."""
        edit = self.window.rewrites.get(entry.position)
        return replace(entry.message, parts=edit.parts, origin=None) if edit else entry.message

    def shown_tokens(self, entry: Entry) -> int:
        """Return the tokens of a message after all edits so far."""
        edit = self.window.rewrites.get(entry.position)
        stripped = entry.thinking if entry.position in self.window.stripped else 0
        return (edit.tokens_after if edit else entry.tokens) - stripped

    def shown_media_tokens(self, entry: Entry) -> int:
        """Return the tokens of a message's media after all edits so far."""
        if not entry.media or entry.position not in self.window.rewrites:
            return entry.media_tokens
        shown = self.shown(entry)
        return measure(shown, self.window.count, self.window.model).media_tokens

    def tokens(self, message: Message) -> int:
        """Return the tokens of a message."""
        return measure(message, self.window.count, self.window.model).tokens
