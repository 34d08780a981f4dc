"""How the log of an agent becomes a thread: rows give provider objects, a wire reads them.

Two rules: a log format never parses what a provider's wire can parse; what a row knows beside
its provider object (line, id, time, usage, who is behind it) is laid over what the wire read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.entries import Kind, Message, Text, Usage
from thalweg.recordings.base import RecordedCompaction, Recording, SessionInfo
from thalweg.recordings.source import NOTED_CHARS, Broken, Source
from thalweg.wires.base import Note
from thalweg.wires.fields import to_json

RECORDED_SUMMARY = "recorded_summary"
"""Code of a note: the recorded agent's own summary of a compaction, left out."""


Read = Callable[[Sequence[Any]], tuple[list[Message], list[Note]]]
"""How a wire reads its objects: `Wire.read`."""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One format of recorded threads."""

    name: str
    looks_for: str
    """What a file of this format is known by, in a few words."""
    detect: Callable[[Source], bool]
    read: Callable[[Source], Recording]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One provider object of a log, and what its row knows beside it."""

    line: int
    raw: Mapping[str, Any]
    uid: str = ""
    at: str = ""
    kind: Kind = "said"
    name: str = ""
    is_error: bool = False
    usage: Usage | None = None


def as_recording(
    name: str,
    log_format: str,
    read: Read,
    items: Sequence[Recorded | Broken],
    *,
    notes: Sequence[Note],
    skipped: Counter[str] | None = None,
    why: Mapping[str, str] | None = None,
    session: SessionInfo = SessionInfo(),  # noqa: B008 (frozen)
    compactions: Sequence[RecordedCompaction] = (),
) -> Recording:
    """Read the provider objects of a log with their wire, and say what was odd.

    Args:
        name: Of the recording.
        log_format: Of the file.
        read: How the wire reads its objects.
        items: What the rows gave, in order.
        notes: What was odd so far.
        skipped: Rows that the format defines as no messages, by kind.
        why: Why a kind of row is left out, where that is not plain.
        session: What the rows state about the session.
        compactions: Those that the rows state, oldest first.
    """
    messages, read_notes = through_wire(read, items)
    told = (*notes, *left_out(skipped or Counter(), why), *read_notes, *pairing_notes(messages))
    return Recording(
        name, log_format, tuple(messages), told, session=session, compactions=tuple(compactions)
    )


def through_wire(
    read: Read, items: Sequence[Recorded | Broken]
) -> tuple[list[Message], list[Note]]:
    """Read the provider objects of a log with their wire, in order.

    Results of calls are given the name of the tool where the wire does not tell it.

    A broken line becomes an injected user message, so that its content stays in the thread;
    but broken lines alone make no thread.
    """
    good = [item for item in items if isinstance(item, Recorded)]
    told, wire_notes = read([item.raw for item in good])
    notes = [_with_line(note, good) for note in wire_notes]
    own = {id(item.raw): index for index, item in enumerate(good)}
    parts = _Parted(good)
    for message in told:
        parts.place(message, own)
    messages: list[Message] = []
    position = 0
    for item in items:
        if isinstance(item, Recorded):
            messages += parts.of[position]
            position += 1
        elif told:
            messages.append(broken_message(item))
    return _named(messages), notes


class _Parted:
    """The messages that were read, by the item each came from."""

    def __init__(self, items: Sequence[Recorded]) -> None:
        self.of: list[list[Message]] = [[] for _ in items]
        self._items = items
        self._last = 0

    def place(self, message: Message, own: Mapping[int, int]) -> None:
        raws = message.origin.raws if message.origin else ()
        index = next((own[id(raw)] for raw in raws if id(raw) in own), self._last)
        self._last = index
        first = not any(before.role == message.role for before in self.of[index])
        self.of[index].append(_laid_over(message, self._items[index], first=first))


def _laid_over(message: Message, item: Recorded, *, first: bool) -> Message:
    usage = item.usage if first else None
    return replace(
        message,
        line=item.line,
        uid=item.uid or message.uid,
        at=item.at or message.at,
        kind=item.kind if item.kind != "said" else message.kind,
        name=message.name or item.name,
        is_error=message.is_error or (item.is_error and message.role == "tool"),
        usage=message.usage or (usage if message.role == "assistant" else None),
    )


def _named(messages: Iterable[Message]) -> list[Message]:
    names: dict[str, str] = {}
    named: list[Message] = []
    for message in messages:
        names |= {call.id: call.name for call in message.calls if call.id}
        nameless = message.role == "tool" and not message.name and message.answers in names
        named.append(replace(message, name=names[message.answers]) if nameless else message)
    return named


def _with_line(note: Note, items: Sequence[Recorded]) -> Note:
    return replace(note, line=items[note.line].line) if 0 <= note.line < len(items) else note


def broken_message(broken: Broken) -> Message:
    """Carry a line that is no JSON through the thread, as text that every provider takes."""
    return Message("user", (Text(broken.text),), kind="injected", line=broken.line)


def left_out(rows: Counter[str], why: Mapping[str, str] | None = None) -> list[Note]:
    """Note the rows that a format defines as no messages, one note for each kind of row."""
    reasons = why or {}
    return [
        Note(-1, "left_out", f"{count} rows of {kind}: {reasons.get(kind, 'no messages')}")
        for kind, count in sorted(rows.items())
    ]


def summary_note(line: int, size: int) -> Note:
    """Note a summary that the recorded agent wrote, which a replay does not use."""
    return Note(line, RECORDED_SUMMARY, f"the recorded agent's own summary, {size} characters")


def odd_row(line: int, value: object, notes: list[Note]) -> Broken:
    """Carry a row that is JSON but nothing the format knows, and note it."""
    text = to_json(value)
    notes.append(Note(line, "odd_row", f"not a row of this format: {text[:NOTED_CHARS]}"))
    return Broken(line, text)


_HARNESS = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "[Request interrupted by user",
    "<user_instructions>",
    "<environment_context>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
"""How user messages begin that Claude Code or Codex wrote, not the user."""


def who_wrote(raw: Mapping[str, Any]) -> Kind:
    """Tell whether the user wrote a provider's user message, or the harness around the agent.

    Example:
        >>> who_wrote({"role": "user", "content": "<task-notification>done</task-notification>"})
        'injected'
    """
    content = raw.get("content")
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    harness = raw.get("role") == "user" and as_str(content).lstrip().startswith(_HARNESS)
    return "injected" if harness else "said"


def as_str(value: object) -> str:
    """Take a string as it is, and anything else as an empty one."""
    return value if isinstance(value, str) else ""


def pairing_notes(messages: Iterable[Message]) -> list[Note]:
    """Note results without a call, ids that are used again and calls nobody answers."""
    notes: list[Note] = []
    asked: Counter[str] = Counter()
    where: dict[str, int] = {}
    for message in messages:
        for call in message.calls:
            if not call.id:
                notes.append(Note(message.line, "call_without_id", f"call of {call.name}"))
            elif call.id in where:
                notes.append(Note(message.line, "reused_call_id", call.id))
            asked[call.id] += 1
            where[call.id] = message.line
        if message.role == "tool":
            if not asked[message.answers]:
                notes.append(Note(message.line, "orphan_result", message.answers or "no id"))
            else:
                asked[message.answers] -= 1
    open_calls = [id_ for id_, count in asked.items() if count > 0]
    notes += [Note(where[id_], "unanswered_call", id_ or "no id") for id_ in open_calls]
    return notes
