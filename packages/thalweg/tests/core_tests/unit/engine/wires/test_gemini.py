"""Gemini's dialect by example."""

from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking, ToolCall
from thalweg.engine.wires.gemini import GeminiWire, split_system

WIRE = GeminiWire()
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


def _stripped(*items: Any) -> list[Message]:  # noqa: ANN401 (JSON)
    return [replace(message, origin=None) for message in WIRE.read(items)[0]]


def test_a_batch_is_read_as_messages_and_written_as_one_content() -> None:
    """Gemini wants as many responses as there were calls, in one content."""
    turn, failed, seen, said = _stripped(ASKED, ANSWERED)
    assert [(call.id, call.name) for call in turn.calls] == [("", "ls"), ("", "see")]
    assert (failed.name, failed.is_error, failed.text) == ("ls", True, "denied")
    assert (seen.name, seen.text) == ("see", '{"size": 3, "kind": "dog"}')
    assert (said.role, said.text) == ("user", "and hurry")
    assert WIRE.write([turn, failed, seen, said]) == [ASKED, ANSWERED]


def test_a_result_that_was_shortened_is_an_output() -> None:
    """The rest of its object is no object any more."""
    seen = _stripped(ANSWERED)[1]
    [written] = WIRE.write([replace(seen, parts=(Text("a dog …"),))])
    assert written["parts"][0]["functionResponse"]["response"] == {"output": "a dog …"}


def test_signatures_stay_at_the_part_they_sign() -> None:
    """Of a thought, of a call and of text alike."""
    item = {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True, "thoughtSignature": "AA=="},
            {"text": "ok", "thoughtSignature": "BB=="},
            {"functionCall": {"id": "7", "name": "ls", "args": {}}, "thoughtSignature": "CC=="},
        ],
    }
    [message] = _stripped(item)
    assert isinstance(thinking := message.parts[0], Thinking)
    assert (thinking.text, thinking.signature, message.text) == ("hm", "AA==", "ok")
    assert WIRE.write([message]) == [item]


def test_a_response_is_named_after_its_call() -> None:
    """Other dialects join them by id alone; Gemini demands the name."""
    call = Message("assistant", (ToolCall("c1", "ls", "{}"),))
    _, written = WIRE.write([call, Message("tool", (Text("README.md"),), answers="c1")])
    assert written["parts"][0]["functionResponse"] == {
        "id": "c1",
        "name": "ls",
        "response": {"output": "README.md"},
    }


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
    [message] = _stripped(item)
    assert [(m.mime, m.data, m.url) for m in message.parts if isinstance(m, Media)] == [
        ("image/png", "QUJD", ""),
        ("video/mp4", "", "https://example.org/v"),
    ]
    assert WIRE.write([message]) == [item]


def test_the_spelling_of_the_python_sdk_is_read_alike() -> None:
    """It is written as the API spells it."""
    snake = {"role": "model", "parts": [{"function_call": {"name": "ls", "args": {"path": "."}}}]}
    [message] = _stripped(snake)
    assert message.calls == (ToolCall("", "ls", '{"path": "."}'),)
    assert WIRE.write([message])[0]["parts"][0]["functionCall"]["args"] == {"path": "."}


def test_the_old_role_of_functions_is_read() -> None:
    """Early versions had one."""
    [message] = _stripped({**ANSWERED, "role": "function", "parts": ANSWERED["parts"][:1]})
    assert (message.role, message.name) == ("tool", "ls")


def test_code_that_the_provider_ran_is_carried() -> None:
    """Both halves in one content, and to no other dialect."""
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
    ]
    item = {"role": "model", "parts": parts}
    messages, notes = WIRE.read([item])
    assert [type(part) for part in messages[0].parts] == [Opaque, Opaque]
    assert notes == []
    assert WIRE.write(_stripped(item)) == [item]


def test_the_system_instruction_stands_at_the_head() -> None:
    """Gemini takes it as a parameter."""
    items = WIRE.write([Message("system", (Text("Be brief."),)), Message("user", (Text("hi"),))])
    assert split_system(items) == (
        {"parts": [{"text": "Be brief."}]},
        [{"role": "user", "parts": [{"text": "hi"}]}],
    )
