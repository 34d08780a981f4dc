"""Build a thread from the log of an agent: rows yield provider objects, a wire parses them.

Two rules: a log format never parses objects that a provider's wire can parse; the fields of a row
next to its provider object (line, id, time, usage, author) override those that the wire read.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from thalweg.engine.entries import Kind, Message, Text
from thalweg.engine.injections import is_harness_text
from thalweg.engine.pricing.cost import summed
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import to_json
from thalweg_recorder.recordings.agents import AgentPlaces
from thalweg_recorder.recordings.base import (
    BEGIN,
    RecordedCompaction,
    Recording,
    ResumePoint,
    SessionInfo,
)
from thalweg_recorder.recordings.source import (
    NOTED_CHARS,
    BrokenLine,
    JsonObject,
    RecordedFile,
    Unpack,
)

RECORDED_SUMMARY = "recorded_summary"
"""Code of a note: the recorded agent's own summary of a compaction, which is dropped."""


Read = Callable[[Sequence[Any]], tuple[list[Message], list[Note]]]
"""Parses the objects of a wire: `Wire.read`."""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One format of recorded threads."""

    name: str
    detect: Callable[[RecordedFile], bool]
    read: Callable[[RecordedFile], Recording]
    """Loses no line: `SessionRows.odd` for a row in another form or a broken line, and the notes of
    the file first."""
    split: Callable[[RecordedFile], Iterable[tuple[str, Any]]] = lambda _: ()
    """Yields the sessions of a file that may have several: the name and the document of each."""
    endings: tuple[str, ...] = ()
    """Endings of its files, besides those of JSON and JSON Lines."""
    unpack: Unpack | None = None
    companions: Callable[[Path], Iterable[Path]] | None = None
    """Returns the further files of a session, which `unpack` adds."""
    places: AgentPlaces | None = None
    """Of the logs on a machine, if they are not in `agents.toml`."""
    has_parts: bool = False
    """Whether a dot and a name after a session's id name a part of it, such as a subagent."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One provider object of a log, and the fields that its row adds."""

    line: int
    raw: Mapping[str, Any]
    uid: str = ""
    at: str = ""
    kind: Kind = "said"
    name: str = ""
    is_error: bool = False
    usage: Usage | None = None
    model: str = ""
    """The model that answered; empty for that of the session."""
    answer: str = ""
    """The provider's id of the answer, which its copies in other sessions have, too."""


@dataclass(slots=True)
class SessionRows:
    """The rows of a session's log that were processed so far."""

    name: str
    """Name of the recording."""
    notes: list[Note]
    """Irregularities found so far."""
    items: list[Recorded | BrokenLine] = field(default_factory=list)
    """Objects from the rows, in order."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Counts of rows that are no messages in this format, by kind."""
    info: SessionInfo = field(default_factory=SessionInfo)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    state: str = ""
    """Values that a reader needs to continue at the next row."""
    resumed: ResumePoint = BEGIN
    resume: ResumePoint = BEGIN
    """See `Recording`."""

    @classmethod
    def of(cls, source: RecordedFile) -> Self:
        """Begin with the irregularities of a file, at the point from which it was read."""
        rows, point = cls(source.name, list(source.notes)), source.resumed
        rows.info, rows.state = point.session, point.state
        rows.resumed = rows.resume = point
        return rows

    def mark(self, line: int, at: str) -> None:
        """Note that a reader may continue at this row, which has a time."""
        if at:
            self.resume = ResumePoint(line, at, self.info, self.state)

    def take(self, line: int, row: JsonObject) -> None:
        """Process the next row that is an object; it is a provider object unless overridden."""
        self.items.append(Recorded(line, row))

    def read(
        self,
        rows: Iterable[tuple[int, Any]],
        log_format: str,
        wire: Read,
    ) -> Recording:
        """Process rows with their lines, and return the recording; see `recording`."""
        for line, row in rows:
            if isinstance(row, dict):
                self.take(line, row)
            else:
                self.odd(line, row)
        return self.recording(log_format, wire)

    def recording(self, log_format: str, wire: Read) -> Recording:
        """Parse the provider objects with their wire, and note irregularities.

        Args:
            log_format: Format of the file.
            wire: Parses the objects.
        """
        parsed, read_notes = _through_wire(wire, self.items)
        messages = _counted_once(parsed, self.info.model)
        all_notes = (
            *self.notes,
            *left_out(self.skipped),
            *read_notes,
        )
        return Recording(
            self.name,
            log_format,
            tuple(messages),
            all_notes,
            self.info,
            tuple(self.compactions),
            left_out=dict(self.skipped),
            resumed=self.resumed,
            resume=self._resume_after(messages),
        )

    def _resume_after(self, messages: Iterable[Message]) -> ResumePoint:
        """Return the newest point with the answers before it."""
        point, begun = self.resume, self.resumed
        before = [message for message in messages if message.line < point.line]
        if point is begun or any(message.at > point.at for message in before):
            return begun
        usage = [message.usage for message in before if message.usage is not None]
        return replace(
            point,
            answer=usage[-1].id if usage else begun.answer,
            usage=summed([*begun.usage, *usage]),
        )

    def odd(self, line: int, value: object) -> BrokenLine:
        """Keep a row in no supported form as broken, and note it if it is valid JSON."""
        if not isinstance(value, BrokenLine):
            text = to_json(value)
            note = f"not a row of this format: {text[:NOTED_CHARS]}"
            self.notes.append(Note(line, "odd_row", note))
            value = BrokenLine(line, text)
        self.items.append(value)
        return value

    def note_summary(self, line: int, size: int) -> None:
        """Note a summary of the recorded agent, which a replay does not use."""
        note = f"the recorded agent's own summary, {size} characters"
        self.notes.append(Note(line, RECORDED_SUMMARY, note))

    def compacted(
        self, line: int, summary: str, at: str, *, trigger: str = "", before: object = None
    ) -> None:
        """Note a compaction of the recorded agent, and its summary."""
        self.note_summary(line, len(summary))
        tokens = before if isinstance(before, int) else 0
        self.compactions.append(RecordedCompaction(line, at, trigger, tokens, summary))


