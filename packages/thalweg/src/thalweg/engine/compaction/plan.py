"""Plan the edits before a model call: pure decisions about a window."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from thalweg.engine.compaction import texts
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.repeats import removed_result
from thalweg.engine.compaction.rewrites import (
    edit_fields,
    elide,
    evict,
    has_long_arguments,
)
from thalweg.engine.compaction.skills import MAY_BE_SKILL, whole_skills
from thalweg.engine.edits import Evict, Fold, Reason, Rewrite
from thalweg.engine.entries import Action, Entry
from thalweg.engine.snapshot import Record, RemovedResult, with_summary
from thalweg.engine.summaries.summary import Summary

LEAST_RECORD = 4
"""A structured summary shrinks to this part of its tokens to make room for what is read again."""
ARRIVED_TOO_LARGE: Reason = "arrived too large"
_NO_SUMMARY: Mapping[str, Any] = MappingProxyType(
    {"summary": None, "summary_first": None, "summary_last": None, "forecast": None}
    | {"summary_input": 0, "summary_output": 0}
)


def plan_arrivals(context: PlanningContext, *, fills: bool = False) -> list[Rewrite]:
    """Plan to bound new content: results, arguments of the model, long requests.

    None of it was ever sent, so this costs no cache. Content that was fetched back, or requested
    again by the same call because it was cut or removed, is kept if it fits, else reading would be
    a loop (I27, I56). Media are kept, and do not count: they have limits of their own.
    The tool of a result has no effect on whether it is bounded.

    Args:
        context: The planning context.
        fills: Whether results may fill the window, and arguments are kept.
    """
    entries, edits = context.window.open_entries, list[Rewrite]()
    if max(map(attrgetter("tokens"), entries), default=0) <= context.budget.smallest_arrival:
        return edits
    free = context.budget.limit - context.tokens_to_fit + sum(entry.tokens for entry in entries)
    for entry in entries:
        edit = _bounding_edit(context, entry, free, fills=fills)
        edits += [edit] if edit else []
        free -= edit.tokens_after if edit else entry.tokens
    return edits


def _bounding_edit(
    context: PlanningContext, entry: Entry, free: int, *, fills: bool
) -> Rewrite | None:
    budget, message = context.budget, entry.message
    tokens = entry.tokens - entry.media_tokens
    match message.role:
        case "tool":
            max_tokens = budget.result(free, fills=fills)
        case "assistant":
            max_tokens = tokens if fills else budget.arguments
        case "user":
            max_tokens = budget.request
        case _:
            max_tokens = tokens
    if tokens <= max_tokens or entry.position in context.window.rewrites:
        return None
    if is_returned(context, entry) and tokens <= budget.largest_returned(context.fixed):
        return None
    if message.role == "assistant":
        return elide(context, entry, ARRIVED_TOO_LARGE) if has_long_arguments(message) else None
    is_report = entry.answers is not None and entry.answers.action == "delegate"
    shown_tokens = budget.report if is_report else budget.arrival_preview(tokens)
    return evict(
        context, entry, shown_tokens, ARRIVED_TOO_LARGE, with_ends=is_report, keeps_media=True
    )


def is_returned(context: PlanningContext, entry: Entry) -> bool:
    """Return whether an entry is removed content that the model requested again."""
    return entry.is_fetched or repeated_result(context, entry) is not None


def repeated_result(context: PlanningContext, entry: Entry) -> RemovedResult | None:
    """Return the removed result that a result of the same call brings back; see `repeats`."""
    window, position, results = context.window, entry.position, context.window.record.results
    if not (results or window.rewrites):
        return None
    if position not in window.repeats:
        found = removed_result(entry, results, window.entries, window.rewrites)
        window.repeats[position] = found
    return window.repeats[position]


def plan_fold(
    context: PlanningContext,
    *,
    tail_tokens: int,
    record_tokens: int,
    reason: Reason,
    widest_tokens: int | None = None,
    skills_tokens: int | None = None,
    returned: Collection[int] | None = None,
) -> Fold | None:
    """Plan to compact all but the newest `tail_tokens` tokens into about `record_tokens` tokens.

    The latest request remains a message at any position, unless its text alone is more than a
    quarter of the limit.

    Args:
        context: The planning context.
        tail_tokens: Most tokens to keep after the cut, unless one exchange is more.
        record_tokens: Tokens of the structured summary; fewer, if `returned` has to fit, too.
        reason: Reason of the compaction.
        widest_tokens: Tokens of the structured summary if the user's constraints need them; by
            default the budget's for a full one, and none beyond a smaller one.
        skills_tokens: Most tokens of loaded skills to keep, too; by default the budget's.
        returned: Positions to keep, too, since the model requested them again; by default those
            of `returned_positions` up to half of the tail's tokens.

    Returns:
        `None` if nothing can be compacted.
    """
    window = context.window
    cut = window.cut_for_tail(tail_tokens)
    tail_positions = {item.position for item in window.items[cut:]}
    latest = context.latest_request
    if returned is None:
        returned = returned_positions(context, tail_tokens // 2, tail_positions)
    kept_positions = set(returned) - tail_positions
    kept_positions |= kept_skill_positions(context, tail_positions, skills_tokens)
    if latest and latest.position not in tail_positions:
        text_tokens = latest.tokens - latest.media_tokens
        kept_positions |= {latest.position} if text_tokens <= context.budget.limit // 4 else set()
    if returned:
        kept_tokens = sum(context.shown_tokens(window.entries[p]) for p in kept_positions)
        left = context.budget.limit - context.fixed - window.tokens_from(cut) - kept_tokens
        record_tokens = max(record_tokens // LEAST_RECORD, min(record_tokens, left))
    folded_entries = window.entries_folded_by(cut, kept_positions)
    if not folded_entries and window.fold is None:
        return None
    last = max(window.record.last, *(e.position for e in folded_entries), -1)
    folded_positions = {e.position for e in folded_entries}
    record_limits = (
        record_tokens,
        _widest_tokens(context, record_tokens) if widest_tokens is None else widest_tokens,
    )
    text = _render_record(
        context,
        window.planned.absorb(window.record, folded_entries),
        folded_positions,
        record_limits,
    )
    kept_positions |= {p for p in tail_positions if 0 <= p <= last}
    replaced_items = [i for i in window.items[:cut] if i.section != "system"]
    return Fold(
        reason=reason,
        turn=context.turn,
        tokens_before=sum(
            i.tokens for i in replaced_items if i.position in folded_positions or i.position < 0
        ),
        tokens_after=window.planned.item(text).tokens,
        last=last,
        kept=tuple(sorted(kept_positions)),
        record=text,
        rooms=record_limits,
        pending=window.fold.pending if window.fold else None,
    )


def returned_positions(
    context: PlanningContext, room: int, tail_positions: Container[int]
) -> set[int]:
    """Return the content that the model requested again since the last compaction: kept longer.

    Whole exchanges, newest first, up to `room` tokens. An exchange that is requested once more is
    kept through the next compaction, too.
    """
    entries, kept_positions = context.window.entries.values(), set[int]()
    may_repeat = bool(context.window.record.results or context.window.rewrites)
    for entry in reversed([e for e in entries if e.is_fetched or (may_repeat and e.answers)]):
        if entry.position <= context.window.record.last or entry.position in kept_positions:
            continue
        removed = None if entry.is_fetched else repeated_result(context, entry)
        if not entry.is_fetched and (removed is None or not removed.reads):
            continue
        exchange = _exchange(entries, entry)
        tokens = sum(context.shown_tokens(e) for e in exchange)
        if tokens <= room and not any(e.position in tail_positions for e in exchange):
            room -= tokens
            kept_positions |= {e.position for e in exchange}
    return kept_positions


def reread_positions(context: PlanningContext, room: int, *, reads: int = 1) -> set[int]:
    """Return the exchanges in which the model reads removed content again, up to `room` tokens.

    Newest first, back to the last exchange without such a read. None, unless it has read something
    twice since then: it may need all of it together for its next step (I56).

    Args:
        context: The planning context.
        room: Tokens.
        reads: How often, at least, it had read again what it has read twice; 0: need not be twice.
    """
    entries, results = context.window.entries, context.window.record.results
    newest = max((r.position for r in results.values() if not r.reads), default=-1)
    kept_positions: set[int] = set()
    has_read_twice = not reads
    for entry in reversed(entries.values()):
        if entry.position in kept_positions or entry.message.role == "tool":
            continue
        exchange = _exchange(entries.values(), entry)
        removed = [result for e in exchange if (result := repeated_result(context, e))]
        room -= sum(context.shown_tokens(e) for e in exchange)
        if room < 0 or not (removed or any(e.is_fetched for e in exchange)):
            break
        kept_positions |= {e.position for e in exchange}
        has_read_twice |= any(r.reads >= reads and r.position > newest for r in removed)
    return kept_positions if has_read_twice else set()


def kept_skill_positions(
    context: PlanningContext, tail_positions: Container[int], room: int | None = None
) -> set[int]:
    """Return the loaded skills to keep verbatim through all compactions.

    Whole exchanges, the last read skill first, up to `room` tokens. A skill is kept with all its
    pages or not at all.

    Args:
        context: The planning context.
        tail_positions: Positions that are kept anyway.
        room: Tokens; by default the budget's.
    """
    entries = context.window.entries
    if not any(map(MAY_BE_SKILL, entries.values())):
        return set()
    room = context.budget.skills(context.fixed) if room is None else room
    kept_positions: set[int] = set()
    pages = whole_skills(entries.values(), context.window.rewrites)
    for skill_pages in reversed(pages.values()):
        exchanges = (_exchange(entries.values(), entries[page.position]) for page in skill_pages)
        added_tokens = {
            e.position: context.shown_tokens(e) for exchange in exchanges for e in exchange
        }
        added_tokens = {
            p: tokens
            for p, tokens in added_tokens.items()
            if p not in tail_positions and p not in kept_positions
        }
        if sum(added_tokens.values()) <= room:
            room -= sum(added_tokens.values())
            kept_positions |= set(added_tokens)
    return kept_positions


def _exchange(entries: Iterable[Entry], result: Entry) -> list[Entry]:
    """Return an assistant message and the results of its calls, found by any of these."""
    call_id = result.answers.id if result.answers else ""
    call_entry = next((e for e in entries if call_id in {use.id for use in e.uses}), result)
    call_ids = {use.id for use in call_entry.uses}
    return [call_entry, *(e for e in entries if e.answers and e.answers.id in call_ids)]


def join_summary(
    context: PlanningContext,
    fold: Fold,
    summary: Summary,
    summary_usage: tuple[int, int],
    *,
    first: int | None = None,
    last: int | None = None,
) -> Fold:
    """Add a model's summary to the structured summary of a planned compaction.

    A pending summary whose messages this one includes is cancelled.

    If the request would not fit with it, the structured summary is unchanged, and the summary is
    kept for the next one.

    Args:
        context: The planning context, the compaction not committed.
        fold: The compaction.
        summary: The model's summary, checked.
        summary_usage: Tokens the model read and wrote.
        first: Position of its first message, if it includes earlier compactions.
        last: Position of its last message, if it has only earlier compactions.
    """
    window, pending = context.window, fold.pending
    folded_entries = [e for p, e in window.entries.items() if p <= fold.last and p not in fold.kept]
    first_position = window.record.last + 1 if first is None else first
    last_position = fold.last if last is None else last
    record = with_summary(
        window.planned.absorb(window.record, folded_entries), first_position, last_position, summary
    )
    input_tokens, output_tokens = summary_usage
    fold = replace(
        fold,
        summary=summary,
        summary_first=first,
        summary_last=last,
        summary_input=input_tokens,
        summary_output=output_tokens,
        pending=None if pending and first_position <= pending.first else pending,
    )
    record_tokens = context.budget.record(context.fixed)
    record_limits = fold.rooms or (record_tokens, _widest_tokens(context, record_tokens))
    text = _render_record(context, record, {e.position for e in folded_entries}, record_limits)
    tokens = window.planned.item(text).tokens
    if context.tokens_to_fit - fold.tokens_before + tokens > context.budget.limit:
        return fold
    return replace(fold, record=text, tokens_after=tokens)


def _widest_tokens(context: PlanningContext, record_tokens: int) -> int:
    """Limit a structured summary that the user's constraints need: only a full one may be wider."""
    budget = context.budget
    is_full = record_tokens >= budget.record(context.fixed)
    return budget.widest_record(context.fixed) if is_full else record_tokens


