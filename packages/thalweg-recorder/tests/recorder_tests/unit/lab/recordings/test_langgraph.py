"""Threads of LangGraph as servers and savers dump them."""

from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes, read_document, read_lines, said
from thalweg.engine.entries import Text

HUMAN: dict[str, Any] = {"type": "human", "content": [{"type": "text", "text": "hi"}], "id": "h1"}
CALL = {"name": "ls", "args": {"p": "."}, "id": "c1", "type": "tool_call"}
MODEL = {"type": "ai", "content": "", "tool_calls": [CALL], "id": "a1"}
RESULT = {"type": "tool", "content": "a.txt", "tool_call_id": "c1", "name": "ls", "status": "error"}
THREAD: list[dict[str, Any]] = [HUMAN, MODEL, RESULT]


@pytest.mark.parametrize(
    "document",
    [
        THREAD,
        {"messages": THREAD},
        {"values": {"messages": THREAD, "title": "x"}, "next": []},
        {"channel_values": {"messages": THREAD}},
        {"checkpoint": {"channel_values": {"messages": THREAD}}},
        [{"type": one["type"], "data": one} for one in THREAD],
    ],
)
def test_messages_are_found_wherever_a_dump_keeps_them(tmp_path: Path, document: object) -> None:
    recording = read_document(tmp_path, document)

    assert recording.format == "langgraph"
    assert said(recording) == [("user", "hi"), ("assistant", ""), ("tool", "a.txt")]
    assert recording.messages[1].calls[0].arguments == '{"p": "."}'
    assert [message.uid for message in recording.messages] == ["h1", "a1", ""]
    assert recording.messages[2].is_error


def test_of_a_history_of_states_the_longest_thread_is_read(tmp_path: Path) -> None:
    states = [{"values": {"messages": THREAD[:n]}} for n in (3, 2, 1)]

    recording = read_document(tmp_path, states)

    assert len(recording.messages) == 3
    assert codes(recording) == ["left_out"]


def test_messages_one_a_line_keep_their_line(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [HUMAN, "oops", {"type": "ai", "content": "hello"}])

    assert [message.line for message in recording.messages] == [0, 1, 2]
    assert recording.messages[1].parts == (Text("oops"),)


def test_messages_that_were_serialised_as_constructors_are_read(tmp_path: Path) -> None:
    def _built(name: str, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
        path = ["langchain", "schema", "messages", name]
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}

    recording = read_document(
        tmp_path,
        {"messages": [_built("HumanMessage", content="hi"), _built("AIMessage", content="ho")]},
    )

    assert said(recording) == [("user", "hi"), ("assistant", "ho")]
