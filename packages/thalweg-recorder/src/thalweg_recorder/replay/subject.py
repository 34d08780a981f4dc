"""A recording, read once for all policies, and what each tariff makes of it."""

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.engine.pricing.table import LIFE_1H, MODELS, WRITE_1H
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.breakpoints import StableLifetime
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.bill import Bill, PriceSource
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.uses import LaterUse, find_uses

_WITH_LIFETIMES = {tariff.name for tariff in MODELS["anthropic"]}
"""Tariffs of the provider whose cache keeps a prefix five minutes or an hour, as marked."""


@dataclass(frozen=True, slots=True)
class ReplaySubject:
    """A recording and the values that are the same under every policy and tariff."""

    recording: Recording
    questions: Questions
    entries: Sequence[Entry]
    """All of its messages, by position."""
    uses: Mapping[int, Sequence[LaterUse]]
    """Later uses of earlier messages, by the position of the turn that uses them."""


@dataclass(frozen=True, slots=True)
class TariffTerms:
    """A tariff, and the values that it implies for a recording under every policy."""

    tariff: Tariff
    cold: frozenset[int]
    """Positions of assistant messages that were asked for after the cache had expired."""
    whole: Mapping[int, RequestCharge]
    """What every call costs that is sent whole, in a window without end; by the position of the
    assistant message that answers it."""

    paid: Mapping[int, Bill] = field(default_factory=dict)
    """What each recorded answer cost by its usage, by its position; empty if the log states no
    usage."""
    overhead: int = 0
    """Tokens of the recorded agent's own system prompt and tools: those that its first request has
    above our count of its messages; 0 if the log states no usage."""
    overhead_cost: float = 0.0
    """Cost of the overhead in all calls that are sent whole."""
    lifetime_costs: Mapping[int, float] = field(default_factory=dict)
    """Additional cost of the overhead in a call, by its answer's position, if the thread's pauses
    choose how long the cache keeps it, as those of a middleware do; see `StableLifetime`."""
    factor: float = 1.0
    """The provider's tokens for one of ours: those of the recorded requests before any compaction,
    divided by our count of the same messages. At least 1: a host may send less than it logs."""
    simulated_share: float | None = None
    """The input of the recorded requests before any compaction as simulated here, divided by that
    of their usage at the same prices: they were sent whole, so both are prices of the same
    requests. `None` if there are none."""
    priced_by: PriceSource = "chosen"

    @property
    def is_whole(self) -> bool:
        """Whether the log states usage."""
        return bool(self.paid)

    @property
    def cost_unmanaged(self) -> float:
        """Of sending every call whole."""
        return sum((charge.cost for charge in self.whole.values()), 0.0)

    @property
    def bill_unmanaged(self) -> float:
        """The total of the bill of sending every call whole."""
        outputs = sum(map(self.output, self.paid))
        return self.factor * self.cost_unmanaged + self.overhead_cost + outputs

    def output(self, position: int) -> float:
        """Return the cost of the output of a recorded answer, reasoning included."""
        return self.paid[position].output if position in self.paid else 0.0


def subject_of(recording: Recording, questions: Questions) -> ReplaySubject:
    """Read a recording once for all policies."""
    reader = Reader(exact_counter())
    entries = [reader.read(message) for message in recording.messages]
    uses: dict[int, list[LaterUse]] = defaultdict(list)
    for use in find_uses(entries):
        uses[use.turn].append(use)
    return ReplaySubject(recording, questions, entries, uses)


