"""The data of the web page: threads of this gateway and recorded sessions in one form.

Costs, turns, changes and requests are those of the terminal and the report: `turns`,
`compute_savings`, `context_at`, `usage_of`, and `ArchivedSession` for recorded sessions.
"""

import asyncio
import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Literal

from thalweg.archive import Archive, Passage, ThreadKey
from thalweg.archive.base import Extent
from thalweg.archive.threads import Taken, TurnContext, context_at, next_context, turns
from thalweg.archive.threads.finding import own_threads
from thalweg.archive.threads.journal import MANUAL_KINDS
from thalweg.archive.threads.savings import BranchSavings, compute_savings
from thalweg.engine.edits import Fold, main_reason
from thalweg.engine.entries import Entry, Media, Message, Thinking
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import WindowItem, measured_item, record_message
from thalweg.errors import ArchiveError, NoSuchFileError
from thalweg_recorder.replay.archived import (
    ArchivedSession,
    archived_session,
    count_lost_requests,
)
from thalweg_recorder.sessions import newest_session
from thalweg_server.api.page import (
    Call,
    Change,
    LostRequest,
    Overview,
    Placement,
    Removed,
    RequestMessage,
    SentRequest,
    ThreadRow,
    ThreadRows,
    Tool,
)
from thalweg_server.api.threads import Thread
from thalweg_server.app.registry import ThreadFilter
from thalweg_server.app.spending import Prices, Tariffs, added, charges_of, usage_of
from thalweg_server.app.threads import TenantThreads, edit_view, message_view

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts

SHOWN_CHARS = 1_500
"""Characters of a message that a request shows at first."""
_RECORDED_AT_ONCE = 4
_COUNTED_AT_ONCE = 4_096
_TWICE = 2
"""Times the stated output from which an answer is counted: logs may state its first token alone."""


