"""Claude Code sessions: `~/.claude/projects/<folder>/<session>.jsonl`.

A model message is written as several rows, one for each block, with one message id; results
of its calls may come between them. Rows of subagents and files of large results are threads of
their own; snapshots, progress and the like are no messages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from thalweg.engine.entries import Message, Text
from thalweg.engine.wires.anthropic import AnthropicReader
from thalweg.engine.wires.base import Note
from thalweg_recorder.recordings.base import RecordedCompaction, Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_objects,
    as_str,
    who_wrote,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile, RecordedRow

NAME = "claude-code"

_SPEAKERS = frozenset({"user", "assistant"})
_MARKS = frozenset({"sessionId", "uuid", "parentUuid", "isSidechain"})
_STATE_MARKS = frozenset({"sessionId", "leafUuid", "isSnapshotUpdate"})
"""Keys of rows without a message; each such row has at least one of them."""
_COMPACTION = "compact_boundary"
_BOUNDARIES = frozenset({_COMPACTION, "microcompact_boundary"})
_OWN_NAME = re.compile(r"agent-|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_TITLES = ("customTitle", "aiTitle", "summary")
"""Keys of the rows that name a session, the user's own name first."""
_TRANSCRIPT = re.compile(r"read the full transcript at: (.+)")
"""How a summary names the file of its session to the model, from version 2.1 on."""
_NO_MODEL = "<synthetic>"
"""The program's model name for an answer that it wrote itself."""


def detect(source: RecordedFile) -> bool:
    """Return whether a row wraps a message and names its session, or all rows are state rows."""
    return any(
        as_str(row.get("type")) in _SPEAKERS
        and isinstance(row.get("message"), dict)
        and not _MARKS.isdisjoint(row)
        for row in source.objects
    ) or (source.objects != () and all(map(_is_state, source.objects)))


def _is_state(row: JsonObject) -> bool:
    kind = as_str(row.get("type"))
    is_other = kind not in {"", *_SPEAKERS} and "message" not in row
    return is_other and not _STATE_MARKS.isdisjoint(row)


def read(source: RecordedFile) -> Recording:
    """Return the recording of the main thread, in the order of the file."""
    # A file is named by its session; a resumed one may begin with rows of the session before.
    own = source.name if _OWN_NAME.match(source.name) else ""
    if own.startswith("agent-"):  # a subagent's: a part of its session
        sessions = (as_str(row.get("sessionId")) for row in source.objects)
        own = ".".join((*islice(filter(None, sessions), 1), own))
    session = _ClaudeSession.of(source)
    session.info = replace(session.info, id=own or session.info.id)
    session.of_subagent = _is_of_subagent(source)
    files = tool_results(source.path) if source.path else []
    before, session.state = (
        session.state,
        f"{len(files)} {sum(one.stat().st_size for one in files)}",
    )
    recording = session.read(source.lines, NAME, AnthropicReader().read)
    threads = [
        _sidechain(name, rows, recording.session) for name, rows in session.sidechains.items()
    ]
    if session.state != before:
        threads += _tool_results(files, recording)
    return replace(recording, subagents=tuple(threads))


def _sidechain(name: str, rows: Sequence[RecordedRow], parent: SessionInfo) -> Recording:
    """Read the turns of a subagent, which versions before 2 wrote into the log of its parent."""
    session = _ClaudeSession(name, [], of_subagent=True)
    session.info = SessionInfo(id=f"{parent.id}.{name}")
    return session.read(rows, NAME, AnthropicReader().read)


def tool_results(path: Path) -> list[Path]:
    """Return the files of large results, of which the log has the beginning: from 2.1.2 on."""
    return sorted(path.with_suffix("").glob("tool-results/*.txt"))


def _tool_results(files: Sequence[Path], recording: Recording) -> Iterator[Recording]:
    """Read the files of large results as a thread of its own: the agent read the beginnings."""
    messages = [
        Message(
            "tool",
            (Text(file.read_text("utf-8", "replace")),),
            answers=file.stem,
            name=file.name,
            uid=file.name,
            at=next((one.at for one in recording.messages if file.name in one.text), ""),
            line=line,
        )
        for line, file in enumerate(files)
    ]
    if messages:
        parent = recording.session
        info = replace(
            parent, id=f"{parent.id}.tool-results", title=f"Large results: {recording.title}"
        )
        yield Recording("tool-results", NAME, tuple(messages), session=info)


def _is_of_subagent(source: RecordedFile) -> bool:
    """Return whether the whole file is the thread of a subagent."""
    spoken = [row for row in source.objects if as_str(row.get("type")) in _SPEAKERS]
    return all(row.get("isSidechain") is True for row in spoken)


