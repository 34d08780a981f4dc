"""What users say of prices: a tariff by name, and figures laid over it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from thalweg.context.matching import Priced, tariff_for
from thalweg.context.pricing import Tariff, Tier, growing
from thalweg.context.tariffs import NAMED, TARIFFS
from thalweg.sections import Section, nearest, refuse


class ModelPricing(Section):
    """What the tokens of a model cost, where it is not as the table has it.

    Each figure is one of `Tariff` and takes the place of the table's. What is not given stays.

    Example:
        >>> mine = ModelPricing(tariff="anthropic", read=0.05)
        >>> mine.over(TARIFFS["openai"]).write, mine.over(TARIFFS["openai"]).read
        (1.25, 0.05)
    """

    tariff: str | None = None
    """A name in the table of tariffs; `None` when the model in use says it."""
    read: NonNegativeFloat | None = None
    """An input token found in the prefix cache, as a share of one that is not."""
    write: NonNegativeFloat | None = None
    """An input token written to the cache."""
    output: NonNegativeFloat | None = None
    """An output token."""
    tiers: tuple[Tier, ...] | None = None
    """Other prices for larger requests, smallest first."""
    minimum: PositiveInt | None = None
    """A shorter prefix is not cached."""
    block: PositiveInt | None = None
    """Tokens that the cache matches at once."""
    breakpoints: PositiveInt | None = None
    """Places of a request that may be marked for the cache."""
    lookback: PositiveInt | None = None
    """Content blocks before a mark at which an earlier prefix is still found."""
    lifetime_s: PositiveFloat | None = None
    """Seconds an unused prefix stays cached."""
    base: PositiveFloat | None = None
    """What a million uncached input tokens cost, in `unit`s."""
    unit: Literal["USD", "seconds"] | None = None
    """What `base` is counted in."""

    @field_validator("tariff")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        if name is not None and name not in NAMED:
            usual = f"use {', '.join(TARIFFS)}, or a name that `thalweg prices` lists"
            refuse(f"there is no tariff {name!r}", nearest(name, tuple(NAMED), usual))
        return name

    @field_validator("tiers")
    @classmethod
    def _tiers_grow(cls, tiers: tuple[Tier, ...] | None) -> tuple[Tier, ...] | None:
        return tiers and growing(tiers)

    @property
    def figures(self) -> Mapping[str, object]:
        """The figures that were given; `null` is one where a tariff may have none."""
        given = self.model_fields_set & Tariff.model_fields.keys()
        values = {name: getattr(self, name) for name in given}
        return {n: v for n, v in values.items() if v is not None or n in _MAY_BE_NONE}

    def over(self, tariff: Tariff) -> Tariff:
        """Lay what was given over a tariff; over the one that is named, where one is."""
        held = NAMED[self.tariff] if self.tariff else tariff
        if not self.figures:
            return held
        note = "Figures of the settings: " + ", ".join(sorted(self.figures)) + "."
        changes = {"tiers": self._scaled(held), **self.figures}
        return held.model_copy(update={**changes, "note": f"{held.note} {note}".strip()})

    def _scaled(self, tariff: Tariff) -> tuple[Tier, ...]:
        """Give the tiers of a tariff as many times the prices now as they were of those before."""
        times = {
            name: given / before
            for name in ("read", "write", "output")
            if (given := getattr(self, name)) is not None and (before := getattr(tariff, name))
        }
        return tuple(
            tier.model_copy(update={name: getattr(tier, name) * by for name, by in times.items()})
            for tier in tariff.tiers
        )


_MAY_BE_NONE = frozenset(("breakpoints", "lookback", "lifetime_s", "base"))


class Pricing(ModelPricing):
    """What tokens cost, by which re-reading is weighed against folding.

    Example:
        >>> pricing = Pricing(models={"my-*": ModelPricing(tariff="openai", read=0.5)})
        >>> pricing.of("", "my-model").tariff.read, pricing.of("", "other").tariff.read
        (0.5, 0.1)
    """

    models: Mapping[str, ModelPricing] = Field(default_factory=dict[str, ModelPricing])
    """The same for some models only, by a pattern of their names (`my-model*`). Where several
    match, the longer pattern goes before the shorter."""

    def of(self, provider: str, model: str) -> Priced:
        """Find the prices of a model: as settings have them, else as the table does.

        Args:
            provider: As for `tariff_for`.
            model: As for `tariff_for`; patterns are matched with the provider and without it.
        """
        found = tariff_for(provider, model)
        fitting = sorted(self._fitting(model), key=len)
        says = [s for s in (self, *(self.models[p] for p in fitting)) if s.tariff or s.figures]
        if not says:
            return found
        tariff = found.tariff
        for said in says:
            tariff = said.over(tariff)
        # Read and write are what an assumption would be wrong about.
        given = {name for said in says for name in said.figures}
        is_told = {"read", "write"} <= given or any(said.tariff for said in says)
        return Priced(tariff, "settings", "" if is_told else found.note)

    def _fitting(self, model: str) -> list[str]:
        names = {model.lower(), model.lower().partition(":")[2]}
        return [p for p in self.models if any(fnmatchcase(n, p.lower()) for n in names if n)]
