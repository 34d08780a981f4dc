"""Threads that Thalweg exported, read back."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core_tests.property.strategies import Shape, histories
from recorder_tests.unit.lab.recordings.log_files import codes, read_lines, said
from thalweg.archive.threads.contexts import TurnContext
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.thread_export import thread_lines
from thalweg.engine.entries import Media, Message, Text, message_to_json
from thalweg_recorder.recordings.formats.thalweg_thread import FORMAT
from thalweg_recorder.recordings.source import take_apart

HEAD = next(thread_lines([], "t1", None))
HI = Message("user", (Text("hi"), Media("image/png", "aGk=")), kind="injected", uid="u1")


@given(histories(Shape("anthropic", 20, hostile=True, pictures=4)), st.text())
def test_everything_of_a_thread_comes_back(thread: list[Message], name: str) -> None:
    """Parts, ids, media, usage; the line alone is that of the file."""
    page = TurnRecord(kind="call", at=0, length=0, model="m", window=48_000)
    context = TurnContext(1, page, {}, (), None, ({"name": "look"},))
    written = "\n".join(thread_lines(thread, name, context))
    read = FORMAT.read(take_apart("t1", written))

    lines = [{**json.loads(message_to_json(message)), "line": 0} for message in read.messages]
    assert lines == [{**json.loads(message_to_json(one)), "line": 0} for one in thread]
    assert [message.line for message in read.messages] == list(range(1, len(thread) + 1))
    assert (read.session.model, read.window) == ("m", 48_000)


def test_a_head_without_a_window_states_none(tmp_path: Path) -> None:
    """So an older export is replayed with the window of its model."""
    for window in ({}, {"window": None}, {"window": "many"}):
        head = {"thalweg": "thalweg-thread", "version": 1, "thread": "t1", "model": "m"}
        assert read_lines(tmp_path, [{**head, **window}, message_to_json(HI)]).window == 0


def test_the_format_is_known_by_its_head(tmp_path: Path) -> None:
    """Though its parts look like Gemini's."""
    recording = read_lines(tmp_path, [HEAD, message_to_json(HI)])

    assert recording.format == "thalweg-thread"
    assert recording.messages[0].parts == HI.parts


def test_odd_and_broken_lines_stay_in_the_thread(tmp_path: Path) -> None:
    """Noted, and of the harness."""
    odd = ['{"role":"user","parts":[{"kind":"gesture"}]}', '{"role":["user"],"parts":[]}', "[1]"]
    good = [message_to_json(HI)] * 3
    recording = read_lines(tmp_path, [HEAD, *good, *odd, '{"role":"us'])

    assert [role for role, _ in said(recording)] == ["user"] * 7
    assert codes(recording) == ["broken_json", "odd_row", "odd_row", "odd_row"]


def test_two_exports_in_one_file_are_noted(tmp_path: Path) -> None:
    """The second head is no message."""
    recording = read_lines(tmp_path, [HEAD, message_to_json(HI), HEAD, message_to_json(HI)])

    assert len(recording.messages) == 2
    assert codes(recording) == ["left_out"]
