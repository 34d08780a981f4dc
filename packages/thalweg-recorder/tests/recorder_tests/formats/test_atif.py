"""ATIF trajectories, as Harbor writes them."""

import json
from pathlib import Path

from recorder_tests.formats.log_files import find_recordings, read_document, read_recording
from recorder_tests.unit.lab.recordings.log_files import codes, said
from thalweg.engine.entries import Thinking
from thalweg.engine.pricing.usage import Usage

STEPS = [
    {"step_id": 1, "source": "system", "message": "You fix bugs."},
    {"step_id": 2, "source": "user", "message": "Fix it", "timestamp": "2026-03-02T10:00:00Z"},
    {
        "step_id": 3,
        "source": "agent",
        "model_name": "gpt-5",
        "message": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [
            {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
        ],
        "observation": {"results": [{"source_call_id": "c1", "content": "a.py"}]},
        "metrics": {"prompt_tokens": 70, "completion_tokens": 9, "cached_tokens": 50},
    },
    {
        "step_id": 4,
        "source": "agent",
        "message": "done",
        "observation": {"results": [{"content": "The terminal was closed."}]},
    },
]
DOCUMENT = {
    "schema_version": "ATIF-v1.4",
    "session_id": "s1",
    "agent": {"name": "terminus-2", "version": "1", "model_name": "gpt-4"},
    "steps": STEPS,
}


def test_steps_become_messages(tmp_path: Path) -> None:
    recording = read_document(tmp_path, DOCUMENT)

    assert recording.format == "atif"
    assert said(recording) == [
        ("system", "You fix bugs."),
        ("user", "Fix it"),
        ("assistant", "I look."),
        ("tool", "a.py"),
        ("assistant", "done"),
        ("user", "The terminal was closed."),
    ]
    _, asked, answer, result, _, told = recording.messages
    assert (asked.at, asked.line) == ("2026-03-02T10:00:00Z", 1)
    assert [part.text for part in answer.parts if isinstance(part, Thinking)] == ["hm"]
    assert answer.usage == Usage(70, cached=50, output=9, model="gpt-5")
    assert [(call.name, call.arguments) for call in answer.calls] == [("bash", '{"command": "ls"}')]
    assert (result.answers, result.name) == ("c1", "bash")
    assert told.kind == "injected"
    assert (recording.session.id, recording.session.model) == ("s1", "gpt-5")
    assert codes(recording) == []


def test_odd_steps_are_kept_and_noted(tmp_path: Path) -> None:
    recording = read_document(tmp_path, {**DOCUMENT, "steps": [*STEPS, 7, {"source": "moon"}]})
    assert codes(recording) == ["odd_row", "odd_row"]
    assert [message.text for message in recording.messages[-2:]] == ["7", '{"source": "moon"}']


def test_subagents_of_a_trajectory_are_sessions(tmp_path: Path) -> None:
    """They share the session's id, and have one of their own; ATIF 1.7 embeds them."""
    inner = {**DOCUMENT, "schema_version": "ATIF-v1.7", "trajectory_id": "t2", "steps": STEPS[:2]}
    deeper = {**inner, "trajectory_id": "t3"}
    del deeper["session_id"]
    outer = {**inner, "trajectory_id": "t1", "steps": STEPS}
    path = tmp_path / "trajectory.json"
    inner["subagent_trajectories"] = [deeper, {"no": "trajectory"}]
    path.write_text(json.dumps({**outer, "subagent_trajectories": [inner]}), encoding="utf-8")

    recordings = [read_recording(address) for address in find_recordings([path])]
    assert [one.session.id for one in recordings] == ["s1/t1", "s1/t2", "s1/t3"]
    assert [len(one.messages) for one in recordings] == [6, 2, 2]
