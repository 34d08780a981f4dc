"""Trajectories of SWE-agent, of every generation."""

from pathlib import Path
from typing import Any

from recorder_tests.formats.log_files import read_document
from recorder_tests.unit.lab.recordings.log_files import said

SYSTEM = {"role": "system", "content": "You are …", "agent": "main"}
TASK = {"role": "user", "content": "fix it", "agent": "main", "message_type": "observation"}
STEP = {"action": "ls", "observation": "a.py", "response": "I look.", "thought": "I look."}


def _call(call_id: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    return {"id": call_id, "type": "function", "function": function}


def test_calls_and_their_results_are_paired(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": "I look.", "thought": "x", "tool_calls": [_call("c1")]}
    seen = {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"]}

    recording = read_document(
        tmp_path, {"trajectory": [STEP], "history": [SYSTEM, TASK, asked, seen], "info": {}}
    )

    assert recording.format == "swe-agent"
    assert said(recording) == [
        ("system", "You are …"),
        ("user", "fix it"),
        ("assistant", "I look."),
        ("tool", "a.py"),
    ]
    result = recording.messages[3]
    assert (result.answers, result.name, result.line) == ("c1", "bash", 3)


def test_an_observation_in_words_is_the_harness_speaking(tmp_path: Path) -> None:
    history = [
        SYSTEM,
        TASK,
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": "a"},
    ]

    recording = read_document(tmp_path, {"trajectory": [STEP], "history": history})

    assert [message.kind for message in recording.messages] == ["said"] * 3 + ["injected"]


def test_without_a_history_the_last_query_is_read_with_what_came_of_it(tmp_path: Path) -> None:
    recording = read_document(tmp_path, {"trajectory": [{**STEP, "query": [SYSTEM, TASK]}]})

    assert said(recording) == [
        ("system", "You are …"),
        ("user", "fix it"),
        ("assistant", "I look."),
        ("user", "a.py"),
    ]


def test_without_either_the_steps_are_read(tmp_path: Path) -> None:
    recording = read_document(tmp_path, {"trajectory": [STEP, STEP], "history": []})

    assert said(recording) == [("assistant", "I look."), ("user", "a.py")] * 2
