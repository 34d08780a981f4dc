"""Anthropic's dialect by example."""

from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.anthropic import AnthropicWire, split_system

WIRE = AnthropicWire()
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
    return WIRE.read(items)[0]


def _stripped(*items: Any) -> list[Message]:  # noqa: ANN401 (JSON)
    return [replace(message, origin=None) for message in _read(*items)]


def test_each_result_is_a_message_and_the_rest_is_one() -> None:
    """All of them share the object they came from."""
    first, second, said = _read(ANSWERED)
    assert (first.role, first.answers, first.is_error, first.text) == ("tool", "a", True, "denied")
    assert second.parts == (Text("a dog"), Media("image/png", "QUJD"))
    assert (said.role, said.text) == ("user", "and hurry")
    shares = [m.origin.share for m in (first, second, said) if m.origin is not None]
    assert shares == [(0, 3), (1, 3), (2, 3)]


def test_built_results_of_a_batch_are_one_message_again() -> None:
    """With the user's words after them."""
    assert WIRE.write(_stripped(ASKED, ANSWERED)) == [ASKED, ANSWERED]


def test_a_share_that_was_edited_leaves_the_other_shares_as_they_are() -> None:
    """Only the edited result differs."""
    first, second, said = _read(ANSWERED)
    edited = replace(first, parts=(Text("shorter"),), origin=None)
    [written] = WIRE.write([edited, second, said])
    assert written["content"][0]["content"] == "shorter"
    assert written["content"][1:] == ANSWERED["content"][1:]


def test_a_missing_share_is_not_sent() -> None:
    """The whole object would bring it back."""
    first, second, said = _read(ANSWERED)
    [without_first] = WIRE.write([second, said])
    [without_last] = WIRE.write([first, second])
    assert [block["type"] for block in without_first["content"]] == ["tool_result", "text"]
    assert [block["type"] for block in without_last["content"]] == ["tool_result", "tool_result"]


def test_shares_in_another_order_are_sent_in_that_order() -> None:
    """The whole object would undo it."""
    first, second, said = _read(ANSWERED)
    last = replace(said, parts=second.parts, role="tool", answers="c")
    [written] = WIRE.write([first, last, second])
    assert [block.get("tool_use_id") for block in written["content"]] == ["a", "c", "b"]


def test_results_stand_before_what_the_user_said_meanwhile() -> None:
    """Anthropic demands it, whenever the words came."""
    said, result = Message("user", (Text("hurry"),)), Message("tool", (Text("ok"),), answers="a")
    [written] = WIRE.write([said, result])
    assert [block["type"] for block in written["content"]] == ["tool_result", "text"]


def test_thinking_is_signed_and_only_ours_is_sent() -> None:
    """Anthropic rejects a signature it did not make."""
    foreign = Message(
        "assistant", (Thinking("hm", "gAAA==", '{"openai-responses": {}}'), Text("ok"))
    )
    unsigned = Message("assistant", (Thinking("hm"),))
    assert WIRE.write(_stripped(ASKED)) == [ASKED]
    assert WIRE.write([foreign]) == [{"role": "assistant", "content": "ok"}]
    assert WIRE.write([unsigned]) == []
    never_signed = {"type": "thinking", "thinking": "hm"}
    assert WIRE.write(_stripped({"role": "assistant", "content": [never_signed]})) == []


def test_blank_text_is_not_sent() -> None:
    """Anthropic refuses it."""
    assert WIRE.write([Message("user", (Text(" "), Text("hi")))]) == [
        {"role": "user", "content": "hi"}
    ]


def test_an_untouched_message_joins_a_new_neighbour_block_by_block() -> None:
    """Its blocks are the very same, so the cached prefix holds."""
    reminder = Message("user", (Text("Mind the todos."),), kind="injected")
    [written] = WIRE.write([*_read(ANSWERED), reminder])
    blocks = zip(written["content"], ANSWERED["content"], strict=False)
    assert all(after is before for after, before in blocks)
    assert written["content"][-1] == {"type": "text", "text": "Mind the todos."}


def test_neighbours_that_were_parted_by_what_is_gone_are_joined() -> None:
    """As after a compaction between them."""
    first, _, third = _read(
        {"role": "user", "content": "one"}, ASKED, {"role": "user", "content": "two"}
    )
    [written] = WIRE.write([first, third])
    assert [block["text"] for block in written["content"]] == ["one", "two"]


