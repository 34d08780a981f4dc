"""Token prices relative to one uncached input token.

The providers' prices are in `thalweg.engine.pricing.table`.
"""

from datetime import date
from functools import lru_cache
from typing import Literal, Self

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from thalweg.engine.sections import SettingsSection, refuse

PER_MILLION = 1_000_000
"""Number of tokens that `Tariff.base` is the price of."""


class Tier(SettingsSection):
    """Prices of a whole request whose input exceeds some size."""

    above: PositiveInt
    """Input tokens, cached ones included; the prices apply to larger requests."""
    input: PositiveFloat
    """Price of an input token that is neither read from the cache nor written to it."""
    read: NonNegativeFloat
    """Price of an input token found in the prefix cache."""
    write: NonNegativeFloat
    """Price of an input token written to the cache."""
    output: NonNegativeFloat
    """Price of an output token."""


def check_ascending(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """Return tiers unchanged; for validators.

    Raises:
        PydanticCustomError: They are not in ascending order of size.
    """
    sizes = [tier.above for tier in tiers]
    if sizes != sorted(set(sizes)):
        listed = ", ".join(map(str, sizes))
        refuse(f"the sizes {listed} do not grow", "list each tier once, the smallest first")
    return tiers


@lru_cache(maxsize=256)
def _base_tier(read: float, write: float, output: float) -> Tier:
    return Tier(above=1, input=1.0, read=read, write=write, output=output)


class Tariff(SettingsSection):
    """Prices of one model, in units of its base input price, and the rules of its prefix cache."""

    name: str
    read: NonNegativeFloat
    """Price of an input token found in the prefix cache."""
    write: NonNegativeFloat
    """Price of an input token written to the cache; 1.0 if writing costs nothing extra."""
    output: NonNegativeFloat = 5.0
    """Price of an output token."""
    tiers: tuple[Tier, ...] = ()
    """Higher prices for larger requests, smallest first."""
    minimum: PositiveInt = 1_024
    """A shorter prefix is not cached."""
    block: PositiveInt = 1
    """Tokens per block of the cache; a partial block is a miss."""
    breakpoints: PositiveInt | None = None
    """Most cache breakpoints of a request, for a cache that finds only marked prefixes; `None` if
    it finds the longest cached prefix by itself."""
    lookback: PositiveInt | None = None
    """Content blocks before a breakpoint in which an earlier prefix is still found; `None` for
    any number."""
    lifetime_s: PositiveFloat | None = None
    """Seconds that an unused prefix remains cached; `None` if it outlives any pause of a run."""
    base: PositiveFloat | None = None
    """Value of the base input price: `unit`s per million uncached input tokens."""
    unit: Literal["USD", "seconds"] = "USD"
    """Unit of `base`: a self-hosted model costs time."""
    source: str = ""
    """The page that publishes the prices."""
    dated: date | None = None
    """When they were read there."""
    note: str = ""
    """Assumptions and omissions, as sentences; empty if there are none."""

    @field_validator("tiers")
    @classmethod
    def _check_tiers(cls, tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
        return check_ascending(tiers)

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
        """Return prices in time, for a self-hosted model.

        The unit is the time to read one token of a prompt, so a cached token costs next to nothing
        and an output token as many as are read while it is written. The cache lives until another
        client uses the server, and has neither a minimum nor blocks.

        Args:
            prefill_per_s: Tokens of a prompt read in a second.
            decode_per_s: Tokens written in a second, after a prompt of the usual length.
            read: Time that a cached token adds to a request, in units: the answer is written more
                slowly after a longer prompt.
            name: Name of the tariff.
            note: How the speeds were measured.
            source: The page that publishes them.
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
        """Number of reads of a prefix that cost as much as rewriting it instead of reading it.

        The higher, the less it pays to change cached content; infinite if reading is free.

        Example:
            >>> Tariff(name="mine", read=0.5, write=1.25).rewriting
            1.5
        """
        return (self.write - self.read) / self.read if self.read else float("inf")

    @property
    def usd_per_million(self) -> float | None:
        """Dollars per million uncached input tokens; `None` if the unit is not dollars."""
        return self.base if self.unit == "USD" else None

    def cost_of(self, units: float) -> float | None:
        """Convert a cost in units to one in `unit`; `None` if there is no base price."""
        return None if self.base is None else units * self.base / PER_MILLION

    def prices(self, tokens: int) -> Tier:
        """Return the prices of a request with this many input tokens."""
        applicable_tier = _base_tier(self.read, self.write, self.output)
        for tier in self.tiers:
            if tokens > tier.above:
                applicable_tier = tier
        return applicable_tier

    def charge(self, cached: int, written: int, plain: int = 0) -> float:
        """Return the cost of a request's input.

        Args:
            cached: Tokens read from the cache.
            written: Tokens written to it.
            plain: Tokens that are neither.
        """
        prices = self.prices(cached + written + plain)
        return prices.read * cached + prices.write * written + prices.input * plain
