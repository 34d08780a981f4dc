"""Sessions of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

A row of type `response_item` wraps one item of OpenAI's Responses API. Older files hold the
items bare.
"""

from dataclasses import dataclass, replace

from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_str,
    who_wrote,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "codex"

_WRAPPERS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_BARE = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
    }
)


def detect(source: RecordedFile) -> bool:
    """Return whether a row wraps an item, or bare items follow a header of the old form."""
    rows = source.objects
    has_header = any({"id", "timestamp"} <= row.keys() and "type" not in row for row in rows[:1])
    return any(map(_is_wrapped, rows)) or (has_header and any(map(_is_bare, rows)))


def _is_wrapped(row: JsonObject) -> bool:
    return as_str(row.get("type")) in _WRAPPERS and isinstance(row.get("payload"), dict)


def _is_bare(row: JsonObject) -> bool:
    kind = as_str(row.get("type"))
    return kind in _BARE and ("role" in row or kind != "message") and "payload" not in row


def read(source: RecordedFile) -> Recording:
    """Return the recording of the model's input and output; events repeat them and are skipped."""
    return _CodexSession.of(source).read(source.lines, NAME, OpenAIResponsesWire().read)


@dataclass(slots=True)
class _CodexSession(SessionRows):
    """The rows processed so far."""

    answer_at: int = -1
    """Index in `items` at which the model's last answer begins; -1 before the first."""
    answering: bool = False
    # Its state is the id of the session that this one was forked from, or its own.

    def take(self, line: int, row: JsonObject) -> None:
        if _is_wrapped(row):
            self._take_wrapped(line, row, row["payload"])
        elif _is_bare(row):
            self._take_item(line, row, as_str(row.get("timestamp")))
        else:
            self.skipped[as_str(row.get("type")) or "header or state"] += 1

    def _take_wrapped(self, line: int, row: JsonObject, payload: JsonObject) -> None:
        match row["type"]:
            case "response_item":
                self._take_item(line, payload, iso_time(row.get("timestamp")))
            case "compacted":
                at = iso_time(row.get("timestamp"))
                self.compacted(line, as_str(payload.get("message")), at)
            case "turn_context":
                self.skipped["turn_context"] += 1
                model = as_str(payload.get("model")) or self.info.model
                self.info = replace(self.info, model=model)
            case "session_meta":
                self._take_header(line, row, payload)
            case "event_msg" if payload.get("type") == "token_count":
                self._take_usage(payload)
            case kind:
                name = as_str(payload.get("type")) if kind == "event_msg" else ""
                self.skipped[f"{kind} {name}".rstrip()] += 1

    def _take_header(self, line: int, row: JsonObject, payload: JsonObject) -> None:
        self.skipped["session_meta"] += 1
        self.state = own = as_str(payload.get("id"))  # a fork repeats the header of its parent
        # Of a subagent it has the session, which its parent is a part of, too.
        session = as_str(payload.get("session_id")) if payload.get("parent_thread_id") else ""
        self.info = replace(
            self.info,
            id=self.info.id or (f"{session}.{own}" if session and own else own),
            project=self.info.project or as_str(payload.get("cwd")),
            branch=as_str(as_object(payload.get("git")).get("branch")) or self.info.branch,
        )
        base = payload.get("base_instructions")
        text = as_str(base.get("text")) if isinstance(base, dict) else as_str(base)
        if text and not self.items:
            block = {"type": "input_text", "text": text}
            raw = {"type": "message", "role": "system", "content": [block]}
            self.items.append(Recorded(line, raw, at=iso_time(row.get("timestamp"))))

    def _take_item(self, line: int, item: JsonObject, at: str) -> None:
        kind = as_str(item.get("type"))
        if kind in {"compaction", "ghost_snapshot"}:
            self.skipped[kind] += 1
            return
        is_answer = kind in {"reasoning", "message"} and as_str(item.get("role")) in {
            "",
            "assistant",
        }
        is_answer = is_answer or kind.endswith("_call")
        if is_answer and not self.answering:
            self.answer_at = len(self.items)
        if kind == "message" and not is_answer:
            self.mark(line, at)
        self.answering = is_answer
        self.items.append(Recorded(line, item, as_str(item.get("id")), at, kind=who_wrote(item)))

    def _take_usage(self, payload: JsonObject) -> None:
        self.skipped["event_msg token_count"] += 1
        info = as_object(payload.get("info"))
        reported = as_object(info.get("last_token_usage"))
        usage = as_usage({**reported, "cached_tokens": reported.get("cached_input_tokens")})
        window = info.get("model_context_window")
        if isinstance(window, int):
            self.info = replace(self.info, window=window)
        answer = self.items[self.answer_at] if self.answer_at >= 0 else None
        # An answer has no id; a fork repeats the totals of its parent, and continues them.
        total = as_object(info.get("total_token_usage"))
        counts = total.get("input_tokens"), total.get("output_tokens")
        answer_id = f"{self.state}:{counts[0]}:{counts[1]}" if total else ""
        if usage and isinstance(answer, Recorded):
            self.items[self.answer_at] = replace(
                answer, usage=usage, model=self.info.model, answer=answer_id
            )
        elif usage and self.resumed.at and answer_id != self.resumed.answer:
            raise RecordingError(self.name, "an answer before has its usage later", "read it whole")


FORMAT = LogFormat(NAME, detect, read, has_parts=True)
