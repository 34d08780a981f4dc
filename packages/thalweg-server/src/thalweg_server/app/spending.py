"""Costs of calls of models, in the API's form."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.engine.pricing.cost import cost_of
from thalweg.engine.pricing.matching import tariff_for
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.wires.fields import as_usage
from thalweg_server.api.catalogue import Usage

if TYPE_CHECKING:
    from langchain_core.messages.ai import UsageMetadata

NOTHING = Usage(cost=0.0)
"""What no call costs."""


class Prices:
    """The prices of each model, as the context engine uses them.

    Args:
        policy: Its `pricing` overrides the table.
    """

    def __init__(self, policy: ContextPolicy) -> None:
        self._pricing = policy.pricing

    def tariff(self, model: str) -> Tariff | None:
        """Return the prices of a model, as `provider:name`; `None` if unknown.

        Prices that the engine assumes to decide when to compact are none: those of an unknown
        model, and the time that a model takes on a machine of one's own.
        """
        provider, _, name = model.partition(":")
        found = tariff_for(provider, name)
        tariff = self._pricing.of(provider, name).tariff
        is_assumed = found.by == "nobody" or found.tariff.unit != "USD"
        is_set = (tariff.name, tariff.base) != (found.tariff.name, found.tariff.base)
        return None if is_assumed and not is_set else tariff

    def usage(self, spent: AnswerUsage) -> Usage:
        """Return the usage of one model, with its price."""
        return usage_of(spent, self.tariff(spent.model))


def usage_of(spent: AnswerUsage, tariff: Tariff | None) -> Usage:
    """Return the usage with its cost; `None` if the price is unknown."""
    return Usage(
        calls=spent.calls,
        input_tokens=spent.input,
        cached_tokens=spent.cached,
        written_tokens=spent.written,
        output_tokens=spent.output,
        cost=cost_of(spent, tariff),
        currency="USD" if tariff is None else tariff.unit,
    )


def added(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages; the cost is `None` if one is unknown or in another unit.

    Example:
        >>> added([Usage(calls=1, cost=0.5), Usage(calls=2, cost=0.25)]).cost
        0.75
        >>> added([]).cost
        0.0
    """
    each = [usage for usage in usages if usage.calls]
    if not each:
        return NOTHING
    costs = [usage.cost for usage in each]
    known = [cost for cost in costs if cost is not None]
    units = {usage.currency for usage in each if usage.cost is not None}
    return Usage(
        calls=sum(usage.calls for usage in each),
        input_tokens=sum(usage.input_tokens for usage in each),
        cached_tokens=sum(usage.cached_tokens for usage in each),
        written_tokens=sum(usage.written_tokens for usage in each),
        output_tokens=sum(usage.output_tokens for usage in each),
        cost=sum(known) if len(known) == len(costs) and len(units) == 1 else None,
        currency=units.pop() if len(units) == 1 else "USD",
    )


def spent_in(reported: "UsageMetadata | None", model: str) -> AnswerUsage | None:
    """Return the usage of one call from LangChain's values; `None` if there are none."""
    usage = as_usage(reported)
    return None if usage is None else replace(usage, model=model)
