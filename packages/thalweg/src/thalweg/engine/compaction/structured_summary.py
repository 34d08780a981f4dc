"""Deterministic compaction: a structured summary built from the originals, without a model.

`absorb` reads entries once, when they are compacted, and keeps the data for the structured summary;
`render` in `summary_rendering` writes it within a budget. So a summary is never made from a summary
(I29), and its size is bounded for any length of the thread. The data include identifiers: the
tokens of a text that cannot be guessed or paraphrased.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

from thalweg.engine.compaction.call_status import aims, status
from thalweg.engine.compaction.pins import constraint_lines, strict_constraint_lines
from thalweg.engine.compaction.preview import requested_lines
from thalweg.engine.compaction.repeats import MAX_RESULTS, call_key, remember_result
from thalweg.engine.compaction.skills import loaded_skill
from thalweg.engine.data_files import read_table
from thalweg.engine.entries import Entry, ToolUse, request_text
from thalweg.engine.media.labels import media_line
from thalweg.engine.snapshot import CallOutcome, FileState, Quote, Record
from thalweg.engine.transcript import as_text, clip

_IDENTIFIER_KINDS: list[tuple[int, str]] = read_table(__package__, "identifiers.toml")["kinds"]
_KIND = re.compile("|".join(f"({pattern})" for _, pattern in _IDENTIFIER_KINDS))
_WEIGHTS = tuple(weight for weight, _ in _IDENTIFIER_KINDS)
_TOKEN = re.compile(  # the letter before the alternatives halves the time of a search
    r"h(?:ttps?://[^\s\"'<>)\]}]{4,120}|[\w./@+-]*(?::\d+)?)|[~#]?[\w./@+-]+(?::\d+)?"
)
_GREP_CONTEXT = re.compile(r"(?<=\.)([A-Za-z]\w{0,7})-\d+(?:-.*)?$")
"""After a path in the lines around a match that grep and ripgrep print: `app.py-40-text`."""
_PROMISING = re.compile(r"[\d_/]|\.\w|[a-z][A-Z]")
_AMOUNT = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?\s?(?:ms|s|min|h|kB|KB|MB|GB|KiB|MiB|%|tokens|lines|files)(?!\w)"
)
_AMOUNT_WEIGHT = 3
MAX_REQUESTS, MAX_FILES, MAX_RUNS, MAX_NOTES, MAX_NAMES, MAX_MEDIA = 500, 400, 200, 200, 1_500, 100
"""Most items of each kind kept between compactions: the newest, and the goal."""
MAX_PLAIN_REQUESTS = 200
"""Most of them without a constraint; older ones are only counted."""
MAX_PATH_CHARS = 300
"""A longer target of a change is no path."""
MAX_SKILLS = 50
"""Most loaded skills that are kept, the newest."""
INDEXED_CHARS = 4_000
"""Characters at each end of a tool result in which identifiers are searched for."""
NAMES_PER_RESULT = 4
"""Identifiers indexed of one tool result."""
NOTE_CHARS = 240
"""Quoted characters of an assistant's text: two thirds from its beginning, the rest from its end,
which often has its conclusion."""
OUTCOME_CHARS = 110
"""Longest line for the outcome of a call."""
REFUSED = "refused, not run"
"""Outcome of a call that the user or the host did not let run."""
SCANNED_CHARS, SEARCHED_CHARS = 4_000, 100_000
"""Characters at each end of a result in which an error is searched for, and a requested line."""
_FAILURE = re.compile(
    r"^.*(?:error\b|exception|traceback|\bfail(?:ed|ure)?\b|\bfatal\b|panic:|--- FAIL).*$",
    re.IGNORECASE | re.MULTILINE,
)


def identifiers(text: str, scanned_chars: int = 20_000) -> Iterator[tuple[int, str]]:
    """Find identifiers: ids, hashes, URLs, paths, versions, amounts, long names.

    Args:
        text: Any text.
        scanned_chars: Characters at each end that are read.

    Returns:
        Weight (more is less guessable) and identifier, each once: tokens in order of
        appearance, then amounts with their unit.

    Example:
        >>> list(identifiers("fixed in 4f9d2c1 (3.2 s), see src/app.py:40."))
        [(6, '4f9d2c1'), (5, 'src/app.py:40'), (3, '3.2 s')]
    """
    ends_text = (
        text
        if len(text) <= 2 * scanned_chars
        else f"{text[:scanned_chars]}\n{text[-scanned_chars:]}"
    )
    found = dict.fromkeys(_TOKEN.findall(ends_text))  # words recur: each is looked at once
    unusual = [token for token in found if not (token.isalpha() and token.islower())]
    tokens = [token.rstrip(".-/+") for token in unusual if _PROMISING.search(token)]
    for token in dict.fromkeys([_GREP_CONTEXT.sub(r"\1", token) for token in tokens]):
        if (match := _KIND.fullmatch(token)) and match.lastindex:
            yield _WEIGHTS[match.lastindex - 1], token
    for amount in dict.fromkeys(_AMOUNT.findall(ends_text)):
        yield _AMOUNT_WEIGHT, amount


_Line = TypeVar("_Line", Quote, CallOutcome)


def absorb(record: Record, entries: Iterable[Entry]) -> Record:
    """Add compacted entries to a record; entries come in any order, each once."""
    requests, notes = list(record.requests), list(record.notes)
    runs, tasks, media = list(record.runs), list(record.tasks), list(record.media)
    files = dict(record.files)
    names = {quote.text: quote for quote in record.names}
    skills = {skill.path: skill for skill in record.skills}
    todos, message_count, last = record.todos, record.messages, record.last
    results, returned = dict(record.results), set(record.returned)
    for entry in entries:
        remember_result(results, entry)
        if entry.position in returned:
            returned.remove(entry.position)
            continue
        message_count += 1
        last = max(last, entry.position)
        if skill := loaded_skill(entry):
            skills.pop(skill.path, None)
            skills[skill.path] = skill
        if entry.media and not entry.is_fetched:
            media.append(Quote(entry.position, media_line(entry.message)))
        if entry.is_request:
            requests.append(Quote(entry.position, request_text(as_text(entry.message))))
        elif entry.message.role == "assistant":
            keys = [call_key(use) for use in entry.uses if use.action in ("read", "search")]
            is_reread = 0 < len(keys) == len(entry.uses) and all(
                key in record.results and not results[key].is_outdated for key in keys
            )
            # words that only announce a read of removed content would displace the newest progress
            todos = _absorb_answer(entry, [] if is_reread else notes, tasks) or todos
        elif entry.message.role == "tool" and not entry.is_fetched:
            if entry.answers:
                requests += _absorb_result(entry, entry.answers, files, runs, tasks)
            _index_names(entry, names)
    # Messages that were kept longer arrive after newer ones.
    requests.sort(key=attrgetter("position"))
    media.sort(key=attrgetter("position"))
    notes, runs, tasks = _newest(notes), _newest(runs), _newest(tasks)
    requests, dropped = _newest_requests(requests)
    return replace(
        record,
        messages=message_count,
        last=last,
        requests=tuple(requests),
        requests_dropped=record.requests_dropped + dropped,
        files=dict(list(files.items())[-MAX_FILES:]),
        runs=tuple(runs[-MAX_RUNS:]),
        tasks=tuple(tasks[-MAX_RUNS:]),
        notes=tuple(notes[-MAX_NOTES:]),
        todos=todos,
        names=tuple(list(names.values())[-MAX_NAMES:]),
        skills=tuple(skills.values())[-MAX_SKILLS:],
        media=tuple(media[-MAX_MEDIA:]),
        results=dict(list(results.items())[-MAX_RESULTS:]),
        returned=tuple(sorted(returned)),
    )


def _newest_requests(requests: list[Quote]) -> tuple[list[Quote], int]:
    """Select the requests to keep: the goal, those with constraints, and the newest.

    Returns:
        The requests in order, and how many were dropped.
    """
    ranks = {
        k: (bool(q.refused or constraint_lines(q.text)), bool(strict_constraint_lines(q.text)))
        for k, q in enumerate(requests[1:], 1)
    }
    plain_count = sum(not any(rank) for rank in ranks.values())
    excess_count = max(0, len(requests) - MAX_REQUESTS, plain_count - MAX_PLAIN_REQUESTS)
    dropped_indices = set(sorted(ranks, key=lambda k: (ranks[k], k))[:excess_count])
    return [quote for k, quote in enumerate(requests) if k not in dropped_indices], excess_count


def _absorb_answer(entry: Entry, notes: list[Quote], tasks: list[CallOutcome]) -> Quote | None:
    """Add the text and delegated tasks of an answer; return its list of todos, if it has one."""
    todos: Quote | None = None
    if text := entry.message.text.strip():
        notes.append(Quote(entry.position, _note(text)))
    for use, call in zip(entry.uses, entry.message.calls, strict=True):
        if use.action == "plan":
            todos = Quote(entry.position, _todo_lines(call.arguments) or use.brief)
        elif use.action == "delegate":
            tasks.append(CallOutcome(entry.position, use, ""))
    return todos


def _note(text: str) -> str:
    """Quote both ends of a text on one line, with the number of characters between them.

    A text that would not be shorter so is quoted whole.
    """
    head, tail = " ".join(text[: 2 * NOTE_CHARS].split()), " ".join(text[-NOTE_CHARS:].split())
    first, last = head[: NOTE_CHARS * 2 // 3], tail[-NOTE_CHARS // 3 :]
    cut = f"{first} […{len(text) - len(first) - len(last):,}…] {last}"
    return head if len(text) <= 2 * NOTE_CHARS and len(head) <= max(NOTE_CHARS, len(cut)) else cut


def _absorb_result(
    entry: Entry,
    use: ToolUse,
    files: dict[str, FileState],
    runs: list[CallOutcome],
    tasks: list[CallOutcome],
) -> list[Quote]:
    """Add the outcome of a call; return the user's words, if the user refused it with some."""
    ended = status(use, entry.message)
    if ended.state == "refused":
        runs.append(CallOutcome(entry.position, use, REFUSED, refused=True))
        return [Quote(entry.position, ended.words, use.brief)] if ended.words else []
    failed = ended.state == "failed"
    file_state = files.get(use.target, FileState())

    def call_outcome() -> CallOutcome:
        return CallOutcome(entry.position, use, outcome(entry, failed=failed), failed)

    match use.action:
        case "read" | "write" if failed:
            runs.append(call_outcome())
        case "read" if use.target:
            files.pop(use.target, None)
            files[use.target] = replace(file_state, read_at=entry.position)
        case "write" if use.target and len(use.target) <= MAX_PATH_CHARS:
            files.pop(use.target, None)
            changes = file_state.changes + 1
            files[use.target] = replace(file_state, changed_at=entry.position, changes=changes)
            runs[:] = [run for run in runs if not (run.failed and aims(run.use) == aims(use))]
        case "delegate":
            tasks[:] = [task for task in tasks if task.use.id != use.id]
            tasks.append(call_outcome())
        case "plan":
            pass
        case _:
            runs.append(call_outcome())
    return []


