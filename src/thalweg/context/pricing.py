"""What a token costs, relative to one input token that is not cached."""

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, PositiveInt


class Tier(BaseModel):
    """Other prices for a whole request, once its input is larger than some size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    above: PositiveInt
    """Input tokens, cached ones included; the prices hold for a request with more."""
    input: PositiveFloat
    """An input token that is neither read from the cache nor written to it."""
    read: NonNegativeFloat
    write: NonNegativeFloat
    output: NonNegativeFloat


class Tariff(BaseModel):
    """Prices of one model, in units of its base input price, and the rules of its prefix cache."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    read: NonNegativeFloat
    """An input token found in the prefix cache."""
    write: NonNegativeFloat
    """An input token written to the cache; 1.0 where writing costs nothing extra."""
    output: NonNegativeFloat = 5.0
    """An output token."""
    tiers: tuple[Tier, ...] = ()
    """Dearer prices for larger requests, smallest first."""
    minimum: PositiveInt = 1_024
    """A shorter prefix is not cached."""
    block: PositiveInt = 1
    """Tokens the cache matches at once; a partial block is a miss."""
    breakpoints: PositiveInt | None = None
    """Places of a request that may be marked for the cache; `None` where it finds the longest
    known prefix by itself."""
    lookback: PositiveInt | None = None
    """Content blocks before a marked place at which a prefix cached earlier is still found."""
    lifetime_s: PositiveFloat | None = None
    """Seconds an unused prefix stays cached; `None` when it outlives any pause of a run."""
    base: PositiveFloat | None = None
    """What the unit is worth: `unit`s per million uncached input tokens."""
    unit: Literal["USD", "seconds"] = "USD"
    """What `base` is counted in: a model of one's own costs time."""
    source: str = ""
    """Where the prices stand."""
    dated: date | None = None
    """When they were read there."""

    def prices(self, tokens: int) -> Tier:
        """Give the prices that hold for a request of so many input tokens."""
        held = Tier(above=1, input=1.0, read=self.read, write=self.write, output=self.output)
        for tier in self.tiers:
            if tokens > tier.above:
                held = tier
        return held

    def charge(self, cached: int, written: int, plain: int = 0) -> float:
        """Price the input of a request.

        Args:
            cached: Tokens read from the cache.
            written: Tokens written to it.
            plain: Tokens that are neither.
        """
        prices = self.prices(cached + written + plain)
        return prices.read * cached + prices.write * written + prices.input * plain


TARIFFS: dict[str, Tariff] = {
    t.name: t
    for t in (
        Tariff(name="anthropic", read=0.1, write=1.25, lifetime_s=300, breakpoints=4, lookback=20),
        Tariff(
            name="anthropic-1h", read=0.1, write=2.0, lifetime_s=3_600, breakpoints=4, lookback=20
        ),
        Tariff(name="openai", read=0.1, write=1.0, output=8.0, block=128, lifetime_s=3_600),
        Tariff(name="gemini", read=0.1, write=1.0, output=8.0, minimum=2_048),
        Tariff(name="deepseek", read=0.02, write=1.0, output=2.0, minimum=64, block=64),
    )
}
"""Tariffs by name."""
