"""Threads, turns and contexts as text for people, and as plain values for JSON.

The content of a message never acts on a terminal, also in a pipe (`printable`).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from math import ceil, isinf
from typing import Any

from thalweg.archive.threads.contexts import TurnContext
from thalweg.archive.threads.finding import ThreadOverview
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.operations import OperationResult
from thalweg.archive.threads.savings import BranchSavings
from thalweg.archive.threads.thread_history import LoggedMessage, Taken
from thalweg.cli.printing import Column, Row, count, fold, one_line, table
from thalweg.engine.edits import Edit, Fold, Pin, Reason, Unpin
from thalweg.engine.entries import Message, message_to_json
from thalweg.engine.pricing.savings import Saving
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.serialization import edit_to_plain
from thalweg.engine.transcript import as_text, printable, speaker

QUOTED_CHARS = 60
"""How much of pinned words or a note a line of a table shows."""
_one_line = partial(one_line, max_chars=QUOTED_CHARS)
_THREAD_COLUMNS = [
    *(Column(title, is_number=True) for title in ("messages", "calls", "tokens")),
    Column("last request"),
    Column("thread"),
]
_TURN_COLUMNS = [
    Column(""),
    Column("turn", is_number=True),
    *map(Column, ("kind", "when")),
    *(Column(title, is_number=True) for title in ("tokens", "limit", "reported")),
    Column("model"),
]
NO_SAVINGS = BranchSavings({})
"""The savings of a thread for which none were computed."""
ARRIVAL_REASON: Reason = "arrived too large"
"""Why a message is bounded when it arrives: nothing that was sent is rewritten."""
_OPERATION_TEXTS: Mapping[str, str] = {
    "undo": "the compaction of turn {about} is undone",
    "rewind": "the thread is as it was when turn {about} was asked",
    "pin": "pinned in message #{about}",
    "unpin": "unpinned in message #{about}",
    "compact": "compacted up to message #{about}",
}
"""The operations by a person, by the kind of record."""


def plain_message(message: Message) -> dict[str, Any]:
    """Return a message as an object of JSON; `message_from_json` parses it."""
    plain: dict[str, Any] = json.loads(message_to_json(message))
    return plain


def plain_thread(overview: ThreadOverview) -> dict[str, Any]:
    """Return the summary of a thread."""
    newest = overview.newest
    return {
        "thread": overview.thread,
        "messages": overview.length,
        "model_calls": overview.model_calls,
        "tokens": sum(newest.tokens.values()) if newest else None,
        "model": newest.model if newest else None,
        "at": _iso_time(newest.at) if newest else None,
    }


def plain_logged_message(logged: LoggedMessage) -> dict[str, Any]:
    """Return one message of a log with its position."""
    return {
        "position": logged.position,
        "abandoned": logged.is_abandoned,
        "message": plain_message(logged.message),
    }


def plain_turn(turn: Taken, saving: Saving | None = None) -> dict[str, Any]:
    """Return one turn, or another record of the journal, with the savings of its rewrite."""
    return {
        **_plain_record(turn.turn, turn.page),
        "continues": turn.before,
        "current": turn.is_current,
        "usage": asdict(turn.usage) if turn.usage else None,
        "saving": {**saving.to_json(), "turn": turn.turn} if saving else None,
    }


def plain_savings(savings: BranchSavings) -> dict[str, Any]:
    """Return what all rewrites of a thread have saved so far, in uncached input tokens."""
    return {
        "saved": round(savings.realised, 1),
        "cost_beyond_window": round(savings.beyond, 1),
    }


def plain_context(context: TurnContext) -> dict[str, Any]:
    """Return the request of a turn, or the beginning of the next one."""
    return {
        **_plain_record(context.turn, context.page),
        **({"kind": "next", "edits": [], "note": ""} if context.turn is None else {}),
        "tokens": dict(context.tokens),
        "system": plain_message(context.system) if context.system else None,
        "messages": [
            {
                "position": item.position if item.position >= 0 else None,
                "tokens": item.tokens,
                "section": item.section,
                "message": plain_message(item.message),
            }
            for item in context.items
        ],
        "tools": list(context.tools),
        "additions": [asdict(addition) for addition in context.additions],
    }


def plain_operation(result: OperationResult) -> dict[str, Any]:
    """Return a manual operation."""
    return {**asdict(result), "fits": result.fits}


def _plain_record(turn: int | None, page: TurnRecord) -> dict[str, Any]:
    return {
        "turn": turn,
        "kind": page.kind,
        "at": _iso_time(page.at),
        "messages_logged": page.length,
        "positions": [[span.first, span.last] for span in page.line.spans],
        "model": page.model or None,
        "window": page.window or None,
        "limit": page.limit or None,
        "tokens": dict(page.tokens),
        "edits": [{**edit_to_plain(edit), "turn": turn} for edit in page.edits],
        "spent": asdict(page.spent) if page.spent else None,
        "note": page.note,
    }


def _iso_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def render_threads(threads: Sequence[ThreadOverview]) -> list[str]:
    """List threads, a row each."""
    rows = []
    for overview in threads:
        newest = overview.newest
        tokens = f"{sum(newest.tokens.values()):,}" if newest else "-"
        when = _local_time(newest.at) if newest else "-"
        sizes = (f"{overview.length:,}", f"{overview.model_calls:,}", tokens)
        rows.append((*sizes, when, printable(overview.thread)))
    return table(rows, _THREAD_COLUMNS)


def render_turns(turns: Sequence[Taken], savings: BranchSavings = NO_SAVINGS) -> Iterator[str]:
    """List turns, a row each, with their edits below; `x` marks abandoned ones.

    Other records of the journal have no number. A model is named if it differs from the previous
    one.

    Args:
        turns: The turns and the other records.
        savings: The savings of the rewrites.
    """
    rows, model = [], ""
    for turn in turns:
        lines = [
            *_edit_lines(turn.page.edits),
            *_saving_lines(savings.lines.get(turn.record)),
            *_extra_lines(turn.page),
        ]
        below = [part for line in lines for part in fold(line, " " * 8)]
        rows.append(
            Row(_turn_cells(turn, turn.page.model if turn.page.model != model else ""), below=below)
        )
        model = turn.page.model
    yield from table(rows, _TURN_COLUMNS)
    if savings.lines:
        yield ""
        yield from fold(_total_savings(savings))
    if not all(turn.is_current for turn in turns):
        yield ""
        yield "x: abandoned by a rewind or by an edit of the agent's state."


def _saving_lines(saving: Saving | None) -> Iterator[str]:
    """Yield predicted and realized savings of a rewrite; a bounded arrival has none."""
    if saving is None or saving.reason == ARRIVAL_REASON:
        return
    forecast = saving.forecast
    break_even = "never" if isinf(forecast.break_even) else f"after {ceil(forecast.break_even):,}"
    predicted = f"predicted {forecast.gain:+,.0f} after {count(forecast.calls, 'call')}"
    yield f"{predicted}; so far {saving.realised:+,.0f} (break-even {break_even})"


def _total_savings(savings: BranchSavings) -> str:
    window_note = ""
    if savings.beyond >= 1:
        window_note = f"; {savings.beyond:,.0f} of what that costs is for tokens over the window"
    text = f"So far all edits have saved {savings.realised:+,.0f} uncached input tokens"
    return f"{text}, compared with sending all messages{window_note}."


def _turn_cells(turn: Taken, model: str) -> list[str]:
    page, number = turn.page, "" if turn.turn is None else f"{turn.turn}"
    cells = ["" if turn.is_current else "x", number, page.kind, _local_time(page.at)]
    if page.kind == "end":
        return [*cells, "", "", "", ""]
    limits = ["", ""]
    if page.limit:
        limits = [f"{page.limit:,}", f"{turn.usage.input:,}" if turn.usage else "-"]
    return [*cells, f"{sum(page.tokens.values()):,}", *limits, printable(model)]


def _edit_lines(edits: Iterable[Edit]) -> Iterator[str]:
    """Yield edits, those of one kind and reason together."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: dict[tuple[str, str], list[int]] = {}
    for edit in edits:
        if isinstance(edit, (Pin, Unpin)):
            yield f'{type(edit).__name__.lower()} #{edit.position} "{_one_line(edit.quote)}"'
            continue
        kind_and_reason = type(edit).__name__.lower(), edit.reason
        counts[kind_and_reason] += 1
        before, after = sizes.setdefault(kind_and_reason, [0, 0])
        sizes[kind_and_reason] = [before + edit.tokens_before, after + edit.tokens_after]
    for (kind, reason), repetitions in counts.items():
        before, after = sizes[kind, reason]
        repeat_mark = f" x{repetitions}" if repetitions > 1 else ""
        yield f"{kind}{repeat_mark} {before:,} -> {after:,}: {reason}"


