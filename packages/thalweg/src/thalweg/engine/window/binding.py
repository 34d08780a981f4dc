"""Preserved thinking: which signed reasoning a request may still carry.

Claude's newest models bind each block of signed reasoning to everything that was sent before it
(system prompt, tools, messages) and to the chain of earlier blocks. A block whose prefix changed is
refused with status 400. A change invalidates the reasoning after it that was produced before it;
reasoning in front of the change, and reasoning produced after it, remains valid. A compaction by
the provider is no change: what precedes its block is not part of the prefix any more.

So each answer keeps a `ReasoningBinding`: digests of its request. A request shows a block only
while its bond holds; a `Strip` removes the others from the view.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Self

from thalweg.engine.edits import Strip
from thalweg.engine.entries import Entry, Media, Message, Opaque, Text, Thinking, ToolCall
from thalweg.engine.window.items import (
    WindowItem,
    has_compaction,
    is_compaction,
    is_signed,
    is_signed_part,
)
from thalweg.engine.window.window import Window

SOURCE = "platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
DATED = "2026-11-23"
BINDING_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)
"""Models with preserved thinking, from `SOURCE`, as read on `DATED`. Some of them drop an invalid
block without an error: to the model it is lost in either case."""
BINDING_REFUSAL = re.compile(r"bound to a different conversation", re.IGNORECASE)
"""Matches the error about reasoning in another position than it was produced in."""


@lru_cache(maxsize=64)
def binds_thinking(model: str) -> bool:
    """Return whether a model binds reasoning; `model` may include a provider.

    Example:
        >>> binds_thinking("bedrock:us.anthropic.claude-opus-5-5-v1:0")
        True
        >>> binds_thinking("anthropic:claude-opus-5")
        False
    """
    normalized_name = re.sub(r"[._]", "-", model.lower())
    return any(
        re.search(rf"{name}(?!-?\d{{1,2}}(?!\d))", normalized_name) for name in BINDING_MODELS
    )


def is_binding_refusal(message: str) -> bool:
    """Return whether a provider's error is about reasoning bound to another conversation.

    Example:
        >>> is_binding_refusal(
        ...     "messages.1.content.0: Invalid `signature` in `thinking` block. The block is "
        ...     "bound to a different conversation."
        ... )
        True
    """
    return BINDING_REFUSAL.search(message) is not None


@dataclass(frozen=True, slots=True)
class ReasoningBinding:
    """The content that an answer's reasoning is bound to."""

    prefix: str
    """Digest of system prompt, tools and messages of the request, without reasoning."""
    previous: str
    """The last signed reasoning in the request, as `reasoning_digest` names it; empty if none."""

    def __str__(self) -> str:
        return f"{self.prefix}:{self.previous}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse the output of `str`; return `None` if it has another form."""
        prefix, colon, previous = text.partition(":")
        return cls(prefix, previous) if prefix and colon else None


@dataclass(slots=True)
class Prefixes:
    """Digests of the prefix of each item of a window; each item is hashed once per layout."""

    base: str = ""
    """Represents system prompt and tools."""
    _digests: list[bytes] = field(default_factory=list)
    _epoch: int = -1

    def rebase(self, base: str) -> None:
        """Set the value that represents system prompt and tools."""
        if base != self.base:
            self.base, self._digests = base, []

    def before(self, window: Window, index: int, added_messages: Sequence[Message] = ()) -> str:
        """Return the digest of all that is sent before `items[index]`, then `added_messages`."""
        if window.epoch != self._epoch:
            self._digests, self._epoch = [], window.epoch
        del self._digests[window.sent + 1 :]  # items not sent yet may still change
        base_digest = _digest(self.base.encode("utf-8", "surrogatepass"))
        if not self._digests:
            self._digests.append(base_digest)
        for item in window.items[len(self._digests) - 1 : index]:
            previous_digest = base_digest if has_compaction(item.message) else self._digests[-1]
            self._digests.append(_digest(previous_digest + _compared_bytes(item.message)))
        digest = self._digests[index]
        for message in added_messages:
            digest = _digest(digest + _compared_bytes(message))
        return digest.hex()


