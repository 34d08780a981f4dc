"""Plan the edits before a model call: pure decisions about a window."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from thalweg.engine.compaction import texts
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.rewrites import elide, evict, has_long_arguments, supersede, unthink
from thalweg.engine.compaction.skills import whole_skills
from thalweg.engine.edits import Fold, Reason, Rewrite
from thalweg.engine.entries import Entry
from thalweg.engine.snapshot import Record, summarized
from thalweg.engine.summaries.summary import Summary

LISTINGS = frozenset({"run", "search"})
"""Actions whose results are logs and listings."""
ARRIVED: Reason = "arrived too large"
REPORT_CHARS = 40_000
"""Characters above which a subagent's report arrives as an excerpt, in any window."""


def plan_arrivals(scene: PlanningContext) -> list[Rewrite]:
    """Plan to bound new content: results, arguments of the model, long requests.

    None of it was ever sent, so this costs no cache. Content that was fetched back is kept, else
    reading would be a loop (I27). Media are kept, and do not count: they have limits of their own.
    """
    return [edit for entry in scene.window.open_entries for edit in _bounded(scene, entry)]


def _bounded(scene: PlanningContext, entry: Entry) -> Iterator[Rewrite]:
    budget, message = scene.budget, entry.message
    is_listing = entry.answers is not None and entry.answers.action in LISTINGS
    result = budget.listing if is_listing else budget.result
    most = {"tool": result, "assistant": budget.arguments, "user": budget.request}
    is_report = entry.answers is not None and entry.answers.action == "delegate"
    is_long_report = is_report and len(message.text) > REPORT_CHARS
    tokens = entry.tokens - entry.media_tokens
    if tokens <= most.get(message.role, tokens) and not is_long_report:
        return
    if entry.position in scene.window.rewrites or entry.is_fetched:
        return
    if is_report:
        yield evict(scene, entry, budget.report, ARRIVED, with_ends=True, keeps_media=True)
    elif message.role != "assistant":
        yield evict(scene, entry, budget.preview, ARRIVED, keeps_media=True)
    elif has_long_arguments(message):
        yield elide(scene, entry, ARRIVED)


