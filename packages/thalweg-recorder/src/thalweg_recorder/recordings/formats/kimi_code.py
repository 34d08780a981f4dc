"""Kimi Code sessions: `~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl`.

An answer is written as it streams: each part, call and result is a row with the id of its step.
"""

from collections.abc import Iterator

from thalweg_recorder.recordings.formats.agent_rows import MapRow, row_format
from thalweg_recorder.recordings.rows import as_object, as_str, as_text
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

NAME = "kimi-code"
_KINDS = frozenset({"context.append_message", "context.append_loop_event"})
_REPEATED = frozenset({"turn.prompt", "agent.message.appended"})
"""Rows whose messages are rows of `_KINDS`, too."""


def detect(source: RecordedFile) -> bool:
    """Return whether a row adds a message or an event of an answer to the context."""
    return any(as_str(row.get("type")) in _KINDS for row in source.objects)


def _begin(source: RecordedFile) -> MapRow:
    state = {"model": ""}
    is_named = source.path is not None and source.path.name == "wire.jsonl"
    names = source.path.parts[-4:-1] if source.path and is_named else ("", "", "")
    session = f"{names[0]}.{names[2]}".removesuffix(".main").strip(".")

    def map_row(row: JsonObject) -> Iterator[JsonObject]:
        kind, at = row["type"], row.get("time")
        match kind:
            case "metadata":
                yield {"session": {"id": session}}
            case "context.append_message":
                message, origin = row["message"], as_object(row["message"].get("origin"))
                yield {
                    "message": {"role": message["role"], "content": message["content"]},
                    "id": message.get("id"),
                    "at": at,
                    "injected": origin.get("kind", "user") != "user",
                }
            case "context.append_loop_event":
                yield from _event(row["event"], at, state["model"])
            case "context.apply_compaction":
                before = row.get("tokensBefore")
                yield {"compaction": {"summary": row["summary"], "at": at, "tokens_before": before}}
            case "llm.request":
                state["model"] = row["model"]
                yield {"session": {"model": row["model"]}}
            case "profile.bind" | "config.update":
                folder = as_object(row.get("environmentDisclosure")).get("cwd") or row.get("cwd")
                yield {"session": {"project": folder}}
                if text := row.get("systemPrompt"):
                    yield {"message": {"role": "system", "content": text}, "at": at}
            case _ if kind in _REPEATED:
                yield from ()
            case _:
                yield {"left_out": kind}

    return map_row


def _event(event: JsonObject, at: object, model: str) -> Iterator[JsonObject]:
    match event["type"]:
        case "content.part":
            yield _part(event, _block(event["part"]), at, model)
        case "tool.call":
            call = {"id": event["toolCallId"], "name": event["name"], "input": event["args"]}
            yield _part(event, {"type": "tool_use", **call}, at, model)
        case "tool.result":
            output = event["result"]
            failed = {"is_error": True} if output.get("isError") is True else {}
            content = output["output"]
            block = {
                "type": "tool_result",
                "tool_use_id": event["toolCallId"],
                "content": content if isinstance(content, list) else as_text(content),
                **failed,
            }
            yield {"message": {"role": "user", "content": [block]}, "at": at}
        case "step.end" if "usage" in event:
            usage = event["usage"]
            counts = {
                "input_tokens": usage["inputOther"],
                "cache_read_input_tokens": usage["inputCacheRead"],
                "cache_creation_input_tokens": usage["inputCacheCreation"],
                "output_tokens": usage["output"],
            }
            yield {"usage": counts, "answer": event["uuid"], "model": model}
        case kind:
            yield {"left_out": kind}


def _part(event: JsonObject, block: JsonObject, at: object, model: str) -> JsonObject:
    message = {"role": "assistant", "content": [block]}
    return {"message": message, "answer": event["stepUuid"], "at": at, "model": model}


def _block(part: JsonObject) -> JsonObject:
    if part["type"] == "think":
        return {"type": "thinking", "thinking": part.get("think") or part["text"]}
    return part


FORMAT = row_format(NAME, detect, _begin)
