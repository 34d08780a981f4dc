"""Real sessions, recorded by others, are read whole: no line, quote or call is missing."""

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.formats import FORMATS
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.engine.entries import Message
from thalweg.engine.transcript import as_text
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import find_recordings, read_recording

PARTS = ("", "nc")
"""Folders of recordings, by licence."""

pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=WHY_SKIPPED)

AS_THE_WIRE_HAS_IT = frozenset({"gemini-cli-session-a"})
"""The trajectory shows results as JSON and the program's notice as a message; we do neither."""
WITH_WHAT_THE_HARNESS_SAID = frozenset({"openhands-b"})
"""The trajectory lacks an error that the harness reported to the model; we keep it."""


def _files(kind: str) -> list[Path]:
    folders = [RECORDED / part / kind for part in PARTS]
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]


def _name(path: Path) -> str:
    return path.name.split(".")[0]


@cache
def _read(path: Path) -> Recording:
    return read_recording(path, formats=FORMATS)


@cache
def _trajectories() -> dict[str, Path]:
    return {_name(path): path for path in _files("trajectories")}


def _rows(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode().split("\n") if line.strip()]


@pytest.mark.parametrize("path", _files("trajectories"), ids=_name)
def test_every_line_of_a_trajectory_is_a_message_or_a_noted_summary(path: Path) -> None:
    recording = _read(path)

    left_out = [note.line for note in recording.notes if note.code == "recorded_summary"]
    lines = [message.line for message in recording.messages]
    assert sorted(lines + left_out) == list(range(len(_rows(path))))


@pytest.mark.parametrize("path", _files("trajectories"), ids=_name)
def test_the_words_and_calls_of_a_trajectory_are_all_there(path: Path) -> None:
    rows = _rows(path)

    for message in _read(path).messages:
        row = rows[message.line]
        text = as_text(message)
        if isinstance(row["content"], str):
            assert row["content"] in text
        assert row.get("reasoning_content", "") in text
        asked = [call["function"]["arguments"] for call in row.get("tool_calls") or ()]
        assert [call.arguments for call in message.calls] == asked


@pytest.mark.parametrize("sidecar", ["needles.jsonl", "goals.jsonl"])
def test_every_quote_stands_in_the_message_at_its_index(sidecar: str) -> None:
    for quoted in _rows(RECORDED / sidecar):
        recording = _read(_trajectories()[quoted["trajectory"]])
        at = [one for one in recording.messages if one.line == quoted["message_index"]]
        assert any(quoted["quote"] in as_text(message) for message in at), quoted["quote"]


def _spoken(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.text.strip()) for message in messages]


@pytest.mark.parametrize("path", _files("originals"), ids=_name)
def test_an_original_says_what_its_trajectory_says(path: Path) -> None:
    original, trajectory = _read(path), _read(_trajectories()[_name(path)])

    calls = [Counter(c.name for m in r.messages for c in m.calls) for r in (original, trajectory)]
    assert calls[0] == calls[1]
    if _name(path) in WITH_WHAT_THE_HARNESS_SAID:
        said = tuple(m for m in original.messages if m.kind == "said")
        assert _spoken(said) == _spoken(trajectory.messages)
    elif _name(path) in AS_THE_WIRE_HAS_IT:
        told = [m for m in trajectory.messages if m.role == "assistant"]
        assert [m.text for m in original.messages if m.role == "assistant"] == [
            m.text for m in told
        ]
    elif _name(path).startswith("aider-"):  # the trajectory joins messages that follow each other
        words = [" ".join(m.text for m in r.messages).split() for r in (original, trajectory)]
        assert words[0] == words[1]
    else:
        assert _spoken(original.messages) == _spoken(trajectory.messages)


def test_folders_give_their_recordings_and_nothing_else() -> None:
    found = find_recordings([RECORDED / "trajectories", RECORDED / "originals"], FORMATS)

    assert len(found) == sum(
        1 for folder in ("trajectories", "originals") for _ in (RECORDED / folder).iterdir()
    )
    assert not {"needles", "goals", "index"} & {
        _name(path) for path in find_recordings([RECORDED], FORMATS)
    }
