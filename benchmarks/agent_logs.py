"""Compare what is read of agents' logs with what their JSON holds.

    uv run python -m benchmarks.agent_logs FOLDER…

For each log below the folders: distinct calls and results by their ids, and the texts of its
messages, each counted by `json` alone (of a database of opencode: of its rows) and found again in
the recording, its threads and its summaries; answers of the model that a log states with an id or
a row of their own. A difference or a file that is refused is one line; the exit code is the number
of logs with a difference.
"""

import json
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.engine.entries import message_to_json
from thalweg.errors import RecordingError
from thalweg_recorder.recordings import Recording, read_recording
from thalweg_recorder.recordings.files import sessions_in
from thalweg_recorder.recordings.formats.opencode import storage_files
from thalweg_recorder.recordings.formats.openhands_events import events_of

CALLS = {
    "tool_use": "id",
    "toolCall": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "local_shell_call": "call_id",
    "tool.call": "toolCallId",
    "tool": "callID",
    "ActionEvent": "tool_call_id",
}
"""Types of objects that call a tool, and the key of their id."""
RESULTS = {
    "tool_result": "tool_use_id",
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "tool.result": "toolCallId",
    "tool.execution_complete": "toolCallId",
    "toolResult": "toolCallId",
    "ObservationEvent": "tool_call_id",
}
DISPLAYED = frozenset(
    {
        "toolUseResult", "toolCallResult", "resultDisplay", "display", "displayContent", "details",
        "metadata", "x",
    }
)  # fmt: skip
"""Keys of what an agent shows its user, once more."""
TEXTS = frozenset({"text", "thinking", "think", "content", "output", "thought", "reasoningText"})
"""Keys of a message's texts."""
NO_MESSAGES = frozenset(
    {
        "system", "summary", "error",
        "attachment", "progress", "file-history-snapshot", "last-prompt", "mode",
        "queue-operation", "event_msg", "turn_context", "session_meta", "compacted", "info",
        "turn.prompt", "agent.message.appended", "llm.tools_snapshot", "hook.start", "hook.end",
        "tool.execution_start", "system.notification", "session.info", "full_compaction.begin",
        "api-request-shape", "api-request-blob",
    }
)  # fmt: skip
"""Types of rows whose texts are no messages, or those of other rows once more."""
LEAST_CHARS = 12


@dataclass(slots=True)
class Counted:
    """What a log holds."""

    calls: set[str]
    results: set[str]
    texts: list[str]


_UNMARKED = re.compile(r"^(####|>) | *$|^# aider chat started at .*")
"""What aider writes around the lines of a chat."""


def rows_of(path: Path) -> list[Any]:
    """Parse a log as JSON, with the files that belong to it; of a text, each line."""
    if "#" in path.name:
        return _rows_of_database(path)
    more = [*events_of(path), *storage_files(path)]
    values = []
    for file in (path, *more):
        text = file.read_text("utf-8", "replace")
        if file.suffix == ".md":
            values += [{"text": _UNMARKED.sub("", line)} for line in text.splitlines()]
            continue
        try:
            values.append(json.loads(text))
        except ValueError:
            values += [value for line in text.split("\n") if (value := _parsed(line)) is not None]
    return values


def _rows_of_database(path: Path) -> list[Any]:
    """Parse the messages and parts of a session of opencode."""
    name, _, session = path.name.partition("#")
    with closing(sqlite3.connect(path.with_name(name))) as db:
        rows = db.execute(
            "SELECT data FROM message WHERE session_id = :session UNION ALL "
            "SELECT data FROM part WHERE session_id = :session",
            {"session": session},
        )
        return [json.loads(data) for (data,) in rows]


