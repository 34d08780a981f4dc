"""Gemini's dialect by example."""

from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Thinking, ToolCall
from thalweg.engine.wires.gemini import GeminiReader

READER = GeminiReader()
ASKED = {
    "role": "model",
    "parts": [
        {"text": "Both at once.", "thought": True},
        {"functionCall": {"name": "ls", "args": {"path": "."}}, "thoughtSignature": "EqQB=="},
        {"functionCall": {"name": "see", "args": {}}},
    ],
}
ANSWERED = {
    "role": "user",
    "parts": [
        {"functionResponse": {"name": "ls", "response": {"error": "denied"}}},
        {"functionResponse": {"name": "see", "response": {"size": 3, "kind": "dog"}}},
        {"text": "and hurry"},
    ],
}


def _read(*items: Any) -> list[Message]:  # noqa: ANN401 (JSON)
    return READER.read(items)[0]


def test_a_batch_is_read_as_messages() -> None:
    turn, failed, seen, said = _read(ASKED, ANSWERED)
    assert [(call.id, call.name) for call in turn.calls] == [("", "ls"), ("", "see")]
    assert (failed.name, failed.is_error, failed.text) == ("ls", True, "denied")
    assert (seen.name, seen.text) == ("see", '{"size": 3, "kind": "dog"}')
    assert (said.role, said.text) == ("user", "and hurry")


def test_a_signature_is_read_with_its_thought() -> None:
    [message] = _read(
        {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "AA=="}]}
    )
    assert isinstance(thinking := message.parts[0], Thinking)
    assert (thinking.text, thinking.signature) == ("hm", "AA==")


def test_files_are_media_by_value_and_by_address() -> None:
    """Fields next to them are kept."""
    item = {
        "role": "user",
        "parts": [
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {
                "fileData": {"mimeType": "video/mp4", "fileUri": "https://example.org/v"},
                "videoMetadata": {"fps": 1},
            },
        ],
    }
    [message] = _read(item)
    assert [(m.mime, m.data, m.url) for m in message.parts if isinstance(m, Media)] == [
        ("image/png", "QUJD", ""),
        ("video/mp4", "", "https://example.org/v"),
    ]


def test_the_spelling_of_the_python_sdk_is_read_alike() -> None:
    snake = {"role": "model", "parts": [{"function_call": {"name": "ls", "args": {"path": "."}}}]}
    [message] = _read(snake)
    assert message.calls == (ToolCall("", "ls", '{"path": "."}'),)


def test_the_old_role_of_functions_is_read() -> None:
    """Early versions had one."""
    [message] = _read({**ANSWERED, "role": "function", "parts": ANSWERED["parts"][:1]})
    assert (message.role, message.name) == ("tool", "ls")


def test_code_that_the_provider_ran_is_carried() -> None:
    """Both halves in one content, and to no other dialect."""
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
    ]
    item = {"role": "model", "parts": parts}
    messages, notes = READER.read([item])
    assert [type(part) for part in messages[0].parts] == [Opaque, Opaque]
    assert notes == []
