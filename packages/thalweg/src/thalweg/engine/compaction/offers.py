"""The candidate actions of a policy: freed tokens, costs and edits of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from thalweg.engine.compaction.model_summary import least_tokens
from thalweg.engine.compaction.plan import kept_skills, plan_clear, plan_fold, plan_tail
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import has_long_arguments, supersede
from thalweg.engine.edits import Edit, Reason
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.binding import is_signed
from thalweg.engine.window.items import WindowItem

WHY: Reason = "re-reading it has cost as much as dropping it"
SUMMARY = 600
"""Tokens of a summary: the requested length, and its headings."""
LEAST_RECORD = 600
"""Least tokens of a first structured summary."""
QUOTED = 1_600
"""Most tokens that a structured summary usually quotes of a request (`LEVELS`)."""
COMPRESSION = 12
"""Compacted tokens per token of a structured summary."""


Plan = Callable[[PlanningContext], Iterator[Sequence[Edit]]]


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
    def of(cls, scene: PlanningContext, tariff: Tariff, *, cold: bool) -> "Costs":
        """Return the costs of the next call of a window."""
        new = sum(scene.shown_tokens(entry) for entry in scene.window.open_entries)
        return cls(tariff, scene.window.tokens, new, cold)

    def rent(self, freed: int, *, cold: bool) -> float:
        """Return the additional cost of the call, compared to one with fewer tokens.

        It reads the content sent before from the cache and writes new content; all of it is new
        if a cache miss is expected. A larger request may be in a more expensive tier.
        """
        smaller = self.tokens - max(0, freed)
        new = self.tokens if cold else min(self.new, smaller)
        least = min(new, smaller)
        whole = self.tariff.charge(self.tokens - new, new)
        return whole - self.tariff.charge(smaller - least, least)

    def rewriting(self, freed: int, behind: int) -> float:
        """Return the cost of rewriting everything after the first change instead of reading it.

        Args:
            freed: Tokens that the request is smaller by then.
            behind: Tokens from the first change on.
        """
        prices = self.tariff.prices(self.tokens - max(0, freed))
        again = 0 if self.cold else max(0, behind - self.new)
        return (prices.write - prices.read) * again

    def asking(self, dropped: int) -> float:
        """Return the cost of a summary of some tokens, requested in the cheaper way.

        With a cold cache it waits for a later compaction, and costs nothing now.
        """
        if dropped < least_tokens(is_cold=self.cold):
            return 0.0
        prices = self.tariff.prices(self.tokens)
        behind = (prices.write if self.cold else prices.read) * self.tokens
        return min(behind, prices.input * dropped) + prices.output * SUMMARY

    def rethinking(self, scene: PlanningContext, first: int) -> float:
        """Return the cost of reasoning that a change of `items[first]` discards.

        Only a model that binds its reasoning loses the reasoning after a change, and has to produce
        it again. Reasoning in finished exchanges has led to an answer and counts nothing, so the
        cost is lowest right after a person's message.
        """
        if not scene.binds:
            return 0.0
        latest, discarded = scene.latest_request, 0
        start = latest.position if latest else -1
        for item in scene.window.items[first:]:
            if item.position > start and is_signed(item.message):
                discarded += scene.window.entries[item.position].thinking
        return self.tariff.prices(self.tokens).output * discarded

    def offer(self, freed: int, price: float, edits: Plan) -> "CandidateAction":
        """Return the offer of edits that free some tokens, at a price."""
        rent, saving = self.rent(freed, cold=self.cold), self.rent(freed, cold=False)
        return CandidateAction(freed, rent, saving, price, edits)


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
    edits: Plan
    """Plans it; each batch is applied before the next is requested."""


def fold(scene: PlanningContext, costs: Costs, tail: int, *, summarizes: bool) -> CandidateAction:
    """Offer to replace all but the newest messages, at most `tail` tokens, by a summary."""
    window = scene.window
    cut = window.cut_for_tail(tail)
    stay = kept_skills(scene, {item.position for item in window.items[cut:]})
    kept = window.tokens_from(cut)
    kept += sum(scene.shown_tokens(window.entries[position]) for position in stay)
    dropped = window.tokens - scene.fixed - kept
    summary = SUMMARY if summarizes else 0
    record = _record_tokens(scene, cut, dropped, summary) + summary
    freed = dropped - record
    price = costs.rewriting(freed, record + kept)
    price += costs.asking(dropped) if summarizes else 0.0
    price += costs.rethinking(scene, window.head)
    return costs.offer(freed, price, partial(_fold, tail=tail))


def _record_tokens(scene: PlanningContext, cut: int, dropped: int, summary: int) -> int:
    """Estimate the tokens of the structured summary of a compaction at `items[cut]`.

    It grows with the dropped tokens up to its budget, and beyond that with the user's requests,
    which are quoted: of a conversation that is mostly the user's words, a compaction frees little.

    Args:
        scene: The planning context.
        cut: Index of the first item to keep.
        dropped: Tokens before it that a compaction replaces.
        summary: Tokens of the narrative in the structured summary that is replaced.
    """
    window, budget = scene.window, scene.budget
    held = window.ledger.tokens["summary"]
    grown = max(held, LEAST_RECORD) + max(0, dropped - held) // COMPRESSION
    entries = (window.entries.get(item.position) for item in window.items[window.head : cut])
    request_tokens = sum(
        min(entry.tokens, QUOTED) for entry in entries if entry and entry.is_request
    )
    quoted = min(budget.widest_record(scene.fixed), held - summary + request_tokens)
    return max(quoted, min(budget.record(scene.fixed), grown))


def _fold(scene: PlanningContext, tail: int) -> Iterator[Sequence[Edit]]:
    room = scene.budget.record(scene.fixed)
    planned = plan_fold(scene, tail=tail, record=room, reason=WHY)
    if planned is not None:
        yield (planned, *plan_tail(scene, planned.last))


def clear(scene: PlanningContext, costs: Costs, tail: int) -> CandidateAction:
    """Offer to replace the large results and arguments before the tail by previews."""
    window = scene.window
    cut, card = window.cut_for_tail(tail), scene.budget.card
    loaded = kept_skills(scene, ())
    large = [
        k
        for k in range(window.head, cut)
        if window.items[k].tokens > 2 * card
        and window.items[k].position not in loaded
        and _is_clearable(scene, window.items[k])
    ]
    freed = sum(window.items[k].tokens - card for k in large)
    behind = window.tokens_from(large[0]) - freed if large else 0
    positions = [window.items[k].position for k in large]
    price = costs.rewriting(freed, behind)
    price += costs.rethinking(scene, large[0]) if large else 0.0
    return costs.offer(freed, price, partial(_clear, positions=positions))


def _is_clearable(scene: PlanningContext, item: WindowItem) -> bool:
    entry = scene.window.entries.get(item.position)
    if entry is None or item.position in scene.window.rewrites or entry.is_fetched:
        return False
    return item.message.role == "tool" or has_long_arguments(item.message)


def _clear(scene: PlanningContext, positions: Sequence[int]) -> Iterator[Sequence[Edit]]:
    edits = plan_clear(scene, positions, WHY)
    if edits:
        yield edits
        # reasoning is kept: only a structured summary's reference would reach it
        yield tuple(supersede(scene, positions[0]))
