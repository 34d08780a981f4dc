"""GitHub Copilot CLI sessions: `~/.copilot/session-state/<session>/events.jsonl`.

Versions of 2025 wrote `history-session-state/session_<id>_<time>.json`: OpenAI's chat messages, and
a timeline of what was displayed, which alone has times.
"""

import json
from collections.abc import Iterator

from thalweg_recorder.recordings.formats.agent_rows import MapRow, row_format
from thalweg_recorder.recordings.rows import as_list, as_object, as_objects, as_str, as_text
from thalweg_recorder.recordings.source import JsonObject, RecordedFile, RecordedRow

NAME = "copilot-cli"


def detect(source: RecordedFile) -> bool:
    """Return whether an event of a message or a session has its data under `data`."""
    return any(
        as_str(row.get("type")) in {"session.start", "user.message", "assistant.message"}
        and isinstance(row.get("data"), dict)
        for row in source.objects
    )


def _map(row: JsonObject) -> Iterator[JsonObject]:
    kind, data = row["type"], row["data"]
    about = {
        "id": row.get("id"),
        "at": row.get("timestamp"),
        "thread": data.get("parentToolCallId"),
    }
    match kind:
        case "user.message":
            yield {**about, "message": {"role": "user", "content": data["content"]}}
        case "system.message":
            yield {**about, "message": {"role": "system", "content": data["content"]}}
        case "assistant.message":
            yield {
                **about,
                "message": {"role": "assistant", "content": list(_blocks(data))},
                "model": data.get("model"),
                "answer": data.get("apiCallId"),
            }
            yield {"session": {"model": data.get("model")}}
        case "skill.invoked":
            yield {
                **about,
                "message": {"role": "user", "content": data["content"]},
                "injected": True,
            }
        case "tool.execution_complete":
            result = data["result"] if data.get("result") is not None else data["error"]
            content = as_text(result.get("content", result.get("message", result)))
            block = {"type": "tool_result", "tool_use_id": data["toolCallId"], "content": content}
            failed = {"is_error": True} if data["success"] is not True else {}
            yield {**about, "message": {"role": "user", "content": [{**block, **failed}]}}
        case "session.usage_record":
            usage = data["usage"]
            yield {
                "answer": usage["apiCallId"],
                "model": usage["model"],
                "usage": {
                    "input_tokens": usage["inputTokens"],
                    "output_tokens": usage["outputTokens"],
                    "cached_tokens": usage.get("cacheReadTokens"),
                    "cache_creation": usage.get("cacheWriteTokens"),
                },
            }
        case "session.compaction_complete" if data.get("success") is True:
            summary, before = data.get("summaryContent"), data.get("preCompactionTokens")
            at = row.get("timestamp")
            yield {"compaction": {"summary": summary, "at": at, "tokens_before": before}}
        case "session.start" | "session.resume":
            context = as_object(data.get("context"))
            yield {
                "session": {
                    "id": data.get("sessionId"),
                    "project": context.get("cwd"),
                    "branch": context.get("branch"),
                    "model": data.get("selectedModel"),
                }
            }
        case _:
            yield {"left_out": kind}


def _blocks(data: JsonObject) -> Iterator[JsonObject]:
    if thought := data.get("reasoningText"):
        yield {"type": "thinking", "thinking": thought}
    if text := data["content"]:
        yield {"type": "text", "text": text}
    for call in data.get("toolRequests") or ():
        arguments = call["arguments"]
        if isinstance(arguments, str):
            arguments = _parsed(arguments)
        known = {"id": call["toolCallId"], "name": call["name"], "input": arguments}
        yield {"type": "tool_use", **known}


def _detect_history(source: RecordedFile) -> bool:
    return {"sessionId", "chatMessages"} <= as_object(source.document).keys()


def _history_rows(source: RecordedFile) -> Iterator[RecordedRow]:
    """Yield the messages by their index, then what only the timeline has."""
    document = source.document
    yield 0, {"session": {"id": document["sessionId"], "title": document.get("name")}}
    yield from enumerate(as_list(document["chatMessages"]))
    for one in as_objects(document.get("timeline")):
        if one.get("type") not in {"user", "copilot", "tool_call_completed"}:
            yield -1, {"left_out": as_str(one.get("type"))}


def _begin_history(source: RecordedFile) -> MapRow:
    displayed: dict[str, list[JsonObject]] = {}
    for one in as_objects(source.document.get("timeline")):
        if call_id := as_str(one.get("callId")):
            displayed[call_id] = [one]  # the last one has the result
        elif text := as_str(one.get("text")):
            displayed.setdefault(text, []).append(one)

    def map_row(row: JsonObject) -> Iterator[JsonObject]:
        if "role" not in row:
            yield row
            return
        message = {name: value for name, value in row.items() if name != "padding"}
        text = as_str(row.get("content")).partition("\n\n<reminder>")[0]
        queue = displayed.get(as_str(row.get("tool_call_id")) or text)
        shown = queue.pop(0) if queue else {}
        failed = as_object(shown.get("result")).get("type") == "failure"
        yield {"message": message, "at": shown.get("timestamp"), "is_error": failed}

    return map_row


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return {"input": arguments}  # a tool that takes any text, such as `apply_patch`


FORMAT = row_format(NAME, detect, lambda _: _map)
HISTORY_FORMAT = row_format(
    NAME, _detect_history, _begin_history, rows=_history_rows, wire="openai-chat"
)
