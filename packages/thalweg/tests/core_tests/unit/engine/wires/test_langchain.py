"""LangChain's messages by example."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from thalweg.engine.entries import Media, Message, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.fields import to_json
from thalweg.engine.wires.langchain import LangChainWire, read_dumped

WIRE = LangChainWire()
ASKED = AIMessage(
    [
        {"type": "thinking", "thinking": "Both at once.", "signature": "EqQB=="},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
        {"type": "tool_use", "id": "b", "name": "see", "input": {}},
    ],
    id="run-1",
    tool_calls=[
        {"id": "a", "name": "ls", "args": {"path": "."}, "type": "tool_call"},
        {"id": "b", "name": "see", "args": {}, "type": "tool_call"},
    ],
    usage_metadata={
        "input_tokens": 100,
        "output_tokens": 7,
        "total_tokens": 107,
        "input_token_details": {"cache_read": 80, "cache_creation": 15},
    },
)
DENIED = ToolMessage("denied", tool_call_id="a", name="ls", status="error", artifact={"code": 13})
SEEN = ToolMessage(
    [
        {"type": "text", "text": "a dog"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    ],
    tool_call_id="b",
)


def _stripped(*items: BaseMessage) -> list[Message]:
    return [replace(message, origin=None) for message in WIRE.read(items)[0]]


def test_a_call_that_the_content_repeats_is_one_call_in_its_place() -> None:
    """ChatAnthropic keeps calls twice."""
    [message] = _stripped(ASKED)
    assert [type(part) for part in message.parts] == [Thinking, Text, ToolCall, ToolCall]
    assert message.calls[0].arguments == '{"path": "."}'
    assert WIRE.write([message]) == [ASKED]


def test_an_edit_of_a_call_reaches_both_places() -> None:
    """Otherwise the long arguments would still be sent."""
    [message] = _stripped(ASKED)
    call = replace(message.calls[0], arguments='{"path": "…"}')
    [written] = WIRE.write([replace(message, parts=(message.parts[1], call))])
    assert written.tool_calls[0]["args"] == {"path": "…"}
    assert written.content[1]["input"] == {"path": "…"}


def test_usage_counts_cached_tokens_as_input() -> None:
    """As LangChain does."""
    assert _stripped(ASKED)[0].usage == Usage(input=100, cached=80, written=15, output=7)


def test_results_keep_status_artifact_and_pictures() -> None:
    """What the model is not shown belongs to the application."""
    denied, seen = _stripped(DENIED, SEEN)
    assert (denied.answers, denied.name, denied.is_error) == ("a", "ls", True)
    assert (seen.text, seen.parts[1]) == (
        "a dog",
        Media("image/png", "QUJD", extra=getattr(seen.parts[1], "extra", "")),
    )
    assert WIRE.write([denied, seen]) == [DENIED, SEEN]


def test_an_artifact_that_is_not_json_stays_with_its_origin() -> None:
    """It may be any object of the tool's own."""
    item = ToolMessage("ok", tool_call_id="a", artifact=object())
    messages, notes = WIRE.read([item])
    assert WIRE.write(messages)[0] is item
    assert [note.code for note in notes] == ["artifact"]


class NoTruth:
    """Has no truth value, like an array of several numbers."""

    def __bool__(self) -> bool:
        """Refuse."""
        msg = "ambiguous"
        raise ValueError(msg)


def test_the_truth_of_an_artifact_is_never_taken() -> None:
    (_,), notes = WIRE.read([ToolMessage("ok", tool_call_id="a", artifact=NoTruth())])
    assert [note.code for note in notes] == ["artifact"]


def test_invalid_calls_are_calls_with_the_text_the_model_wrote() -> None:
    """They may have been answered with an error."""
    item = AIMessage(
        "",
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "id": "a", "name": "ls", "args": '{"p', "error": "cut"}
        ],
    )
    [message] = _stripped(item)
    assert (message.calls[0].id, message.calls[0].arguments) == ("a", '{"p')
    assert WIRE.write([message]) == [item]


