"""A recording, read once for all policies, and what each tariff makes of it."""

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.bill import Bill, PriceSource
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.uses import LaterUse, find_uses


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
    overhead_costs: Mapping[int, float] = field(default_factory=dict)
    """Of the overhead in each call that is sent whole, by the position of its answer."""
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

    @property
    def overhead_cost(self) -> float:
        """Of the overhead in all calls that are sent whole."""
        return sum(self.overhead_costs.values(), 0.0)

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
    cold = frozenset(_cold_turns(messages, tariff.lifetime_s))
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
    factor = _factor(early, stated, whole, overhead)
    simulated = sum(factor * whole[p].cost + overhead_costs[p] for p in early)
    logged = sum(units_of(replace(stated[p], output=0), tariff) for p in early)
    return replace(
        terms,
        overhead=overhead,
        overhead_costs=overhead_costs,
        factor=factor,
        simulated_share=simulated / logged if simulated and logged else None,
    )


def _factor(
    early: Sequence[int],
    stated: Mapping[int, Usage],
    whole: Mapping[int, RequestCharge],
    overhead: int,
) -> float:
    """Return the provider's tokens for one of ours, over the requests before any compaction."""
    ours = sum(whole[p].tokens for p in early)
    theirs = sum(stated[p].input - overhead for p in early)
    return max(1.0, theirs / ours) if ours else 1.0


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


def _cold_turns(messages: Sequence[Message], lifetime_s: float | None) -> list[int]:
    cold: list[int] = []
    sent_at = answered_at = None
    for position, message in enumerate(messages):
        if message.role == "assistant":
            if lifetime_s and sent_at and answered_at:
                cold += [position] if (sent_at - answered_at).total_seconds() > lifetime_s else []
            answered_at = _time(message.at) or answered_at
        else:
            sent_at = _time(message.at) or sent_at
    return cold


def _time(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at).replace(tzinfo=None)
    except ValueError:
        return None
