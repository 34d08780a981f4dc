"""The cost of the usage of model answers: the only function that prices it, and sums by model."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.engine.pricing.table import WRITE_1H
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage

TariffOfModel = Callable[[str], Tariff | None]
"""Returns the prices of a model by its name, `None` if they are unknown."""


def units_of(usage: Usage, tariff: Tariff) -> float:
    """Return the cost of usage in units of one uncached input token of the tariff's model.

    One-hour cache writes cost `WRITE_1H` times the input price. A sum is priced by the mean input
    of its calls: use `summed` if the tariff has tiers.

    Example:
        >>> tariff = Tariff(name="mine", read=0.1, write=1.25, output=5)
        >>> units_of(Usage(100, cached=80, written=20, written_long=10, output=2), tariff)
        50.5
    """
    prices = tariff.prices(usage.input // max(1, usage.calls))
    return (
        prices.input * (usage.plain + WRITE_1H * usage.written_long)
        + prices.read * usage.cached
        + prices.write * (usage.written - usage.written_long)
        + prices.output * usage.output
    )


def cost_of(usage: Usage, tariff: Tariff | None) -> float | None:
    """Return the cost of usage in the tariff's `unit`; `None` if there is no base price."""
    return None if tariff is None else tariff.cost_of(units_of(usage, tariff))


def cost_of_answers(
    answers: Iterable[Usage], tariff_of: TariffOfModel = tariff_of_model
) -> float | None:
    """Return the cost of answers, or of outputs of `summed`, each at its own model's prices.

    Copies of an answer count as often as they are listed; see `distinct`.

    Returns:
        Dollars, with the default prices. 0 without answers, `None` if the price of one is unknown.

    Example:
        >>> opus, haiku = "claude-opus-4-5", "claude-haiku-4-5"
        >>> cost_of_answers([Usage(1_000_000, model=haiku), Usage(1_000_000, model=opus)])
        6.0
        >>> cost_of_answers([Usage(1, model="mine")]) is None
        True
    """
    costs = [cost_of(usage, tariff_of(usage.model)) for usage in answers]
    known = [cost for cost in costs if cost is not None]
    return sum(known, 0.0) if len(known) == len(costs) else None


def summed(
    answers: Iterable[Usage], tariff_of: TariffOfModel = tariff_of_model
) -> tuple[Usage, ...]:
    """Return sums of answers by model and price tier, in the order of their first answers.

    `cost_of_answers` returns the same of the sums as of the answers.
    """
    sums: dict[tuple[str, int], Usage] = {}
    for usage in answers:
        tariff = tariff_of(usage.model)
        size = usage.input // max(1, usage.calls)
        tier = tariff.prices(size).above if tariff is not None else 0
        key = usage.model, tier
        sums[key] = sums[key] + usage if key in sums else usage
    return tuple(_without_id(usage) for usage in sums.values())


def distinct(answers: Iterable[Usage]) -> list[Usage]:
    """Return the answers without copies: of those with the same id, the last; all without an id.

    A forked or resumed session repeats the answers of the one before.

    Example:
        >>> rows = [Usage(9, output=1, id="a"), Usage(9, output=4, id="a")]
        >>> [one.output for one in distinct(rows)]
        [4]
    """
    last = {usage.id or at: usage for at, usage in enumerate(answers)}
    return list(last.values())


def _without_id(usage: Usage) -> Usage:
    return replace(usage, id="") if usage.id else usage
