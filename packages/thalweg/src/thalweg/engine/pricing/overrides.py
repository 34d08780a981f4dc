"""Prices set by users: a tariff by name, and figures that override it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, field_validator

from thalweg.engine.pricing.matching import Priced, tariff_for
from thalweg.engine.pricing.table import NAMED_TARIFFS, TARIFFS
from thalweg.engine.pricing.tariff import Tariff, Tier, check_ascending
from thalweg.engine.sections import SettingsSection, name_remedy, refuse


class ModelPricing(SettingsSection):
    """Prices of a model's tokens that differ from the table.

    Each figure is a field of `Tariff` and overrides the table's. Figures that are not set are
    unchanged.

    Example:
        >>> mine = ModelPricing(tariff="anthropic", read=0.05)
        >>> mine.over(TARIFFS["openai"]).write, mine.over(TARIFFS["openai"]).read
        (1.25, 0.05)
    """

    tariff: str | None = None
    """A name in the table of tariffs; `None`: the tariff of the model in use."""
    read: NonNegativeFloat | None = None
    """Price of an input token found in the prefix cache, as a share of an uncached one."""
    write: NonNegativeFloat | None = None
    """Price of an input token written to the cache."""
    output: NonNegativeFloat | None = None
    """Price of an output token."""
    tiers: tuple[Tier, ...] | None = None
    """Prices of larger requests, smallest first."""
    minimum: PositiveInt | None = None
    """A shorter prefix is not cached."""
    block: PositiveInt | None = None
    """Tokens per block of the cache."""
    breakpoints: PositiveInt | None = None
    """Most cache breakpoints of a request."""
    lookback: PositiveInt | None = None
    """Content blocks before a breakpoint in which an earlier prefix is still found."""
    lifetime_s: PositiveFloat | None = None
    """Seconds that an unused prefix remains cached."""
    base: PositiveFloat | None = None
    """Price of a million uncached input tokens, in `unit`s."""
    unit: Literal["USD", "seconds"] | None = None
    """Unit of `base`."""

    @field_validator("tariff")
    @classmethod
    def _check_tariff_name(cls, name: str | None) -> str | None:
        if name is not None and name not in NAMED_TARIFFS:
            fallback = f"use {', '.join(TARIFFS)}, or a name that `thalweg prices` lists"
            refuse(
                f"there is no tariff {name!r}", name_remedy(name, tuple(NAMED_TARIFFS), fallback)
            )
        return name

    @field_validator("tiers")
    @classmethod
    def _check_tiers(cls, tiers: tuple[Tier, ...] | None) -> tuple[Tier, ...] | None:
        return tiers and check_ascending(tiers)

    @property
    def figures(self) -> Mapping[str, object]:
        """The figures that were set; `null` is one if a tariff permits it."""
        set_names = self.model_fields_set & Tariff.model_fields.keys()
        values = {name: getattr(self, name) for name in set_names}
        return {n: v for n, v in values.items() if v is not None or n in _MAY_BE_NONE}

    def over(self, tariff: Tariff) -> Tariff:
        """Return a tariff with the set figures; based on the named one, if one is named."""
        base_tariff = NAMED_TARIFFS[self.tariff] if self.tariff else tariff
        if not self.figures:
            return base_tariff
        note = "Figures of the settings: " + ", ".join(sorted(self.figures)) + "."
        changes = {"tiers": self._scaled_tiers(base_tariff), **self.figures}
        return base_tariff.model_copy(
            update={**changes, "note": f"{base_tariff.note} {note}".strip()}
        )

    def _scaled_tiers(self, tariff: Tariff) -> tuple[Tier, ...]:
        """Scale the tiers of a tariff in proportion to the overridden prices."""
        factors = {
            name: new_price / old_price
            for name in ("read", "write", "output")
            if (new_price := getattr(self, name)) is not None
            and (old_price := getattr(tariff, name))
        }
        return tuple(
            tier.model_copy(
                update={name: getattr(tier, name) * factor for name, factor in factors.items()}
            )
            for tier in tariff.tiers
        )


_MAY_BE_NONE = frozenset(("breakpoints", "lookback", "lifetime_s", "base"))


class Pricing(ModelPricing):
    """Prices of tokens, by which re-reading is compared with compaction.

    Example:
        >>> pricing = Pricing(models={"my-*": ModelPricing(tariff="openai", read=0.5)})
        >>> pricing.of("", "my-model").tariff.read, pricing.of("", "other").tariff.read
        (0.5, 0.1)
    """

    models: Mapping[str, ModelPricing] = Field(default_factory=dict[str, ModelPricing])
    """Overrides for some models, by a pattern of their names (`my-model*`). If several match, the
    longer pattern has precedence."""

    def of(self, provider: str, model: str) -> Priced:
        """Return the prices of a model: from the settings, else from the table.

        Args:
            provider: As for `tariff_for`.
            model: As for `tariff_for`; patterns are matched with the provider and without it.
        """
        table_prices = tariff_for(provider, model)
        patterns = sorted(self._matching_patterns(model), key=len)
        overrides = [
            s
            for s in (self, *(self.models[pattern] for pattern in patterns))
            if s.tariff or s.figures
        ]
        if not overrides:
            return table_prices
        tariff = table_prices.tariff
        for override in overrides:
            tariff = override.over(tariff)
        # The note about assumed prices is dropped only if both of these are set.
        set_figures = {name for override in overrides for name in override.figures}
        is_complete = {"read", "write"} <= set_figures or any(
            override.tariff for override in overrides
        )
        return Priced(tariff, "settings", "" if is_complete else table_prices.note)

    def _matching_patterns(self, model: str) -> list[str]:
        names = {model.lower(), model.lower().partition(":")[2]}
        return [p for p in self.models if any(fnmatchcase(n, p.lower()) for n in names if n)]
