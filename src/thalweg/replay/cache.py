"""A provider's prefix cache, simulated: what a request reads from it, and what it pays.

The unit is the message: a request finds in the cache the longest run of leading messages that
equals those of the request before it, as long as the cache lives. Prices are those of
`Tariff`, in units of one uncached input token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg.context.pricing import Tariff
from thalweg.context.window import Item


@dataclass(frozen=True, slots=True)
class Charge:
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
class PrefixCache:
    """The cache as one thread sees it: the provider remembers the last request's prefix."""

    tariff: Tariff
    _last: list[Item] = field(default_factory=list)
    _tokens: int = 0
    """Of the last request."""

    def send(self, items: Sequence[Item], *, cold: bool = False) -> Charge:
        """Charge a request, and remember it.

        Args:
            items: The request, in order.
            cold: Whether the cache has expired since the last request.
        """
        same = _common_prefix(self._last, items)
        grown = same == len(self._last)
        found = self._tokens if grown else sum(item.tokens for item in items[:same])
        tokens = found + sum(item.tokens for item in items[same:])
        cached = 0 if cold else self._found(found)
        written = tokens - cached if tokens >= self.tariff.minimum else 0
        plain = tokens - cached - written
        broke = -1 if grown else same
        self._last[same:] = items[same:]
        self._tokens = tokens
        cost = cached * self.tariff.read + written * self.tariff.write + plain
        return Charge(tokens, cached, written, cost, broke)

    def _found(self, prefix: int) -> int:
        prefix -= prefix % self.tariff.block
        return prefix if prefix >= self.tariff.minimum else 0


def _common_prefix(old: Sequence[Item], new: Sequence[Item]) -> int:
    """Count leading items whose messages are equal; the very same object is equal at once."""
    if new[: len(old)] == old:
        return len(old)
    for k, (a, b) in enumerate(zip(old, new, strict=False)):
        if a.message is not b.message and a.message != b.message:
            return k
    return min(len(old), len(new))