def plan_fold(
    scene: PlanningContext,
    *,
    tail: int,
    record: int,
    reason: Reason,
    widest: int | None = None,
    skills: int | None = None,
) -> Fold | None:
    """Plan to compact all but the newest `tail` tokens into about `record` tokens.

    The latest request remains a message at any position, unless its text alone is more than a
    quarter of the limit.

    Args:
        scene: The planning context.
        tail: Most tokens to keep after the cut, unless one exchange is more.
        record: Tokens of the structured summary.
        reason: Reason of the compaction.
        widest: Tokens of the structured summary if the user's constraints need them; by default
            the budget's for a full one, and none beyond a smaller one.
        skills: Most tokens of loaded skills to keep, too; by default the budget's.

    Returns:
        `None` if nothing can be compacted.
    """
    window = scene.window
    cut = window.cut_for_tail(tail)
    tail_positions = {item.position for item in window.items[cut:]}
    latest = scene.latest_request
    kept = _protected(scene, tail // 2, tail_positions)
    kept |= kept_skills(scene, tail_positions, skills)
    if latest and latest.position not in tail_positions:
        words = latest.tokens - latest.media_tokens
        kept |= {latest.position} if words <= scene.budget.limit // 4 else set()
    folded = window.folded_by(cut, kept)
    if not folded and window.fold is None:
        return None
    last = max(window.record.last, *(e.position for e in folded), -1)
    gone = {e.position for e in folded}
    rooms = record, _widest(scene, record) if widest is None else widest
    text = _written(scene, window.planned.absorb(window.record, folded), gone, rooms)
    kept |= {p for p in tail_positions if 0 <= p <= last}
    replaced = [i for i in window.items[:cut] if i.section != "system"]
    return Fold(
        reason=reason,
        turn=scene.turn,
        tokens_before=sum(i.tokens for i in replaced if i.position in gone or i.position < 0),
        tokens_after=window.planned.item(text).tokens,
        last=last,
        kept=tuple(sorted(kept)),
        record=text,
        rooms=rooms,
        pending=window.fold.pending if window.fold else None,
    )


def _protected(scene: PlanningContext, room: int, tail: Container[int]) -> set[int]:
    """Return the messages the model fetched since the last compaction, to keep them longer.

    Whole exchanges, newest first, up to `room` tokens. An exchange that is fetched once more is
    kept through the next compaction, too.
    """
    entries = scene.window.entries.values()
    kept: set[int] = set()
    for fetch in reversed([e for e in entries if e.is_fetched]):
        if fetch.position <= scene.window.record.last or fetch.position in kept:
            continue
        exchange = _exchange(entries, fetch)
        room -= sum(scene.shown_tokens(entry) for entry in exchange)
        if room >= 0 and not any(entry.position in tail for entry in exchange):
            kept |= {entry.position for entry in exchange}
    return kept


def kept_skills(scene: PlanningContext, tail: Container[int], room: int | None = None) -> set[int]:
    """Return the loaded skills to keep verbatim through all compactions.

    Whole exchanges, the last read skill first, up to `room` tokens. A skill is kept with all its
    pages or not at all.

    Args:
        scene: The planning context.
        tail: Positions that are kept anyway.
        room: Tokens; by default the budget's.
    """
    entries = scene.window.entries
    room = scene.budget.skills(scene.fixed) if room is None else room
    kept: set[int] = set()
    pages = whole_skills(entries.values(), scene.window.rewrites)
    for own in reversed(pages.values()):
        exchanges = (_exchange(entries.values(), entries[page.position]) for page in own)
        more = {e.position: scene.shown_tokens(e) for exchange in exchanges for e in exchange}
        more = {p: tokens for p, tokens in more.items() if p not in tail and p not in kept}
        if sum(more.values()) <= room:
            room -= sum(more.values())
            kept |= set(more)
    return kept


def _exchange(entries: Iterable[Entry], result: Entry) -> list[Entry]:
    """Return an assistant message and the results of its calls, found by one of them."""
    call_id = result.answers.id if result.answers else ""
    calls = next((e for e in entries if call_id in {use.id for use in e.uses}), result)
    ids = {use.id for use in calls.uses}
    return [calls, *(e for e in entries if e.answers and e.answers.id in ids)]


def join_summary(
    scene: PlanningContext,
    fold: Fold,
    summary: Summary,
    spent: tuple[int, int],
    *,
    first: int | None = None,
    last: int | None = None,
) -> Fold:
    """Add a model's summary to the structured summary of a planned compaction.

    A pending summary whose messages this one includes is cancelled.

    If the request would not fit with it, the structured summary is unchanged, and the summary is
    kept for the next one.

    Args:
        scene: The planning context, the compaction not committed.
        fold: The compaction.
        summary: The model's summary, checked.
        spent: Tokens the model read and wrote.
        first: Position of its first message, if it includes earlier compactions.
        last: Position of its last message, if it has only earlier compactions.
    """
    window, pending = scene.window, fold.pending
    folded = [e for p, e in window.entries.items() if p <= fold.last and p not in fold.kept]
    start = window.record.last + 1 if first is None else first
    ended = fold.last if last is None else last
    record = summarized(window.planned.absorb(window.record, folded), start, ended, summary)
    read, wrote = spent
    fold = replace(
        fold,
        summary=summary,
        summary_first=first,
        summary_last=last,
        summary_input=read,
        summary_output=wrote,
        pending=None if pending and start <= pending.first else pending,
    )
    room = scene.budget.record(scene.fixed)
    rooms = fold.rooms or (room, _widest(scene, room))
    text = _written(scene, record, {e.position for e in folded}, rooms)
    tokens = window.planned.item(text).tokens
    if scene.tokens_to_fit - fold.tokens_before + tokens > scene.budget.limit:
        return fold
    return replace(fold, record=text, tokens_after=tokens)


def _widest(scene: PlanningContext, room: int) -> int:
    """Limit a structured summary that the user's constraints need: only a full one may be wider."""
    budget = scene.budget
    full = room >= budget.record(scene.fixed)
    return budget.widest_record(scene.fixed) if full else room


def _written(
    scene: PlanningContext, record: Record, gone: Container[int], rooms: tuple[int, int]
) -> str:
    window, (room, widest) = scene.window, rooms
    return texts.render(
        record,
        handle=scene.name_span(0, scene.newest),
        budget=room,
        widest=widest,
        count=window.count,
        loaded=_still_loaded(scene, record, gone),
        pins=[p for p in window.pins if p.position in gone or p.position not in window.entries],
    )


def _still_loaded(scene: PlanningContext, record: Record, gone: Container[int]) -> set[str]:
    """Return the paths of the skills that are shown whole without some messages."""
    window = scene.window
    live = [entry for position, entry in window.entries.items() if position not in gone]
    folded = {skill.path: skill.position for skill in record.skills}
    whole = whole_skills(live, window.rewrites)
    return {path for path, own in whole.items() if own[-1].position > folded.get(path, -1)}


def plan_clear(scene: PlanningContext, positions: Iterable[int], reason: Reason) -> list[Rewrite]:
    """Plan previews of results, and references for arguments."""
    edits: list[Rewrite] = []
    for entry in (scene.window.entries[position] for position in positions):
        if entry.message.role == "tool":
            edits.append(evict(scene, entry, scene.budget.card, reason))
        elif has_long_arguments(entry.message):
            edits.append(elide(scene, entry, reason))
    return [edit for edit in edits if edit.freed > 0]


def plan_tail(scene: PlanningContext, after: int) -> Iterator[Rewrite]:
    """Plan to tidy the messages after a changed one: they are rewritten anyway."""
    yield from supersede(scene, after)
    yield from unthink(scene, after)
