"""A provider's edits in our place: clears of old results, and compactions.

Anthropic's context editing clears the oldest results of a request, except for the newest few. The
client sends its whole history, unchanged: so reasoning that is bound to it remains valid, which no
edit by the client achieves. The provider stores nothing between requests, so a request states how
many newest results remain. Here that number is held until a further clear has paid for itself:
otherwise each call would clear one more result, and rewrite the cached prefix from there.

Anthropic and OpenAI compact a conversation within an ordinary request that is larger than a
threshold: the answer begins with a block (an item) that replaces everything before it, and the
provider ignores what precedes it in later requests. Here each received block becomes a compaction
of ours, too: the structured summary precedes the block. The provider that wrote the block ignores
the summary; a model that cannot read the block is not sent it, and reads the summary.

Sources, read 2026-11-23: platform.claude.com/docs/en/build-with-claude/compaction-threshold,
developers.openai.com/api/docs/guides/compaction, and the types of the packages anthropic 2.12
(`BetaCompact20260112EditParam`) and openai 3.54 (`ContextManagement`).
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from math import sqrt

from thalweg.engine.compaction.offers import CandidateAction, Costs
from thalweg.engine.compaction.plan import plan_fold
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.edits import Fold, Reason
from thalweg.engine.entries import Entry
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.items import has_compaction
from thalweg.engine.window.window import Window

PLACEHOLDER_TOKENS = 16
"""Tokens, about, of the provider's placeholder for a result."""
LATEST_SHARE = 0.7
"""Share of the limit at which results are cleared even if that has not paid for itself."""
KEPT_RESULTS = 3
"""Newest results that are never cleared: the provider's own default."""
COMPACTED_BY_PROVIDER: Reason = "the provider has compacted it"
MIN_TRIGGER_TOKENS = 50_000
"""Fewest tokens of a request that Anthropic's API compacts."""
TRIGGER_MARGIN = 1.1
"""Factor of `MIN_TRIGGER_TOKENS` from which a request is expected to reach it.

Our count and the provider's differ."""
SUMMARY_TOKENS = 3_500
"""Tokens of the provider's summary, as in the example of Anthropic's documentation."""
_COMPACTING_MODELS = re.compile(
    r"claude-(?:(?:fable|mythos)-(?:5|preview)|opus-(?:4-[678]|5)|sonnet-(?:4-6|5)|haiku-5-5)"
    r"(?!\d)"
)
"""Models that compact, according to Anthropic's documentation."""


@dataclass(slots=True)
class ProviderClearing:
    """The results of one thread that the provider clears; they remain in the window, and are sent.

    They count as placeholders, so every other decision is about the content shown to the model.
    """

    cleared: frozenset[int] = frozenset()
    """Positions of the results."""
    _full_entries: dict[int, Entry] = field(default_factory=dict)
    """Their entries as they were counted."""

    def resume(self, window: Window, cleared_uses: int) -> None:
        """Apply the provider's report on the last request.

        Args:
            window: The window as it was sent, and the items since.
            cleared_uses: Number of the oldest tool uses that it cleared.
        """
        if cleared_uses or self.cleared:
            self._recount(window, _result_positions(window)[:cleared_uses])

    def plan(self, window: Window, tariff: Tariff, limit: int, *, is_cold: bool) -> None:
        """Choose the results that the next request clears: more, once that has paid for itself.

        At once if a cache miss is expected anyway, and at the latest at a share of the limit.
        With results of `g` tokens a call and `S` tokens that are written again, re-reading has cost
        as much as the clear once the clearable tokens reach `sqrt(2 * S * g * (w - r) / r)`.
        """
        results = _result_positions(window)
        clearable_positions = [p for p in results[:-KEPT_RESULTS] if p not in self.cleared]
        clearable_tokens = sum(
            max(0, window.entries[p].tokens - PLACEHOLDER_TOKENS) for p in clearable_positions
        )
        if not clearable_tokens:
            return
        prices = tariff.prices(window.tokens)
        rewritten_tokens = (
            sum(item.tokens for item in window.items if item.position >= clearable_positions[0])
            - clearable_tokens
        )
        tokens_per_call = clearable_tokens / len(clearable_positions)
        ratio = max(0.0, prices.write - prices.read) / max(prices.read, 1e-9)
        is_due = clearable_tokens >= sqrt(2 * max(rewritten_tokens, 0) * tokens_per_call * ratio)
        if is_due or is_cold or window.tokens >= LATEST_SHARE * limit:
            self._recount(window, results[:-KEPT_RESULTS])

    def kept(self, window: Window) -> int | None:
        """Return how many newest tool uses the request keeps; `None` if it clears nothing."""
        results = _result_positions(window)
        cleared = sum(position in self.cleared for position in results)
        return len(list(_use_ids(window))) - cleared if cleared else None

    def _recount(self, window: Window, positions: Collection[int]) -> None:
        """Count these results as placeholders, and all others as they are."""
        self.cleared = frozenset(positions)
        live = window.entries
        newly_cleared = {p: live[p] for p in self.cleared if live[p].tokens > PLACEHOLDER_TOKENS}
        restored = {
            p: e for p, e in self._full_entries.items() if p in live and p not in self.cleared
        }
        self._full_entries = {
            p: e for p, e in self._full_entries.items() if p in self.cleared
        } | newly_cleared
        placeholders = {
            p: replace(entry, tokens=PLACEHOLDER_TOKENS) for p, entry in newly_cleared.items()
        }
        window.recount(restored | placeholders)