def bond_before(
    window: Window, prefixes: Prefixes, index: int, added_messages: Sequence[Message] = ()
) -> ReasoningBinding:
    """Return the bond of an answer to the request `items[:index]`.

    Args:
        window: The window that was sent.
        prefixes: Its digests.
        index: How many of its items were sent.
        added_messages: Messages sent after them that are not in the window: the bond holds only if
            they are received before the answer.
    """
    shown = [*(item.message for item in window.items[:index]), *added_messages]
    return ReasoningBinding(
        prefixes.before(window, index, added_messages), _last_reasoning_digest(shown)
    )


def reasoning_digest(message: Message) -> str:
    """Return a digest that identifies the signed reasoning of a message."""
    signed = [p.signature for p in message.parts if isinstance(p, Thinking) and p.signature]
    return _digest("\n".join(signed).encode("utf-8", "surrogatepass")).hex()[:16]


def unbound_positions(
    window: Window, prefixes: Prefixes, bonds: Mapping[int, ReasoningBinding], first: int = 0
) -> list[int]:
    """Return positions whose reasoning is not in its original place, oldest first.

    Args:
        window: The window to send.
        prefixes: Its digests.
        bonds: By position. Reasoning without a bond comes from elsewhere; it counts as bound to
            its current prefix as long as no edit precedes it.
        first: Index of the first item to check.
    """
    positions: list[int] = []
    previous_digest = _last_reasoning_digest([item.message for item in window.items[:first]])
    for k in range(first, len(window.items)):
        item = window.items[k]
        if not is_signed(item.message):
            continue
        bond = bonds.get(item.position)
        if _follows_compaction(item.message):
            is_valid = True  # its prefix is in the message itself
        elif bond is None:
            is_valid = window.fold is None and all(p >= item.position for p in window.rewrites)
        else:
            is_valid = bond.prefix == prefixes.before(window, k)
            is_valid = is_valid and previous_digest in ("", bond.previous)
        if is_valid and _is_unchanged(window.entries[item.position], item):
            previous_digest = reasoning_digest(item.message)
        else:
            positions.append(item.position)
    return positions


def plan_strip(window: Window, positions: Sequence[int], turn: int) -> Strip:
    """Plan to remove the signed reasoning of messages, by position."""
    tokens = sum(window.entries[position].thinking for position in positions)
    return Strip(
        reason="reasoning bound to another prefix",
        turn=turn,
        tokens_before=tokens,
        tokens_after=0,
        positions=tuple(positions),
    )


def _last_reasoning_digest(messages: Sequence[Message]) -> str:
    last = next((message for message in reversed(messages) if is_signed(message)), None)
    return reasoning_digest(last) if last else ""


def _is_unchanged(entry: Entry, item: WindowItem) -> bool:
    """Return whether nothing in the message itself changed before its reasoning."""
    shown, original = item.message.parts, entry.message.parts
    last = max(k for k, part in enumerate(shown) if is_signed_part(part))
    return shown[: last + 1] == original[: last + 1]


def _follows_compaction(message: Message) -> bool:
    """Return whether all signed reasoning of an answer follows a compaction in it."""
    first = next(k for k, part in enumerate(message.parts) if is_signed_part(part))
    return any(map(is_compaction, message.parts[:first]))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=12).digest()


def _compared_bytes(message: Message) -> bytes:
    """Return the bytes that a provider compares: without reasoning, cache marks and metadata."""
    fields = [message.role, message.answers, message.name, str(message.is_error)]
    for part in message.parts:
        match part:
            case Text(text):
                fields += "text", text
            case ToolCall():
                fields += "call", part.id, part.name, part.arguments
            case Media():
                fields += "media", part.mime, part.data, part.url
            case Opaque():
                fields += "opaque", part.json
            case Thinking():
                pass
    return "\0".join(fields).encode("utf-8", "surrogatepass")
