"""Rent = buy: when to pay once for what costs a little at every call."""

from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Adds up the rent of one choice, and says when buying is due.

    Each call pays rent for what is not bought yet. Buy before the call whose rent would bring
    the sum to the price: whatever comes, the rent paid and the price together are less than
    twice the price, so at most twice the better of never buying and buying at once, which one
    would choose who knew how many calls there will be (Karlin et al., "Competitive snoopy
    caching", Algorithmica 3, 1988). No rule that does not know the number can promise less.

    Where the rent grows by a constant at each call, as it does when dead tokens arrive evenly,
    and buying starts it anew, this buys at the interval that costs least in the long run, the
    economic order quantity (Harris, 1913): there the rent paid equals the price.
    """

    paid: float = 0.0
    """Rent since the last purchase."""

    def is_due(self, rent: float, price: float) -> bool:
        """Take in the rent of the next call; tell whether to buy before it.

        Args:
            rent: What the next call costs more for not having bought; nothing is taken back
                where it is negative.
            price: What buying costs now.
        """
        self.paid += max(0.0, rent)
        return self.paid >= price