def _use_ids(window: Window) -> Iterator[str]:
    """Yield the ids of the live tool uses, as they are sent."""
    for item in window.items:
        yield from (call.id for call in item.message.calls)


def _result_positions(window: Window) -> list[int]:
    """Return the positions of the live results, in the order of their calls."""
    position_by_id = {e.answers.id: p for p, e in window.entries.items() if e.answers is not None}
    return [position_by_id[use_id] for use_id in _use_ids(window) if use_id in position_by_id]


def min_compaction_tokens(model: str, client: str) -> int | None:
    """Return the fewest tokens of a request that a provider compacts; `None` if it never does.

    Args:
        model: `provider:name`.
        client: `anthropic`, `openai-responses`, or another.

    Example:
        >>> min_compaction_tokens("anthropic:claude-opus-5-5", "anthropic")
        55000
        >>> min_compaction_tokens("anthropic:claude-opus-4-5", "anthropic")
    """
    if client == "openai-responses":
        return 2 * SUMMARY_TOKENS
    if client == "anthropic" and _COMPACTING_MODELS.search(model):
        return int(MIN_TRIGGER_TOKENS * TRIGGER_MARGIN)
    return None


def compaction_index(window: Window) -> int | None:
    """Return the index of the newest item with a provider's compaction; `None` if there is none."""
    indices = range(len(window.items) - 1, -1, -1)
    return next((k for k in indices if has_compaction(window.items[k].message)), None)


def plan_received(context: PlanningContext, index: int) -> Fold | None:
    """Plan the compaction of everything before `items[index]`, which the provider has compacted.

    Returns:
        `None` if nothing remains there to be compacted.
    """
    window = context.window
    if index <= window.head:
        return None
    room = context.budget.record(context.fixed)
    return plan_fold(
        context,
        tail_tokens=window.tokens_from(index),
        record_tokens=room,
        reason=COMPACTED_BY_PROVIDER,
    )


def unseen_tokens(window: Window, index: int) -> tuple[int, int]:
    """Return the tokens before `items[index]` that the provider of its compaction ignores.

    Returns:
        All of them, and the part that is media.
    """
    unseen = [item for item in window.items[:index] if item.section != "system"]
    return sum(item.tokens for item in unseen), sum(item.media_tokens for item in unseen)


def offer_provider_compaction(context: PlanningContext, costs: Costs) -> CandidateAction:
    """Offer to have the provider compact everything: it reads the request, and writes a summary."""
    window, prices = context.window, costs.tariff.prices(context.window.tokens)
    read_price = prices.write if costs.cold else prices.read
    price = read_price * window.tokens + (prices.output + prices.write) * SUMMARY_TOKENS
    price += costs.lost_reasoning_cost(context, window.head)
    offer = costs.offer(window.tokens - context.fixed - SUMMARY_TOKENS, price, lambda _: iter(()))
    return replace(offer, returning=0.0)  # nothing in the provider's block can be brought back
