"""What a token costs, relative to one input token that is not cached.

The prices that providers ask stand in `thalweg.context.tariffs`.
"""

from datetime import date
from functools import lru_cache
from typing import Literal, Self

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from thalweg.sections import Section, refuse

PER_MILLION = 1_000_000
"""Tokens that `Tariff.base` is the price of."""


class Tier(Section):
    """Other prices for a whole request, once its input is larger than some size."""

    above: PositiveInt
    """Input tokens, cached ones included; the prices hold for a request with more."""
    input: PositiveFloat
    """An input token that is neither read from the cache nor written to it."""
    read: NonNegativeFloat
    """An input token found in the prefix cache."""
    write: NonNegativeFloat
    """An input token written to the cache."""
    output: NonNegativeFloat
    """An output token."""


def growing(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """Give tiers back as they are; for validators.

    Raises:
        PydanticCustomError: They are not in the order of their sizes.
    """
    sizes = [tier.above for tier in tiers]
    if sizes != sorted(set(sizes)):
        said = ", ".join(map(str, sizes))
        refuse(f"the sizes {said} do not grow", "list each tier once, the smallest first")
    return tiers


@lru_cache(maxsize=256)
def _lowest(read: float, write: float, output: float) -> Tier:
    return Tier(above=1, input=1.0, read=read, write=write, output=output)


class Tariff(Section):
    """Prices of one model, in units of its base input price, and the rules of its prefix cache."""

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
    """Places of a request that may be marked for the cache, which then knows no prefixes but
    those; `None` where it finds the longest known prefix by itself."""
    lookback: PositiveInt | None = None
    """Content blocks before a marked place at which a prefix cached earlier is still found;
    `None` for any number."""
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
    note: str = ""
    """What had to be assumed or left out, as sentences; empty when nothing had."""

    @field_validator("tiers")
    @classmethod
    def _grow(cls, tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
        return growing(tiers)

    @classmethod
    def local(
        cls,
        *,
        prefill_per_s: float,
        decode_per_s: float,
        read: float = 0.0,
        name: str = "local",
        note: str = "",
        source: str = "",
        dated: date | None = None,
    ) -> Self:
        """Price a model of one's own in time.

        The unit is the time to read one token of a prompt, so a token in the cache costs next to
        nothing and one of the answer as many as are read while it is written. The cache lives
        as long as nobody else asks the server, and has neither a minimum nor blocks.

        Args:
            prefill_per_s: Tokens of a prompt read in a second.
            decode_per_s: Tokens written in a second, behind a prompt of the usual length.
            read: Time that a token in the cache adds to a request, in units: the answer is
                written more slowly behind a longer prompt.
            name: What the tariff is called.
            note: How the speeds were come by.
            source: Where they stand.
            dated: When they were read there.

        Example:
            >>> tariff = Tariff.local(prefill_per_s=900, decode_per_s=40)
            >>> tariff.output, tariff.unit, tariff.cost_of(90_000)
            (22.5, 'seconds', 100.0)
        """
        return cls(
            name=name,
            read=read,
            write=1.0,
            output=prefill_per_s / decode_per_s,
            minimum=1,
            base=PER_MILLION / prefill_per_s,
            unit="seconds",
            note=note,
            source=source,
            dated=dated,
        )

    @property
    def rewriting(self) -> float:
        """How often a prefix is read for the price of writing it anew, rather than reading it.

        The higher, the less it pays to change what is cached; infinite where reading is free.

        Example:
            >>> Tariff(name="mine", read=0.5, write=1.25).rewriting
            1.5
        """
        return (self.write - self.read) / self.read if self.read else float("inf")

    def cost_of(self, units: float) -> float | None:
        """Turn a cost in units into one in `unit`; `None` where the base price is not known."""
        return None if self.base is None else units * self.base / PER_MILLION

    def prices(self, tokens: int) -> Tier:
        """Give the prices that hold for a request of so many input tokens."""
        held = _lowest(self.read, self.write, self.output)
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
