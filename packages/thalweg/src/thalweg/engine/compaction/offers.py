"""The candidate actions of a policy: freed tokens, costs and edits of each."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from thalweg.engine.compaction.model_summary import MIN_COLD_TOKENS, MIN_TOKENS
from thalweg.engine.compaction.plan import (
    is_returned,
    kept_skill_positions,
    plan_clear,
    plan_fold,
    plan_return,
    returned_positions,
)
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import drop_reasoning
from thalweg.engine.compaction.summary_rendering import REQUESTS_SHARE_OF_WIDEST
from thalweg.engine.edits import Edit, Evict, Fold, Reason
from thalweg.engine.entries import Action
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.items import WindowItem, is_signed

REASON: Reason = "re-reading it has cost as much as dropping it"
RETURN_REASON: Reason = "reading it again has cost as much as keeping it"
SUMMARY_TOKENS = 600
"""Tokens of a summary: the requested length, and its headings."""
MIN_RECORD_TOKENS = 600
"""Least tokens of a first structured summary."""
COMPRESSION_RATIO = 12
"""Compacted tokens per token of a structured summary."""


EditPlan = Callable[[PlanningContext], Iterator[Sequence[Edit]]]


@dataclass(frozen=True, slots=True)
class Costs:
    """Cost of the next call, at its size and at smaller ones."""

    tariff: Tariff
    tokens: int
    """Tokens of the current request."""
    new: int
    """Those added since the last call: they are written in any case."""
    cold: bool
    """Whether a cache miss is expected for the others, too."""

    @classmethod
    def of(cls, context: PlanningContext, tariff: Tariff, *, cold: bool) -> "Costs":
        """Return the costs of the next call of a window."""
        new_tokens = sum(map(context.shown_tokens, context.window.open_entries))
        return cls(tariff, context.window.tokens, new_tokens, cold)

    def rent(self, freed: int, *, cold: bool) -> float:
        """Return the additional cost of the call, compared to one with fewer tokens.

        It reads the content sent before from the cache and writes new content; all of it is new
        if a cache miss is expected. A larger request may be in a more expensive tier.
        """
        smaller_tokens = self.tokens - max(0, freed)
        uncached = self.tokens if cold else min(self.new, smaller_tokens)
        smaller_uncached = min(uncached, smaller_tokens)
        full_cost = self.tariff.charge(self.tokens - uncached, uncached)
        return full_cost - self.tariff.charge(smaller_tokens - smaller_uncached, smaller_uncached)

    def returning(self, freed: int) -> float:
        """Return the cost of writing removed tokens again."""
        return self.tariff.prices(self.tokens - max(0, freed)).write * max(0, freed)

    def rewriting(self, freed: int, tokens_behind: int) -> float:
        """Return the cost of rewriting everything after the first change instead of reading it.

        Args:
            freed: Tokens that the request is smaller by then.
            tokens_behind: Tokens from the first change on.
        """
        prices = self.tariff.prices(self.tokens - max(0, freed))
        rewritten_tokens = 0 if self.cold else max(0, tokens_behind - self.new)
        return (prices.write - prices.read) * rewritten_tokens

    def asking(self, dropped_tokens: int) -> float:
        """Return the cost of a summary of some tokens, requested in the cheaper way.

        With a cold cache it waits for a later compaction, and costs nothing now.
        """
        if dropped_tokens < (MIN_COLD_TOKENS if self.cold else MIN_TOKENS):
            return 0.0
        prices = self.tariff.prices(self.tokens)
        in_place_cost = (prices.write if self.cold else prices.read) * self.tokens
        return min(in_place_cost, prices.input * dropped_tokens) + prices.output * SUMMARY_TOKENS

    def lost_reasoning_cost(self, context: PlanningContext, first: int) -> float:
        """Return the cost of reasoning that a change of `items[first]` discards.

        Only a model that binds its reasoning loses the reasoning after a change, and has to produce
        it again. Reasoning in finished exchanges has led to an answer and counts nothing, so the
        cost is lowest right after a person's message.
        """
        if not context.binds:
            return 0.0
        latest, discarded_tokens = context.latest_request, 0
        request_position = latest.position if latest else -1
        for item in context.window.items[first:]:
            if item.position > request_position and is_signed(item.message):
                discarded_tokens += context.window.entries[item.position].thinking
        return self.tariff.prices(self.tokens).output * discarded_tokens

    def offer(self, freed: int, price: float, plan: EditPlan) -> "CandidateAction":
        """Return the offer of edits that free some tokens, at a price."""
        saving = self.rent(freed, cold=False)
        rent = self.rent(freed, cold=True) if self.cold else saving
        return CandidateAction(freed, rent, saving, price, self.returning(freed), plan)


@dataclass(frozen=True, slots=True)
class CandidateAction:
    """A candidate action before a call. Costs are in uncached input tokens."""

    freed: int
    """Tokens by which every later request would be smaller."""
    rent: float
    """Extra cost of this call without it."""
    saving: float
    """Saved cost of every later call, with a warm cache."""
    price: float
    """Its cost, once, without steps to removed content."""
    returning: float
    """Cost of undoing it: of writing the freed tokens again."""
    edits: EditPlan
    """Plans it; each batch is applied before the next is requested."""


def offer_fold(
    context: PlanningContext, costs: Costs, tail_tokens: int, *, summarizes: bool
) -> CandidateAction:
    """Offer to replace all but the newest messages, at most `tail_tokens` tokens, by a summary."""
    window = context.window
    cut = window.cut_for_tail(tail_tokens)
    tail_positions = {item.position for item in window.items[cut:]}
    returned = returned_positions(context, context.budget.returned, tail_positions)
    kept_positions = kept_skill_positions(context, tail_positions) | returned
    kept_tokens = window.tokens_from(cut)
    kept_tokens += sum(
        context.shown_tokens(window.entries[position]) for position in kept_positions
    )
    dropped_tokens = window.tokens - context.fixed - kept_tokens
    summary_tokens = SUMMARY_TOKENS if summarizes else 0
    record_tokens = _record_tokens(context, cut, dropped_tokens, summary_tokens) + summary_tokens
    freed = dropped_tokens - record_tokens
    plan = partial(_fold_batches, tail_tokens=tail_tokens, returned=returned)
    if freed <= 0:
        return CandidateAction(freed, 0.0, 0.0, 0.0, 0.0, plan)
    price = costs.rewriting(freed, record_tokens + kept_tokens)
    price += costs.asking(dropped_tokens) if summarizes else 0.0
    price += costs.lost_reasoning_cost(context, window.head)
    return costs.offer(freed, price, plan)


def _record_tokens(
    context: PlanningContext, cut: int, dropped_tokens: int, summary_tokens: int
) -> int:
    """Estimate the tokens of the structured summary of a compaction at `items[cut]`.

    It grows with the dropped tokens up to its budget, and beyond that with the user's requests,
    which are quoted: of a conversation that is mostly the user's words, a compaction frees little.

    Args:
        context: The planning context.
        cut: Index of the first item to keep.
        dropped_tokens: Tokens before it that a compaction replaces.
        summary_tokens: Tokens of the narrative in the structured summary that is replaced.
    """
    window, budget = context.window, context.budget
    old_tokens = window.ledger.tokens["summary"]
    grown_tokens = (
        max(old_tokens, MIN_RECORD_TOKENS)
        + max(0, dropped_tokens - old_tokens) // COMPRESSION_RATIO
    )
    record_tokens, widest_tokens = budget.record(context.fixed), budget.widest_record(context.fixed)
    old_tokens -= summary_tokens
    # If not all requests fit, the oldest without a constraint are shortened.
    kept_tokens = max(old_tokens, record_tokens + int(widest_tokens * REQUESTS_SHARE_OF_WIDEST))
    quoted_tokens = min(old_tokens + window.quoted_tokens(cut), kept_tokens, widest_tokens)
    return max(quoted_tokens, min(record_tokens, grown_tokens))


def _fold_batches(
    context: PlanningContext, tail_tokens: int, returned: Collection[int]
) -> Iterator[Sequence[Edit]]:
    planned = plan_fold(
        context,
        tail_tokens=tail_tokens,
        record_tokens=context.budget.record(context.fixed),
        reason=REASON,
        returned=returned,
    )
    if planned is not None:
        yield (planned, *drop_reasoning(context, planned.last))


def offer_clear(context: PlanningContext, costs: Costs, tail_tokens: int) -> CandidateAction:
    """Offer to replace the large results before the tail by previews."""
    window = context.window
    cut, preview_tokens = window.cut_for_tail(tail_tokens), context.budget.cleared_result_tokens
    skill_positions = kept_skill_positions(context, ())
    large_indices = [
        k
        for k in range(window.head, cut)
        if window.items[k].tokens > 2 * preview_tokens
        and window.items[k].position not in skill_positions
        and _is_clearable(context, window.items[k])
    ]
    positions = [window.items[k].position for k in large_indices]
    plan = partial(_clear_batches, positions=positions)
    if not positions:
        return CandidateAction(0, 0.0, 0.0, 0.0, 0.0, plan)
    freed = sum(window.items[k].tokens - preview_tokens for k in large_indices)
    price = costs.rewriting(freed, window.tokens_from(large_indices[0]) - freed)
    price += costs.lost_reasoning_cost(context, large_indices[0])
    return costs.offer(freed, price, plan)


def _is_clearable(context: PlanningContext, item: WindowItem) -> bool:
    """Return whether an item is a result that no edit and no request of the model concerns."""
    entry = context.window.entries.get(item.position)
    if entry is None or entry.message.role != "tool" or item.position in context.window.rewrites:
        return False
    return not is_returned(context, entry)


def _clear_batches(context: PlanningContext, positions: Sequence[int]) -> Iterator[Sequence[Edit]]:
    edits = plan_clear(context, positions, REASON)
    if edits:
        yield edits


def offer_return(context: PlanningContext, costs: Costs, action: Action) -> CandidateAction | None:
    """Offer to show the removed results of an action again; `None` if none fits.

    They are written after the structured summary, with everything behind them.
    """
    edits: list[Evict | Fold] = [*plan_return(context, action, RETURN_REASON)]
    returned = -sum(edit.freed for edit in edits)
    if not edits:
        return None
    positions = [-1 if isinstance(edit, Fold) else edit.position for edit in edits]
    items = context.window.items
    behind = sum(item.tokens for item in items if item.position >= min(positions))
    price = costs.rewriting(0, behind) + costs.returning(returned)
    return CandidateAction(-returned, 0.0, 0.0, price, 0.0, lambda _: iter([edits]))