def test_the_system_prompt_stands_at_the_head_and_later_ones_are_the_users() -> None:
    """Anthropic takes it as a parameter."""
    system, late = Message("system", (Text("Be brief."),)), Message("system", (Text("Be exact."),))
    items = WIRE.write([system, Message("user", (Text("hi"),)), late])
    assert [item["role"] for item in items] == ["system", "user"]
    prompt, messages = split_system(items)
    assert prompt == "Be brief."
    assert [block["text"] for block in messages[0]["content"]] == ["hi", "Be exact."]


def test_several_system_items_become_blocks_of_one_prompt() -> None:
    """A cache mark on one of them is kept there."""
    cached = {"type": "text", "text": "B", "cache_control": {"type": "ephemeral"}}
    items = [{"role": "system", "content": "A"}, {"role": "system", "content": [cached]}]
    assert split_system(items) == ([{"type": "text", "text": "A"}, cached], [])


def test_arguments_that_are_no_object_are_sent_as_raw() -> None:
    """Anthropic takes objects only; the model sees what it wrote."""
    calls = tuple(ToolCall(f"c{k}", "ls", text) for k, text in enumerate(['{"a', "[1]", "", "{}"]))
    [written] = WIRE.write([Message("assistant", calls)])
    assert [b["input"] for b in written["content"]] == [{"_raw": '{"a'}, {"_raw": "[1]"}, {}, {}]


def test_what_the_provider_ran_itself_stays_with_its_result() -> None:
    """Both are blocks of one message, and go to no other dialect."""
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "dog"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    items = [{"role": "assistant", "content": blocks}]
    messages, notes = WIRE.read(items)
    assert [type(part) for part in messages[0].parts] == [Opaque, Opaque]
    assert notes == []
    assert WIRE.write(_stripped(*items)) == items


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
    items = [{"role": "user", "content": blocks}]
    [message] = _stripped(*items)
    assert [type(part) for part in message.parts] == [Media, Media, Text]
    assert message.text == "It rains."
    assert WIRE.write([message]) == items


def test_an_error_without_a_word_still_says_so() -> None:
    """Anthropic refuses an empty error."""
    [written] = WIRE.write([Message("tool", (), answers="a", is_error=True)])
    assert written["content"][0]["content"] == "error"


RESPONSE = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "container": None,
    "context_management": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


def test_a_response_goes_out_as_a_message_a_request_may_hold() -> None:
    """With the very content it came with; a request refuses every field but two."""
    (written,) = WIRE.write(_read(RESPONSE))

    assert written == {"role": "assistant", "content": RESPONSE["content"]}
    assert written["content"] is RESPONSE["content"]
    assert WIRE.write(_stripped(RESPONSE)) == [{"role": "assistant", "content": "Done."}]


def test_responses_that_are_joined_keep_no_field_of_a_response() -> None:
    """Neither those that came as they are nor those that were built."""
    hello = {"role": "user", "content": "hi"}
    messages = _read(RESPONSE)
    for others in (_read(hello, hello, RESPONSE)[2:], _stripped(RESPONSE)):
        (written,) = WIRE.write([*messages, *others])
        assert written.keys() == {"role", "content"}


def test_a_response_keeps_in_the_log_what_a_request_may_not_hold() -> None:
    """Its id and its tokens, and the fields themselves."""
    (message,) = _read(RESPONSE)
    assert (message.uid, message.usage) == ("msg_01", Usage(3, output=2))
    assert "stop_reason" in message.extra


def test_a_system_message_among_the_others_keeps_its_role_and_a_place_where_it_is_taken() -> None:
    """After the user's turn and before the model's; without a user's turn it becomes one."""

    def roles(*given: str) -> list[str]:
        items = [{"role": role, "content": f"{role} {k}"} for k, role in enumerate(given)]
        read, _ = WIRE.read(items)
        written = WIRE.write(read)
        assert written == WIRE.write([replace(message, origin=None) for message in read])
        return [item["role"] for item in written]

    assert roles("system", "user", "system", "assistant") == [
        "system", "user", "system", "assistant",
    ]  # fmt: skip
    assert roles("user", "assistant", "system", "user") == ["user", "assistant", "user", "system"]
    assert roles("user", "system", "system", "assistant") == ["user", "system", "assistant"]
    assert roles("user", "assistant", "system") == ["user", "assistant", "user"]
