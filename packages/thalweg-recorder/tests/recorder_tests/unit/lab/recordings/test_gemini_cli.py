"""Sessions of Gemini CLI: one message holds a turn with the results of its calls."""

from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes, read_document, read_lines, said
from thalweg.engine.entries import Thinking
from thalweg.engine.pricing.usage import Usage
from thalweg_recorder.recordings.formats import gemini_cli

SESSION = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}
USER = {"id": "m1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "hi"}


def _turn(content: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "m2",
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "gemini",
        "content": content,
        "thoughts": [{"subject": "Looking", "description": "for files"}],
        "tokens": {"input": 100, "cached": 80, "output": 5, "thoughts": 2},
        "toolCalls": list(calls),
    }


def _call(call_id: str, output: str, status: str = "success") -> dict[str, Any]:
    response = {"id": call_id, "name": "ls", "response": {"output": output}}
    result = [{"functionResponse": response}]
    return {"id": call_id, "name": "ls", "args": {"p": "."}, "result": result, "status": status}


def test_a_turn_is_read_with_thoughts_words_calls_and_results(tmp_path: Path) -> None:
    turn = _turn("I look.", _call("c1", "a.txt"), _call("c2", "no such", "error"))

    recording = read_document(tmp_path, {**SESSION, "messages": [USER, turn]})

    assert recording.format == "gemini-cli"
    (asked, answer, first, second) = recording.messages
    assert (asked.role, asked.text, asked.line) == ("user", "hi", 0)
    assert isinstance(answer.parts[0], Thinking)
    assert "for files" in answer.parts[0].text
    assert [call.id for call in answer.calls] == ["c1", "c2"]
    assert answer.usage == Usage(100, cached=80, output=7, reasoning=2, id="m2")
    assert (first.role, first.answers, first.name, first.is_error) == ("tool", "c1", "ls", False)
    assert (second.answers, second.is_error, second.line) == ("c2", True, 1)
    assert "no such" in second.text


def test_notices_of_the_program_are_counted(tmp_path: Path) -> None:
    notice = {"id": "m9", "type": "info", "content": "update available"}

    recording = read_document(tmp_path, {**SESSION, "messages": [USER, notice]})

    assert said(recording) == [("user", "hi")]
    assert codes(recording) == ["left_out"]


def test_a_session_kept_as_lines_shows_each_message_as_it_was_written_last(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path, [SESSION, USER, _turn("I loo"), {"$set": {"lastUpdated": "…"}}, _turn("I look.")]
    )

    assert recording.format == "gemini-cli"
    assert said(recording) == [("user", "hi"), ("assistant", "I look.")]


def test_a_snapshot_that_has_a_call_in_two_places_repeats_none(tmp_path: Path) -> None:
    """Gemini CLI 0.61 writes so at a second resume after a call that failed without a text."""
    turn = _turn("", _call("c1", "not found", "error"))
    call = {"functionCall": {"id": "c1", "name": "ls", "args": {"p": "."}}}
    snapshot = {"$set": {"messages": [USER, {**turn, "content": [call]}]}}

    recording = read_lines(tmp_path, [SESSION, USER, turn, snapshot])

    assert [call.id for one in recording.messages for call in one.calls] == ["c1"]
    assert [one.role for one in recording.messages] == ["user", "assistant", "tool"]


def test_a_later_row_of_a_message_takes_nothing_away(tmp_path: Path) -> None:
    """As if rows had been exchanged: one without the calls follows the one with them."""
    result = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.txt"}}}
    call = {"id": "c1", "name": "ls", "args": {}, "result": [result]}
    row = {"id": "m1", "type": "gemini", "content": "", "timestamp": "2026-11-28T20:00:00Z"}
    recording = read_lines(
        tmp_path,
        [{"sessionId": "s", "projectHash": "h"}, {**row, "toolCalls": [call]}, row],
    )
    assert [message.role for message in recording.messages] == ["assistant", "tool"]


def test_a_message_that_is_replaced_is_kept_and_one_that_grows_is_one(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "h"}
    rows = [
        {"id": name, "type": "user", "content": [{"text": text}] if text else []}
        for name, text in (("m1", "Count"), ("m1", "Count one"), ("m1", ""), ("m1", "Stop"))
    ]
    recording = read_lines(tmp_path, [head, *rows])
    assert said(recording) == [("user", "Count one"), ("user", "Stop")]


def test_results_are_serialized_once_however_many_messages_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for turns in (5, 10):
        made: list[object] = []
        monkeypatch.setattr(gemini_cli, "to_json", lambda one, made=made: made.append(one) or "")
        messages = [
            row
            for n in range(turns)
            for row in ({**USER, "id": f"u{n}"}, {**_turn("ok", _call("c", "a")), "id": f"m{n}"})
        ]
        read_document(tmp_path, {**SESSION, "messages": messages})
        counts.append(len(made))
    assert counts[1] == 2 * counts[0]


def test_a_message_that_is_replaced_many_times_is_read(tmp_path: Path) -> None:
    rows = [{**USER, "content": f"text {n}."} for n in range(1_500)]
    recording = read_lines(tmp_path, [SESSION, *rows])
    assert len(recording.messages) == len(rows)
    assert recording.messages[-1].text == "text 1499."