class TenantPage:
    """The data of the page for one owner.

    Raises (all that name a thread):
        NoSuchThreadError: There is none.
    """

    def __init__(self, owner: str, parts: "AppParts", threads: TenantThreads) -> None:
        self._owner = owner
        self._parts = parts
        self._threads = threads

    @property
    def _prices(self) -> Prices:
        return Prices(self._parts.settings().summarization)

    async def threads(self, only: ThreadFilter, *, limit: int, before: str | None) -> ThreadRows:
        """List threads, the one that was used last first, with the choices of a filter."""
        found, cursor = await self._threads.find(only, limit, before)
        shown = [(await self._threads.shown(one.row), one.passage) for one in found]
        rows = await asyncio.to_thread(lambda: [self._row(*one) for one in shown])
        origins = await self._threads.origins() if before is None else ()
        return ThreadRows(
            items=tuple(rows),
            before=cursor,
            agents=tuple(sorted({agent for agent, _ in origins})),
            projects=tuple(sorted({project for _, project in origins if project})),
        )

    async def overview(self, thread: str) -> Overview:
        """Return a thread with all of its calls and changes."""
        shown = await self._threads.get(thread)
        return await asyncio.to_thread(self._overview, shown)

    async def request(
        self, thread: str, turn: int | None = None, index: int | None = None
    ) -> SentRequest:
        """Return the request of a call, compared with the one before.

        Args:
            thread: The thread.
            turn: Number of the call, from 1; by default the newest.
            index: Only this message, whole.

        Raises:
            ArchiveError: The thread has no such call.
        """
        shown = await self._threads.get(thread)
        return await asyncio.to_thread(self._request, shown, turn, index)

    async def media(self, thread: str, position: int, index: int) -> tuple[str, bytes]:
        """Return the type and content of an image, sound or file of a message, if stored here.

        Raises:
            NoSuchFileError: The message has none with that number, or its content is not readable.
        """
        key = ThreadKey(self._owner, (await self._threads.get(thread)).id)
        return await asyncio.to_thread(self._media, key, position, index)

    def _media(self, key: ThreadKey, position: int, index: int) -> tuple[str, bytes]:
        messages = self._parts.archive.messages(key, position, position)
        found = [part for one in messages for part in _media_of(one)]
        if index >= len(found):
            problem = f"which has {len(found)}"
        elif not found[index].data:
            problem = "whose content is not stored here"
        else:
            try:
                return found[index].mime, base64.b64decode(found[index].data)
            except ValueError as error:
                problem = f"whose content is not valid base64: {error}"
        name = f"{index} of message {position}, {problem}"
        raise NoSuchFileError(name)

    def _row(self, thread: Thread, passage: Passage | None = None) -> ThreadRow:
        archive, key = self._parts.archive, ThreadKey(self._owner, thread.id)
        row = ThreadRow(
            id=thread.id,
            title=thread.title,
            created=thread.created,
            updated=thread.updated,
            agent=thread.recorded_by,
            messages=thread.messages,
            calls=thread.model_calls,
            run=thread.run,
            passage=passage.text if passage else "",
            position=passage.position if passage else None,
        )
        if thread.recorded_by:
            figures = _recorded_figures(archive, key)
            if figures.get("compactions"):
                figures["lost"] = _lost_requests(archive, key, archive.extent(key))  # type: ignore[arg-type, unused-ignore]  # hashable
            return row.model_copy(update=figures)
        spent = added(
            charge.usage
            for name in own_threads(archive, self._owner, thread.id)
            for charge in charges_of(archive, ThreadKey(self._owner, name), self._prices)
        )
        taken = turns(archive, key)
        newest = next((one.page for one in reversed(taken) if one.turn is not None), None)
        edits = [edit for one in taken if one.is_current for edit in one.page.edits]
        return row.model_copy(
            update={
                "cost": spent.cost,
                "currency": spent.currency,
                "model": newest.model if newest else "",
                "tokens": sum(newest.tokens.values()) if newest else 0,
                "window": newest.window if newest else 0,
                "changes": len(edits),
                "compactions": sum(isinstance(edit, Fold) for edit in edits),
            }
        )

    def _overview(self, thread: Thread) -> Overview:
        archive, key = self._parts.archive, ThreadKey(self._owner, thread.id)
        row = self._row(thread)
        if thread.recorded_by:
            session = _recorded(archive, key, archive.extent(key))  # type: ignore[arg-type, unused-ignore]  # hashable
            return recorded_overview(row, session)
        taken = turns(archive, key)
        savings = compute_savings(archive, key, taken)
        tariffs = Tariffs(archive, key, self._prices)
        calls = tuple(_call(one, savings, tariffs) for one in taken if one.turn is not None)
        return Overview(
            thread=row,
            calls=calls,
            changes=tuple(_changes(taken, savings, tariffs)),
            lost=(),
            requests=sum(one.is_request for one in archive.messages(key)),
            placements=tuple(_placements(archive, key)),
            saved=next((c.saved for c in reversed(calls) if c.saved is not None), None),
        )

    def _request(self, thread: Thread, turn: int | None, index: int | None) -> SentRequest:
        archive, key = self._parts.archive, ThreadKey(self._owner, thread.id)
        if thread.recorded_by:
            session = _recorded(archive, key, archive.extent(key))  # type: ignore[arg-type, unused-ignore]  # hashable
            turn = turn or len(recorded_calls(session))
            found = recorded_items(session, turn)
            before = recorded_items(session, turn - 1) if turn > 1 else []
            system, tools = "", tuple[Tool, ...]()
        else:
            sent = context_at(archive, key, turn)
            turn = sent.turn or 0
            found, system, tools = (
                [*sent.items],
                sent.system.text if sent.system else "",
                _tools(sent),
            )
            before = _before(archive, key, turn)
        return _compared(archive, key, found, before, turn, system, tools, index)


@lru_cache(maxsize=_RECORDED_AT_ONCE)
def _recorded(archive: Archive, key: ThreadKey, extent: Extent) -> ArchivedSession:
    """Return a recorded session; the last few are kept until something is added."""
    del extent
    return archived_session(archive, key)


@lru_cache(maxsize=_COUNTED_AT_ONCE)
def _lost_requests(archive: Archive, key: ThreadKey, extent: Extent) -> int:
    """Return the number of lost requests of a recorded session, as of the sizes of its thread."""
    del extent
    return count_lost_requests(archive, key)


def _recorded_figures(archive: Archive, key: ThreadKey) -> dict[str, object]:
    session = newest_session(archive, key)
    if session is None:
        return {}
    newest = archive.messages(key, max(0, archive.length(key) - _NEWEST))
    usage = next((one.usage for one in reversed(newest) if one.usage), None)
    times = {"created": session.started_at, "updated": session.ended_at}
    return {
        **{name: at for name, text in times.items() if (at := _moment(text))},
        "cost": session.cost,
        "project": session.project,
        "model": session.model,
        "tokens": usage.input if usage else 0,
        "changes": session.compactions,
        "compactions": session.compactions,
    }


