"""Logs of inspect_ai: the JSON log, and the same log as a zip file of samples (`.eval`)."""

import json
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from thalweg.errors import RecordingError
from thalweg.lab.recordings.files import find_recordings, read_recording

HEADER = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "mockllm/model"}}
CALL = {"id": "c1", "function": "add", "arguments": {"x": 1, "y": 1}}


def sample(number: int) -> dict[str, object]:
    """Return a sample as inspect_ai 0.3.110 writes it."""
    said = [
        {"id": "m1", "content": "You add.", "role": "system"},
        {"id": "m2", "content": f"What is {number} + 1?", "source": "input", "role": "user"},
        {"id": "m3", "content": "I add.", "source": "generate", "role": "assistant"}
        | {"tool_calls": [CALL], "model": "mockllm/model"},
        {"id": "m4", "content": "2", "role": "tool", "tool_call_id": "c1", "function": "add"},
        {"id": "m5", "content": "The sum is 2.", "source": "generate", "role": "assistant"},
    ]
    return {"id": f"s{number}", "epoch": 1, "messages": said}


def zipped(path: Path, members: Mapping[str, object], method: int = ZIP_DEFLATED) -> Path:
    with ZipFile(path, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value))
    return path


def test_a_zip_file_is_the_same_log_as_json(tmp_path: Path) -> None:
    samples = {f"samples/s{k}_epoch_1.json": sample(k) for k in (1, 2)}
    log = zipped(tmp_path / "a.eval", {"_journal/start.json": {}, **samples, "header.json": HEADER})
    plain = tmp_path / "b.json"
    plain.write_text(json.dumps({**HEADER, "samples": [*samples.values()]}), encoding="utf-8")
    read, expected = read_recording(log), read_recording(plain)
    assert read.messages == expected.messages
    roles = [message.role for message in read.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert read.messages[2].calls[0].name == "add"
    assert "further samples" in " ".join(note.text for note in read.notes)
    assert find_recordings([tmp_path]) == [log, plain]


@pytest.mark.parametrize("members", [{}, {"word/document.xml": {}}, {"header.json": []}])
def test_another_zip_file_is_refused(tmp_path: Path, members: Mapping[str, object]) -> None:
    path = zipped(tmp_path / "a.eval", {"a": 1, **members})
    with pytest.raises(RecordingError, match=r"a\.eval: is a zip file, but no log of inspect_ai"):
        read_recording(path)


def test_an_unknown_compression_names_the_command_that_converts(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.eval", {"header.json": HEADER})
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.index(signature) + at
        data[place : place + 2] = (200).to_bytes(2, "little")  # no method that Python has
    path.write_bytes(data)
    with pytest.raises(RecordingError, match="inspect log convert --to json"):
        read_recording(path)
