"""The chat dialect by example."""

from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire

WIRE = OpenAIChatWire()


def _read(*items: Any) -> list[Message]:  # noqa: ANN401 (JSON)
    return WIRE.read(items)[0]


def _rewritten(*items: Any) -> list[Any]:  # noqa: ANN401 (JSON)
    return WIRE.write([replace(message, origin=None) for message in _read(*items)])


def _call(call_id: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "ls", "arguments": arguments}}


def test_parallel_calls_keep_their_arguments_to_the_byte() -> None:
    """A model may write JSON its own way, or badly."""
    calls = [_call("a", '{ "path":"." }'), _call("b", '{"path": ')]
    [message] = _read({"role": "assistant", "content": None, "tool_calls": calls})
    assert [call.arguments for call in message.calls] == ['{ "path":"." }', '{"path": ']
    assert WIRE.write([replace(message, origin=None)])[0]["tool_calls"] == calls


def test_a_call_whose_recorded_id_is_null_goes_out_under_the_id_it_was_given() -> None:
    """Some servers send null where there is no id."""
    [message] = _read({"role": "assistant", "tool_calls": [{**_call("", "{}"), "id": None}]})
    named = replace(message, parts=(replace(message.calls[0], id="c1"),), origin=None)
    assert WIRE.write([named])[0]["tool_calls"] == [_call("c1", "{}")]


def test_the_developer_is_a_system_that_stays_a_developer() -> None:
    """Newer models know the role by that name only."""
    item = {"role": "developer", "content": "Be brief."}
    assert _read(item)[0].role == "system"
    assert _rewritten(item) == [item]


def test_a_legacy_function_call_goes_back_as_one() -> None:
    """Calls of that time have no id."""
    items = [
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "README.md"},
    ]
    call, result = _read(*items)
    assert (call.calls[0].id, call.calls[0].name) == ("", "ls")
    assert (result.role, result.name, result.answers) == ("tool", "ls", "")
    assert _rewritten(*items) == items


def test_a_legacy_call_that_was_given_an_id_becomes_a_call_with_one() -> None:
    """The engine assigns ids in its view."""
    [message] = _read({"role": "assistant", "function_call": {"name": "ls", "arguments": "{}"}})
    named = replace(message, parts=(replace(message.calls[0], id="c1"),), origin=None)
    assert WIRE.write([named])[0]["tool_calls"] == [_call("c1", "{}")]


def test_recorded_fields_tell_who_when_and_what_it_cost() -> None:
    """Recordings keep them in `x`."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    x = {"uuid": "u1", "timestamp": "2026-01-15T12:10:08Z", "is_error": True, "usage": usage}
    item = {"role": "tool", "tool_call_id": "a", "content": "no", "x": x}
    [message] = _read(item)
    assert (message.uid, message.at, message.is_error) == ("u1", "2026-01-15T12:10:08Z", True)
    assert message.usage == Usage(100, 90, 0, 5)
    assert _rewritten(item) == [{"role": "tool", "tool_call_id": "a", "content": "no"}]


def test_what_the_harness_wrote_is_injected() -> None:
    """A summary in the user's role is not the user's word."""
    kinds = [
        _read({"role": "user", "content": "…", "x": {flag: True}})[0].kind
        for flag in ("is_compact_summary", "is_meta", "isMeta", "is_error")
    ]
    assert kinds == ["injected", "injected", "injected", "said"]


def test_images_sounds_and_files_are_media() -> None:
    """By value where the address holds it."""
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        },
    ]
    item = {"role": "user", "content": content}
    media = [part for part in _read(item)[0].parts if isinstance(part, Media)]
    assert [(m.mime, m.data, m.url) for m in media] == [
        ("image/png", "QUJD", ""),
        ("image/*", "", "https://example.org/a.png"),
        ("audio/mp3", "QUJD", ""),
        ("application/pdf", "QUJD", ""),
    ]
    assert _rewritten(item) == [item]


def test_refusals_are_text_and_go_back_as_refusals() -> None:
    """Both as a field and as a part."""
    field = {"role": "assistant", "content": None, "refusal": "I cannot."}
    part = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]}
    assert [message.text for message in _read(field, part)] == ["I cannot.", "I will not."]
    assert _rewritten(field, part) == [{**field, "content": ""}, part]


def test_reasoning_goes_back_to_those_who_gave_it() -> None:
    """And to no one else: others reject the field."""
    item = {"role": "assistant", "content": "42", "reasoning_content": "6 x 7"}
    own, foreign = _read(item)[0], Message("assistant", (Thinking("6 x 7"), Text("42")))
    assert isinstance(own.parts[0], Thinking)
    silent = Message("assistant", (Thinking("6 x 7"),))
    assert WIRE.write([replace(own, origin=None), foreign, silent]) == [
        item,
        {"role": "assistant", "content": "42"},
    ]


def test_pictures_of_a_batch_follow_its_last_result() -> None:
    """A result holds text only, and nothing may come between the results of a batch."""
    calls = Message("assistant", (ToolCall("a", "see", "{}"), ToolCall("b", "see", "{}")))
    seen = Message("tool", (Text("a dog"), Media("image/png", "QUJD")), answers="a")
    also = Message("tool", (Text("a cat"),), answers="b")
    written = WIRE.write([calls, seen, also])
    assert [item["role"] for item in written] == ["assistant", "tool", "tool", "user"]
    assert written[3]["content"][0]["image_url"]["url"] == "data:image/png;base64,QUJD"


def test_what_is_no_message_is_carried_and_noted() -> None:
    """Nothing a recording holds is thrown away."""
    messages, notes = WIRE.read(["hello", {"role": "narrator", "content": "Once"}])
    assert [type(part) for message in messages for part in message.parts] == [Opaque, Opaque]
    assert [(note.line, note.code) for note in notes] == [
        (0, "not_a_message"),
        (1, "not_a_message"),
    ]


def test_a_response_and_a_record_go_out_as_messages_a_request_may_hold() -> None:
    """Annotations are of responses, `x` is of who recorded them; the rest is unchanged."""
    calls = [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    said = {"role": "assistant", "content": None, "refusal": None, "tool_calls": calls}
    besides: list[dict[str, Any]] = [
        {"annotations": []},
        {"x": {"uuid": "u"}},
        {"id": "1", "parsed": None},
    ]
    for beside in besides:
        messages, _ = WIRE.read([{**said, **beside}])
        (written,) = WIRE.write(messages)
        assert written == said
        assert written["tool_calls"] is calls
        (built,) = WIRE.write([replace(messages[0], origin=None)])
        assert not built.keys() & beside.keys()


class _OfSdk:
    """A response as an SDK returns it."""

    role = "assistant"
    annotations = ("a",)

    def __init__(self) -> None:
        self.content = ["the very part"]

    def model_dump(self, **_: object) -> dict[str, object]:
        """Return the fields."""
        return {"role": self.role, "content": list(self.content), "annotations": []}


def test_a_response_of_an_sdk_keeps_the_very_parts_it_came_with() -> None:
    """They are the SDK's own to write."""
    response = _OfSdk()
    (written,) = WIRE.write(WIRE.read([response])[0])
    assert written == {"role": "assistant", "content": ["the very part"]}
    assert written["content"] is response.content
