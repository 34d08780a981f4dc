"""Factory's Droid: `~/.factory/sessions/<folder>/<session>.jsonl`."""

from collections.abc import Iterator

from thalweg_recorder.recordings.formats.agent_rows import row_format
from thalweg_recorder.recordings.rows import as_object
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

NAME = "droid"


def detect(source: RecordedFile) -> bool:
    """Return whether a header of a session and a wrapped message are there."""
    kinds = {
        "message" if isinstance(row.get("message"), dict) else row.get("type")
        for row in source.objects
        if row.get("type") in ("message", "session_start")
    }
    return kinds == {"message", "session_start"}


def _map(row: JsonObject) -> Iterator[JsonObject]:
    match row["type"]:
        case "message":
            message = row["message"]
            yield {
                "message": {"role": message["role"], "content": message["content"]},
                "id": row.get("id"),
                "at": row.get("timestamp"),
                "injected": message.get("visibility") == "llm_only",
                "model": message.get("modelId"),
                "usage": message.get("usage"),
            }
            yield {"session": {"model": message.get("modelId")}}
        case "session_start":
            title = row.get("sessionTitle") or row.get("title")
            yield {"session": {"id": row["id"], "project": row.get("cwd"), "title": title}}
        case "compaction_state":
            summary = row.get("summaryText") or as_object(row.get("summary")).get("body")
            yield {"compaction": {"summary": summary, "at": row.get("timestamp")}}
        case kind:
            yield {"left_out": kind}


FORMAT = row_format(NAME, detect, lambda _: _map)