def _render_record(
    context: PlanningContext,
    record: Record,
    removed_positions: Container[int],
    record_limits: tuple[int, int],
) -> str:
    window, (record_tokens, widest_tokens) = context.window, record_limits
    return texts.render(
        record,
        handle=context.name_span(0, context.newest),
        budget=record_tokens,
        widest_tokens=widest_tokens,
        count=window.count,
        loaded_paths=_still_loaded(context, record, removed_positions),
        pins=[
            p
            for p in window.pins
            if p.position in removed_positions or p.position not in window.entries
        ],
    )


def _still_loaded(
    context: PlanningContext, record: Record, removed_positions: Container[int]
) -> set[str]:
    """Return the paths of the skills that are shown whole without some messages."""
    window = context.window
    live = [
        entry for position, entry in window.entries.items() if position not in removed_positions
    ]
    folded_positions = {skill.path: skill.position for skill in record.skills}
    shown_skills = whole_skills(live, window.rewrites)
    return {
        path
        for path, pages in shown_skills.items()
        if pages[-1].position > folded_positions.get(path, -1)
    }


def plan_clear(context: PlanningContext, positions: Iterable[int], reason: Reason) -> list[Rewrite]:
    """Plan previews of results, and references for arguments."""
    edits: list[Rewrite] = []
    for entry in (context.window.entries[position] for position in positions):
        if entry.message.role == "tool":
            edits.append(evict(context, entry, context.budget.cleared_result_tokens, reason))
        elif has_long_arguments(entry.message):
            edits.append(elide(context, entry, reason))
    return [edit for edit in edits if edit.freed > 0]