def terms_of(
    subject: ReplaySubject, tariff: Tariff, priced_by: PriceSource = "chosen"
) -> TariffTerms:
    """Return the effect of a tariff on a recording, independent of the policy.

    Args:
        subject: The recording.
        tariff: The prices.
        priced_by: Whose they are. Recorded answers have the prices of their own models if it is
            `model`, and else these.
    """
    entries, messages = subject.entries, subject.recording.messages
    stated = {p: m.usage for p, m in enumerate(messages) if m.usage and m.role == "assistant"}
    paid = _paid(stated, tariff, priced_by)
    waits, lifetime_s = waits_of(messages), tariff.lifetime_s or math.inf
    cold = frozenset(position for position, wait in waits.items() if wait > lifetime_s)
    whole = _whole(entries, cold, tariff)
    terms = TariffTerms(tariff, cold, whole, priced_by=priced_by, paid=paid)
    if not stated:
        return terms
    end = min((one.line for one in subject.recording.compactions), default=math.inf)
    early = [p for p in stated if messages[p].line < end]
    first = min(stated)
    overhead = max(0, stated[first].input - whole[first].tokens)
    charged = _whole(entries, cold, tariff, overhead) if overhead else whole
    overhead_costs = {p: charged[p].cost - whole[p].cost for p in whole}
    ours = sum(whole[p].tokens for p in early)
    theirs = sum(stated[p].input - overhead for p in early)
    factor = max(1.0, theirs / ours) if ours else 1.0
    simulated = sum(factor * whole[p].cost + overhead_costs[p] for p in early)
    logged = sum(units_of(replace(stated[p], output=0), tariff) for p in early)
    return replace(
        terms,
        overhead=overhead,
        overhead_cost=sum(overhead_costs.values()),
        lifetime_costs={p: overhead * cost for p, cost in _lifetime_costs(waits, tariff).items()}
        if overhead >= tariff.minimum and tariff.name in _WITH_LIFETIMES
        else {},
        factor=factor,
        simulated_share=simulated / logged if simulated and logged else None,
    )


def _paid(stated: Mapping[int, Usage], tariff: Tariff, priced_by: PriceSource) -> dict[int, Bill]:
    """Price the usage of answers, in units of the tariff."""
    paid: dict[int, Bill] = {}
    for position, usage in stated.items():
        own = tariff_of_model(usage.model) if priced_by == "model" else None
        scale = own.base / tariff.base if own and own.base and tariff.base else 1.0
        total = scale * units_of(usage, own or tariff)
        sent = scale * units_of(replace(usage, output=0), own or tariff)
        paid[position] = Bill(input=sent, output=total - sent)
    return paid


def _whole(
    entries: Sequence[Entry], cold: Container[int], tariff: Tariff, overhead: int = 0
) -> dict[int, RequestCharge]:
    window, cache = Window(exact_counter()), PrefixCache(tariff)
    charges: dict[int, RequestCharge] = {}
    for entry in entries:
        if entry.message.role == "assistant":
            window.settle()
            is_cold = entry.position in cold
            charges[entry.position] = cache.send(window.items, cold=is_cold, overhead=overhead)
        window.add(entry)
    return charges


def waits_of(messages: Sequence[Message]) -> dict[int, float]:
    """Return the seconds from an answer to the request for the next one, by the latter's position.

    0 where times are unknown.
    """
    waits: dict[int, float] = {}
    sent_at = answered_at = None
    for position, message in enumerate(messages):
        if message.role == "assistant":
            waits[position] = max(0.0, sent_at - answered_at) if sent_at and answered_at else 0.0
            answered_at = _time(message.at) or answered_at
        else:
            sent_at = _time(message.at) or sent_at
    return waits


def _lifetime_costs(waits: Mapping[int, float], tariff: Tariff) -> dict[int, float]:
    """Return what a token of a stable prefix costs more if the pauses choose its lifetime.

    Of the calls after pauses that the tariff's own lifetime does not outlive.
    """
    lifetime, now = StableLifetime(), 0.0
    costs: dict[int, float] = {}
    for position, wait in waits.items():
        now += wait
        is_found = lifetime.is_hourly and wait <= LIFE_1H
        written = WRITE_1H if lifetime.send(now, tariff) else tariff.write
        if wait > (tariff.lifetime_s or math.inf):
            costs[position] = (tariff.read if is_found else written) - tariff.write
    return costs


def _time(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
