"""Policies: when to compact, and what.

A policy is a generator of edits. Its caller stores the content that an edit removes from the
view, applies the edit, and only then resumes the policy.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from thalweg.engine.compaction.hard_limit import plan_forbidden, reduce_to_limit
from thalweg.engine.compaction.model_summary import QUESTION_TOKENS
from thalweg.engine.compaction.offers import (
    CandidateAction,
    Costs,
    offer_clear,
    offer_fold,
    offer_return,
)
from thalweg.engine.compaction.plan import (
    plan_arrivals,
    plan_clear,
    plan_fold,
    removed_tokens,
    repeated_result,
    reread_positions,
)
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.provider_edits import offer_provider_compaction
from thalweg.engine.compaction.repeats import REPEATABLE
from thalweg.engine.compaction.rewrites import drop_reasoning
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.compaction.uses import STEPS_PER_USE, NameIndex, used_results
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.pricing.savings import ASK_TOKENS, ChargedRequest, Forecast
from thalweg.engine.pricing.tariff import Tariff


class Policy(Protocol):
    """Decides when to compact a thread, and how. One object serves one thread."""

    @property
    def memory(self) -> dict[str, float]:
        """The state to restore on a restart; empty by default.

        A caller that stops and starts it again stores this and restores it.
        """
        return {}

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield edits before a model call, in batches.

        Each batch is applied before the next is requested.

        Args:
            context: The planning context.
            cold: Whether a cache miss is expected anyway.
        """
        ...


@dataclass(slots=True)
class AccumulatedCost:
    """Accumulates the cost of not taking one action, and decides when to take it.

    Each call pays rent for an action not yet taken. Take it before the call whose rent would bring
    the sum to the price: in any future, rent and price together are less than twice the price, so
    at most twice the better of never taking it and taking it at once, the choice with knowledge of
    the number of calls (Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988). No
    rule without that number can guarantee less.

    If the rent grows by a constant at each call, as it does when dead tokens arrive evenly, and
    the action resets it, this acts at the interval of the least long-run cost, the economic order
    quantity (Harris, 1913): there the rent paid equals the price.
    """

    paid: float = 0.0
    """Rent since the last action."""

    def is_due(self, rent: float, price: float) -> bool:
        """Add the rent of the next call; return whether to act before it.

        Args:
            rent: Extra cost of the next call without the action; a negative one is ignored.
            price: Cost of the action now.
        """
        self.paid += max(0.0, rent)
        return self.paid >= price


