"""Laws of every format: a file with any content is read or refused."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.formats import FORMATS
from recorder_tests.property.test_recordings import CHAT, is_sound, read, spoiled_logs
from thalweg_recorder.recordings.files import FORMATS as SHIPPED

STEP = {"action": "ls", "observation": "b", "response": "a", "query": CHAT}
DOCUMENTS: list[Any] = [
    {"trajectory": [STEP], "history": CHAT},
    {"trajectory": [STEP, STEP]},
    {"samples": [{"messages": [CHAT[0], {**CHAT[1], "tool_calls": [{"function": "ls"}]}]}]},
    {"history": {"2023-04-27": [{"query": "hi", "response": "a"}]}},
    {"conversation": {"speaker_a": "A", "session_1": [{"speaker": "A", "text": "hi"}]}},
    {"messages": [{"role": "usr", "content": "hi"}]},
    {"answer_generation": {"train_messages": [CHAT]}},
    {"trajectory": [{"type": "llm_call", "output": CHAT[1]}, {"type": "tool_call", "tool": "ls"}]},
]
TEXTS = [
    b"# aider chat started at 2024-08-13 13:42:45\n",
    b"event: message_chunk\ndata: ",
    b"PK\x03\x04",
]
WITHOUT_SAMPLE = {"atif", "event-stream"}
"""Formats with tests in this folder alone; a new one has a sample here."""


def test_each_format_has_a_sample() -> None:
    samples = map(json.dumps, DOCUMENTS)
    found = {one.format for sample in samples if (one := read(sample.encode(), FORMATS))}

    names = {known.name for known in FORMATS} - {known.name for known in SHIPPED}
    assert names - found == WITHOUT_SAMPLE


@settings(deadline=None)
@given(st.sampled_from(TEXTS), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(begin: bytes, rest: bytes) -> None:
    recording = read(begin + rest, FORMATS)

    assert recording is None or is_sound(recording)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(spoiled_logs([], DOCUMENTS))
def test_a_log_with_anything_in_the_wrong_place_is_read_or_refused(data: bytes) -> None:
    recording = read(data, FORMATS)

    assert recording is None or is_sound(recording)