def test_broken_arguments_of_another_dialect_are_sent_as_raw() -> None:
    """Every call must remain one, for its result is there."""
    [written] = WIRE.write([Message("assistant", (ToolCall("a", "ls", '{"p'),))])
    assert written.tool_calls[0]["args"] == {"_raw": '{"p'}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "redacted_thinking", "data": "Ew=="},
        {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "AA=="}},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "gAAA==",
        },
        {"type": "image", "base64": "QUJD", "mime_type": "image/png"},
        {"type": "image", "url": "https://example.org/a.png"},
        {"type": "image", "source_type": "base64", "data": "QUJD", "mime_type": "image/png"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
        },
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD"}},
        {"type": "text", "text": "cited", "citations": [{"url": "https://example.org"}]},
        {"type": "unheard_of", "value": 1},
    ],
)
def test_blocks_of_every_provider_go_back_as_they_came(block: dict[str, Any]) -> None:
    """LangChain passes them through; so do we."""
    item = AIMessage([{"type": "text", "text": "so"}, block])
    assert WIRE.write(_stripped(item)) == [item]


def test_reasoning_beside_the_content_goes_back_there() -> None:
    """DeepSeek and others put it among the additional arguments."""
    item = AIMessage("42", additional_kwargs={"reasoning_content": "6 x 7", "flag": True})
    [message] = _stripped(item)
    assert isinstance(message.parts[0], Thinking)
    assert WIRE.write([message]) == [item]


@pytest.mark.parametrize(
    ("item", "role"),
    [
        (HumanMessage("hi", id="1", name="Ada"), "user"),
        (SystemMessage("Be brief."), "system"),
        (FunctionMessage(content="README.md", name="ls"), "tool"),
        (ChatMessage(content="hi", role="assistant"), "assistant"),
        (ChatMessage(content="hi", role="narrator"), "user"),
    ],
)
def test_every_kind_of_message_goes_back_as_its_own(item: BaseMessage, role: str) -> None:
    """The older kinds, too."""
    [message] = _stripped(item)
    assert (message.role, message.parts) == (role, (Text(str(item.content)),))
    assert WIRE.write([message]) == [item]


def test_a_streamed_message_is_the_message() -> None:
    """Chunks add up to one."""
    chunk = AIMessageChunk(
        content="hi",
        tool_call_chunks=[
            {"type": "tool_call_chunk", "index": 0, "id": "a", "name": "ls", "args": "{}"}
        ],
    )
    [message] = _stripped(chunk)
    assert (message.role, message.text, message.calls[0].name) == ("assistant", "hi", "ls")


def test_an_instruction_to_the_graph_is_no_message() -> None:
    """It passes through untouched."""
    item = RemoveMessage(id="1")
    messages, notes = WIRE.read([item])
    assert WIRE.write(messages)[0] is item
    assert [note.code for note in notes] == ["not_a_message"]


def test_every_form_that_messages_are_kept_in_is_read_alike() -> None:
    """`messages_to_dict`, the flat form of LangGraph's server, and the constructor form."""
    items = [HumanMessage("go"), ASKED, DENIED, SEEN]
    kept = messages_to_dict(items)
    flat = [message.model_dump() for message in items]
    constructors = [message.to_json() for message in items]
    expected = [replace(message, line=line) for line, message in enumerate(_stripped(*items))]
    for form in (kept, flat, constructors):
        messages, notes = read_dumped(form)
        assert messages == expected
        assert notes == []
        assert WIRE.write(messages) == items


def test_fields_that_langchain_refuses_are_left_out_of_what_is_built() -> None:
    """A request must be made of an odd recording, too."""
    odd = {"type": "system", "content": "Be brief.", "name": [None], "response_metadata": "x"}
    messages, _ = read_dumped([odd])
    assert WIRE.write(messages) == [SystemMessage("Be brief.")]


def test_an_integer_that_python_does_not_write_is_no_error() -> None:
    """Such an artifact made every later request of the thread fail."""
    assert "dict object" in to_json({"n": 10**5000})
