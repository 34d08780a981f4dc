"""A lower bound of the cost of any policy that may drop any message at any time.

A request is a set of messages here, not a prefix and a summary: dropping one costs nothing and
invalidates no cache. Then messages are independent, and the sum of the cheapest choices for each is
a lower bound (Belady's argument for paging, with prices).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg_recorder.replay.questions import RECALL_TOKENS


@dataclass(frozen=True, slots=True)
class OracleMessage:
    """One message, as a policy has to deal with it."""

    tokens: int
    """Of the whole message."""
    least: int
    """The least tokens of its first sending: all of it, except for what may be shortened on arrival
    because of its size, and reasoning, which any policy may omit."""
    call: int
    """The call it is first sent with."""
    wanted: tuple[int, ...] = ()
    """Calls whose answers contain something that appears nowhere else, in order."""


@dataclass(frozen=True, slots=True)
class LowestPrices:
    """Prices of the calls of one recording, as low as any request can have them."""

    tariff: Tariff
    fixed: int
    """Tokens that go with every request."""
    new: tuple[int, ...]
    """Of each call, the least tokens of what it sends first."""
    cold: tuple[bool, ...]

    def least_tokens(self, call: int) -> int:
        """Return the least tokens of a request."""
        return self.fixed + self.new[call]

    def prices(self, call: int) -> tuple[float, float]:
        """Return the least price of a token that is sent again, and of one that is sent first."""
        tiers = _tiers_from(self.tariff, self.least_tokens(call))
        cached = self.least_tokens(call) >= self.tariff.minimum
        first = min(t.write if cached else min(t.write, t.input) for t in tiers)
        again = first if self.cold[call] or call == 0 else min(t.read for t in tiers)
        return min(again, first), first

    def fetch(self, tokens: int, call: int) -> float:
        """Price one more turn that fetches a message of so many tokens back."""
        least, written = self.least_tokens(call), ASK_TOKENS + min(tokens, RECALL_TOKENS)
        return min(
            t.read * least + t.write * written + t.output * ASK_TOKENS
            for t in _tiers_from(self.tariff, least)
        )


def _tiers_from(tariff: Tariff, tokens: int) -> list[Tier]:
    """List the prices that hold for a request of so many tokens or more."""
    return [tariff.prices(tokens), *(tier for tier in tariff.tiers if tier.above >= tokens)]


def least_cost(pieces: Sequence[OracleMessage], life: LowestPrices) -> float:
    """Add up what every message costs at the very least."""
    prices = [life.prices(call) for call in range(len(life.cold))]
    cost = sum(life.fixed * again for again, _ in prices)
    for piece in pieces:
        cost += piece.least * prices[piece.call][1] + _needs(piece, life, prices)
    return cost


def _needs(
    piece: OracleMessage, life: LowestPrices, prices: Sequence[tuple[float, float]]
) -> float:
    """Price the cheapest way to have a message when it is wanted.

    It is shown, or it is fetched, after which it may be there for good. A cache that still has
    an old request's prefix charges no more for what was dropped and is shown again than for
    what was kept; so only the calls that want it count.
    """
    shown, fetched = 0.0, float("inf")
    hidden = piece.tokens - piece.least
    for call in piece.wanted:
        fetched = min(fetched, shown + life.fetch(piece.tokens, call))
        if hidden:  # it is first shown whole when it arrives, or now
            shown += min(prices[piece.call][1], prices[call][1]) * hidden
            hidden = 0
        elif call > piece.call:
            shown += prices[call][0] * piece.tokens
    return min(shown, fetched)