@dataclass(slots=True)
class _ClaudeSession(SessionRows):
    """The rows processed so far."""

    of_subagent: bool = False
    open_id: str = ""
    """Id of the model message that further rows may continue."""
    open_at: int = -1
    """Index of that message in `items`."""
    seen: dict[str, JsonObject] = field(default_factory=dict)
    """Processed messages, by the uuid of their row."""
    sidechains: dict[str, list[RecordedRow]] = field(default_factory=dict)
    """Rows of subagents, by the agent's id or the uuid of the first row."""
    begun_by: dict[str, str] = field(default_factory=dict)
    """Names of the sidechains of rows, by the uuids of these."""

    def take(self, line: int, row: JsonObject) -> None:
        kind, message = row.get("type"), row.get("message")
        if isinstance(kind, str) and kind not in _SPEAKERS:
            self._take_info(row)
            self._skip(line, row)
        elif isinstance(kind, str) and isinstance(message, dict):
            self._take_info(row)
            self._take_message(line, row, message)
        else:
            self.odd(line, row)

    def _skip(self, line: int, value: JsonObject) -> None:
        subtype = as_str(value.get("subtype"))
        if subtype in _BOUNDARIES:
            metadata = value.get("compactMetadata") or value.get("microcompactMetadata")
            self.notes.append(Note(line, f"recorded_{subtype}", str(metadata or "")))
            if subtype == _COMPACTION:
                self._take_compaction(line, value, metadata)
        else:
            self.skipped[value["type"]] += 1

    def _take_info(self, row: JsonObject) -> None:
        """Note a row's statements about the session; later rows override, except for the id."""
        model = as_str(as_object(row.get("message")).get("model"))
        self.info = SessionInfo(
            id=self.info.id or as_str(row.get("sessionId")),
            project=self.info.project or as_str(row.get("cwd")),
            branch=as_str(row.get("gitBranch")) or self.info.branch,
            title=next((title for key in _TITLES if (title := as_str(row.get(key)))), "")
            or self.info.title,
            model=model if model and model != _NO_MODEL else self.info.model,
        )

    def _take_compaction(self, line: int, row: JsonObject, metadata: object) -> None:
        known = as_object(metadata)
        before = known.get("preTokens")
        self.compactions.append(
            RecordedCompaction(
                line,
                at=as_str(row.get("timestamp")),
                trigger=as_str(known.get("trigger")),
                tokens_before=before if isinstance(before, int) else 0,
            )
        )

    def _take_summary(self, line: int, row: JsonObject, message: JsonObject) -> None:
        """Note the agent's own summary; the row of its compaction, if any, precedes it."""
        texts = (as_str(block.get("text")) for block in as_objects(_blocks(message)))
        summary = "\n".join(filter(None, texts))
        self.note_summary(line, len(str(message.get("content"))))
        named = _TRANSCRIPT.search(summary)
        if not self.compactions or self.compactions[-1].summary:
            self.compactions.append(RecordedCompaction(line, at=as_str(row.get("timestamp"))))
        self.compactions[-1] = replace(
            self.compactions[-1], summary=summary, transcript=named[1].strip() if named else ""
        )

    def _take_message(self, line: int, row: JsonObject, message: JsonObject) -> None:
        if row.get("isSidechain") is True and not self.of_subagent:
            uid, parent = as_str(row.get("uuid")), as_str(row.get("parentUuid"))
            name = as_str(row.get("agentId")) or self.begun_by.get(parent) or uid or "sidechain"
            self.begun_by[uid] = name
            self.sidechains.setdefault(name, []).append((line, row))
        elif row.get("isCompactSummary") is True:
            self._take_summary(line, row, message)
        elif self._is_repeated(line, as_str(row.get("uuid")), message):
            self.notes.append(Note(line, "repeated_row", "skipped: it is in an earlier row"))
        elif row["type"] == "assistant":
            self._take_assistant(line, row, message)
        else:
            if not _is_results(message):
                self.open_id = ""
                self.mark(line, as_str(row.get("timestamp")))
            self.items.append(self._item(line, row, message))

    def _is_repeated(self, line: int, uid: str, message: JsonObject) -> bool:
        if not uid:
            return False
        before = self.seen.setdefault(uid, message)
        if before is message:
            return False
        if before.get("content") == message.get("content"):
            return True
        self.notes.append(Note(line, "reused_uid", uid))
        return False

    def _take_assistant(self, line: int, row: JsonObject, message: JsonObject) -> None:
        message_id = as_str(message.get("id"))
        begun = self.items[self.open_at] if message_id and message_id == self.open_id else None
        if isinstance(begun, Recorded):
            self.items[self.open_at] = _continued(begun, message)
        else:
            self.open_id, self.open_at = message_id, len(self.items)
            self.items.append(self._item(line, row, message))

    def _item(self, line: int, row: JsonObject, message: JsonObject) -> Recorded:
        return Recorded(
            line,
            message,
            uid=as_str(row.get("uuid")),
            at=as_str(row.get("timestamp")),
            kind="injected" if row.get("isMeta") is True else who_wrote(message),
            model=as_str(message.get("model")),
            answer=as_str(message.get("id")),
        )


def _is_results(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _continued(begun: Recorded, message: JsonObject) -> Recorded:
    """Append the next row of a model message to its previous rows."""
    content = [*_blocks(begun.raw), *_blocks(message)]
    return replace(begun, raw={**begun.raw, **message, "content": content})


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


FORMAT = LogFormat(NAME, detect, read, companions=tool_results, has_parts=True)
