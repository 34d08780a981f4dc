"""Logs that are text or data sets: DeerFlow's event stream, dialogues."""

from pathlib import Path

from recorder_tests.formats.log_files import read_document, read_recording
from recorder_tests.unit.lab.recordings.log_files import said
from thalweg_recorder.recordings.base import Recording

EVENTS = """\
event: message_chunk
data: {"id": "u", "role": "user", "content": "how tall?"}

event: message_chunk
data: {"id": "r1", "role": "assistant", "content": "I "}

event: message_chunk
data: {"id": "r1", "role": "assistant", "content": "look."}

event: tool_calls
data: {"id": "r1", "tool_calls": [{"name": "search", "args": {}, "id": "c1"}], \
"tool_call_chunks": [{"name": "search", "args": "", "id": "c1", "index": 0}]}

event: tool_call_chunks
data: {"id": "r1", "tool_call_chunks": [{"args": "{\\"q\\":1}", "id": null, "index": 0}]}

event: tool_call_result
data: {"id": "t1", "role": "assistant", "content": "324 m", "tool_call_id": "c1"}

event: message_chunk
data: {"id": "r2", "role":
"""


def _read(folder: Path, text: str) -> Recording:
    path = folder / "thread.txt"
    path.write_text(text, encoding="utf-8")
    return read_recording(path)


def test_chunks_of_an_event_stream_become_messages(tmp_path: Path) -> None:
    recording = _read(tmp_path, EVENTS)

    assert said(recording) == [("user", "how tall?"), ("assistant", "I look."), ("tool", "324 m")]
    (call,) = recording.messages[1].calls
    assert (call.id, call.name, call.arguments) == ("c1", "search", '{"q":1}')
    assert [message.line for message in recording.messages] == [1, 4, 16]
    assert [(note.line, note.code) for note in recording.notes] == [(19, "broken_json")]


def test_memorybank_is_read_with_its_dates(tmp_path: Path) -> None:
    exchange = {"query": "I like tea.", "response": "Nice."}

    recording = read_document(tmp_path, {"name": "E", "history": {"2023-04-27": [exchange]}})

    assert said(recording) == [("user", "I like tea."), ("assistant", "Nice.")]
    assert recording.messages[0].at == "2023-04-27"


def test_locomo_sessions_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "later"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "first"}],
    }

    recording = read_document(tmp_path, {"conversation": conversation, "qa": []})

    assert said(recording) == [("user", "first"), ("assistant", "later")]
    first = recording.messages[0]
    assert (first.name, first.uid, first.at) == ("Ann", "D2:1", "2023-05-08T13:56:00")


def test_crosswoz_is_read(tmp_path: Path) -> None:
    messages = [{"role": "usr", "content": "你好"}, {"role": "sys", "content": "您好"}]

    recording = read_document(tmp_path, {"goal": [], "messages": messages})

    assert said(recording) == [("user", "你好"), ("assistant", "您好")]
