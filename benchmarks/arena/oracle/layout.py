"""Lay a recording out for the oracles: with its real records, and with what they name."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.arena.oracle.trail import ToolResultUse, Trail, TrailCall, TrailCut, sums_of
from thalweg.engine.compaction.plan import plan_arrivals
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.entries import Entry
from thalweg.engine.snapshot import Record
from thalweg.engine.tokens import Counter, measure
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem, record_message
from thalweg.engine.window.window import Window
from thalweg_recorder.replay.questions import RECALL_TOKENS
from thalweg_recorder.replay.uses import LaterUse

HANDLE = "a" * 16
"""Placeholder for the references in a structured summary."""


@dataclass(frozen=True, slots=True)
class OracleLayout:
    """What a window without end would send, call by call."""

    items: tuple[WindowItem, ...]
    calls: tuple[tuple[int, int], ...]
    """Of each call: the position of its answer, and how many items it sends."""
    rewritten: frozenset[int]
    """Positions that were bounded when they arrived."""
    head: int


def lay_out(
    entries: Sequence[Entry], budget: Budget, count: Counter, *, bounded: bool
) -> OracleLayout:
    """Return the layout of a whole recording.

    Args:
        entries: All entries.
        budget: Determines what is too large.
        count: Counts tokens.
        bounded: Whether items that are too large are shortened on arrival, as in our engine.
    """
    window = Window(count)
    calls: list[tuple[int, int]] = []
    for entry in entries:
        if entry.message.role == "assistant":
            window.settle()
            if bounded:
                scene = PlanningContext(window, budget, lambda _first, _last: HANDLE, len(calls))
                window.apply(plan_arrivals(scene))
            calls.append((entry.position, len(window.items)))
        window.add(entry)
    window.settle()
    return OracleLayout(
        tuple(window.items), tuple(calls), frozenset(window.rewrites), window.systems
    )


def records_of(
    layout: OracleLayout, entries: Sequence[Entry], budget: Budget, count: Counter
) -> Iterator[tuple[int, str]]:
    """Yield the structured summary of a compaction at every possible cut.

    Yields:
        The index of the first kept item, and the structured summary of all before it.
    """
    fixed = sum(item.tokens for item in layout.items[: layout.head])
    room, widest = budget.record(fixed), budget.widest_record(fixed)
    record, done = Record(), layout.head
    last = layout.calls[-1][1] if layout.calls else 0
    for index, item in enumerate(layout.items[:last]):
        if not item.opens or index <= layout.head:
            continue
        gone = sorted(i.position for i in layout.items[done:index] if i.position >= 0)
        record, done = absorb(record, (entries[p] for p in gone)), index
        yield index, render(record, handle=HANDLE, budget=room, widest_tokens=widest, count=count)


def trail_of(
    layout: OracleLayout,
    records: Sequence[tuple[int, str]],
    entries: Sequence[Entry],
    uses: Mapping[int, Sequence[LaterUse]],
    count: Counter,
) -> Trail:
    """Return the input of the oracles.

    Args:
        layout: The recording as it would be sent.
        records: The structured summaries at every possible cut.
        entries: All of the recording, by position.
        uses: Later uses of tool results, by the position of the turn that uses them.
        count: Counts tokens.
    """
    places = {i.position: k for k, i in enumerate(layout.items) if i.position >= 0}
    whole = {p: k for p, k in places.items() if p not in layout.rewritten}
    beside = [
        (k, i.message.text)
        for k, i in enumerate(layout.items)
        if i.position < 0 or i.position in layout.rewritten
    ]
    starts = [k for k, _ in beside]

    def need(use: LaterUse, length: int) -> ToolResultUse:
        said = [k for p in use.occurrences if (k := whole.get(p, -1)) < length]
        shown = bisect_right(starts, length - 1)
        if use.text:
            said += [k for k, text in beside[:shown] if use.text in text]
        seen_to = max(said, default=-1)
        # nothing takes the leading items away
        if any(0 <= k < layout.head for k in said):
            seen_to = len(layout.items)
        return ToolResultUse(
            use.source, seen_to, min(entries[use.source].tokens, RECALL_TOKENS), use.text
        )

    moments = tuple(
        TrailCall(
            position,
            length,
            needs=tuple(need(use, length) for use in uses.get(position, ())),
        )
        for position, length in layout.calls
    )
    wanted = {n.identifier for m in moments for n in m.needs if n.identifier}
    cuts = tuple(
        TrailCut(
            index,
            measure(record_message(text), count).tokens,
            frozenset(name for name in wanted if name in text),
        )
        for index, text in records
    )
    sizes = [item.tokens for item in layout.items]
    return Trail(sum(sizes[: layout.head]), layout.head, sums_of(sizes), moments, cuts)
