"""Logs of inspect_ai: the JSON log, and the same log as a zip file of samples (`.eval`).

`inspect_logs` has two that inspect_ai 0.3.285 wrote itself, one of each kind, with its model
`mockllm/model`: two samples in two epochs, a tool, reasoning.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from recorder_tests.formats.log_files import find_recordings, read_document, read_recording
from recorder_tests.unit.lab.recordings.log_files import codes
from thalweg.engine.entries import Thinking
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import RecordingError

LOGS = Path(__file__).parent / "inspect_logs"
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


@pytest.mark.parametrize("name", ["reading.eval", "reading.json.gz"])
def test_every_sample_of_a_real_log_is_a_session(name: str) -> None:
    addresses = find_recordings([LOGS / name])
    names = ["north%2F1_epoch_1", "north%2F1_epoch_2", "south 2_epoch_1", "south 2_epoch_2"]
    assert sorted(path.name for path in addresses) == [f"{name}#{one}" for one in names]

    recordings = {path.name.partition("#")[2]: read_recording(path) for path in addresses}
    assert len({recording.session.id for recording in recordings.values()}) == len(names)
    one = recordings["south 2_epoch_2"]
    assert one.session.title == "reading: south 2, epoch 2"
    assert one.session.model == "mockllm/model"
    assert (one.format, codes(one)) == ("inspect", [])
    roles = [message.role for message in one.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    system, asked, calling, result, answer = one.messages
    assert (system.text, asked.text[:18]) == ("Be brief.", "Read page 1 please")
    assert [(call.name, call.arguments) for call in calling.calls] == [("page", '{"number": 1}')]
    assert (result.answers, result.name) == (calling.calls[0].id, "page")
    assert result.text.startswith("1.0 1.1 ")
    assert answer.text == "Page 1 is read."
    assert [p.text for p in answer.parts if isinstance(p, Thinking)] == ["It is on the page."]
    assert (calling.usage, answer.usage) == (
        Usage(65, output=23, model="mockllm/model"),
        Usage(140, model="mockllm/model"),
    )


def test_a_log_of_one_sample_that_is_not_complete_is_read_with_the_header_of_its_start(
    tmp_path: Path,
) -> None:
    samples = {"samples/s1_epoch_1.json": sample(1)}
    log = zipped(tmp_path / "a.eval", {"_journal/start.json": HEADER, **samples})
    recording = read_recording(log)
    assert (recording.session.title, len(recording.messages)) == ("sums: s1, epoch 1", 5)
    assert find_recordings([tmp_path]) == [log]


def test_samples_without_messages_are_left_out_and_images_are_found(tmp_path: Path) -> None:
    image = [{"type": "image", "image": "attachment://1f"}, {"type": "text", "text": "What?"}]
    asked = {"role": "user", "content": image}
    failed = {"role": "tool", "tool_call_id": "c", "content": "no", "error": {"type": "timeout"}}
    one = {"id": 1, "epoch": 1, "messages": [asked, failed]}
    one["attachments"] = {"1f": "data:image/png;base64,AAAA"}
    recording = read_document(tmp_path, {**HEADER, "samples": [{}, {"messages": []}, one]})
    assert "AAAA" in repr(recording.messages[0].parts)
    assert recording.messages[1].is_error


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