def _extra_lines(page: TurnRecord) -> Iterator[str]:
    for repair in page.repairs:
        position = f" #{repair.position}" if repair.position >= 0 else ""
        detail = f" ({_one_line(repair.detail)})" if repair.detail else ""
        yield f"repair{position}: {repair.reason}{detail}"
    if page.rejected:
        yield f'refused by the provider: "{_one_line(page.rejected)}"'
    if page.spent is not None:
        yield _summary_cost(page.spent)
    if page.kind in {"undo", "rewind"}:
        yield _OPERATION_TEXTS[page.kind].format(about=page.note)
    elif page.note and page.kind not in _OPERATION_TEXTS:
        yield _one_line(page.note)


def _summary_cost(usage: Usage) -> str:
    model_suffix = f" of {printable(usage.model)}" if usage.model else ""
    tokens = f"{usage.input:,} tokens in, {usage.output:,} out"
    return f"the summary took {count(usage.calls, 'call')}{model_suffix}: {tokens}"


def render_turn(
    context: TurnContext,
    usage: Usage | None,
    saving: Saving | None = None,
    *,
    before: int | None = None,
) -> Iterator[str]:
    """Yield one turn: its size by section, its edits with their reasons, and their savings.

    Args:
        context: Its request.
        usage: The reported usage.
        saving: The savings of its edits.
        before: Number of the turn from which it continues.
    """
    page = context.page
    model = f", {printable(page.model)}" if page.model else ""
    yield f"turn {context.turn}, {_local_time(page.at)}{model}"
    yield from fold(_size(context))
    if usage is not None:
        cache = f"{usage.cached:,} cached, {usage.written:,} written"
        yield f"  reported: {usage.input:,} tokens in ({cache}), {usage.output:,} out"
    yield _contents(context) + (f"; it continues from turn {before}" if before is not None else "")
    for edit in page.edits:
        if isinstance(edit, Fold):
            kept = "".join(f" #{position}" for position in edit.kept)
            yield f"  folded up to #{edit.last}{f', but kept{kept}' if kept else ''}"
    for line in (*_edit_lines(page.edits), *_saving_lines(saving), *_extra_lines(page)):
        yield from fold(line, "  ")


