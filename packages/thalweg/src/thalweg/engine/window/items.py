"""The messages of a window, as a request sends them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_

from thalweg.engine.compaction import texts
from thalweg.engine.entries import (
    Entry,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolUse,
)
from thalweg.engine.prompts import prompt
from thalweg.engine.snapshot import Record
from thalweg.engine.tokens import Counter, measure

NO_RESULT, NO_ANSWER, NO_WORDS, BEGINS = (
    prompt(name).render() for name in ("no_result", "no_answer", "no_words", "begins")
)
CONTINUE_PROMPT = Message("user", (Text(NO_ANSWER),), kind="injected")
"""Follows an answer without calls, if the model is asked for another one."""


@dataclass(frozen=True, slots=True)
class WindowItem:
    """One message of the view."""

    message: Message
    """The message to send: the very object that arrived, unless an edit or an invalid id changes
    it."""
    position: int
    """Position of the message that it shows or precedes; -1 for a structured summary, a note or a
    placeholder."""
    tokens: int
    size_bytes: int = 0
    media: int = 0
    section: str = "history"
    opens: bool = True
    """Whether an exchange begins here, so that a cut before it is safe."""
    media_tokens: int = 0
    """The part of `tokens` that is media, in the provider's tokens."""
    slack: int = 0
    """How much less the provider may charge, if the price of its media is not exact."""


def measured_item(
    message: Message,
    count: Counter,
    model: str = "",
    *,
    position: int = -1,
    section: str = "history",
    opens: bool = True,
) -> WindowItem:
    """Return the item of a message, counted."""
    size = measure(message, count, model)
    counts = size.tokens, size.bytes, size.media
    return WindowItem(message, position, *counts, section, opens, size.media_tokens, size.slack)


def recounted(entry: Entry, count: Counter, model: str) -> Entry:
    """Return an entry with its tokens by another counter, or for another model."""
    size = measure(entry.message, count, model)
    return replace(
        entry,
        tokens=size.tokens,
        thinking=size.thinking,
        media_tokens=size.media_tokens,
        slack=size.slack,
    )


def record_message(record: str) -> Message:
    """Return the message that carries a structured summary."""
    return Message("user", (Text(record),), kind="injected")


@dataclass(slots=True)
class PlannedCompaction:
    """What planning a compaction computes, so that applying it does not compute it again.

    Results depend on the arguments alone, which never change; those of the last call are kept.
    """

    count: Counter
    _record_item: tuple[str, WindowItem] | None = None
    _absorbed: tuple[Record, list[Entry], Record] | None = None

    def item(self, record: str) -> WindowItem:
        """Return the item of a structured summary."""
        if self._record_item is None or self._record_item[0] != record:
            item = measured_item(record_message(record), self.count, section="summary")
            self._record_item = record, item
        return self._record_item[1]

    def absorb(self, record: Record, entries: Sequence[Entry]) -> Record:
        """Return a record with the data of more entries; see `structured_summary.absorb`."""
        if self._absorbed is not None:
            old, known, absorbed = self._absorbed
            if old is record and len(known) == len(entries) and all(map(is_, known, entries)):
                return absorbed
        self._absorbed = record, [*entries], texts.absorb(record, entries)
        return self._absorbed[2]

    def applied(self) -> None:
        """Release the entries of the compaction: it is applied."""
        self._absorbed = None


def is_blank(message: Message) -> bool:
    """Return whether a message has nothing to send.

    Tool results always answer something. Reasoning alone is nothing: Anthropic refuses a
    message that ends with it, OpenAI reasoning without the item it belongs to.
    """
    if message.role == "tool":
        return False
    return not any(
        part.text.strip() if isinstance(part, Text) else not isinstance(part, Thinking)
        for part in message.parts
    )


def placeholder(use: ToolUse) -> Message:
    """Return the result of a call that was never answered."""
    return Message("tool", (Text(NO_RESULT),), answers=use.id, name=use.name, kind="injected")


def as_note(message: Message, use: ToolUse | None) -> Message:
    """Return a note with a result that no preceding call requests, without authority."""
    what = f"a late result of {use.brief}" if use else f"a result of {message.name or 'a tool'}"
    heading = Text(prompt("late_result").render(what=what))
    parts = (
        replace(p, text=texts.fenced(p.text)) if isinstance(p, Text) else p for p in message.parts
    )
    return Message("user", (heading, *parts), kind="injected")


def without_signed(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts without the reasoning that carries a signature."""
    return tuple(p for p in parts if not (isinstance(p, Thinking) and p.signature))


def is_compaction(part: Part) -> bool:
    """Return whether a part replaces everything before it, which the provider has compacted.

    Anthropic's `compaction` block and OpenAI's `compaction` item. A block without content reports
    that the compaction failed; it replaces nothing.

    Example:
        >>> is_compaction(Opaque("anthropic", '{"type": "compaction", "content": "So far: …"}'))
        True
        >>> is_compaction(Opaque("anthropic", '{"type": "compaction", "content": null}'))
        False
    """
    if not isinstance(part, Opaque) or '"compaction"' not in part.json:
        return False
    block = json.loads(part.json)
    is_block = isinstance(block, Mapping) and block.get("type") == "compaction"
    return is_block and bool(block.get("content") or block.get("encrypted_content"))


def has_compaction(message: Message) -> bool:
    """Return whether the provider has compacted what precedes an answer."""
    return message.role == "assistant" and any(map(is_compaction, message.parts))


def without_compactions(message: Message) -> Message:
    """Return an answer without the parts with which the provider has compacted."""
    rest = tuple(part for part in message.parts if not is_compaction(part))
    return replace(message, parts=rest, origin=None)


def with_ids(parts: Sequence[Part], ids: Sequence[str]) -> tuple[Part, ...]:
    """Return parts whose tool calls have these ids, in order."""
    unused_ids = iter(ids)
    return tuple(
        replace(part, id=next(unused_ids)) if isinstance(part, ToolCall) else part for part in parts
    )


def without_prompts(items: Sequence[WindowItem]) -> Sequence[WindowItem]:
    """Return items without the prompts between two answers.

    The prompt at the end remains: Claude refuses a request that ends with an answer. So does one
    before signed reasoning, which is bound to the request that ended with it.
    """
    return [
        item
        for k, item in enumerate(items)
        if item.message is not CONTINUE_PROMPT
        or k + 1 == len(items)
        or items[k + 1].message.role != "assistant"
        or any(isinstance(p, Thinking) and p.signature for p in items[k + 1].message.parts)
    ]


def sendable_message(message: Message, entry: Entry, *, is_result: bool) -> Message:
    """Return a message as it is sent: not empty, and with the ids of its entry.

    Args:
        message: The message, or the one that an edit shows in its place.
        entry: Its entry.
        is_result: Whether it directly follows the call that it answers; else it becomes a note.
    """
    if is_blank(message):
        thinking = tuple(p for p in message.parts if isinstance(p, Thinking))
        message = replace(message, parts=(*thinking, Text(NO_WORDS)), origin=None)
    if message.role == "tool":
        use = entry.answers
        if not is_result or use is None:
            return as_note(message, use)
        has_same_id = message.answers == use.id
        return message if has_same_id else replace(message, answers=use.id, origin=None)
    if any(use.id != call.id for use, call in zip(entry.uses, message.calls, strict=True)):
        parts = with_ids(message.parts, [use.id for use in entry.uses])
        message = replace(message, parts=parts, origin=None)
    return message
