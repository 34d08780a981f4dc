"""The memory shown before each message, as stored in an agent's state: ids, never a text.

The text before a message does not change as long as the message is sent. So a later run adds only
new items, and the requests keep the prefix that the provider has in its cache. If a context has no
space for more, all of it may be removed to start again; that rewrites the request, and so a meter
allows it rarely.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from thalweg_memory.facts.values import FactId, SectionName

Key = FactId | int | SectionName
"""A fact, a piece of a turn by its number, or a section of the profile."""
IN_PROMPT = ""
"""The place of the system prompt, instead of a message's id."""
MESSAGE_SHARE, LEAST = 1 / 2, 1 / 8
"""Maximum share of the remaining budget for one message, and the share always allowed.

The latter is of the whole budget. So a later question on another subject has space, too.
"""
IN_THREAD = 2
"""Times `max_injection_tokens` that all messages of a thread show at most: a first run gets
`max_injection_tokens`, which is `MESSAGE_SHARE` of it, and later ones a share of the rest."""
ALLOWED = 0.01
"""Tokens that may be rewritten for memory's sake, of all that are sent."""
COLD_S = 3_600
"""After so many seconds without a request no provider has its beginning any more."""


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """What precedes one message."""

    uid: str
    """Of the message."""
    at: int = 0
    """The newest operation of the memory at that time: later facts are not shown."""
    facts: tuple[FactId, ...] = ()
    pieces: tuple[int, ...] = ()
    """Pieces of turns, by their numbers in the store."""
    sections: tuple[SectionName, ...] = ()
    tokens: int = 0
    """Of the whole message, its frame included."""

    @property
    def keys(self) -> set[Key]:
        """All that is in it."""
        return {*self.facts, *self.pieces, *self.sections}


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """Something that was recalled."""

    key: Key
    tokens: int
    """Of its line."""


@dataclass(frozen=True, slots=True)
class MemoryRewrites:
    """The tokens that a thread sent, and those that were rewritten for memory's sake."""

    sent: int = 0
    lost: int = 0
    size: int = 0
    """Of the last request."""
    at: float = 0.0
    """When it was sent, in seconds since 1970."""

    def after(self, size: int, at: float) -> "MemoryRewrites":
        """Count a request."""
        return MemoryRewrites(self.sent + size, self.lost, size, at)

    def allows(self, most: int, now: float) -> bool:
        """Return whether the next request may have another prefix than the last.

        Args:
            most: Tokens of memory in one context: as many may be rewritten in a young thread.
            now: As `at`.
        """
        return self.is_cold(now) or self.lost + self.size <= most + ALLOWED * self.sent

    def is_cold(self, now: float) -> bool:
        """Return whether a cache miss on the prefix of the last request is expected anyway."""
        return now - self.at > COLD_S

    def rewritten(self, now: float) -> "MemoryRewrites":
        """Charge a request that begins otherwise than the last."""
        return self if self.is_cold(now) else replace(self, lost=self.lost + self.size)


@dataclass(frozen=True, slots=True)
class Decision:
    """The memory to show before the newest message."""

    chosen: tuple[Key, ...] = ()
    """In the order of recall; empty if nothing new is worth showing."""
    room: int = 0
    """Tokens it may take, its frame included."""
    restarts: bool = False
    """Whether all items shown before are removed."""


def choose_items(
    items: Sequence[RecalledItem],
    live: Sequence[ShownMemory],
    *,
    most: int,
    frame: int,
    may_restart: bool,
) -> Decision:
    """Decide which recalled items are shown.

    Args:
        items: The recalled items, the most important first.
        live: Items before messages that are still sent, oldest first.
        most: Tokens of memory that the thread may show.
        frame: Tokens of the markup around the lines of one message.
        may_restart: Whether items shown before may be removed.

    Example:
        >>> live = [ShownMemory("m1", facts=(FactId("a"),), tokens=60)]
        >>> items = [RecalledItem(FactId("a"), 20), RecalledItem(FactId("b"), 20)]
        >>> choose_items(items, live, most=200, frame=30, may_restart=False).chosen
        ('b',)
    """
    left = most - sum(shown.tokens for shown in live)
    room = _share(left, most)
    core = _within(items, _share(most, most) - frame)
    news = _unseen(core, live)
    fitting = _within(news, room - frame)
    if len(fitting) < len(news) and live and may_restart:
        return Decision(tuple(one.key for one in core), _share(most, most), restarts=True)
    return Decision(tuple(one.key for one in fitting), room)


def _share(left: int, most: int) -> int:
    return min(left, max(int(left * MESSAGE_SHARE), int(most * LEAST)))


def _unseen(items: Iterable[RecalledItem], live: Iterable[ShownMemory]) -> list[RecalledItem]:
    seen = set[Key]().union(*(shown.keys for shown in live))
    return [one for one in items if one.key not in seen]


def _within(items: Iterable[RecalledItem], room: int) -> list[RecalledItem]:
    """Return the items that fit, and skip those that do not."""
    fitting: list[RecalledItem] = []
    for one in items:
        if one.tokens <= room:
            room -= one.tokens
            fitting.append(one)
    return fitting


def to_plain(shown: Iterable[ShownMemory]) -> list[dict[str, Any]]:
    """Write them for a state, as values that any checkpointer keeps."""
    return [
        {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(one).items() if v}
        for one in shown
    ]


def from_plain(plain: object) -> list[ShownMemory]:
    """Read the output of `to_plain`; an empty list if a state has none."""
    return [_read(one) for one in plain] if isinstance(plain, list) else []


def _read(plain: dict[str, Any]) -> ShownMemory:
    return ShownMemory(
        uid=plain.get("uid", IN_PROMPT),
        at=plain.get("at", 0),
        facts=tuple(plain.get("facts", ())),
        pieces=tuple(plain.get("pieces", ())),
        sections=tuple(plain.get("sections", ())),
        tokens=plain.get("tokens", 0),
    )