def _parsed(line: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(line)
    except ValueError:
        return None


def count(rows: Iterable[Any]) -> Counted:
    """Count calls, results and texts of rows, wherever they are."""
    counted = Counted(set(), set(), [])
    for row in rows:
        for value in objects(row):
            _count_ids(value, counted)
            texts = (inner for key, inner in value.items() if key in TEXTS)
            counted.texts += [
                text for text in texts if isinstance(text, str) and len(text) >= LEAST_CHARS
            ]
    return counted


def objects(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 (any JSON)
    """Yield the objects of a value that are of messages, outer ones first."""
    if isinstance(value, dict):
        kind = value.get("type")
        if isinstance(kind, str) and kind in NO_MESSAGES:
            return
        yield value
        value = [inner for key, inner in value.items() if key not in DISPLAYED]
    for one in value if isinstance(value, list) else ():
        yield from objects(one)


def _count_ids(value: dict[str, Any], counted: Counted) -> None:
    """Add the id of an object that is a call or a result."""
    kind = value.get("type") or value.get("kind") or value.get("role")
    for kinds, found in ((CALLS, counted.calls), (RESULTS, counted.results)):
        if isinstance(kind, str) and kind in kinds:
            data = value["data"] if isinstance(value.get("data"), dict) else value
            found.update(_text(data.get(kinds[kind])))
    state = value.get("state")
    if kind == "tool" and isinstance(state, dict) and state.get("status") in {"completed", "error"}:
        counted.results.update(_text(value.get("callID")))  # of opencode, in the call
    for name, found in (("functionCall", counted.calls), ("functionResponse", counted.results)):
        if isinstance(inner := value.get(name), dict):
            found.update(_text(inner.get("id")))
    for name in ("tool_calls", "toolCalls", "toolRequests"):
        several = value.get(name)
        for one in several if isinstance(several, list) else ():
            if isinstance(one, dict):
                counted.calls.update(_text(one.get("id") or one.get("toolCallId")))


def answers_in(rows: Iterable[Any]) -> int:
    """Count the answers of a model: objects that state its role, by their id or one by one.

    Items of OpenAI's Responses have no common id: those between two other items are one answer.
    """
    found: set[object] = set()
    is_open = False
    for number, row in enumerate(rows):
        payload = row.get("payload") if isinstance(row, dict) else None
        if isinstance(payload, dict):  # of Codex
            kind = payload.get("type") if row["type"] == "response_item" else None
            if (
                str(kind).endswith("_call")
                or kind == "reasoning"
                or (kind == "message" and payload["role"] == "assistant")
            ):
                found |= set() if is_open else {number}
                is_open = True
            elif kind:
                is_open = False
            continue
        for value in objects(row):
            if one := _answer(value, number):
                found.add(one)
                break
    return len(found)


def _answer(value: dict[str, Any], number: int) -> object:
    """Return what names the answer that an object is, or `None`."""
    message = value["message"] if isinstance(value.get("message"), dict) else value
    kind = value.get("type")
    if isinstance(content := value.get("data"), dict) and kind == "assistant.message":
        return content.get("messageId") or number
    if message.get("summary") is True:  # opencode: of a compaction
        return None
    if message.get("role") in {"assistant", "model"} or kind == "gemini":
        return message.get("id") or value.get("id") or number
    if kind == "step.end":
        return value.get("uuid") or number
    return None


def _text(value: object) -> list[str]:
    return [value] if isinstance(value, str) and value else []


def threads_of(recording: Recording) -> Iterator[Recording]:
    """Yield a recording and the threads in its log."""
    yield recording
    for one in recording.subagents:
        yield from threads_of(one)


def held_by(recording: Recording) -> Counted:
    """Return what a recording holds: calls, results and one text of everything."""
    threads = [*threads_of(recording)]
    messages = [message for one in threads for message in one.messages]
    parts: list[Any] = [json.loads(message_to_json(message)) for message in messages]
    parts += [one.summary for thread in threads for one in thread.compactions]
    parts += [thread.session.title for thread in threads]
    parts += [note.text for thread in threads for note in thread.notes]
    return Counted(
        {call.id for message in messages for call in message.calls},
        {message.answers for message in messages if message.role == "tool"},
        [json.dumps(parts, ensure_ascii=False)],
    )


def missing(counted: Counted, recording: Recording) -> tuple[int, int, list[str]]:
    """Return how many calls, results and which texts of a log are not in its recording."""
    held = held_by(recording)
    everything = held.texts[0]
    lost = [text for text in counted.texts if not _holds(everything, text)]
    return len(counted.calls - held.calls), len(counted.results - held.results), lost


def _holds(everything: str, text: str) -> bool:
    """Return whether a text is there as JSON has it, once or twice quoted."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    return once in everything or json.dumps(once, ensure_ascii=False)[1:-1] in everything


def compare(path: Path) -> tuple[str, bool]:
    """Return a line of what is read of a log, of what it has; and whether they differ.

    Raises:
        RecordingError: It is refused.
    """
    recording = read_recording(path)
    rows = rows_of(path)
    counted = count(rows)
    calls, results, texts = missing(counted, recording)
    threads = [*threads_of(recording)]
    messages = [message for thread in threads for message in thread.messages]
    read, stated = sum(one.role == "assistant" for one in messages), answers_in(rows)
    line = (
        f"{recording.format:<12} {len(messages):>4} messages in {len(threads)}; "
        f"answers {read}/{stated}, calls {len(counted.calls) - calls}/{len(counted.calls)}, "
        f"results {len(counted.results) - results}/{len(counted.results)}, texts "
        f"{len(counted.texts) - len(texts)}/{len(counted.texts)}  {path}"
    )
    line += "".join(f"\n         missing: {text[:90]!r}" for text in texts[:3])
    return line, bool(calls or results or texts or read != stated)


def main(folders: list[str]) -> int:
    """Print a line for each log; return the number of those with a difference."""
    different = 0
    for path in sorted(p for f in folders for p in Path(f).rglob("*") if p.is_file()):
        if path.name.startswith("event-") or path.suffix not in {".jsonl", ".json"}:
            continue
        try:
            (address,) = sessions_in(path)
            line, is_different = compare(address)
        except (RecordingError, ValueError) as error:
            line, is_different = f"refused  {path}: {str(error)[-160:]}", False
        different += is_different
        sys.stdout.write(f"{line}\n")
    return different


if __name__ == "__main__":
    raise SystemExit(min(main(sys.argv[1:]), 100))
