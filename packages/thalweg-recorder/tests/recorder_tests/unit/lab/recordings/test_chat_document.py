"""One JSON document with the messages of a chat, in the forms it is found in."""

from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes, read_document, said

USER = {"role": "user", "content": "hi"}
MODEL = {"role": "assistant", "content": "hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


@pytest.mark.parametrize(
    "document",
    [
        [USER, MODEL],
        {"model": "m", "messages": [USER, MODEL]},
        {"task_id": 2, "reward": 0.0, "traj": [USER, MODEL]},
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"text": "hello"}]},
            ]
        },
        {
            "input": [
                {"type": "message", "role": "user", "content": "hi"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "hello"}],
                },
            ]
        },
    ],
)
def test_a_list_of_messages_is_read_in_each_dialect(tmp_path: Path, document: object) -> None:
    recording = read_document(tmp_path, document)

    assert recording.format == "chat-document"
    assert said(recording) == [("user", "hi"), ("assistant", "hello")]
    assert [message.line for message in recording.messages] == [0, 1]


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        ({"system": "Be brief.", "messages": [USER]}, "anthropic"),
        ({"instructions": "Be brief.", "input": [{"type": "message", **USER}]}, "openai-responses"),
        (
            {
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            },
            "gemini",
        ),
    ],
)
def test_a_request_is_read_with_its_system_prompt_and_tools(
    tmp_path: Path, body: dict[str, Any], wire: str
) -> None:
    recording = read_document(tmp_path, {**body, "tools": [{"name": "ls"}]})

    assert said(recording) == [("system", "Be brief."), ("user", "hi")]
    assert [message.line for message in recording.messages] == [0, 0]
    assert all(message.origin and message.origin.wire == wire for message in recording.messages)


def test_blocks_of_anthropic_are_read_as_such(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}

    recording = read_document(
        tmp_path,
        [USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
    )

    assert [message.role for message in recording.messages] == ["user", "assistant", "tool"]
    assert codes(recording) == []


def test_ids_that_are_used_again_are_kept(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    seen = {"role": "tool", "content": "a", "tool_call_id": "c1", "name": "ls"}

    recording = read_document(tmp_path, {"traj": [USER, asked, seen, asked, seen]})

    assert [message.answers for message in recording.messages] == ["", "", "c1", "", "c1"]


def test_what_is_no_message_in_the_list_is_kept(tmp_path: Path) -> None:
    recording = read_document(tmp_path, [USER, 7, MODEL])

    assert len(recording.messages) == 3
    assert recording.notes[0].line == 1
