"""What calls of models cost, and what one owner spent, by thread, model and caller."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.archive.threads import Taken, turns
from thalweg.archive.threads.finding import own_threads
from thalweg.archive.threads.savings import compute_savings
from thalweg.engine.pricing.cost import cost_of
from thalweg.engine.pricing.matching import tariff_for
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.wires.fields import as_usage
from thalweg_server.api.catalogue import OwnerUsage, ThreadUsage, Usage
from thalweg_server.app.parts import TenantPart
from thalweg_server.app.registry import day_of
from thalweg_server.settings.sections import OwnerLimits

if TYPE_CHECKING:
    from langchain_core.messages.ai import UsageMetadata


NOTHING = Usage(cost=0.0)
"""What no call costs."""
_PIECE_CHARS = 1 << 15
"""Characters that are counted at a time: the tokenizer holds the interpreter's lock."""


async def count_tokens(text: str) -> int:
    """Count the tokens of a text in pieces, between which the event loop runs."""
    pieces = (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))
    return await asyncio.to_thread(sum, map(exact_counter(), pieces))


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


AGENT, SUMMARIES, MEMORY, SUBAGENT = "agent", "summaries", "memory", "subagent"
"""Callers of models; the last is followed by a subagent's name."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """What one call cost, or some."""

    thread: str
    """The user's thread that it was made for."""
    caller: str
    model: str
    usage: Usage


async def reached_limit(
    limits: OwnerLimits,
    count: Callable[[], Awaitable[int]],
    spent: Callable[[], Awaitable[Sequence[Usage]]],
    starting: int = 1,
) -> str | None:
    """Return the name of the first limit that a further run would exceed, over all processes.

    Args:
        limits: The limits of the owner.
        count: Returns how many runs of the owner are due or running.
        spent: Returns the usage of the owner today, by model.
        starting: Runs that are being started and not counted yet, the further one included.
    """
    if limits.tokens_per_day is not None or limits.cost_per_day is not None:
        today = await spent()
        tokens = sum(one.input_tokens + one.output_tokens for one in today)
        if limits.tokens_per_day is not None and tokens >= limits.tokens_per_day:
            return "tokens_per_day"
        cost = sum(one.cost or 0.0 for one in today)
        if limits.cost_per_day is not None and cost >= limits.cost_per_day:
            return "cost_per_day"
    if limits.runs_at_once is not None and await count() + starting > limits.runs_at_once:
        return "runs_at_once"
    return None


class TenantUsage(TenantPart):
    """The usage of one owner."""

    async def thread(self, thread: str) -> ThreadUsage:
        """Return a thread's usage, by caller of the model, and the fill of its window.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        return await asyncio.to_thread(self._thread, thread)

    async def owner(self) -> OwnerUsage:
        """Return the usage of all threads, each and in total, and by model."""
        return await asyncio.to_thread(self._all)

    async def today(self) -> Sequence[Usage]:
        """Return the usage of each model since midnight UTC, of runs under way, too."""
        charged = self._parts.registry.charged
        spent = await asyncio.to_thread(charged, self._owner, day_of(time.time()))
        return [self._prices.usage(one) for one in spent]

    def _thread(self, thread: str) -> ThreadUsage:
        self._finder.get(thread)
        archive, key = self._parts.archive, ThreadKey(self._owner, thread)
        taken = turns(archive, key)
        charges = [
            *self._charges(own_threads(archive, self._owner, thread)),
            *self._learned(thread),
        ]
        newest = next((one.page for one in reversed(taken) if one.page.kind == "call"), None)
        return ThreadUsage(
            thread=thread,
            total=added(charge.usage for charge in charges),
            callers=_by(charges, lambda charge: charge.caller),
            sections=dict(newest.tokens) if newest else {},
            window=newest.window if newest else 0,
            limit=newest.limit if newest else 0,
            saved=_saved(archive, key, taken, self._prices),
        )

    def _all(self) -> OwnerUsage:
        charges = [*self._charges(self._parts.archive.threads(self._owner)), *self._learned()]
        return OwnerUsage(
            total=added(charge.usage for charge in charges),
            threads=_by(charges, lambda charge: charge.thread),
            models=_by(charges, lambda charge: charge.model),
        )

    @property
    def _prices(self) -> Prices:
        return Prices(self._parts.settings().summarization)

    def _charges(self, threads: Iterable[str]) -> Iterator[CallCost]:
        prices = self._prices
        for name in threads:
            yield from charges_of(self._parts.archive, ThreadKey(self._owner, name), prices)

    def _learned(self, thread: str | None = None) -> Iterator[CallCost]:
        prices = self._prices
        for name, each in self._parts.registry.spent(self._owner).items():
            if thread in {None, name}:
                for spent in each:
                    yield CallCost(name, MEMORY, spent.model, prices.usage(spent))


class Tariffs:
    """The prices of each record of a thread, where they are actual; see `charges_of`."""

    def __init__(self, archive: Archive, key: ThreadKey, prices: Prices) -> None:
        self._read: dict[str, Tariff | None] = {"": None}
        self._archive, self._key, self._prices = archive, key, prices

    def of(self, taken: Taken) -> Tariff | None:
        """Return the prices of a record; `None` if they are not known."""
        digest = taken.page.tariff
        if digest not in self._read:
            text = self._archive.attachment(self._key, digest)
            self._read[digest] = Tariff.model_validate_json(text)
        return self._read[digest] if self._prices.tariff(taken.page.model) else None


def charges_of(archive: Archive, key: ThreadKey, prices: Prices) -> Iterator[CallCost]:
    """Yield the costs of a thread's calls, or of a subagent's, at the prices of their time.

    Assumed prices of an unknown model decide when to compact; they are not actual costs.
    """
    thread, _, inside = key.thread.partition(SUBAGENT_SEPARATOR)

    tariffs = Tariffs(archive, key, prices)
    for one in turns(archive, key):
        model = one.page.model
        tariff = tariffs.of(one)
        if (spent := one.usage or (one.page.usage if one.is_cut else None)) is not None:
            caller = _subagent(one) if inside else AGENT
            yield CallCost(thread, caller, model, usage_of(spent, tariff))
        if (summed := one.page.spent) is not None:
            yield CallCost(thread, SUMMARIES, summed.model or model, usage_of(summed, tariff))


def _subagent(taken: Taken) -> str:
    """Name the subagent that a turn was taken by, as its answers are signed."""
    name = taken.answer.message.name if taken.answer else ""
    return f"{SUBAGENT}:{name}" if name else SUBAGENT


def _by(charges: Sequence[CallCost], what: Callable[[CallCost], str]) -> Mapping[str, Usage]:
    names = dict.fromkeys(map(what, charges))
    return {
        name: added(charge.usage for charge in charges if what(charge) == name) for name in names
    }


def _saved(
    archive: Archive, key: ThreadKey, taken: Sequence[Taken], prices: Prices
) -> float | None:
    """Return the savings of compaction at actual prices; see `charges_of`."""
    newest = next((one for one in reversed(taken) if one.page.tariff), None)
    tariff = None if newest is None else Tariffs(archive, key, prices).of(newest)
    if tariff is None:
        return None
    return tariff.cost_of(compute_savings(archive, key, taken).realised)
