"""Laws of the front door: any file is read or refused, and nothing is lost."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thalweg.engine.entries import message_to_json
from thalweg.engine.transcript import as_text
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import FORMATS, Formats, read_recording

WORDS = (
    "role type content message tool_calls user assistant tool id name x uuid parts text payload "
    "response_item session_meta toolResult gemini sessionId messages history trajectory action "
    "observation source values human function arguments isCompactSummary is_compact_summary "
    "tool_use tool_result usage timestamp llm_call answer_generation samples traj conversation "
    "speaker_a history query event_msg info last_token_usage compactMetadata system input_text "
    "function_call function_call_output call_id output reasoning summary model thoughts toolCalls"
)
KINDS = (
    "user assistant message response_item event_msg session human ai gemini compaction system "
    "llm_call tool_call reasoning function_call"
)
words = st.sampled_from(WORDS.split()) | st.text(max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)
rows: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system", "model"]) | values,
        "type": st.sampled_from(KINDS.split()) | values,
        "content": values,
        "message": st.dictionaries(words, values, max_size=4) | values,
        "payload": st.dictionaries(words, values, max_size=4) | values,
        "uuid": words,
        "isSidechain": st.booleans(),
        "sessionId": words,
        "source": words,
        "action": words,
        "observation": words,
        "x": st.dictionaries(words, values, max_size=3),
        "tool_calls": st.lists(values, max_size=2) | values,
        "toolCalls": st.lists(values, max_size=2) | values,
        "data": values,
    },
)


def read(data: bytes, formats: Formats = FORMATS) -> Recording | None:
    """Read a file; `None` if it is refused."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "thread")
        path.write_bytes(data)
        try:
            return read_recording(path, formats=formats)
        except RecordingError:
            return None


def is_sound(recording: Recording) -> bool:
    """Return whether messages and notes can be stored."""
    return all(message_to_json(message) for message in recording.messages) and all(
        note.code and isinstance(note.text, str) for note in recording.notes
    )


@settings(deadline=None)
@given(st.binary(max_size=200))
@example(b"\x1f\x8b\x08")
@example(b"[" * 100_000)
@example(b'{"role": "user", "content": ' * 5_000)
@example(b'{"role": "user", "content": ' + b"[" * 900 + b"]" * 900 + b"}")
@example(b'{"role": "user", "content": ' + b"1" * 5_000 + b"}")
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    recording = read(data)

    assert recording is None or is_sound(recording)


@settings(deadline=None)
@given(st.lists(rows | values, max_size=5))
def test_any_json_lines_are_read_or_refused(lines: list[object]) -> None:
    recording = read("\n".join(map(json.dumps, lines)).encode())

    assert recording is None or is_sound(recording)


@settings(deadline=None)
@given(
    st.lists(rows | values, max_size=5),
    st.sampled_from(
        ["messages", "contents", "input", "traj", "history", "trajectory", "values", "samples"]
    ),
)
def test_any_json_document_is_read_or_refused(inner: list[object], place: str) -> None:
    for document in (inner, {place: inner}, {place: {"messages": inner}, "sessionId": "s"}):
        recording = read(json.dumps(document, indent=1).encode())

        assert recording is None or is_sound(recording)


CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "hi", "x": {"uuid": "u", "usage": {"input_tokens": 3}}},
    {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [CALL]},
    {"role": "tool", "content": "b", "tool_call_id": "c1", "name": "ls"},
]
BLOCKS = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "tool_use", "id": "c1", "name": "ls", "input": {"p": "."}},
]
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "b"}]}
EVENT = {
    "id": 1,
    "source": "agent",
    "action": "run",
    "args": {"command": "ls"},
    "tool_call_metadata": {
        "tool_call_id": "c1",
        "model_response": {
            "id": "r",
            "choices": [{"message": CHAT[1]}],
            "usage": {"prompt_tokens": 1},
        },
    },
}
LINES: list[list[Any]] = [
    CHAT,
    [
        {
            "type": "user",
            "uuid": "u",
            "parentUuid": "p",
            "message": {"role": "user", "content": "hi"},
        },
        {
            "type": "assistant",
            "uuid": "v",
            "message": {"id": "m", "role": "assistant", "content": BLOCKS},
        },
        {
            "type": "assistant",
            "uuid": "w",
            "message": {"id": "m", "role": "assistant", "content": BLOCKS},
        },
        {"type": "user", "uuid": "x", "message": {"role": "user", "content": [RESULT]}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {}},
    ],
    [
        {"type": "session_meta", "payload": {"base_instructions": {"text": "be"}}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"text": "hi"}]},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call", "call_id": "c1", "name": "ls"},
        },
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {}}}},
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c1", "output": "b"},
        },
    ],
    [
        {"type": "session", "id": "s"},
        {"type": "message", "parentId": "p", "message": {"role": "user", "content": "hi"}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}],
                "usage": {"input": 1},
            },
        },
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "c1", "content": []}},
    ],
    [
        {"type": "human", "content": "hi"},
        {"type": "ai", "content": [], "tool_calls": [{"id": "c1"}]},
    ],
]
TURN = {
    "type": "gemini",
    "content": "a",
    "thoughts": [{"subject": "s", "description": "d"}],
    "tokens": {"input": 1},
    "toolCalls": [{"id": "c1", "name": "ls", "args": {}, "result": [{"functionResponse": {}}]}],
}
DOCUMENTS: list[Any] = [
    {"messages": CHAT, "tools": [{}], "system": "be"},
    {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "systemInstruction": {"parts": []}},
    {"input": [{"type": "message", "role": "user", "content": "hi"}], "instructions": "be"},
    {"sessionId": "s", "messages": [{"type": "user", "content": "hi"}, TURN]},
    {"history": [{"source": "user", "action": "message", "args": {"content": "hi"}}, EVENT]},
    {"values": {"messages": LINES[-1]}},
    [{"values": {"messages": LINES[-1]}}, {"values": {}}],
    {"answer_generation": {"train_messages": [CHAT], "function": [{}]}},
    {
        "trajectory": [
            {"type": "llm_call", "task_prompt": CHAT[:1], "output": CHAT[1]},
            {"type": "tool_call", "tool": "ls", "arguments": {}, "result": {}},
        ]
    },
]


