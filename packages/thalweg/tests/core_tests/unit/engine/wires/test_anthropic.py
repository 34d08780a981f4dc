"""Anthropic's dialect by example."""

from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.anthropic import AnthropicReader

READER = AnthropicReader()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
ASKED = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Both at once.", "signature": "EqQB=="},
        {"type": "redacted_thinking", "data": "Ew=="},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
        {"type": "tool_use", "id": "b", "name": "see", "input": {}},
    ],
}
ANSWERED = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "denied", "is_error": True},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "a dog"}, IMAGE],
        },
        {"type": "text", "text": "and hurry"},
    ],
}


def _read(*items: Any) -> list[Message]:  # noqa: ANN401 (JSON)
    return READER.read(items)[0]


def test_each_result_is_a_message_and_the_rest_is_one() -> None:
    """All of them share the object they came from."""
    first, second, said = _read(ANSWERED)
    assert (first.role, first.answers, first.is_error, first.text) == ("tool", "a", True, "denied")
    assert second.parts == (Text("a dog"), Media("image/png", "QUJD"))
    assert (said.role, said.text) == ("user", "and hurry")
    shares = [m.origin.share for m in (first, second, said) if m.origin is not None]
    assert shares == [(0, 3), (1, 3), (2, 3)]


def test_reasoning_keeps_its_signature_and_calls_their_arguments() -> None:
    (message,) = _read(ASKED)
    signed, redacted = (part for part in message.parts if isinstance(part, Thinking))
    assert (signed.text, signed.signature) == ("Both at once.", "EqQB==")
    assert (redacted.text, redacted.signature) == ("", "Ew==")
    assert [(c.id, c.name, c.arguments) for c in message.calls] == [
        ("a", "ls", '{"path": "."}'),
        ("b", "see", "{}"),
    ]


def test_what_the_provider_ran_itself_stays_with_its_result() -> None:
    """Both are blocks of one message, and go to no other dialect."""
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "dog"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    messages, notes = READER.read([{"role": "assistant", "content": blocks}])
    assert [type(part) for part in messages[0].parts] == [Opaque, Opaque]
    assert notes == []


def test_documents_are_media_or_text() -> None:
    """By value, by address, or in plain words with a title."""
    plain = {"type": "text", "media_type": "text/plain", "data": "It rains."}
    blocks = [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
        },
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "document", "source": plain, "title": "Weather"},
    ]
    [message] = _read({"role": "user", "content": blocks})
    assert [type(part) for part in message.parts] == [Media, Media, Text]
    assert message.text == "It rains."


RESPONSE = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


def test_a_response_keeps_its_fields_in_the_log() -> None:
    """Its id and its tokens, and the fields themselves."""
    (message,) = _read(RESPONSE)
    assert (message.uid, message.usage) == ("msg_01", Usage(3, output=2))
    assert "stop_reason" in message.extra
