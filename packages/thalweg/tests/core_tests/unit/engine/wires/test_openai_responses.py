"""The responses dialect by example."""

from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking
from thalweg.engine.wires.openai_responses import OpenAIResponsesWire

WIRE = OpenAIResponsesWire()
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA=="}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "looking", "annotations": []}],
}
CALLS = [
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": '{"p": 1}'},
    {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "ls", "arguments": "{}"},
]
OUTPUTS = [
    {"type": "function_call_output", "call_id": "a", "output": "README.md"},
    {"type": "function_call_output", "call_id": "b", "output": "LICENSE"},
]


def _stripped(items: list[Any]) -> list[Message]:
    return [replace(message, origin=None) for message in WIRE.read(items)[0]]


def test_one_turn_of_the_model_is_one_message() -> None:
    """So that no cut parts a call from its reasoning."""
    items = [{"role": "user", "content": "go"}, REASONING, SAID, *CALLS, *OUTPUTS]
    messages, notes = WIRE.read(items)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool"]
    turn = messages[1]
    assert [type(part).__name__ for part in turn.parts] == [
        "Thinking",
        "Text",
        "ToolCall",
        "ToolCall",
    ]
    assert turn.origin is not None
    assert turn.origin.raws == (REASONING, SAID, *CALLS)
    assert notes == []


def test_a_built_turn_gives_the_items_back() -> None:
    """Encrypted reasoning and item ids to the byte."""
    items = [{"role": "user", "content": "go"}, REASONING, SAID, *CALLS, *OUTPUTS]
    assert WIRE.write(_stripped(items)) == items


def test_summaries_of_reasoning_are_its_text() -> None:
    """However many there are, they go back as they were."""
    summary = [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "then"}]
    items = [{**REASONING, "summary": summary}]
    [message] = _stripped(items)
    assert isinstance(thinking := message.parts[0], Thinking)
    assert (thinking.text, thinking.signature) == ("first\n\nthen", "gAAA==")
    assert WIRE.write([message]) == items


def test_free_form_and_built_in_calls_pair_with_their_outputs() -> None:
    """An edit that takes one must be able to find the other."""
    items = [
        {"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": "*** Begin"},
        {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "Done"},
        {"type": "shell_call_output", "call_id": "b", "output": [{"stdout": "README.md"}]},
    ]
    turn, patched, listed = _stripped(items)
    assert [(call.id, call.name) for call in turn.calls] == [("a", "apply_patch"), ("b", "shell")]
    assert turn.calls[0].arguments == "*** Begin"
    assert (patched.answers, listed.answers) == ("a", "b")
    assert WIRE.write([turn, patched, listed]) == items


def test_what_the_provider_ran_itself_stays_in_the_turn() -> None:
    """A search of the web has no output of ours."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    [message] = _stripped([REASONING, search, SAID])
    assert isinstance(message.parts[1], Opaque)
    assert WIRE.write([message]) == [REASONING, search, SAID]


def test_pictures_stay_in_the_output() -> None:
    """This dialect has a place for them."""
    output = [
        {"type": "input_text", "text": "a dog"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
    ]
    items = [{"type": "function_call_output", "call_id": "a", "output": output}]
    [message] = _stripped(items)
    assert message.parts == (Text("a dog"), Media("image/png", "QUJD"))
    assert WIRE.write([message]) == items


def test_a_plain_message_of_the_model_is_its_text_alone() -> None:
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    [message] = _stripped([said])
    assert message.parts == (Text("Hi."),)