def removed_tokens(context: PlanningContext) -> dict[Action, int]:
    """Return the tokens of the removed results by action, without outdated ones."""
    window = context.window
    removed: dict[Action, int] = {}
    for result in window.record.results.values():
        if not result.is_outdated:
            removed[result.action] = removed.get(result.action, 0) + result.tokens
    for position, edit in window.rewrites.items():
        use = window.entries[position].answers
        if use is not None and isinstance(edit, Evict):
            removed[use.action] = removed.get(use.action, 0) + edit.freed
    return removed


def plan_return(context: PlanningContext, action: Action, reason: Reason) -> Iterator[Evict | Fold]:
    """Plan to show the removed results of an action again.

    Those that were written since, and exchanges that were not compacted whole, stay removed.
    """
    window, read_back, fold = context.window, context.read_back, context.window.fold
    for position, edit in window.rewrites.items():
        entry = window.entries[position]
        is_cleared = isinstance(edit, Evict) and edit.freed > 0
        if is_cleared and entry.answers and entry.answers.action == action:
            yield Evict(**edit_fields(context, entry, entry.message.parts, reason))
    if fold is None or read_back is None:
        return
    exchanges: dict[int, list[RemovedResult]] = {}
    for result in window.record.results.values():
        exchanges.setdefault(result.call, []).append(result)
    kept_positions, returned_tokens = {*fold.kept}, 0
    for call, results in exchanges.items():
        if all(r.action != action or r.is_outdated for r in results) or call in window.entries:
            continue
        message = read_back(call)
        if len(message.calls) == len(results):
            returned_tokens += context.tokens(message) + sum(r.tokens for r in results)
            kept_positions |= {call, *(result.position for result in results)}
    if returned_tokens:
        text = _without_skills(context, fold, kept_positions)
        yield replace(
            fold,
            reason=reason,
            turn=context.turn,
            tokens_before=window.planned.item(fold.record).tokens,
            tokens_after=window.planned.item(text).tokens + returned_tokens,
            kept=tuple(sorted(kept_positions)),
            record=text,
            **_NO_SUMMARY,
        )


def _without_skills(context: PlanningContext, fold: Fold, shown: Container[int]) -> str:
    """Return a compaction's summary without the skills that are restored in full."""
    record = context.window.record
    missing = {r.target for r in record.results.values() if r.position not in shown}
    skills = tuple(s for s in record.skills if s.path in missing or s.position not in shown)
    if skills == record.skills or fold.rooms is None:
        return fold.record
    return _render_record(context, replace(record, skills=skills), (), fold.rooms)