_NEWEST = 20
"""Messages at the end of a session among which its last answer is."""


def _call(taken: Taken, savings: BranchSavings, tariffs: Tariffs) -> Call:
    page, usage, tariff = taken.page, taken.usage, tariffs.of(taken)
    saved = savings.course.get(taken.record)
    return Call(
        turn=taken.turn or 0,
        at=datetime.fromtimestamp(page.at, UTC),
        model=page.model,
        tokens=sum(page.tokens.values()),
        sections=dict(page.tokens),
        limit=page.limit,
        window=page.window,
        input_tokens=usage.input if usage else None,
        cached_tokens=usage.cached if usage else None,
        written_tokens=usage.written if usage else None,
        output_tokens=usage.output if usage else None,
        cost=usage_of(usage, tariff).cost if usage else None,
        saved=tariff.cost_of(saved) if tariff and saved is not None else None,
        position=taken.answer.position if taken.answer else None,
        is_current=taken.is_current,
    )


def _changes(taken: Sequence[Taken], savings: BranchSavings, tariffs: Tariffs) -> Iterator[Change]:
    undone = {one.page.note for one in taken if one.page.kind == "undo"}
    for one in taken:
        page, edits = one.page, one.page.edits
        if not edits and page.kind not in MANUAL_KINDS:
            continue
        fold = next((edit for edit in edits if isinstance(edit, Fold)), None)
        line, tariff = savings.lines.get(one.record), tariffs.of(one)
        turn = (page.turns or 0) + (page.kind != "call")
        change = Change(
            turn=turn,
            kind=page.kind if page.kind in MANUAL_KINDS else "compaction" if fold else "clearing",
            at=datetime.fromtimestamp(page.at, UTC),
            reason=main_reason(edits) if edits else "",
            edits=tuple(map(edit_view, edits)),
            tokens_before=sum(edit.tokens_before for edit in edits),
            tokens_after=sum(edit.tokens_after for edit in edits),
            summary=fold.record if fold else "",
            last=fold.last if fold else None,
            can_undo=fold is not None and one.is_current and str(turn) not in undone,
            is_current=one.is_current,
            note=page.note,
        )
        if line is not None and tariff is not None:
            forecast = line.forecast
            change = change.model_copy(
                update={
                    "price": tariff.cost_of(forecast.price),
                    "reread": tariff.cost_of(forecast.saving),
                    "predicted": tariff.cost_of(forecast.gain),
                    "predicted_calls": forecast.calls,
                    "realised": tariff.cost_of(line.realised),
                    "calls": line.calls,
                }
            )
        yield change


def _is_changed(item: WindowItem, original: Message | None) -> bool:
    return original is not None and item.message.parts != original.parts


def _shows(item: WindowItem, original: Message | None) -> bool:
    """Return whether an item shows the message at its position, and does not only precede it."""
    if original is None or item.section not in {"history", ""}:
        return False
    return item.message.kind != "injected" or original.kind == "injected"


def _originals(archive: Archive, key: ThreadKey, items: Iterable[WindowItem]) -> dict[int, Message]:
    positions = sorted({item.position for item in items if item.position >= 0})
    if not positions:
        return {}
    first = positions[0]
    messages = archive.messages(key, first, positions[-1])
    return {position: messages[position - first] for position in positions}


def _placements(archive: Archive, key: ThreadKey) -> Iterator[Placement]:
    try:
        items = next_context(archive, key).items
    except ArchiveError:  # no request yet
        return
    originals = _originals(archive, key, items)
    forms: dict[int, Literal["whole", "shortened", "summarized"]] = {}
    for item in items:
        original = originals.get(item.position)
        if _shows(item, original):
            forms[item.position] = "shortened" if _is_changed(item, original) else "whole"
    placed = ((p, forms.get(p, "summarized")) for p in range(archive.length(key)))
    for form, group in groupby(placed, key=lambda pair: pair[1]):
        positions = [position for position, _ in group]
        yield Placement(first=positions[0], last=positions[-1], form=form)


def _before(archive: Archive, key: ThreadKey, turn: int) -> list[WindowItem]:
    """Return the request from which a turn continues; empty for the first."""
    number = next((one.before for one in turns(archive, key) if one.turn == turn), None)
    return [*context_at(archive, key, number).items] if number else []


