"""The messages of a window, as a request sends them, their references, and the validity gate.

Edits and structured summaries name the tool `recall`. In a request it may have another name, or not
be there at all: then a note states that the content is in the archive.

The gate checks messages as they are sent, for any wire; merges by a wire itself (of consecutive
messages of one role) are not a violation.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from operator import is_

from thalweg.engine.compaction import texts
from thalweg.engine.entries import (
    RECALL,
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
    for part in message.parts:
        if part.text.strip() if isinstance(part, Text) else not isinstance(part, Thinking):
            return False
    return True


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
    return tuple(filterfalse(is_signed_part, parts))


def is_signed(message: Message) -> bool:
    """Return whether a message shows signed reasoning."""
    return message.role == "assistant" and any(map(is_signed_part, message.parts))


def is_signed_part(part: Part) -> bool:
    """Return whether a part is signed reasoning."""
    return isinstance(part, Thinking) and bool(part.signature)


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
    if all(item.message is not CONTINUE_PROMPT for item in items):
        return [*items]
    return [
        item
        for k, item in enumerate(items)
        if item.message is not CONTINUE_PROMPT
        or k + 1 == len(items)
        or items[k + 1].message.role != "assistant"
        or is_signed(items[k + 1].message)
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
    if entry.uses and any(
        use.id != call.id for use, call in zip(entry.uses, message.calls, strict=True)
    ):
        parts = with_ids(message.parts, [use.id for use in entry.uses])
        message = replace(message, parts=parts, origin=None)
    return message


_HANDLE = r"[a-z2-7]{16}(?:#[0-9A-Z-]{1,21})?"
_POINTER = rf'recall\(handle="{_HANDLE}"\)'
_RECALL_NAME = re.compile(
    r'\brecall(?=\((?:handle|query)=\\?")|(?:(?<= older requests: )|(?<=\d older: ))recall(?=\))'
)
"""The name of the tool, wherever it is to be called; quotes in arguments are escaped."""


def _prompt_pattern(name: str, **patterns: str) -> str:
    text = re.escape(prompt(name).text)
    for variable, pattern in patterns.items():
        text = text.replace(re.escape(f"{{{variable}}}"), pattern)
    return text


_NOTES = (
    (re.compile(_prompt_pattern("record_reading", handle=_HANDLE)), prompt("record_kept").text),
    (
        re.compile(_prompt_pattern("older_requests", count=r"(\d+)")),
        prompt("older_kept").text.replace("{count}", r"\1"),
    ),
    (re.compile(rf"(?<=moved to the archive); {_POINTER}|(?<=\d older): recall(?=\))"), ""),
    (re.compile(_POINTER.replace('"', r'\\?"')), prompt("kept").text),
)
"""Texts that a model without the tool cannot follow, and their replacements."""


def text_for_tool(text: str, tool: str) -> str:
    """Return a text whose references name a tool; as notes if it is empty.

    Example:
        >>> shown = '[2 lines moved to the archive; recall(handle="abcdefghijklmnop")]'
        >>> text_for_tool(shown, "look_back")
        '[2 lines moved to the archive; look_back(handle="abcdefghijklmnop")]'
        >>> text_for_tool(shown, "")
        '[2 lines moved to the archive]'
    """
    if tool == RECALL:
        return text
    if tool:
        return _RECALL_NAME.sub(tool, text)
    for pattern, note in _NOTES:
        text = pattern.sub(note, text)
    return text


def message_for_tool(message: Message, tool: str) -> Message:
    """Return a message whose references name a tool; the same object if nothing changes."""
    if tool == RECALL:
        return message
    parts = tuple(_part_for_tool(part, tool) for part in message.parts)
    return message if parts == message.parts else replace(message, parts=parts, origin=None)


def _part_for_tool(part: Part, tool: str) -> Part:
    match part:
        case Text(text=text):
            return replace(part, text=text_for_tool(text, tool))
        case ToolCall(arguments=arguments):
            return replace(part, arguments=text_for_tool(arguments, tool))
        case _:
            return part


MAX_ID_CHARS = 40
"""Longest id of a call that every provider accepts."""


@dataclass(slots=True)
class ValidityGate:
    """Checks a request message by message; the state between calls is that of its prefix.

    Checking a request that extends the previous one takes time in proportion to the new messages:
    keep the gate and feed it only those.
    """

    problems: list[str] = field(default_factory=list)
    _call_ids: set[str] = field(default_factory=set)
    _unanswered: dict[str, None] = field(default_factory=dict)
    _has_started: bool = False
    _last_role: str = ""
    _checked_count: int = 0

    def feed(self, messages: Iterable[Message]) -> None:
        """Check the next messages."""
        for message in messages:
            self._check_message(message)
            self._checked_count += 1
            self._last_role = message.role

    def _check_message(self, message: Message) -> None:
        if is_blank(message):
            self._add_problem("is empty")
        if message.role == "tool":
            self._check_result(message)
            return
        if self._unanswered:
            self._add_problem(f"comes while {len(self._unanswered)} calls have no result")
            self._unanswered.clear()
        if message.role != "system" and not self._has_started:
            self._has_started = True
            if message.role != "user":
                self._add_problem("is the first message and not a user's")
        for call in message.calls:
            self._check_call(message, call)

    def _check_call(self, message: Message, call: ToolCall) -> None:
        if message.role != "assistant":
            self._add_problem("calls a tool and is not the assistant's")
        if not call.id or len(call.id) > MAX_ID_CHARS:
            self._add_problem(f"has a call whose id is {len(call.id)} characters long")
        if call.id in self._call_ids:
            self._add_problem(f"reuses the id {call.id}")
        self._call_ids.add(call.id)
        self._unanswered[call.id] = None

    def _check_result(self, message: Message) -> None:
        if message.answers in self._unanswered:
            del self._unanswered[message.answers]
        else:
            self._add_problem("is a result that no call right before it waits for")

    def _add_problem(self, defect: str) -> None:
        self.problems.append(f"message {self._checked_count + 1} {defect}")

    def verdict(self) -> tuple[str, ...]:
        """Return the defects of the request so far; empty if a provider accepts it."""
        end_problems: list[str] = []
        if self._unanswered:
            end_problems.append(
                f"the request ends while {len(self._unanswered)} calls have no result"
            )
        if self._last_role == "assistant":
            end_problems.append("the request ends with the assistant's message")
        if not self._has_started:
            end_problems.append("the request has no message besides the system prompt")
        return (*self.problems, *end_problems)


def check(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the defects of one whole request.

    Returns:
        One sentence per defect; empty if every provider accepts it.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> check([Message("user", (Text("hi"),))])
        ()
        >>> check([Message("tool", (Text("42"),), answers="c1")])[0]
        'message 1 is a result that no call right before it waits for'
    """
    gate = ValidityGate()
    gate.feed(messages)
    return gate.verdict()