def _newest(lines: Iterable[_Line]) -> list[_Line]:
    """Sort lines by position; of those that differ in nothing else only the newest stays."""
    newest: dict[tuple[object, ...], _Line] = {}
    for line in sorted(lines, key=attrgetter("position"))[::-1]:
        newest.setdefault(_content(line), line)
    return list(newest.values())[::-1]


def _content(line: Quote | CallOutcome) -> tuple[object, ...]:
    if isinstance(line, Quote):
        return (line.text,)
    # Each call that waits, was refused, or failed to read or write is listed.
    if not line.text or line.refused or line.use.action in {"read", "write"}:
        return line.position, line.use.id
    return line.use.name, line.use.target, line.use.scope, line.text, line.failed


def _todo_lines(arguments: str) -> str:
    """Return a to-do list as one line per item: its state and its task."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    lists = parsed.values() if isinstance(parsed, dict) else ()
    todos = next((value for value in lists if isinstance(value, list)), [])
    lines: list[str] = []
    for todo in todos:
        if not isinstance(todo, dict):
            return ""
        words = [todo.get(key) for key in ("content", "step", "title", "description", "task")]
        text = next((word for word in words if isinstance(word, str)), "")
        line = " ".join(f"{todo.get('status', '?')}: {text}".split())
        lines.append(f"- {clip(line, NOTE_CHARS)}")
    return "\n".join(["", *lines]) if lines else ""


def outcome(entry: Entry, *, failed: bool) -> str:
    """Return the outcome of a call in one line: its most prominent error, else its last line.

    Before it stands the line with the rarest words of the call, because a long log may have its
    figure anywhere.
    For a delegated task it is the first line, as in the ledger of tasks: a report begins with its
    result.
    """
    text = entry.message.text
    ends_text = _ends(text, SCANNED_CHARS)
    if failed and (error := _FAILURE.search(ends_text)):
        return _outcome_line(error[0])
    lines = [line for line in ends_text.splitlines() if line.strip()]
    if not lines:
        return "(empty)"
    count = len([line for line in text.splitlines() if line.strip()])
    if entry.answers and entry.answers.action == "search" and len(lines) > 1 and not failed:
        return f"{count} lines"
    if entry.answers and entry.answers.action == "delegate":
        return _outcome_line(lines[0])
    searched = _ends(text, SEARCHED_CHARS)
    requested = requested_lines(searched, entry.answers.brief, max_lines=1) if entry.answers else []
    shown_lines = " … ".join(dict.fromkeys(map(_outcome_line, (*requested, lines[-1]))))
    return shown_lines if len(lines) <= len(requested) + 1 else f"{shown_lines} (of {count} lines)"


def _ends(text: str, chars: int) -> str:
    return text if len(text) <= 2 * chars else f"{text[:chars]}\n{text[-chars:]}"


def _outcome_line(text: str) -> str:
    return clip(" ".join(text.split()), OUTCOME_CHARS)


def _index_names(entry: Entry, names: dict[str, Quote]) -> None:
    weighted_names = identifiers(entry.message.text, scanned_chars=INDEXED_CHARS)
    weights = {name: weight for weight, name in weighted_names if name not in names}
    best = sorted(weights, key=lambda name: -weights[name])[:NAMES_PER_RESULT]
    for name in best:
        names[name] = Quote(entry.position, name)