LOGS = Path(__file__).parents[1] / "agent_logs"
LINES += [[*map(json.loads, log.read_text().splitlines())] for log in sorted(LOGS.glob("*.jsonl"))]
LINES.append(
    [
        {"format": "agent-rows"},
        {"message": {"role": "user", "content": "hi"}, "at": 1},
        {"message": {"role": "assistant", "content": BLOCKS}, "answer": "r", "usage": {"input": 1}},
        {"usage": {"input": 3}, "answer": "r"},
        {"compaction": {"summary": "s"}},
        {"message": {"role": "user", "content": [RESULT]}, "thread": "t"},
    ]
)
LINES.append(
    [
        {"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}},
        {"role": "assistant", "message": {"content": BLOCKS}},
        {"type": "turn_ended", "status": "success"},
    ]
)


def _spoiled(value: Any, draw: st.DrawFn) -> Any:  # noqa: ANN401 (any JSON)
    """Replace one value somewhere inside by any other."""
    inner = list(value.items()) if isinstance(value, dict) else []
    inner = list(enumerate(value)) if isinstance(value, list) else inner
    if not inner or draw(st.integers(0, 5)) == 0:
        return draw(values)
    key, _ = draw(st.sampled_from(inner))
    copy = value.copy()
    copy[key] = _spoiled(value[key], draw)
    return copy


@st.composite
def spoiled_logs(draw: st.DrawFn, lines: list[list[Any]], documents: list[Any]) -> bytes:
    """Draw a log in which up to three values are replaced."""
    as_lines = bool(lines) and draw(st.booleans())
    log = draw(st.sampled_from(lines if as_lines else documents))
    for _ in range(draw(st.integers(0, 3))):
        log = _spoiled(log, draw)
    if as_lines and isinstance(log, list):
        return "\n".join(map(json.dumps, log)).encode()
    return json.dumps(log, indent=1).encode()


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(spoiled_logs(LINES, DOCUMENTS))
def test_a_log_with_anything_in_the_wrong_place_is_read_or_refused(data: bytes) -> None:
    recording = read(data)

    assert recording is None or is_sound(recording)


WITHOUT_SAMPLE = {"aider", "opencode", "thalweg-thread"}
"""Formats with tests in `recorder_tests/unit/lab/recordings` alone; a new one has a sample here."""


def test_each_format_has_a_sample_that_is_spoiled() -> None:
    samples = [*("\n".join(map(json.dumps, rows)) for rows in LINES), *map(json.dumps, DOCUMENTS)]
    found = {recording.format for sample in samples if (recording := read(sample.encode()))}

    assert {known.name for known in FORMATS} - found == WITHOUT_SAMPLE


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
chat_rows = st.builds(
    lambda role, text: {"role": role, "content": text},
    st.sampled_from(["user", "assistant", "system"]),
    texts,
)
BROKEN = ["{", "<html>", '{"role": "us', "\\", "]["]


@settings(deadline=None)
@given(st.lists(chat_rows, min_size=1), st.data())
def test_the_text_of_every_line_survives(
    messages: list[dict[str, str]], data: st.DataObject
) -> None:
    lines: list[str] = []
    for message in messages:
        lines += data.draw(st.lists(st.sampled_from(BROKEN), max_size=1))
        lines.append(json.dumps(message, ensure_ascii=data.draw(st.booleans())))

    recording = read("\n".join(lines).encode())

    assert recording is not None
    assert [message.line for message in recording.messages] == list(range(len(lines)))
    for line, told in zip(lines, recording.messages, strict=True):
        text = line if line in BROKEN else json.loads(line)["content"]
        assert text in as_text(told)


@settings(deadline=None)
@given(st.lists(chat_rows, min_size=1))
def test_glued_lines_lose_no_message(messages: list[dict[str, str]]) -> None:
    recording = read("".join(map(json.dumps, messages)).encode())

    assert recording is not None
    assert [message.text for message in recording.messages] == [m["content"] for m in messages]


claude_rows = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["m1", "m2", ""]), texts),
    min_size=1,
)


@settings(deadline=None)
@given(claude_rows)
def test_rows_of_model_messages_join_without_losing_a_block(
    spoken: list[tuple[str, str, str]],
) -> None:
    rows_ = [
        {
            "type": role,
            "uuid": f"u{number}",
            "message": {
                "role": role,
                "id": message_id,
                "content": [{"type": "text", "text": text}],
            },
        }
        for number, (role, message_id, text) in enumerate(spoken)
    ]

    recording = read("\n".join(map(json.dumps, rows_)).encode())

    assert recording is not None
    parts = [part for message in recording.messages for part in message.parts]
    assert [getattr(part, "text", "") for part in parts] == [text for *_, text in spoken]
