"""Event streams of OpenHands."""

from pathlib import Path
from typing import Any

from recorder_tests.unit.lab.recordings.log_files import codes, read_document, read_lines, said
from thalweg.engine.pricing.usage import Usage

SYSTEM = {
    "id": 0,
    "source": "agent",
    "action": "system",
    "args": {"content": "You are …", "tools": [{"type": "function"}]},
}
TASK = {"id": 1, "source": "user", "action": "message", "args": {"content": "fix it"}}


def _metadata(call_id: str) -> dict[str, Any]:
    calls = [
        {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        for name in ("c1", "c2")
    ]
    message = {"role": "assistant", "content": "I look.", "tool_calls": calls}
    response = {
        "id": "r1",
        "choices": [{"message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    return {"function_name": "bash", "tool_call_id": call_id, "model_response": response}


def _action(number: int, call_id: str) -> dict[str, Any]:
    metadata = _metadata(call_id)
    return {"id": number, "source": "agent", "action": "run", "tool_call_metadata": metadata}


def _observation(number: int, call_id: str, content: str) -> dict[str, Any]:
    return {
        "id": number,
        "source": "agent",
        "observation": "run",
        "content": content,
        "tool_call_metadata": _metadata(call_id),
    }


def test_a_model_message_with_two_calls_is_read_once(tmp_path: Path) -> None:
    recording = read_document(
        tmp_path,
        {
            "history": [
                SYSTEM,
                TASK,
                _action(2, "c1"),
                _observation(3, "c1", "one"),
                _action(4, "c2"),
                _observation(5, "c2", "two"),
            ]
        },
    )

    assert recording.format == "openhands"
    assert said(recording) == [
        ("system", "You are …"),
        ("user", "fix it"),
        ("assistant", "I look."),
        ("tool", "one"),
        ("tool", "two"),
    ]
    turn = recording.messages[2]
    assert (turn.usage, turn.uid, turn.line) == (Usage(10, output=2, id="r1"), "2", 2)
    assert [message.answers for message in recording.messages[3:]] == ["c1", "c2"]


def test_actions_recorded_without_the_models_words_become_calls(tmp_path: Path) -> None:
    action = {
        "id": 7,
        "source": "agent",
        "action": "run",
        "args": {"command": "ls", "thought": "hm"},
    }
    seen = {"id": 8, "source": "agent", "observation": "run", "cause": 7, "content": "a.py"}

    recording = read_document(tmp_path, [[TASK, None], [action, seen]])

    assert said(recording)[-2:] == [("assistant", "hm"), ("tool", "a.py")]
    assert recording.messages[-2].calls[0].arguments == '{"command": "ls"}'
    assert (recording.messages[-1].answers, recording.messages[-1].name) == ("7", "run")


def test_states_are_counted_summaries_left_out_and_errors_injected(tmp_path: Path) -> None:
    recording = read_document(
        tmp_path,
        [
            TASK,
            {"id": 2, "source": "user", "action": "recall", "args": {}},
            {"id": 3, "source": "environment", "observation": "agent_state_changed", "content": ""},
            {"id": 4, "source": "agent", "action": "condensation", "args": {"summary": "so far"}},
            {"id": 5, "source": "agent", "observation": "error", "content": "bad argument"},
        ],
    )

    assert said(recording) == [("user", "fix it"), ("user", "bad argument")]
    assert recording.messages[1].kind == "injected"
    assert codes(recording) == ["left_out", "left_out", "recorded_summary"]


def test_an_output_file_of_one_run_is_read(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [{"instance_id": "x", "history": [SYSTEM, TASK]}])

    assert said(recording) == [("system", "You are …"), ("user", "fix it")]


def test_a_malformed_copy_of_a_model_message_does_not_hide_a_good_one(tmp_path: Path) -> None:
    odd = _action(2, "c1")
    odd["tool_call_metadata"]["model_response"]["choices"] = []

    recording = read_document(tmp_path, [TASK, odd, _action(4, "c2"), _action(5, "c2")])

    assert [one.text for one in recording.messages if one.role == "assistant"] == ["I look."]
    assert "odd_row" in codes(recording)