def _through_wire(
    read: Read, items: Sequence[Recorded | BrokenLine]
) -> tuple[list[Message], list[Note]]:
    """Parse the provider objects of a log with their wire, in order.

    Results of calls get the name of the tool if the wire does not provide it.

    A broken line becomes an injected user message, so that its content remains in the thread;
    broken lines alone form no thread.
    """
    good = [item for item in items if isinstance(item, Recorded)]
    parsed, wire_notes = read([item.raw for item in good])
    of_items = iter(_by_item(parsed, good))
    messages: list[Message] = []
    for item in items:
        if isinstance(item, Recorded):
            messages += next(of_items)
        elif parsed:
            messages.append(broken_message(item))
    return _named(messages), [_with_line(note, good) for note in wire_notes]


def _by_item(parsed: Iterable[Message], items: Sequence[Recorded]) -> list[list[Message]]:
    """Group parsed messages by their item; one without an origin belongs to the item before."""
    own = {id(item.raw): index for index, item in enumerate(items)}
    grouped: list[list[Message]] = [[] for _ in items]
    index = 0
    for message in parsed:
        raws = message.origin.raws if message.origin else ()
        index = next((own[id(raw)] for raw in raws if id(raw) in own), index)
        first = not any(before.role == message.role for before in grouped[index])
        grouped[index].append(_laid_over(message, items[index], first=first))
    return grouped


def _laid_over(message: Message, item: Recorded, *, first: bool) -> Message:
    usage = message.usage
    if usage is None and first and message.role == "assistant":
        usage = item.usage
    if usage is not None:
        model, answer = item.model or usage.model, item.answer or usage.id
        usage = replace(usage, model=model, id=answer)
    return replace(
        message,
        line=item.line,
        uid=item.uid or message.uid,
        at=item.at or message.at,
        kind=item.kind if item.kind != "said" else message.kind,
        name=message.name or item.name,
        is_error=message.is_error or (item.is_error and message.role == "tool"),
        usage=usage,
    )


def _counted_once(messages: Iterable[Message], model: str) -> list[Message]:
    """Keep one usage of each answer, that of its last row at its first, with a model.

    Args:
        messages: The messages; the rows of one answer may have others between them.
        model: Of an answer that names none.
    """
    counted = list(messages)
    last = {m.usage.id: m.usage for m in counted if m.usage is not None}
    for at, message in enumerate(counted):
        if message.usage is not None:
            usage = last.pop(message.usage.id, None) if message.usage.id else message.usage
            if usage is not None and not usage.model:
                usage = replace(usage, model=model)
            counted[at] = replace(message, usage=usage)
    return counted


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


def broken_message(broken: BrokenLine) -> Message:
    """Return a line that is no JSON as a text message, which every provider accepts."""
    return Message("user", (Text(broken.text),), kind="injected", line=broken.line)


def left_out(rows: Counter[str]) -> list[Note]:
    """Return one note for each kind of row that the format defines as no message."""
    return [
        Note(-1, "left_out", f"{count} rows of {kind}: no messages")
        for kind, count in sorted(rows.items())
    ]


def who_wrote(raw: Mapping[str, Any]) -> Kind:
    """Return whether the user or the agent's harness wrote a provider's user message.

    Example:
        >>> who_wrote({"role": "user", "content": "<task-notification>done</task-notification>"})
        'injected'
    """
    content = raw.get("content", raw.get("parts"))
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    from_harness = raw.get("role") == "user" and is_harness_text(as_str(content))
    return "injected" if from_harness else "said"


def as_str(value: object) -> str:
    """Return a string unchanged, and anything else as an empty one."""
    return value if isinstance(value, str) else ""


def as_object(value: object) -> JsonObject:
    """Return a JSON object unchanged, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list unchanged, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def as_objects(value: object) -> list[JsonObject]:
    """Return the JSON objects of a list; none of anything else."""
    return [one for one in as_list(value) if isinstance(one, dict)]


def chat_call(call_id: object, name: object, arguments: str) -> JsonObject:
    """Return a tool call as OpenAI's Chat Completions has it."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def as_text(value: object) -> str:
    """Return a string unchanged, and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
