"""Rent or buy (ski rental): when to pay once for what costs a little at every call."""

from dataclasses import dataclass


@dataclass(slots=True)
class AccumulatedCost:
    """Accumulates the cost of not taking one action, and decides when to take it.

    Each call pays rent for an action not yet taken. Take it before the call whose rent would bring
    the sum to the price: in any future, rent and price together are less than twice the price, so
    at most twice the better of never taking it and taking it at once, the choice with knowledge of
    the number of calls (Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988). No
    rule without that number can guarantee less.

    If the rent grows by a constant at each call, as it does when dead tokens arrive evenly, and
    the action resets it, this acts at the interval of the least long-run cost, the economic order
    quantity (Harris, 1913): there the rent paid equals the price.
    """

    paid: float = 0.0
    """Rent since the last action."""

    def is_due(self, rent: float, price: float) -> bool:
        """Add the rent of the next call; return whether to act before it.

        Args:
            rent: Extra cost of the next call without the action; a negative one is ignored.
            price: Cost of the action now.
        """
        self.paid += max(0.0, rent)
        return self.paid >= price