def render_next(context: TurnContext) -> Iterator[str]:
    """Yield the size of the beginning of the next request, by section."""
    yield "the next request, before its new message"
    yield from fold(_size(context))
    yield _contents(context)


def _size(context: TurnContext) -> str:
    total, limit = sum(context.tokens.values()), context.page.limit
    room = f" of {limit:,}" if limit else ""
    parts = ", ".join(f"{section} {tokens:,}" for section, tokens in context.tokens.items())
    return f"  {total:,}{room} tokens{f': {parts}' if parts else ''}"


def _contents(context: TurnContext) -> str:
    return f"  {len(context.items)} messages, {len(context.tools)} tools"


def render_context(context: TurnContext) -> Iterator[str]:
    """Render a request: additions to the messages, then each message."""
    if context.additions:
        yield "\n== besides messages and tools"
        for one in context.additions:
            place = "system prompt" if one.position < 0 else f"before #{one.position}"
            yield f"  {one.part:<14}{one.tokens:>7,}  {place:<13}  {printable(one.about)}".rstrip()
    if context.system is not None:
        yield f"\n== system prompt\n{printable(as_text(context.system))}"
    if context.tools:
        names = (str(tool.get("function", tool).get("name", "")) for tool in context.tools)
        yield f"\n== tools\n{printable(', '.join(names))}"
    for item in context.items:
        added_label = "record, as" if item.section == "summary" else "added, as"
        label = f"#{item.position}" if item.position >= 0 else added_label
        yield _message_block(label, item.message, f" ({item.tokens:,} tokens)")


def render_history(messages: Iterable[LoggedMessage]) -> Iterator[str]:
    """Yield messages with their positions; `x` marks abandoned ones."""
    for logged in messages:
        yield _message_block(
            f"{'x ' if logged.is_abandoned else ''}#{logged.position}", logged.message, ""
        )


def _message_block(label: str, message: Message, size: str) -> str:
    return f"\n== {label} {printable(speaker(message))}{size}\n{printable(as_text(message))}"


def render_operation(kind: str, result: OperationResult) -> str:
    """Describe a manual operation and its result."""
    action = _OPERATION_TEXTS[kind].format(about=result.about)
    limit_text = f" of {result.limit:,}" if result.limit else ""
    size = f"the next request begins from {result.tokens:,}{limit_text} tokens"
    overflow_note = "" if result.fits else "; that does not fit, so the next turn compacts again"
    return f"{action[0].upper()}{action[1:]}; {size}{overflow_note}."


def _local_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
