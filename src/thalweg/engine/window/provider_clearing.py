"""Old tool results that the provider clears from a request before the model sees it.

Anthropic's context editing clears the oldest results of a request, except for the newest few. The
client sends its whole history, unchanged: so reasoning that is bound to it stays valid, which no
edit by the client does. The provider stores nothing between requests, so a request has to say how
many newest results remain. Here that number is held until a further clear has paid for itself:
otherwise each call would clear one more result, and rewrite the cached prefix from there.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from math import sqrt

from thalweg.engine.entries import Entry
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.window import Window

PLACEHOLDER_TOKENS = 16
"""Tokens, about, of what the provider shows instead of a result."""
LATEST = 0.7
"""Share of the limit at which results are cleared even if that has not paid for itself."""
NEWEST = 3
"""Newest results that are never cleared: the provider's own default."""


@dataclass(slots=True)
class ProviderClearing:
    """The results of one thread that the provider clears; they stay in the window, and are sent.

    They count as placeholders, so every other decision is made about what the model is shown.
    """

    cleared: frozenset[int] = frozenset()
    """Positions of the results."""
    _whole: dict[int, Entry] = field(default_factory=dict)
    """Their entries as they were counted."""

    def resume(self, window: Window, uses: int) -> None:
        """Take over what the provider reported of the last request.

        Args:
            window: The window as it was sent, and what came since.
            uses: How many of the oldest tool uses it cleared.
        """
        self._count(window, _answered(window)[:uses])

    def plan(self, window: Window, tariff: Tariff, limit: int, *, is_cold: bool) -> None:
        """Choose what the next request has cleared: more, where that has paid for itself.

        At once where a cache miss is expected anyway, and at the latest at a share of the limit.
        With results of `g` tokens a call and `S` tokens that are written again, re-reading has cost
        as much as the clear once the clearable tokens reach `sqrt(2 * S * g * (w - r) / r)`.
        """
        results = _answered(window)
        old = [p for p in results[:-NEWEST] if p not in self.cleared]
        clearable = sum(max(0, window.entries[p].tokens - PLACEHOLDER_TOKENS) for p in old)
        if not clearable:
            return
        prices = tariff.prices(window.tokens)
        again = sum(item.tokens for item in window.items if item.position >= old[0]) - clearable
        a_call = clearable / len(old)
        ratio = max(0.0, prices.write - prices.read) / max(prices.read, 1e-9)
        due = clearable >= sqrt(2 * max(again, 0) * a_call * ratio)
        if due or is_cold or window.tokens >= LATEST * limit:
            self._count(window, results[:-NEWEST])

    def kept(self, window: Window) -> int | None:
        """Return how many newest tool uses the request keeps; `None` where it clears nothing."""
        results = _answered(window)
        cleared = sum(position in self.cleared for position in results)
        return len(list(_uses(window))) - cleared if cleared else None

    def _count(self, window: Window, positions: Collection[int]) -> None:
        """Count these results as placeholders, and all others as they are."""
        self.cleared = frozenset(positions)
        live = window.entries
        new = {p: live[p] for p in self.cleared if live[p].tokens > PLACEHOLDER_TOKENS}
        back = {p: e for p, e in self._whole.items() if p in live and p not in self.cleared}
        self._whole = {p: e for p, e in self._whole.items() if p in self.cleared} | new
        short = {p: replace(entry, tokens=PLACEHOLDER_TOKENS) for p, entry in new.items()}
        window.recount(back | short)


def _uses(window: Window) -> Iterator[str]:
    """Yield the ids of the live tool uses, as they are sent."""
    for item in window.items:
        yield from (call.id for call in item.message.calls)


def _answered(window: Window) -> list[int]:
    """Return the positions of the live results, in the order of their calls."""
    places = {e.answers.id: p for p, e in window.entries.items() if e.answers is not None}
    return [places[uid] for uid in _uses(window) if uid in places]