@dataclass(slots=True)
class RentOrBuy:
    """Compacts when re-reading removable content has cost as much as removing it (rent = buy).

    There are two actions: old tool results and arguments become previews (`offers.clear`), and
    all but the newest messages become a structured summary (`offers.fold`). For each, every call
    pays rent on the tokens that the action would free: they are read again, at the cached price;
    at the price of writing if a cache miss is expected; in a more expensive tier if the request
    has grown into one. The price of an action is rewriting everything after its first change
    (nothing, if a cache miss is expected), its replacements, a summary, and steps to removed
    content, as estimated from earlier ones; for a model that binds its reasoning, producing
    discarded reasoning again. When the rent has added up to the price, the action is taken
    (`AccumulatedCost`), if it recovers its price within a share of as many calls as the thread has
    had (`PAYBACK`): a thread that ends soon after an action would be dearer than one sent whole.

    Independent of it, hard limits: a request that would not fit is always reduced.
    """

    tariff: Tariff
    summarizes: bool = False
    """Whether a model writes a narrative summary: its cost is part of the price."""
    provider_clears: bool = False
    """Whether the provider clears old results: then only hard limits change the view, since any
    change discards reasoning that is bound to it."""
    provider_compacts: int | None = None
    """Fewest tokens of a request that the provider compacts in our place; `None` if it does not."""
    requests_compaction: bool = False
    """Whether the provider is to compact the request that was just prepared."""
    memory: dict[str, float] = field(default_factory=dict)
    """`fold`, `clear`: rent paid since the last action, less the savings of keeping. `used`:
    position of the last answer that used an old result. `again:` with an action, `by reference`:
    cost of the repeated reads of removed content up to position `seen`. `returns`: how often
    content was brought back. `over`: tokens by which the last planned compaction freed less than
    estimated."""

    names: NameIndex = field(default_factory=NameIndex)
    """The identifiers of live messages; found again after a restart."""

    FIRST_RETURN = 1 / 8
    """Share of the price at which content is brought back, in that of a removal: the first repeated
    reads show that more follow."""
    MOST_RETURN = 2.0
    """Most prices of a return that a removal has to recover."""
    UNUSED = 4.0
    """Until an answer has used an old result, all results may be for later: below the first dearer
    tier a removal has to recover so many prices of a return, under every preset. See
    docs/harm.md."""
    PAYBACK = 1 / 3
    """Share of the thread's calls so far in which an action recovers its price. On recorded
    sessions at DeepSeek's prices, 1 of 26 short ones costs more than sending everything; 4 without
    this."""
    NEAR = 0.9
    """Share of its price from which a compaction is made when a clear is due, for a model that
    binds its reasoning: both discard the same."""
    FULL = 0.85
    """Share of the limit at which the provider compacts content that it can no longer clear."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield arrivals, then the due action, then reductions to the hard limits."""
        yield plan_arrivals(context)
        yield plan_forbidden(context)
        self._count_repeats(context)
        tail_tokens = context.budget.tail(context.fixed)
        self._count_uses(context, tail_tokens)
        costs = Costs.of(context, self.tariff, cold=cold)
        offers = self._candidate_actions(context, costs, tail_tokens)
        due_names = [name for name, offer in offers.items() if self._is_due(name, offer, context)]
        if (
            context.binds
            and due_names == ["clear"]
            and self._is_near("fold", offers["fold"], context)
        ):
            due_names = ["fold"]  # both discard the same reasoning: do it once
        if self._is_nearly_full(context):
            due_names = ["fold"]
        if due_names and reread_positions(context, context.budget.limit):
            due_names = []  # the model may need all of it together: only the hard limit removes
        self.requests_compaction = self._leaves_to_provider(due_names, context)
        if self.requests_compaction:
            self.memory["fold"] = 0.0
        elif (returned := self._due_return(context, costs)) is not None:
            yield from returned.edits(context)
            self.memory |= dict.fromkeys(offers, 0.0)
        elif (
            due_names
            and self.provider_compacts is None
            and context.tokens_to_fit <= context.budget.limit
        ):
            yield from self._taken_batches(
                due_names[0], self._with_forecast(due_names[0], offers[due_names[0]], context)
            )
        for batch in reduce_to_limit(context):
            yield from self._taken_batches("fold", [batch])

    def _candidate_actions(
        self, context: PlanningContext, costs: Costs, tail_tokens: int
    ) -> dict[str, CandidateAction]:
        """Return the actions that prices decide about, by name."""
        if self.provider_clears:
            return {}
        if self.provider_compacts is not None:
            return {"fold": offer_provider_compaction(context, costs)}
        return {
            "fold": offer_fold(context, costs, tail_tokens, summarizes=self.summarizes),
            "clear": offer_clear(context, costs, tail_tokens),
        }

    def _leaves_to_provider(self, due_names: Sequence[str], context: PlanningContext) -> bool:
        """Return whether the provider is to compact this request."""
        tokens, limit = context.window.tokens, context.budget.limit
        if self.provider_compacts is None or not self.provider_compacts <= tokens <= limit:
            return False
        return tokens >= self.FULL * limit if self.provider_clears else bool(due_names)

    def _is_nearly_full(self, context: PlanningContext) -> bool:
        """Return whether the limit is so near that later no summary can be requested in place."""
        limit = context.budget.limit
        reserve = min(QUESTION_TOKENS, limit // 50) if self.summarizes else 0
        return self.provider_compacts is None and limit - reserve < context.tokens_to_fit <= limit

    def _due_return(self, context: PlanningContext, costs: Costs) -> CandidateAction | None:
        """Return the offer to bring back the results of an action whose repeats have paid for it.

        Only if all of them fit, and a quarter of the limit stays free: nothing shows that a part of
        them is the one that is needed. Reads by reference count for every action: they may have
        brought back any of it.
        """
        if self.provider_clears or self.provider_compacts is not None:
            return None
        if not (removed_by_action := removed_tokens(context)):
            return None
        share = min(1.0, self.FIRST_RETURN * self._return_share(context))
        room = context.budget.limit * 3 // 4 - context.tokens_to_fit
        for action in REPEATABLE:
            name = f"{_AGAIN}{action}"
            paid = self.memory.get(name, 0.0) + self.memory.get(_BY_REFERENCE, 0.0)
            removed = removed_by_action.get(action, 0)
            if not 0 < removed <= room or paid < share * costs.returning(removed):
                continue
            offer = offer_return(context, costs, action)
            is_worth = offer is not None and -offer.freed > context.budget.progress
            if offer is not None and is_worth and paid >= share * offer.price:
                returns = self.memory.get("returns", 0.0) + 1
                self.memory |= {"returns": returns, name: 0.0, _BY_REFERENCE: 0.0}
                return offer
        return None

    def _is_due(self, name: str, offer: CandidateAction, context: PlanningContext) -> bool:
        if offer.freed <= 0:  # without rent
            self.memory.setdefault(name, 0.0)
            return False
        meter = AccumulatedCost(self.memory.get(name, 0.0))
        is_due = meter.is_due(offer.rent, self._price(offer, context))
        self.memory[name] = meter.paid
        return is_due and self._recovers(offer, context) and offer.freed > context.budget.progress

    def _recovers(self, offer: CandidateAction, context: PlanningContext) -> bool:
        """Return whether an action recovers its price within the expected calls.

        The saving on the call itself, with a cold cache or in a dearer tier, counts at once.
        """
        net_price = self._price(offer, context) - max(0.0, offer.rent - offer.saving)
        return net_price <= self.PAYBACK * context.turn * offer.saving

    def _is_near(self, name: str, offer: CandidateAction, context: PlanningContext) -> bool:
        """Return whether the rent of an action has reached most of its price."""
        is_near = self.memory[name] >= self.NEAR * self._price(offer, context)
        return is_near and offer.freed > context.budget.progress

    def _price(self, offer: CandidateAction, context: PlanningContext) -> float:
        share = min(self.MOST_RETURN, self._return_share(context))
        is_dear = any(context.window.tokens >= tier.above for tier in self.tariff.tiers)
        if "used" not in self.memory and not is_dear:
            share = self.UNUSED
        return offer.price + share * offer.returning

    def _return_share(self, context: PlanningContext) -> float:
        """Return the share of a return's price that counts: each return so far doubles it."""
        returns = self.memory.get("returns", 0.0)
        return context.budget.return_share * float(2**returns)

    def _with_forecast(
        self, name: str, offer: CandidateAction, context: PlanningContext
    ) -> Iterator[Sequence[Edit]]:
        """Yield the edits of an offer; the first one has the forecast for all of them.

        A compaction that frees too little is dropped. It is not even planned if the last one fell
        short of its estimate by so much that this one would be dropped, too: where requests fill
        the structured summary, planning it costs more time than the rest of the call.
        """
        forecast = Forecast(self._price(offer, context), offer.saving, context.turn)
        min_freed = context.budget.progress
        if name == "fold" and offer.freed - self.memory.get("over", 0.0) < min_freed:
            return
        batches = offer.edits(context)
        for first, *other_edits in batches:
            if name == "fold":
                self.memory["over"] = float(max(0, offer.freed - first.freed))
                if first.freed < min_freed:
                    return
            yield (replace(first, forecast=forecast), *other_edits)
            yield from batches

    def _taken_batches(
        self, name: str, batches: Iterable[Sequence[Edit]]
    ) -> Iterator[Sequence[Edit]]:
        yield from batches
        if name == "clear":  # this share of the rent has paid for the clear
            self.memory["fold"] = max(0.0, self.memory["fold"] - self.memory["clear"])
        self.memory["clear"] = self.memory[name] = 0.0

    def _count_repeats(self, context: PlanningContext) -> None:
        """Add the price of each read of removed content since the last call to its meter."""
        seen = self.memory.get("seen", -1.0)
        for entry in context.window.open_entries:
            if entry.position <= seen:
                continue
            removed = repeated_result(context, entry)
            if entry.is_fetched or (removed is not None and not removed.is_outdated):
                price = self._step_price(context, entry.tokens)
                name = _BY_REFERENCE if removed is None else f"{_AGAIN}{removed.action}"
                self.memory[name] = self.memory.get(name, 0.0) + price
                self.memory["seen"] = entry.position

    def _count_uses(self, context: PlanningContext, tail_tokens: int) -> None:
        """Subtract the savings of keeping since the last call: expected steps to used results."""
        if context.window.tokens <= tail_tokens:
            return  # nothing is old
        seen = self.memory.get("used", -1.0)
        for entry in context.window.open_entries:
            if entry.message.role != "assistant" or entry.position <= seen:
                continue
            for source in used_results(context, entry, tail_tokens, self.names):
                if "used" not in self.memory:  # else what the higher price kept is due at once
                    self.memory |= {"fold": 0.0, "clear": 0.0}
                self.memory["used"] = entry.position
                price = STEPS_PER_USE * self._step_price(context, context.shown_tokens(source))
                for name in ("fold", "clear"):
                    self.memory[name] = max(0.0, self.memory.get(name, 0.0) - price)

    def _step_price(self, context: PlanningContext, added: int) -> float:
        """Return the price of a step that brings some tokens into this request."""
        tokens = context.window.tokens
        sent = ChargedRequest(
            tariff=self.tariff, tokens=tokens, cached=tokens, written=0, same=tokens
        )
        before = max(0, tokens - added - ASK_TOKENS)
        return sent.step_price(context=before, arguments=ASK_TOKENS, added=added)


_AGAIN, _BY_REFERENCE = "again:", "by reference"
"""Meters of repeated reads: by the action of the call, and by `recall`."""


@dataclass(slots=True, kw_only=True)
class Thresholds:
    """Compacts when any trigger is reached, and keeps the newest messages by `keep`.

    A compaction is made only if it frees something. A trigger that it does not clear (the kept
    messages exceed it) waits until the thread has grown again by a share: the same attempt is never
    made twice.

    What the model reads again since it last did anything else stays, too, up to three quarters of
    the limit: it may need all of it together (I56).

    Independent of it, hard limits: a request that would not fit is always reduced.
    """

    triggers: tuple[Threshold, ...]
    """If empty, only the hard limits cause a compaction."""
    keep: Threshold
    memory: dict[str, float] = field(default_factory=dict)
    """`waits`: tokens that the thread must reach before a trigger that was not cleared counts
    again."""
    reached: tuple[Threshold, ...] = ()
    """The triggers that the last planned request had reached."""

    LEAST = 64
    """Least tokens that a compaction must free."""
    ARGUMENTS_SHARE = 0.85
    """Share of the window from which long arguments before the kept messages are replaced."""
    GROWTH = 8
    """An uncleared trigger waits until the thread has grown by an eighth."""
    RECORD_SHARE, WIDEST_SHARE = 1 / 10, 1 / 8
    """Share of the tokens from the tail to a trigger that a structured summary may fill, and the
    share if the user's constraints need it."""
    LEAST_TALK, LEAST_WORK = 320, 560
    """Tokens of a structured summary even if trigger and tail permit less: without tool calls, and
    with them, which requests do not name. With 480, the evals of artifacts and of orders, at a
    trigger of a tenth of the window, fail."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield arrivals, then a compaction if a trigger is reached, then hard-limit reductions."""
        del cold  # the user's thresholds decide, not the cost of a rewrite
        self.reached = tuple(one for one in self.triggers if one.is_reached(context))
        yield plan_arrivals(context, fills=True)
        yield plan_forbidden(context)
        yield self._plan_arguments(context)
        has_acted = self._is_due(context)
        compaction = self._plan_compaction(context) if has_acted else None
        if compaction is not None:
            yield (compaction, *drop_reasoning(context, compaction.last))
        for batch in reduce_to_limit(context):
            has_acted = True
            yield batch
        if has_acted:
            remaining_tokens = context.thread_tokens
            next_tokens = (
                remaining_tokens + max(self.LEAST, remaining_tokens // self.GROWTH)
                if self._is_any_reached(context)
                else 0
            )
            self.memory["waits"] = next_tokens

    def _plan_arguments(self, context: PlanningContext) -> Sequence[Edit]:
        """Plan references for long arguments in a nearly full window, if they free enough."""
        window, budget = context.window, context.budget
        if not self.triggers or window.tokens < self.ARGUMENTS_SHARE * budget.window:
            return ()
        cut = window.cut_for_tail(self.keep.tail(context))
        old_positions = {item.position for item in window.items[window.head : cut]}
        positions = [
            p
            for p in sorted(old_positions & window.entries.keys() - window.rewrites.keys())
            if window.entries[p].message.role == "assistant"
        ]
        edits = plan_clear(context, positions, "a trigger of the policy")
        return edits if sum(edit.freed for edit in edits) >= budget.progress else ()

    def _is_any_reached(self, context: PlanningContext) -> bool:
        return any(trigger.is_reached(context) for trigger in self.triggers)

    def _is_due(self, context: PlanningContext) -> bool:
        return context.thread_tokens >= self.memory.get("waits", 0) and self._is_any_reached(
            context
        )

    def _plan_compaction(self, context: PlanningContext) -> Fold | None:
        tail_tokens = self.keep.tail(context)
        record_tokens, widest_tokens = self._record_limits(context, tail_tokens)
        compaction = plan_fold(
            context,
            tail_tokens=tail_tokens,
            record_tokens=record_tokens,
            widest_tokens=widest_tokens,
            reason="a trigger of the policy",
            returned=reread_positions(context, context.budget.limit * 3 // 4, reads=0) or None,
        )
        if compaction is None or compaction.freed < self.LEAST:
            return None
        # if this alone would not make the request fit, the hard limit compacts instead
        return (
            compaction if context.tokens_to_fit - compaction.freed <= context.budget.limit else None
        )

    def _record_limits(self, context: PlanningContext, tail_tokens: int) -> tuple[int, int]:
        """Return the most tokens of a structured summary, without and with all constraints.

        Half, or three quarters, of the tokens that a compaction frees now; and a small share of the
        distance from the tail to the nearest trigger in tokens: a larger summary brings the next
        compaction nearer. Triggers in messages are equally far for any size of it.
        """
        budget, fixed = context.budget, context.fixed
        kept_tokens = context.window.tokens_from(context.window.cut_for_tail(tail_tokens))
        freed_tokens = context.thread_tokens - kept_tokens
        sizes = [size for trigger in self.triggers if (size := trigger.tokens(context)) is not None]
        distance = min(sizes) - kept_tokens if sizes else None
        record_tokens, widest_tokens = freed_tokens // 2, freed_tokens * 3 // 4
        if distance is not None:
            record_tokens = min(record_tokens, int(distance * self.RECORD_SHARE))
            widest_tokens = min(widest_tokens, int(distance * self.WIDEST_SHARE))
        min_tokens = self.LEAST_WORK if _has_tool_calls(context) else self.LEAST_TALK
        record_tokens = min(budget.record(fixed), max(min_tokens, record_tokens))
        return record_tokens, min(budget.widest_record(fixed), max(record_tokens, widest_tokens))


def _has_tool_calls(context: PlanningContext) -> bool:
    """Return whether tools were called, so that a summary has more content than requests."""
    record, entries = context.window.record, context.window.entries.values()
    return bool(record.files or record.runs or record.tasks) or any(e.uses for e in entries)
