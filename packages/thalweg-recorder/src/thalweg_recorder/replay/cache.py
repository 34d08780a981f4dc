"""A simulated prefix cache of a provider: the tokens that a request reads from it, and its cost.

There are two kinds. One matches the longest prefix automatically, in whole blocks of tokens
(OpenAI, Gemini, DeepSeek). The other stores prefixes up to a request's breakpoints, and matches
them at the breakpoints of later requests and the few positions before each (Anthropic). Both expire
entries that were not read for a lifetime, and ignore prefixes that are too short. All sent prefixes
are stored, not only the last request's: after a rewind, an old one still matches.

The unit is the message. Tools, and a system prompt outside of the messages, precede all of them and
are one more unit. Prices are those of `Tariff.prices`, in units of one uncached input token; a
request that is large enough for a dearer tier pays that for all its tokens.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise, takewhile
from typing import Self

from thalweg.engine.entries import Message, ToolCall
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.breakpoints import BreakpointLayout, plan_marks
from thalweg.engine.window.items import WindowItem


@dataclass(frozen=True, slots=True)
class RequestCharge:
    """What one request cost."""

    tokens: int
    """All input tokens."""
    cached: int
    """Read from the cache."""
    written: int
    """Written to the cache."""
    cost: float
    """In units of one uncached input token."""
    broke_at: int
    """Index of the first message that differs from the last request; -1 when none does."""


@dataclass(slots=True)
class _Prefixes:
    """The prefixes of one request, by their number of messages: 0 is the overhead before them."""

    keys: list[int]
    """Equal for equal beginnings."""
    tokens: list[int]
    blocks: list[int]
    """Content blocks."""
    positions: list[int]
    """Positions that a look-back counts: calls in a row are one, and so are results."""

    @classmethod
    def before(cls, overhead: int) -> Self:
        """Begin with the overhead before the messages, identified by its number of tokens."""
        stands = int(overhead > 0)
        return cls([hash((overhead,))], [overhead], [stands], [stands])

    def cut(self, messages: int) -> Self:
        """Keep the beginnings of at most so many messages."""
        end = messages + 1
        lists = (self.keys, self.tokens, self.blocks, self.positions)
        return type(self)(*(values[:end] for values in lists))

    def add(self, item: WindowItem, role_before: str) -> None:
        """Go on with one message."""
        message = item.message
        blocks, positions = _size(message)
        if message.role == role_before == "tool":
            positions = 0
        self.keys.append(hash((self.keys[-1], _sent(message))))
        self.tokens.append(self.tokens[-1] + item.tokens)
        self.blocks.append(self.blocks[-1] + blocks)
        self.positions.append(self.positions[-1] + positions)


@dataclass(slots=True)
class PrefixCache:
    """The cache as one thread sees it."""

    tariff: Tariff
    _last: list[WindowItem] = field(default_factory=list, repr=False)
    _path: _Prefixes = field(default_factory=lambda: _Prefixes.before(0), repr=False)
    """Of the last request."""
    _until: dict[int, float] = field(default_factory=dict, repr=False)
    """When the cache forgets a prefix, by its key."""
    _now: float = 0.0
    _used: float = 0.0
    """The time at which the entries read or written by the last request were last in use."""

    def send(
        self,
        items: Sequence[WindowItem],
        *,
        cold: bool = False,
        at: datetime | None = None,
        answered: datetime | None = None,
        overhead: int = 0,
        marks: Iterable[int] | None = None,
    ) -> RequestCharge:
        """Return the charge of a request, and store its prefixes.

        Args:
            items: The request, in order.
            cold: Whether the cache has expired since the last request.
            at: When it is sent; by default no time has passed since the last request.
            answered: When its answer came; lifetimes count from then (recorded requests found
                entries that had been written or read up to five minutes before by answers, not by
                requests), from `at` by default.
            overhead: Overhead tokens before the messages. Another number means other tools, which
                invalidate the prefix.
            marks: How many leading messages each breakpoint caches, if the provider uses
                breakpoints (0: the overhead before them); by default `plan_marks` picks them. Of
                too many the shortest are dropped.
        """
        if at is not None:
            self._now = max(self._now, at.timestamp())
        self._used = max(self._now, answered.timestamp()) if answered else self._now
        if cold:
            self._until = {}
        same = _common_prefix(self._last, items)
        broke = -1 if same == len(self._last) else same
        self._path = path = self._prefixes(items, same, overhead)
        self._last[same:] = items[same:]
        if self.tariff.breakpoints is None:
            cached, kept = self._found_alone(path), path.tokens[-1]
        else:
            marked = self._marked(items, path, marks, same)
            cached = self._found_at(marked, path)
            kept = path.tokens[marked[-1]] if marked else 0
        tokens = path.tokens[-1]
        written = kept - cached if kept >= self.tariff.minimum else 0
        cost = self.tariff.charge(cached, written, tokens - cached - written)
        return RequestCharge(tokens, cached, written, cost, broke)

    def _prefixes(self, items: Sequence[WindowItem], same: int, overhead: int) -> _Prefixes:
        """Return the prefixes of a request; those of the last request are reused."""
        known = self._path.tokens[0] == overhead
        path = self._path.cut(same) if known else _Prefixes.before(overhead)
        start = same if known else 0
        role = items[start - 1].message.role if start else ""
        for item in items[start:]:
            path.add(item, role)
            role = item.message.role
        return path

    def _is_there(self, key: int) -> bool:
        return self._until.get(key, -1.0) >= self._now

    def _keep(self, keys: Iterable[int]) -> None:
        until = self._used + (self.tariff.lifetime_s or math.inf)
        self._until.update(dict.fromkeys(keys, until))

    def _found_alone(self, path: _Prefixes) -> int:
        """Read the longest prefix that is there, and keep all prefixes."""
        there = list(takewhile(self._is_there, path.keys))
        found = path.tokens[len(there) - 1] if there else 0
        self._keep(path.keys)
        found -= found % self.tariff.block
        return found if found >= self.tariff.minimum else 0

    def _marked(
        self, items: Sequence[WindowItem], path: _Prefixes, marks: Iterable[int] | None, same: int
    ) -> list[int]:
        """List the prefixes that are marked and long enough."""
        most = self.tariff.breakpoints or 0
        if marks is None:
            first = 0 if path.tokens[0] else 1
            record = [k for k, item in enumerate(items, 1) if item.section == "summary"]
            layout = BreakpointLayout(
                path.blocks[first:],
                stable=path.blocks[_leading_systems(items)],
                record=path.blocks[record[0]] if record else 0,
                sent=path.blocks[same],
            )
            lookback = self.tariff.lookback or math.inf
            planned = plan_marks(layout, max_marks=most, lookback=lookback)
            marks = [first + bisect_left(layout.places, place) for place in planned]
        candidates = sorted(set(marks))[-most:]
        return [k for k in candidates if path.tokens[k] >= self.tariff.minimum]

    def _found_at(self, marked: Sequence[int], path: _Prefixes) -> int:
        """Read the longest prefix that is there and near enough to a mark; keep the marked ones."""
        near = (k for mark in reversed(marked) for k in self._near(mark, path))
        found = next((k for k in near if self._is_there(path.keys[k])), None)
        self._keep(path.keys[k] for k in (marked if found is None else (found, *marked)))
        return 0 if found is None else path.tokens[found]

    def _near(self, mark: int, path: _Prefixes) -> Iterator[int]:
        """Yield the prefixes that a mark looks at, the longest first."""
        least = path.positions[mark] - (self.tariff.lookback or math.inf)
        return takewhile(lambda k: path.positions[k] > least, range(mark, -1, -1))


def _leading_systems(items: Sequence[WindowItem]) -> int:
    return next((k for k, item in enumerate(items) if item.message.role != "system"), len(items))


def _size(message: Message) -> tuple[int, int]:
    """Count the content blocks of a message, and the positions that they are to a look-back."""
    if message.role == "tool":
        return 1, 1
    calls = [isinstance(part, ToolCall) for part in message.parts]
    runs = sum(before and after for before, after in pairwise(calls))
    return max(1, len(calls)), max(1, len(calls) - runs)


def _sent(message: Message) -> tuple[object, ...]:
    """Return the part of a message that a provider receives: its content, not its id or time."""
    return message.role, message.parts, message.answers, message.name, message.is_error


def _common_prefix(old: Sequence[WindowItem], new: Sequence[WindowItem]) -> int:
    """Count leading items whose messages are sent alike; the very same object is at once."""
    if new[: len(old)] == old:
        return len(old)
    for k, (a, b) in enumerate(zip(old, new, strict=False)):
        if a.message is not b.message and _sent(a.message) != _sent(b.message):
            return k
    return min(len(old), len(new))
