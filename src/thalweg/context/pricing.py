"""What a token costs, relative to one input token that is not cached."""

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveInt


class Tariff(BaseModel):
    """A provider's prices for one model, in units of its base input price.

    The numbers below are the providers' published prices of November 2026.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    read: NonNegativeFloat
    """An input token found in the prefix cache."""
    write: NonNegativeFloat
    """An input token written to the cache; 1.0 where writing costs nothing extra."""
    output: NonNegativeFloat = 5.0
    """An output token."""
    minimum: PositiveInt = 1_024
    """A shorter prefix is not cached."""
    block: PositiveInt = 1
    """Tokens the cache matches at once; a partial block is a miss."""
    lifetime_s: float | None = None
    """Seconds an unused prefix stays cached; `None` when it outlives any pause of a run."""


TARIFFS: dict[str, Tariff] = {
    t.name: t
    for t in (
        Tariff(name="anthropic", read=0.1, write=1.25, lifetime_s=300),
        Tariff(name="anthropic-1h", read=0.1, write=2.0, lifetime_s=3_600),
        Tariff(name="openai", read=0.1, write=1.0, output=8.0, block=128, lifetime_s=3_600),
        Tariff(name="gemini", read=0.1, write=1.0, output=8.0, minimum=2_048),
        Tariff(name="deepseek", read=0.02, write=1.0, output=2.0, minimum=64, block=64),
    )
}
"""Tariffs by name."""
