"""What a rewrite of the prefix costs and saves, in units of one uncached input token.

Two rules: predicted and realised mean the same thing before and after the fact; nobody else
computes either.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a rewrite was expected to cost and to save when it was decided.

    Example:
        >>> Forecast(price=2_000.0, saving=100.0, calls=50).gain
        3000.0
    """

    price: float
    """Once: writing anew what stands behind the first change, the record, the summary, and
    fetching back what will be missed."""
    saving: float
    """Of every later call: reading again what was freed."""
    calls: int
    """How many more calls are expected: as many as the thread has had. Of a thread of which
    nothing but its length is known, that is the best guess (Lindy's law)."""

    @property
    def break_even(self) -> float:
        """After how many calls the price has come back; infinite where nothing is saved."""
        return max(0.0, self.price) / self.saving if self.saving > 0 else math.inf

    @property
    def gain(self) -> float:
        """What is left over after the expected calls; negative where it will not have paid."""
        return self.saving * self.calls - self.price
