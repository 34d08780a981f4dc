"""Render the structured summary of a compaction within a budget."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from thalweg.engine.compaction.call_status import aims
from thalweg.engine.compaction.pins import constraint_lines, excerpt, strict_constraint_lines
from thalweg.engine.prompts import prompt
from thalweg.engine.snapshot import CallOutcome, FileState, Quote, Record
from thalweg.engine.summaries.merging import render_summaries
from thalweg.engine.tokens import Counter
from thalweg.engine.window.budget import BARE_RECORD_TOKENS


def render(
    record: Record,
    *,
    handle: str,
    budget: int,
    count: Counter,
    pins: Sequence[Quote] = (),
    widest_tokens: int = 0,
    loaded_paths: Container[str] = (),
) -> str:
    """Render the structured summary of everything compacted so far.

    Args:
        record: The absorbed data.
        handle: Reference to the compacted span; `handle#position` refers to a message in it.
        budget: Most tokens of the text, unless the goal and the pins alone need more; 0: only the
            reference, the requests in `widest_tokens`, and notes in `BARE_RECORD_TOKENS`.
        count: Counter of tokens.
        pins: Quotes that must remain verbatim, each with the position of its request.
        widest_tokens: Most tokens if the constraints of the requests need more than `budget`.
        loaded_paths: Paths of skills that are still shown: for the others the text states that
            they are not, and how to read them again.

    Returns:
        A fenced text. Requests come first and verbatim as far as the budget permits, then skills,
        to-dos, open errors, files, delegated tasks, commands, notes and an index of identifiers.
        Errors, files, tasks and commands each have a share that no request takes.
    """
    reading = prompt("record_reading").render(handle=handle)
    if not budget:
        notes = [f"#{note.position} {note.text}" for note in record.notes]
        room = BARE_RECORD_TOKENS - count(reading) - FRAME_TOKENS
        newest = _newest_fitting(notes, room, count)
        if not newest:
            newest = [_cut_line(note, room, count) for note in notes[-1:]]
        quoted = [line for line, _ in _requests(record, handle, (0, widest_tokens), count, pins)]
        pinned = [
            f"#{pin.position} {pin.text}" for pin in pins if pin.text not in "\n".join(quoted)
        ]
        note_lines = [line for line, _ in newest]
        sections = [("Requests", quoted), ("Pinned", pinned), (NOTES_TITLE, note_lines)]
        return _framed(reading, sections)
    opening = prompt("record").render(last=record.last, reading=reading)
    frame_tokens = count(opening) + FRAME_TOKENS
    room = budget - frame_tokens
    skills = _newest_fitting(_skill_lines(record, loaded_paths), int(room * SKILLS_SHARE), count)
    obligation_tokens = max(OBLIGATIONS_TOKENS, int(room * OBLIGATIONS_SHARE))
    open_sections = _open_work(record, obligation_tokens, count)
    listed_tokens = sum(tokens for _, tokens in skills)
    listed_tokens += sum(count(line) + 1 for _, lines in open_sections for line in lines)
    room -= listed_tokens
    planned_sections = _sections(record)
    least_lines = [section.least(room, count) for section in planned_sections]
    reserved = sum(map(_sum_tokens, least_lines))
    other_tokens = max(reserved, int(room * (1 - REQUESTS_SHARE)))
    max_request_tokens = max(room, widest_tokens - frame_tokens - listed_tokens) - other_tokens
    least_request_tokens = max(
        int(room * REQUESTS_SHARE), int(widest_tokens * REQUESTS_SHARE_OF_WIDEST)
    )
    request_limits = min(least_request_tokens, max_request_tokens), max_request_tokens
    request_lines = _requests(record, handle, request_limits, count, pins)
    requests = [line for line, _ in request_lines]
    request_text = "\n".join(requests)
    pinned = [f"#{pin.position} {pin.text}" for pin in pins if pin.text not in request_text]
    sections = [
        ("Requests", requests),
        ("Pinned", pinned),
        ("Skills", [line for line, _ in skills]),
    ]
    sections += [("Summary", _summary_lines(record, budget, count)), *open_sections]
    room -= _sum_tokens(request_lines) + sum(count(line) + 1 for line in pinned)
    room = max(room, other_tokens)
    needed_tokens = _needed_after(planned_sections, room, count)
    for section, min_lines, later_tokens in zip(
        planned_sections, least_lines, needed_tokens, strict=True
    ):
        reserved -= _sum_tokens(min_lines)
        share = max(int(room * section.share), room - later_tokens)
        fitting_lines = section.fitting(min(share, room - reserved), min_lines, count)
        room -= _sum_tokens(fitting_lines)
        sections.append((section.title, [line for line, _ in fitting_lines]))
    return _framed(opening, sections)


def _framed(opening: str, sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    body = "\n\n".join(f"## {title}\n" + "\n".join(lines) for title, lines in sections if lines)
    return f"<thread-record>\n{opening}\n\n{fenced(body)}\n</thread-record>"


def fenced(text: str) -> str:
    """Escape text that looks like the fence of a record, so that none can forge or end one."""
    return re.sub(r"<(?=\s*/?\s*thread-record)", r"<\\", text, flags=re.IGNORECASE)


def _summary_lines(record: Record, budget: int, count: Counter) -> list[str]:
    least = min(LEAST_SUMMARY, budget // 2)
    room = min(SUMMARY_TOKENS, max(least, int(budget * SUMMARY_SHARE)))
    text = render_summaries(record.summaries, budget=room, count=count)
    return [text] if text else []


NOTES_TITLE = "Notes of the assistant"
SUMMARY_TOKENS, SUMMARY_SHARE = 2_000, 0.25
"""Most tokens of narrative summaries, and their share of the budget. A structured summary has them
in addition to its budget: it is complete without them."""
LEAST_SUMMARY = 600
"""Tokens of narrative summaries in a small structured summary, up to half of its budget."""
FRAME_TOKENS = 24
"""Tokens of the fence and the headings."""
REQUESTS_SHARE = 0.8
"""Share of the budget that the requests may fill, before the rest is considered."""
REQUESTS_SHARE_OF_WIDEST = 0.15
"""Share of the widest summary that requests without constraints may fill in any budget."""
NAMED_CHARS = 80
"""Characters of an old request without constraints if not all fit: its position opens the rest."""
SKILLS_SHARE = 0.2
"""Share of the budget for names of skills: they precede the requests, which can be short."""
OBLIGATIONS_SHARE = 0.15
"""Share of the budget for the plan, and as much for the unanswered tasks: they precede the
requests, too, so that open work is not lost to long messages of the user."""
OBLIGATIONS_TOKENS = 64
"""Least tokens of each of the two in a small budget."""
QUOTE_LEVELS = ((6_000, 400), (2_400, 300), (1_200, 200), (800, 100), (450, 0), (160, 0))
"""Quoted characters of each end of a long request, most generous first."""
CONSTRAINT_CHARS = (1_600, 800, 400)
"""Characters of constraints that each request keeps if not all fit: one request full of them must
not displace the others."""
PINNED_CONSTRAINT_CHARS = (1_600, 400, 0)
"""The same for the goal and the pinned requests, if they alone exceed the budget."""
OPENING_REQUESTS = 2
"""How many of the first requests are quoted two levels more generously: they hold the goal."""


CHARS_PER_TOKEN = 8
"""Upper bound of the average length of a token in any language."""


@dataclass(slots=True)
class _QuotedRequest:
    """A request as it is quoted."""

    quote: Quote
    text: str
    tokens: int
    pinned: tuple[str, ...]
    ends: tuple[int, int] = QUOTE_LEVELS[0]
    tried: tuple[tuple[int, int], int | None] = (QUOTE_LEVELS[0], None)
    """Ends and characters of constraints of its last rendering; `None` for all."""


def _requests(
    record: Record,
    handle: str,
    request_limits: tuple[int, int],
    count: Counter,
    pins: Sequence[Quote],
) -> list[tuple[str, int]]:
    """Return the lines of the requests, each with its tokens, the line break included."""
    room, widest_tokens = request_limits
    pinned: dict[int, tuple[str, ...]] = {}
    for pin in pins:
        pinned[pin.position] = (*pinned.get(pin.position, ()), pin.text)
    refusal_chars = widest_tokens
    for quote in reversed([quote for quote in record.requests if quote.refused]):
        refusal_chars -= len(quote.text)
        if refusal_chars >= 0:
            pinned[quote.position] = (*pinned.get(quote.position, ()), quote.text)
    lines = [_QuotedRequest(q, "", 0, pinned.get(q.position, ())) for q in record.requests]
    _quote_all(lines, handle, room, count)
    _shorten(lines, handle, widest_tokens, count, CONSTRAINT_CHARS[0])
    plain = [
        line
        for line in lines[1:-1]
        if not (line.pinned or line.quote.refused or constraint_lines(line.quote.text))
    ]
    total = sum(line.tokens for line in lines)
    obliging = total - sum(line.tokens for line in plain)
    room = min(widest_tokens, max(room, min(total, room + obliging) if room else total))
    if total > room:
        newest = lines[-1:] if len(lines) > 1 else []
        quotable = [*plain, *newest]
        quoted_count = _quote_newest(quotable, handle, (room - obliging) // 2, count)
        total = sum(line.tokens for line in lines)
        _name_oldest(plain[: len(quotable) - quoted_count], total - room, count)
    rest_tokens = widest_tokens - sum(line.tokens for line in lines[:1])
    for max_chars in CONSTRAINT_CHARS[1:]:
        _shorten(lines[1:], handle, rest_tokens, count, max_chars)
    kept = _without_oldest(lines, room, count)
    for line in kept:
        line.ends = QUOTE_LEVELS[-1]
    for max_chars in PINNED_CONSTRAINT_CHARS:
        _shorten(kept, handle, room, count, max_chars)
    shown = [(line.text, line.tokens) for line in kept]
    if dropped := record.requests_dropped + len(lines) - len(kept):
        older = prompt("older_requests").render(count=dropped)
        shown.insert(1, (older, count(older) + 1))
    return shown


def _quote_all(lines: Sequence[_QuotedRequest], handle: str, room: int, count: Counter) -> None:
    """Quote every request at the most generous level at which all of them fit."""
    tokens_of: dict[str, int] = {}
    for level, ends in enumerate(QUOTE_LEVELS):
        room_left = room
        for k, line in enumerate(lines):
            line.ends = QUOTE_LEVELS[max(0, level - 2)] if k < OPENING_REQUESTS else ends
            line.text = _request_text(line.quote, handle, line.ends, line.pinned)
            if line.text not in tokens_of:
                tokens_of[line.text] = count(line.text) + 1
            line.tokens = tokens_of[line.text]
            line.tried = line.ends, None
            room_left -= line.tokens
            if room_left < 0 and ends != QUOTE_LEVELS[-1]:
                break
        if room_left >= 0:
            return


def _quote_newest(lines: Sequence[_QuotedRequest], handle: str, room: int, count: Counter) -> int:
    """Quote the newest requests at the most generous level, as many as fit; return how many do."""
    for number, line in enumerate(reversed(lines)):
        text = _request_text(line.quote, handle, QUOTE_LEVELS[0], line.pinned)
        tokens = count(text) + 1
        room -= tokens
        if room < 0:
            return number
        line.ends, line.text, line.tokens = QUOTE_LEVELS[0], text, tokens
    return len(lines)


def _name_oldest(lines: Sequence[_QuotedRequest], excess_tokens: int, count: Counter) -> None:
    """Reduce the oldest requests to the beginning of their first line, until all fit."""
    for line in lines:
        if excess_tokens <= 0:
            return
        beginning = line.quote.text[: NAMED_CHARS + 1].lstrip().partition("\n")[0][:NAMED_CHARS]
        text = f"#{line.quote.position} {beginning}…"
        if (tokens := count(text) + 1) < line.tokens:
            excess_tokens -= line.tokens - tokens
            line.text, line.tokens = text, tokens


def _without_oldest(
    lines: Sequence[_QuotedRequest], room: int, count: Counter
) -> list[_QuotedRequest]:
    """Drop the oldest requests, except the goal and the pinned ones, until they fit.

    Those without constraints are dropped first; of the others, strict constraints are kept as
    long as they fit.
    """
    excess_tokens = sum(line.tokens for line in lines) - room
    dropped_indices: set[int] = set()
    droppable = sorted(
        (k for k, line in enumerate(lines) if k and not line.pinned and excess_tokens > 0),
        key=lambda k: k == len(lines) - 1 or bool(constraint_lines(lines[k].quote.text)),
    )
    strict_lines = {k: strict_constraint_lines(lines[k].quote.text) for k in droppable}
    for k in (k for k in droppable if not strict_lines[k]):
        if excess_tokens <= 0:
            break
        excess_tokens -= lines[k].tokens
        dropped_indices.add(k)
    for k in (k for k in droppable if strict_lines[k]):
        if excess_tokens <= 0:
            break
        line = lines[k]
        text = "\n".join((f"#{line.quote.position} …", *strict_lines[k]))
        if (tokens := count(text) + 1) < line.tokens:
            excess_tokens -= line.tokens - tokens
            line.text, line.tokens = text, tokens
    for k in (k for k in droppable if strict_lines[k]):
        if excess_tokens <= 0:
            break
        excess_tokens -= lines[k].tokens
        dropped_indices.add(k)
    return [line for k, line in enumerate(lines) if k not in dropped_indices]


def _shorten(
    lines: Sequence[_QuotedRequest], handle: str, room: int, count: Counter, max_chars: int
) -> None:
    """Drop constraints above `max_chars` characters per request, oldest first, until they fit."""
    excess_tokens = sum(line.tokens for line in lines) - room
    for line in lines:
        if excess_tokens <= 0:
            return
        constraint_chars = sum(end - start for start, end in constraint_lines(line.quote.text))
        attempt = line.ends, max_chars if max_chars < constraint_chars else None
        if attempt == line.tried:
            continue
        line.tried = attempt
        text = _request_text(line.quote, handle, line.ends, line.pinned, max_chars)
        if (tokens := count(text) + 1) < line.tokens:
            excess_tokens -= line.tokens - tokens
            line.text, line.tokens = text, tokens


def _request_text(
    quote: Quote,
    handle: str,
    ends: tuple[int, int],
    pinned: tuple[str, ...],
    max_constraint_chars: int | None = None,
) -> str:
    pointer = prompt("pointer").render(handle=f"{handle}#{quote.position}")
    text = excerpt(quote.text, *ends, pinned, pointer, max_constraint_chars=max_constraint_chars)
    refusal = f" {prompt('refusal').render(call=quote.refused)}" if quote.refused else ""
    return f"#{quote.position} {text}{refusal}"


def _open_work(record: Record, room: int, count: Counter) -> list[tuple[str, list[str]]]:
    """Return the open work: the plan, and unanswered tasks."""
    plan = _plan_text(record.todos, room, count) if record.todos else ""
    tasks = _newest_fitting(
        [_outcome_line(task) for task in record.tasks if not task.text], room, count
    )
    return [("Plan", [plan] if plan else []), ("Unanswered tasks", [t for t, _ in tasks])]


def _plan_text(todos: Quote, room: int, count: Counter) -> str:
    """Render a plan; if it is too long, drop finished items first, then the last ones."""
    head, *items = f"#{todos.position} {todos.text}".split("\n")
    if count("\n".join((head, *items))) <= room:
        return "\n".join((head, *items))
    shown_items = [item for item in items if not item.startswith("- completed:")]
    omitted = len(items) - len(shown_items)
    while shown_items:
        text = "\n".join((head, *shown_items, *([f"- … {omitted} more"] if omitted else [])))
        if count(text) <= room:
            return text
        shown_items, omitted = shown_items[:-1], omitted + 1
    return ""


@dataclass(frozen=True, slots=True)
class _Section:
    """Lines of one kind, oldest first, and the share of the budget they may fill."""

    title: str
    share: float
    """Share of the budget unused by requests and earlier sections; more if later ones need less."""
    lines: list[str]
    reserved: float = 0.0
    """Share of the whole budget that no request takes."""
    short: tuple[str, ...] = ()
    """The same lines reduced to names, used if not all of `lines` fit."""

    def fitting(
        self, room: int, least: list[tuple[str, int]], count: Counter
    ) -> list[tuple[str, int]]:
        """Return the newest lines that fit, or `least` if those are more, with their tokens.

        If not all fit, a last line states how many are missing, if that fits with a line.
        """
        newest = self._newest(room, count)
        if len(newest) == len(self.lines):
            return newest
        note = _older_line(len(self.lines), count)
        shown = max(least, self._newest(room - note[1], count), key=len)
        is_full = _sum_tokens(shown) + note[1] > room
        if len(shown) == len(self.lines) or is_full or (newest and not shown):
            return max(least, newest, key=len)
        return [*shown, _older_line(len(self.lines) - len(shown), count)]

    def _newest(self, room: int, count: Counter) -> list[tuple[str, int]]:
        """Return the newest lines that fit, with their tokens.

        If not all fit, as many short ones as fit; the newest of them are whole if they fit.
        """
        whole = _newest_fitting(self.lines, room, count)
        if not self.short or len(whole) == len(self.lines):
            return whole
        kept = _newest_fitting(self.short, room, count)
        room -= _sum_tokens(kept)
        for from_end, (_, tokens) in enumerate(reversed(kept), start=1):
            line = self.lines[-from_end]
            room -= count(line) + 1 - tokens
            if room < 0:
                break
            kept[-from_end] = line, count(line) + 1
        return max(whole, kept, key=len)

    def least(self, room: int, count: Counter) -> list[tuple[str, int]]:
        """Return the lines that are always included: the newest one, shortened if necessary."""
        if not self.reserved or not self.lines:
            return []
        min_tokens = max(LINE_TOKENS, int(room * self.reserved))
        return self._newest(min_tokens, count) or [
            _cut_line((self.short or self.lines)[-1], min_tokens, count)
        ]


LINE_TOKENS = 24
"""Tokens for the newest line of a section, in any budget."""


def _sections(record: Record) -> list[_Section]:
    failing = _open_errors(record.runs)
    finished_tasks = [task for task in record.tasks if task.text]
    files = [_file_line(path, state) for path, state in record.files.items()]
    return [
        _Section("Open errors", 0.25, [_outcome_line(run) for run in failing], 0.05),
        _Section("Files", 0.3, files, 0.05),
        _Section("Media", 0.2, [f"#{quote.position} {quote.text}" for quote in record.media], 0.05),
        _Section(
            "Tasks",
            0.3,
            [_outcome_line(t) for t in finished_tasks],
            0.1,
            tuple(map(_short_outcome_line, finished_tasks)),
        ),
        _Section(
            "Commands", 0.4, [_outcome_line(r) for r in record.runs if r not in failing], 0.05
        ),
        _Section(NOTES_TITLE, 0.5, [f"#{n.position} {n.text}" for n in record.notes]),
        _Section("Index", 1.0, _index_lines(record.names)),
    ]


def _skill_lines(record: Record, loaded: Container[str]) -> list[str]:
    template = prompt("skill_again")
    return [
        template.render(position=skill.position, name=skill.name, tool=skill.tool, path=skill.path)
        for skill in record.skills
        if skill.path not in loaded
    ]


def _short_outcome_line(outcome: CallOutcome) -> str:
    return f"#{outcome.position} {outcome.use.brief}{' → FAILED' if outcome.failed else ''}"


def _outcome_line(outcome: CallOutcome) -> str:
    result = f" → {'FAILED: ' if outcome.failed else ''}{outcome.text}" if outcome.text else ""
    return f"#{outcome.position} {outcome.use.brief}{result}"


def _open_errors(runs: Sequence[CallOutcome]) -> list[CallOutcome]:
    """Return the failed calls none of whose aims was reached later, or failed again.

    Which command of a chain failed is unknown: a later success of any of them ends the error.
    """
    failing: dict[int, tuple[frozenset[str], CallOutcome]] = {}
    for run in (run for run in runs if not run.refused):
        run_aims = aims(run.use)
        for position in [p for p, (older, _) in failing.items() if older & run_aims]:
            del failing[position]
        if run.failed and run_aims:
            failing[run.position] = run_aims, run
    return [run for _, run in failing.values()][-8:]


def _file_line(path: str, state: FileState) -> str:
    changed = f"changed {state.changes}x, last #{state.changed_at}" if state.changes else ""
    read = f"read #{state.read_at}" if state.read_at >= 0 else ""
    return f"{' '.join(path.split())}: {'; '.join(filter(None, (changed, read)))}"


def _index_lines(names: Sequence[Quote]) -> list[str]:
    by_position: dict[int, list[str]] = {}
    for name in names:
        by_position.setdefault(name.position, []).append(name.text)
    return [f"#{position} {' '.join(texts)}" for position, texts in by_position.items()]


def _needed_after(sections: Sequence[_Section], room: int, count: Counter) -> list[int]:
    """Return for each section the tokens of all lines of the later ones, counted up to `room`."""
    needed: list[int] = []
    later = 0
    for section in reversed(sections):
        needed.append(later)
        for line in section.lines:
            if later >= room:
                break
            later += count(line) + 1
    return needed[::-1]


def _older_line(number: int, count: Counter) -> tuple[str, int]:
    """Return the line that states how many older ones are left out, with its tokens."""
    text = prompt("older_lines").render(count=number)
    return text, count(text) + 1


def _newest_fitting(lines: Sequence[str], room: int, count: Counter) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    for line in reversed(lines):
        tokens = count(line) + 1
        if tokens > room:
            break
        room -= tokens
        kept.append((line, tokens))
    return kept[::-1]


def _cut_line(line: str, room: int, count: Counter) -> tuple[str, int]:
    """Cut the end off a line until it has at most `room` tokens, the line break included."""
    kept = line[: room * CHARS_PER_TOKEN]
    while kept and count(f"{kept}…") >= room:
        kept = kept[: len(kept) * 3 // 4]
    shown = line if kept == line else f"{kept}…"
    return shown, count(shown) + 1


def _sum_tokens(lines: Sequence[tuple[str, int]]) -> int:
    return sum(tokens for _, tokens in lines)
