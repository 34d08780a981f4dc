"""OpenAI-chat JSON Lines with the recorder's notes under `x`."""

from pathlib import Path

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes, read_lines, said
from thalweg.engine.entries import Text
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.registry import WIRES


def _call(call_id: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def test_a_message_knows_its_line_and_what_the_recorder_noted(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 97, "output_tokens": 5}
    noted = {"uuid": "u1", "timestamp": "2026-01-15T12:10:08Z", "usage": usage}

    recording = read_lines(
        tmp_path,
        [
            {"role": "user", "content": "hi"},
            "",
            {"role": "assistant", "content": "hello", "x": noted},
        ],
    )

    answer = recording.messages[1]
    assert (answer.line, answer.uid, answer.at) == (2, "u1", "2026-01-15T12:10:08Z")
    assert answer.usage == Usage(100, 97, 0, 5)


def test_what_the_recorder_noted_is_not_sent_back(tmp_path: Path) -> None:
    row = {"role": "user", "content": "hi", "x": {"uuid": "u1"}}

    origin = read_lines(tmp_path, [row]).messages[0].origin

    assert origin is not None
    assert origin.raws == ({"role": "user", "content": "hi"},)


def test_injected_messages_and_failed_results_are_marked(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"role": "user", "content": "Caveat: …", "x": {"isMeta": True}},
            {"role": "assistant", "content": None, "tool_calls": [_call("c1")]},
            {"role": "tool", "content": "no", "tool_call_id": "c1", "x": {"is_error": True}},
        ],
    )

    assert [message.kind for message in recording.messages] == ["injected", "said", "said"]
    assert recording.messages[2].is_error


def test_a_result_is_named_after_the_tool_that_was_called(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"role": "assistant", "content": None, "tool_calls": [_call("c1")]},
            {"role": "tool", "content": "a.txt", "tool_call_id": "c1"},
        ],
    )

    assert recording.messages[1].name == "ls"


def test_the_recorded_agents_own_summary_is_left_out_with_its_line_and_size(
    tmp_path: Path,
) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "so far", "x": {"is_compact_summary": True}},
            {"role": "user", "content": "go on"},
        ],
    )

    assert said(recording) == [("user", "hi"), ("user", "go on")]
    (note,) = recording.notes
    assert (note.line, note.code) == (1, "recorded_summary")
    assert "6 characters" in note.text


def test_a_line_that_is_no_json_stays_in_the_thread_where_it_stood(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"role": "user", "content": "hi"},
            "<<< not json",
            {"role": "assistant", "content": "hello"},
        ],
    )

    broken = recording.messages[1]
    assert broken.parts == (Text("<<< not json"),)
    assert (broken.role, broken.kind, broken.line) == ("user", "injected", 1)
    assert "<<< not json" in recording.notes[0].text


@pytest.mark.parametrize("name", sorted(WIRES))
def test_a_broken_line_at_the_end_is_a_message_to_every_provider(tmp_path: Path, name: str) -> None:
    """Without the broken line, the request would end with the assistant's message."""
    recording = read_lines(tmp_path, [{"role": "assistant", "content": "hello"}, "<<< not json"])

    written = WIRES[name].write(recording.messages)

    assert len(written) == 2
    assert "<<< not json" in str(written[-1])


def test_a_row_that_is_no_message_stays_in_the_thread_and_is_noted(tmp_path: Path) -> None:
    said = {"role": "user", "content": "hi"}
    recording = read_lines(tmp_path, [said, {"took": 7}, "42", said])

    assert [message.line for message in recording.messages] == [0, 1, 2, 3]
    assert codes(recording) == ["odd_row", "odd_row"]


def test_what_the_wire_notes_is_noted_at_the_line(tmp_path: Path) -> None:
    odd = {"role": "user", "content": [{"type": "hologram"}]}

    said = {"role": "user", "content": "hi"}
    recording = read_lines(tmp_path, ["", "", odd, "", odd, said, said])

    assert [note.line for note in recording.notes] == [2, 4]


def test_ids_that_do_not_pair_are_kept(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"role": "assistant", "content": None, "tool_calls": [_call("c1"), _call("c2")]},
            {"role": "tool", "content": "a", "tool_call_id": "c1"},
            {"role": "tool", "content": "b", "tool_call_id": "c9"},
            {"role": "assistant", "content": None, "tool_calls": [_call("c1"), _call("")]},
            {"role": "tool", "content": "c", "tool_call_id": "c1"},
        ],
    )

    assert [message.answers for message in recording.messages if message.role == "tool"] == [
        "c1",
        "c9",
        "c1",
    ]


def test_arguments_that_are_no_json_are_kept_to_the_letter(tmp_path: Path) -> None:
    function = {"name": "ls", "arguments": '{"path": '}
    call = {"id": "c1", "type": "function", "function": function}

    recording = read_lines(tmp_path, [{"role": "assistant", "content": None, "tool_calls": [call]}])

    assert recording.messages[0].calls[0].arguments == '{"path": '