def _tools(sent: TurnContext) -> tuple[Tool, ...]:
    functions = (tool.get("function", tool) for tool in sent.tools)
    return tuple(
        Tool(name=str(one.get("name", "")), description=str(one.get("description", "")))
        for one in functions
    )


def _compared(
    archive: Archive,
    key: ThreadKey,
    items: Sequence[WindowItem],
    before: Sequence[WindowItem],
    turn: int,
    system: str,
    tools: tuple[Tool, ...],
    index: int | None,
) -> SentRequest:
    pairs = zip(items, before, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0].message == pair[1].message, pairs))
    originals = _originals(archive, key, items)
    known = {(item.position, as_text(item.message)) for item in before}
    gone = sorted({i.position for i in before} - {i.position for i in items} - {-1})
    chosen = items if index is None else items[index : index + 1]
    limit = SHOWN_CHARS if index is None else None
    messages = tuple(
        _request_message(
            number,
            item,
            originals.get(item.position),
            limit,
            is_new=number >= same and (item.position, as_text(item.message)) not in known,
        )
        for number, item in enumerate(chosen, index or 0)
    )
    return SentRequest(
        turn=turn,
        system=system,
        tools=tools,
        messages=messages,
        same=same,
        removed=tuple(Removed(first=a, last=b) for a, b in _stretches(gone)),
        thinking_lost=sum(
            _has_thinking(originals.get(item.position)) and not _has_thinking(item.message)
            for item in items
        ),
    )


