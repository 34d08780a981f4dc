"""Traces of research: ToolBench and Vorflux."""

from pathlib import Path
from typing import Any

from recorder_tests.formats.log_files import read_document
from recorder_tests.unit.lab.recordings.log_files import codes, said

USER: dict[str, Any] = {"role": "user", "content": "hi"}


def test_the_last_try_of_toolbench_is_read_with_its_functions(tmp_path: Path) -> None:
    call = {"name": "track", "arguments": "{}"}
    asked = {"role": "assistant", "content": None, "function_call": call}
    seen = {"role": "function", "name": "track", "content": "lost"}
    answer = {"train_messages": [[USER], [USER, asked, seen]], "function": [{"name": "track"}]}

    recording = read_document(tmp_path, {"win": True, "answer_generation": answer})

    assert [message.role for message in recording.messages] == ["user", "assistant", "tool"]
    assert recording.messages[1].calls[0].name == "track"


def test_results_in_a_trace_find_their_call_by_its_arguments(tmp_path: Path) -> None:
    function = {"name": "read", "arguments": '{"file_path": "a"}'}
    output = {"content": "I look.", "tool_calls": [{"id": "c1", "function": function}]}
    spans = [
        {
            "type": "llm_call",
            "timestamp": "2026-05-05 12:32:07",
            "task_prompt": [USER],
            "output": output,
        },
        {
            "type": "tool_call",
            "tool": "read_file",
            "arguments": {"filePath": "a"},
            "result": {"x": 1},
        },
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "ls"}, "result": "b"},
        {"type": "judge_call"},
    ]

    recording = read_document(tmp_path, {"session_id": "s", "trajectory": spans})

    assert said(recording) == [
        ("user", "hi"),
        ("assistant", "I look."),
        ("tool", '{"x": 1}'),
        ("tool", "b"),
    ]
    assert [message.answers for message in recording.messages] == ["", "", "c1", ""]
    assert recording.messages[1].at == "2026-05-05T12:32:07"
    assert codes(recording) == ["left_out"]
