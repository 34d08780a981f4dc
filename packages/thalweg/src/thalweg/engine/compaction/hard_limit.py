"""Reduce a request to the hard limits, at any cost.

The steps go from little loss to much and end in a typed error. No step needs a model, and each is
strictly smaller than the previous one, so the sequence ends (I19).
"""

from collections.abc import Iterator, Sequence

from thalweg.engine.compaction.media import (
    exceeds_media_limits,
    plan_media_removal,
    plan_within_limits,
)
from thalweg.engine.compaction.plan import (
    LEAST_RECORD,
    plan_fold,
    reread_positions,
    returned_positions,
)
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import drop_reasoning, elide, evict, has_long_arguments
from thalweg.engine.edits import Edit, Reason
from thalweg.engine.entries import Entry
from thalweg.errors import WindowExceededError

REASON: Reason = "the request would not fit"


def exceeds_limit(context: PlanningContext) -> bool:
    """Return whether the next request would exceed a limit: tokens, bytes or media."""
    window, budget = context.window, context.budget
    window.settle()
    return (
        context.tokens_to_fit > budget.limit
        or context.body_bytes > budget.max_bytes
        or exceeds_media_limits(context)
    )


def reduce_to_limit(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Yield edits until the request fits.

    Raises:
        WindowExceededError: All possible reductions were made, and it does not fit.
    """
    if not exceeds_limit(context):
        return
    for step in (_within_limits, _smaller_tails, _without_inserts, _rewrites, _smaller_records):
        for edits in step(context):
            yield edits
            if not exceeds_limit(context):
                return
    raise _window_exceeded(context)


def _within_limits(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Replace media that are too many or too large together; those of older messages first."""
    if edits := plan_within_limits(context):
        yield edits


def _smaller_tails(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Compact, keeping a smaller and smaller tail.

    Content that the model requested again stays: it may need all of it together (I56).
    """
    window, budget, fixed = context.window, context.budget, context.fixed
    tail_tokens, record_tokens = budget.tail(fixed), budget.record(fixed)
    skills_tokens = budget.skills(fixed)
    latest = context.latest_request
    room = budget.limit - fixed - (latest.tokens if latest else 0) - record_tokens // LEAST_RECORD
    newest = window.tokens_from(window.cut_for_tail(1))
    returned = reread_positions(context, room) or returned_positions(
        context, min(budget.limit * 3 // 4, room - newest), ()
    )
    for divisor in (1, 2, 4, max(1, tail_tokens)):
        fold = plan_fold(
            context,
            tail_tokens=tail_tokens // divisor,
            record_tokens=record_tokens,
            reason=REASON,
            skills_tokens=skills_tokens // divisor,
            returned=returned,
        )
        if fold is not None and fold.freed > 0:
            yield (fold, *drop_reasoning(context, fold.last))


def _without_inserts(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Remove the inserts between messages: they are not part of the thread, so nothing is lost."""
    if context.window.inserts:
        context.window.set_inserts({})
        yield ()


def _rewrites(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    """Shorten the remaining messages one by one: results, arguments, texts, requests, media."""
    for step in (_shorten_results, _elide_arguments, _shorten_texts, _shorten_requests):
        for tokens in (context.budget.preview, context.budget.preview // 3):
            yield from _sufficient_batches(context, step(context, tokens))
    for edit in plan_media_removal(context, REASON):
        yield (edit,)


def _sufficient_batches(
    context: PlanningContext, edits: Iterator[Edit]
) -> Iterator[Sequence[Edit]]:
    """Yield batches of edits that free the excess tokens: each batch is laid out once."""
    batch: list[Edit] = []
    excess_tokens = context.tokens_to_fit - context.budget.limit
    for edit in edits:
        batch.append(edit)
        excess_tokens -= edit.freed
        if excess_tokens <= 0:
            yield batch
            batch = []
    if batch:
        yield batch


def _smaller_records(context: PlanningContext) -> Iterator[Sequence[Edit]]:
    record_tokens = context.budget.record(context.fixed)
    for divisor in (2, 4, 8):
        fold = plan_fold(
            context,
            tail_tokens=1,
            record_tokens=record_tokens // divisor,
            reason=REASON,
            skills_tokens=0,
        )
        if fold is not None and fold.freed > 0:
            yield (fold,)


def _largest_first(context: PlanningContext, *roles: str) -> list[Entry]:
    shown = {i.position: i.tokens for i in context.window.items}
    entries = [e for e in context.window.entries.values() if e.message.role in roles]
    return sorted(entries, key=lambda e: (-shown.get(e.position, 0), e.position))


def _evictions(
    context: PlanningContext, entries: Sequence[Entry], max_tokens: int
) -> Iterator[Edit]:
    for entry in entries:
        text_tokens = context.shown_tokens(entry) - context.shown_media_tokens(entry)
        if text_tokens > max_tokens * 3 // 2:
            edit = evict(context, entry, max_tokens, REASON, keeps_media=True)
            if edit.freed > 0:
                yield edit


def _shorten_results(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    return _evictions(context, _largest_first(context, "tool"), max_tokens)


def _elide_arguments(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    for entry in _largest_first(context, "assistant"):
        if has_long_arguments(context.shown(entry)) and context.shown_tokens(entry) > max_tokens:
            edit = elide(context, entry, REASON)
            if edit.freed > 0:
                yield edit


def _shorten_texts(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    entries = [
        e for e in _largest_first(context, "assistant", "user", "system") if not e.is_request
    ]
    yield from _evictions(context, entries, max_tokens)


def _shorten_requests(context: PlanningContext, max_tokens: int) -> Iterator[Edit]:
    entries = [e for e in _largest_first(context, "user") if e.is_request]
    yield from _evictions(context, entries, max_tokens)


def _window_exceeded(context: PlanningContext) -> WindowExceededError:
    sections = {k: v for k, v in context.window.ledger.tokens.items() if v}
    largest = sorted(sections.items(), key=lambda pair: -pair[1])
    window, budget = context.window, context.budget
    needed, limit, unit = window.tokens, budget.limit, "tokens"
    if needed <= limit:
        needed, limit, unit = window.ledger.bytes, budget.max_bytes, "bytes"
    if needed <= limit:
        needed, limit, unit = window.ledger.media, budget.max_media, "images and documents"
    return WindowExceededError(
        needed=needed,
        window=limit,
        irreducible=tuple(f"{name} {tokens} tokens" for name, tokens in largest),
        unit=unit,
    )