def _stretches(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        found = [position for _, position in group]
        yield found[0], found[-1]


def _has_thinking(message: Message | None) -> bool:
    return message is not None and any(isinstance(part, Thinking) for part in message.parts)


def _media_of(message: Message) -> list[Media]:
    return [part for part in message.parts if isinstance(part, Media)]


def _request_message(
    index: int, item: WindowItem, original: Message | None, limit: int | None, *, is_new: bool
) -> RequestMessage:
    view = message_view(item.message)
    is_own = _shows(item, original)
    changed = is_own and _is_changed(item, original)
    form = "shortened" if changed else "whole" if is_own else "added"
    if item.section == "summary":
        form = "summary"
    count = exact_counter()
    original_tokens = item.tokens
    if changed and original is not None:
        original_tokens = measured_item(original, count).tokens
    text = view.text[:limit]
    whole = _media_of(original) if original is not None else []
    return RequestMessage.model_validate(
        {
            "index": index,
            "position": item.position if is_own else None,
            "role": view.role,
            "form": form,
            "section": item.section,
            "tokens": item.tokens,
            "original_tokens": original_tokens,
            "text": text,
            "more": len(view.text) - len(text),
            "thinking": view.thinking[:limit],
            "tool_calls": [
                {"id": c.id, "name": c.name, "arguments": c.arguments[:limit]}
                for c in view.tool_calls
            ],
            "name": view.name,
            "is_error": view.is_error,
            "media": [
                {"mime": part.mime, "index": whole.index(part) if part in whole else None}
                for part in _media_of(item.message)
            ],
            "is_new": is_new,
        }
    )


# -- recorded sessions -------------------------------------------------------------------------


def recorded_calls(session: ArchivedSession) -> list[int]:
    """Return the positions of the answers of a recorded session that state their usage."""
    return [
        position
        for position, message in enumerate(session.recording.messages)
        if message.usage and message.role == "assistant"
    ]


def recorded_items(session: ArchivedSession, turn: int) -> list[WindowItem]:
    """Return the messages of a recorded call: the newest summary before it, and what follows.

    Raises:
        ArchiveError: There is no such call.
    """
    answers = recorded_calls(session)
    if not 1 <= turn <= len(answers):
        problem = f"thread {session.recording.name!r} has no turn {turn}, of {len(answers)}"
        raise ArchiveError(problem)
    position = answers[turn - 1]
    number = session.compaction_before(position)
    start = session.starts[number] if number >= 0 else 0
    items = [_entry_item(entry) for entry in session.subject.entries[start:position]]
    summary = session.recording.compactions[number].summary if number >= 0 else ""
    if summary:
        items.insert(0, measured_item(record_message(summary), exact_counter(), section="summary"))
    return items


def _entry_item(entry: Entry) -> WindowItem:
    return WindowItem(entry.message, entry.position, entry.tokens, section="history")


def recorded_overview(row: ThreadRow, session: ArchivedSession) -> Overview:
    """Return a recorded session with its calls, its compactions and its lost requests."""
    recording, terms = session.recording, session.terms
    messages, answers = recording.messages, recorded_calls(session)
    share = terms.simulated_share if terms else None
    spent = whole = 0.0
    calls: list[Call] = []
    sizes = _RoleTokens(session)
    for turn, position in enumerate(answers, 1):
        usage = messages[position].usage
        if usage is None:  # never: `recorded_calls` has none without
            continue
        written = session.subject.entries[position].tokens
        is_counted = written > _TWICE * usage.output
        cost = saved = None
        if terms is not None and position in terms.paid:
            paid = terms.paid[position]
            charge = terms.factor * terms.whole[position].cost
            spent += (share or 1.0) * paid.input + paid.output
            whole += charge + terms.overhead_cost / len(terms.whole) + paid.output
            cost = terms.tariff.cost_of(paid.total)
            # Without a compaction everything was sent. Both sums are in the simulated cache.
            saved = terms.tariff.cost_of(whole - spent) if session.starts and share else None
        calls.append(
            Call(
                turn=turn,
                at=_moment(messages[position].at),
                model=usage.model,
                tokens=usage.input,
                sections=sizes.of(position, usage.input),
                input_tokens=usage.input,
                cached_tokens=usage.cached,
                written_tokens=usage.written,
                output_tokens=written if is_counted else usage.output,
                is_output_counted=is_counted,
                cost=cost,
                saved=saved,
                position=position,
            )
        )
    first_calls = [_first_call(answers, start) for start in session.starts]
    changes = tuple(_recorded_changes(session, first_calls, calls))
    lost = tuple(
        LostRequest(
            position=position,
            text=messages[position].text[:SHOWN_CHARS],
            turn=first_calls[number],
            at=_moment(messages[position].at),
        )
        for position, number in sorted(session.lost.items())
    )
    start, length = (session.starts or (0,))[-1], len(messages)
    parts = (
        Placement(first=0, last=start - 1, form="summarized") if start else None,
        Placement(first=start, last=length - 1, form="whole") if length > start else None,
    )
    return Overview(
        thread=row,
        calls=tuple(calls),
        changes=changes,
        lost=lost,
        requests=sum(message.is_request for message in messages),
        placements=tuple(filter(None, parts)),
        saved=calls[-1].saved if calls else None,
        is_whole=False,
    )


def _first_call(answers: Sequence[int], start: int) -> int:
    return 1 + sum(position < start for position in answers)


def _recorded_changes(
    session: ArchivedSession, first_calls: Sequence[int], calls: Sequence[Call]
) -> Iterator[Change]:
    spans = pairwise((0, *session.starts))
    for (first, end), turn, one in zip(
        spans, first_calls, session.recording.compactions, strict=True
    ):
        after = calls[turn - 1].tokens if turn <= len(calls) else 0
        before = one.tokens_before or (calls[turn - 2].tokens if turn > 1 else 0)
        yield Change(
            turn=turn,
            kind="compaction",
            at=_moment(one.at),
            reason={"auto": "the window was full", "manual": "asked for"}.get(one.trigger, ""),
            tokens_before=before,
            tokens_after=after,
            summary=one.summary,
            last=end - 1 if end > first else None,
        )


class _RoleTokens:
    """Tokens of recorded requests by section: the reported total, split by our counts."""

    def __init__(self, session: ArchivedSession) -> None:
        self._session = session
        self._sums: list[Counter[str]] = [Counter()]
        running: Counter[str] = Counter()
        for entry in session.subject.entries:
            message = entry.message
            section = "results" if message.role == "tool" else message.role
            running[section] += entry.tokens
            self._sums.append(Counter(running))
        self._summaries = [
            measured_item(record_message(one.summary), exact_counter()).tokens
            for one in session.recording.compactions
        ]
        self._overhead = session.terms.overhead if session.terms else 0

    def of(self, position: int, total: int) -> dict[str, int]:
        """Return the sections of the request that a message answers."""
        number = self._session.compaction_before(position)
        start = self._session.starts[number] if number >= 0 else 0
        ours = Counter(self._sums[position])
        ours.subtract(self._sums[start])
        if number >= 0:
            ours["summary"] += self._summaries[number]
        overhead = min(self._overhead, total)
        counted = sum(ours.values())
        scale = (total - overhead) / counted if counted else 0.0
        sections = {name: round(n * scale) for name, n in ours.items() if n > 0}
        rest = total - sum(sections.values())
        return {"overhead": rest, **sections} if rest > 0 else sections


def _moment(at: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
