"""Rows of any agent: a form that every log can be mapped to, and files in this form.

A row is a JSON object with one of these keys, and fields next to it:

- `message`: a message of a provider's API, Anthropic's unless the format names another wire. Next
  to it `id`, `at` (a time), `name` (of the tool), `is_error`, `injected` (the harness wrote it),
  `model`, `usage`, `answer` (the provider's id of the answer: messages of one answer are joined),
  and `thread` (a subagent's id: its rows are a thread of their own).
- `usage`, with `answer` and `model`: the tokens of an answer, wherever the log has them.
- `session`: `id`, `project`, `branch`, `title`, `model`, `window` (tokens).
- `compaction`: `summary`, `at`, `trigger`, `tokens_before`.
- `left_out`: the kind of a row that is no message.
- `note`: the code of an irregularity, with its `text`.

Files with such rows are JSON Lines that begin with `{"format": "agent-rows", "agent": NAME}`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.registry import READERS
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_str,
    who_wrote,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile, RecordedRow
from thalweg_recorder.recordings.times import iso_time

NAME = "agent-rows"
MapRow = Callable[[JsonObject], Iterable[JsonObject]]
"""Maps a row of a log to rows of the form above.

It may raise a `KeyError` or `TypeError` for a row in another form, which is then kept as text."""
_FIRST = ("id", "project")
"""Statements about a session of which the first counts; of others the last does."""


@dataclass(slots=True)
class AgentRows(SessionRows):
    """The rows processed so far."""

    begun: dict[str, int] = field(default_factory=dict)
    """Index of each answer's message in `items`."""
    reported: dict[str, tuple[Usage | None, str]] = field(default_factory=dict)
    """Usage and model of answers."""
    threads: "dict[str, AgentRows]" = field(default_factory=dict)
    """Rows of subagents."""

    def map(self, line: int, row: object, map_row: MapRow) -> None:
        """Process a row of a log."""
        try:
            mapped = list(map_row(row)) if isinstance(row, dict) else None
        except (KeyError, TypeError, ValueError, AttributeError):
            mapped = None
        if mapped is None:
            self.odd(line, row)
        for one in mapped or ():
            self.take(line, one)

    def take(self, line: int, row: JsonObject) -> None:
        """Process a row of the form above."""
        thread = row.get("thread")
        if isinstance(thread, str) and thread:
            self.threads.setdefault(thread, AgentRows(thread, [])).take(
                line, {**row, "thread": None}
            )
        elif isinstance(message := row.get("message"), dict):
            self._take_message(line, row, message)
        elif isinstance(stated := row.get("session"), dict):
            self.info = _merged(self.info, stated)
        elif isinstance(compaction := row.get("compaction"), dict):
            self.compacted(
                line,
                as_str(compaction.get("summary")),
                iso_time(compaction.get("at")),
                trigger=as_str(compaction.get("trigger")),
                before=compaction.get("tokens_before"),
            )
        elif isinstance(kind := row.get("left_out"), str):
            self.skipped[kind] += 1
        elif isinstance(note := row.get("note"), str):
            self.notes.append(Note(line, note, as_str(row.get("text"))))
        elif "usage" in row and isinstance(answer := row.get("answer"), str):
            self.reported[answer] = as_usage(row["usage"]), as_str(row.get("model"))
        else:
            self.odd(line, row)

    def _take_message(self, line: int, row: JsonObject, message: JsonObject) -> None:
        answer, blocks = as_str(row.get("answer")), message.get("content")
        at = self.begun.get(answer, -1) if answer else -1
        before = self.items[at] if at >= 0 else None
        if isinstance(before, Recorded) and isinstance(blocks, list):
            raw = {**before.raw, "content": [*before.raw["content"], *blocks]}
            self.items[at] = replace(
                before, raw=raw, usage=as_usage(row.get("usage")) or before.usage
            )
            return
        if answer and isinstance(blocks, list):
            self.begun[answer] = len(self.items)
        self.items.append(
            Recorded(
                line,
                message,
                as_str(row.get("id")),
                iso_time(row.get("at")),
                "injected" if row.get("injected") is True else who_wrote(message),
                as_str(row.get("name")),
                row.get("is_error") is True,
                as_usage(row.get("usage")),
                as_str(row.get("model")),
                answer,
            )
        )

    def all_read(self, log_format: str, wire: str) -> Recording:
        """Return the recording, with those of its subagents."""
        for at, item in enumerate(self.items):
            if isinstance(item, Recorded) and item.usage is None and item.answer in self.reported:
                usage, model = self.reported[item.answer]
                self.items[at] = replace(item, usage=usage, model=item.model or model)
        recording = self.recording(log_format, READERS[wire].read)
        subagents = []
        for name, rows in self.threads.items():
            own = {"id": f"{self.info.id or self.name}.{name}", "project": self.info.project}
            rows.info = _merged(rows.info, own)
            subagents.append(rows.all_read(log_format, wire))
        return replace(recording, subagents=tuple(one for one in subagents if one.messages))


def _merged(info: SessionInfo, stated: Mapping[str, Any]) -> SessionInfo:
    known = {one.name: getattr(info, one.name) for one in fields(SessionInfo)}
    new = {
        name: value
        for name, value in stated.items()
        if isinstance(value, type(known.get(name)))
        and value
        and not (name in _FIRST and known[name])
    }
    return SessionInfo(**{**known, **new})


def row_format(
    name: str,
    detect: Callable[[RecordedFile], bool],
    begin: Callable[[RecordedFile], MapRow],
    *,
    rows: Callable[[RecordedFile], Iterable[RecordedRow]] = lambda source: source.lines,
    wire: str = "anthropic",
    **more: Any,  # noqa: ANN401 (fields of `LogFormat`)
) -> LogFormat:
    """Make a format whose rows are mapped to the form of this module.

    Args:
        name: Of the agent.
        detect: Whether a file is one of this format.
        begin: Returns a function that maps the rows of a file, in their order.
        rows: Returns the rows of a file with their lines; its lines, unless it is passed.
        wire: Of the messages: `anthropic`, `openai-chat`, `openai-responses`, `gemini`.
        more: Further fields of `LogFormat`: `places` where its logs are found without a path.

    Example:
        >>> def begin(source):
        ...     return lambda row: [{"message": {"role": row["who"], "content": row["says"]}}]
        >>> row_format("mine", lambda source: "who" in source.objects[0], begin).name
        'mine'
    """

    def read(source: RecordedFile) -> Recording:
        session, map_row = AgentRows.of(source), begin(source)
        for line, row in rows(source):
            session.map(line, row, map_row)
        return session.all_read(name, wire)

    return LogFormat(name, detect, read, has_parts=True, **more)


def _header(source: RecordedFile) -> JsonObject:
    first: Sequence[JsonObject] = source.objects[:1]
    return first[0] if first and first[0].get("format") == NAME else {}


def _read(source: RecordedFile) -> Recording:
    head, session = _header(source), AgentRows.of(source)
    wire = as_str(head.get("wire"))
    for line, row in source.lines:
        if row is not head:
            session.map(line, row, lambda one: [one])
    session.info = _merged(session.info, as_object(head.get("session")))
    return session.all_read(
        as_str(head.get("agent")) or NAME, wire if wire in READERS else "anthropic"
    )


FORMAT = LogFormat(NAME, lambda source: bool(_header(source)), _read, has_parts=True)
