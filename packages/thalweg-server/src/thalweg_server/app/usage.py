"""What one owner spent, on which thread, which model and what for."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.archive.threads import Taken, turns
from thalweg.archive.threads.finding import own_threads
from thalweg.archive.threads.savings import compute_savings
from thalweg.engine.pricing.tariff import Tariff
from thalweg.errors import NoSuchThreadError
from thalweg_server.api.catalogue import OwnerUsage, ThreadUsage, Usage
from thalweg_server.app.finding import Finder
from thalweg_server.app.registry import day_of
from thalweg_server.app.spending import Prices, added, usage_of

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

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


class TenantUsage:
    """The usage of one owner."""

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts
        self._finder = Finder(owner, parts.archive, parts.registry)

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
        if self._finder.get(thread) is None:
            raise NoSuchThreadError(thread)
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


def charges_of(archive: Archive, key: ThreadKey, prices: Prices) -> Iterator[CallCost]:
    """Yield the costs of a thread's calls, or of a subagent's, at the prices of their time.

    Assumed prices of an unknown model decide when to compact; they are not actual costs.
    """
    thread, _, inside = key.thread.partition(SUBAGENT_SEPARATOR)

    @cache
    def tariff_of(digest: str) -> Tariff | None:
        return Tariff.model_validate_json(archive.attachment(key, digest)) if digest else None

    for one in turns(archive, key):
        model = one.page.model
        tariff = tariff_of(one.page.tariff) if prices.tariff(model) else None
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
    newest = next((one.page for one in reversed(taken) if one.page.tariff), None)
    if newest is None or prices.tariff(newest.model) is None:
        return None
    tariff = Tariff.model_validate_json(archive.attachment(key, newest.tariff))
    return tariff.cost_of(compute_savings(archive, key, taken).realised)
