"""Cursor's transcripts: `~/.cursor/projects/<folder>/agent-transcripts/<session>.jsonl`.

They have no times, no ids and no results of tools.
"""

from collections.abc import Iterator

from thalweg_recorder.recordings.formats.agent_rows import row_format
from thalweg_recorder.recordings.rows import as_object
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

NAME = "cursor"


def detect(source: RecordedFile) -> bool:
    """Return whether a row without a type has a role, and wraps a message that has none."""
    return any(
        row.get("role") in ("user", "assistant")
        and "type" not in row
        and isinstance(as_object(row.get("message")).get("content"), list)
        and "role" not in row["message"]
        for row in source.objects
    )


def _map(row: JsonObject) -> Iterator[JsonObject]:
    if "role" in row:
        yield {"message": {"role": row["role"], "content": row["message"]["content"]}}
    else:
        yield {"left_out": row["type"]}


FORMAT = row_format(NAME, detect, lambda _: _map)
