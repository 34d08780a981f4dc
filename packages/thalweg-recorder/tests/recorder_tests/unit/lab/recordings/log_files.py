"""Recorded files of a few rows, written and read back."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import FORMATS, Formats, read_recording


def read_lines(folder: Path, lines: Iterable[dict[str, Any] | str]) -> Recording:
    """Write JSON Lines (text as it is) and read them."""
    path = folder / "thread.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return read_recording(path)


def read_document(folder: Path, document: object, formats: Formats = FORMATS) -> Recording:
    """Write one JSON document over several lines and read it."""
    path = folder / "thread.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return read_recording(path, formats=formats)


def codes(recording: Recording) -> list[str]:
    """List the codes of a recording's notes, sorted."""
    return sorted(note.code for note in recording.notes)


def said(recording: Recording) -> list[tuple[str, str]]:
    """List the authors and texts of messages."""
    return [(message.role, message.text) for message in recording.messages]
