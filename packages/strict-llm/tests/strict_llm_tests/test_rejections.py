"""Each thing that the strict provider refuses, as the SDK of its provider raises it."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from strict_llm import Answer, Model, StrictProvider, brief

Object = dict[str, Any]

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and a pixel").decode()
HI: Object = {"role": "user", "content": "hi"}


@pytest.fixture(scope="module")
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=10_000) as provider:
        yield provider


@pytest.fixture(autouse=True)
def plain_answers(provider: StrictProvider) -> None:
    """Undo what an earlier test asked of the provider they share."""
    provider.answer, provider.models = brief, {}


@pytest.fixture(scope="module")
def gpt(provider: StrictProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=provider.openai_url, api_key="x", max_retries=0, timeout=20
    ) as client:
        yield client


@pytest.fixture(scope="module")
def claude(provider: StrictProvider) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=provider.anthropic_url, api_key="x", max_retries=0, timeout=20
    ) as client:
        yield client


def chat(client: openai.OpenAI, messages: list[Object], **fields: object) -> Object:
    """Send messages as they are, regardless of the SDK's types."""
    body = {"model": "strict-1", "messages": messages, **fields}
    return said(client.post("/chat/completions", body=body, cast_to=object))


def respond(client: openai.OpenAI, items: list[Object], **fields: object) -> Object:
    """Send items as they are."""
    body = {"model": "strict-1", "input": items, **fields}
    return said(client.post("/responses", body=body, cast_to=object))


def ask(client: anthropic.Anthropic, messages: list[Object], **fields: object) -> Object:
    """Send messages to Anthropic as they are."""
    body = {"model": "strict-1", "messages": messages, "max_tokens": 100, **fields}
    return said(client.post("/v1/messages", body=body, cast_to=object))


def said(answer: object) -> Object:
    assert isinstance(answer, dict)
    return answer


def asks(*ids: str, **changed: Any) -> Object:  # noqa: ANN401 (any field)
    """Write a chat message that calls tools."""
    function = {"name": "ls", "arguments": "{}", **changed}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(call_id: str, content: object = "ok") -> Object:
    """Write a chat message that answers a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def image(url: str) -> Object:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)
CHAT: dict[str, tuple[list[Object], str, str | None]] = {
    "a result without a call before it": (
        [HI, told("c1")],
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
        None,
    ),
    "a result of another call": ([HI, asks("c1"), told("c2")], "'c2' not found", None),
    "a call that nobody answers": ([HI, asks("c1")], UNANSWERED + "c1", None),
    "a batch answered in part": (
        [HI, asks("c1", "c2"), told("c1"), HI],
        UNANSWERED + "c2",
        None,
    ),
    "an answer after another message": (
        [HI, asks("c1"), HI, told("c1")],
        UNANSWERED + "c1",
        None,
    ),
    "two answers to one call": (
        [HI, asks("c1"), told("c1"), told("c1")],
        "Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[3]",
        None,
    ),
    "two calls with one id": ([HI, asks("c1", "c1"), told("c1")], "Duplicate value for 'id'", None),
    "an id of 41 characters": (
        [HI, asks("c" * 41), told("c" * 41)],
        "Expected a string with maximum length 40, but got a string with length 41",
        "string_above_max_length",
    ),
    "a role that there is not": ([{"role": "robot", "content": "x"}], "'robot'", "invalid_value"),
    "no messages": ([], "empty array", "empty_array"),
    "messages that are a text": (
        "hi",  # type: ignore[dict-item]  # wrong on purpose
        "Invalid type for 'messages': expected an array of objects, but got a string instead.",
        "invalid_type",
    ),
    "no content": ([{"role": "user"}], "expected a string, got null", None),
    "an assistant that says nothing": (
        [HI, {"role": "assistant", "content": None}],
        "expected a string, got null",
        None,
    ),
    "arguments that are an object": (
        [HI, asks("c1", arguments={"path": "."}), told("c1")],
        "'messages[1].tool_calls[0].function.arguments': expected a string, but got an object",
        "invalid_type",
    ),
    "a function name with a dot": (
        [HI, asks("c1", name="fs.ls"), told("c1")],
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'",
        "invalid_value",
    ),
    "a function name of 65 characters": (
        [HI, asks("c1", name="n" * 65), told("c1")],
        "maximum length 64",
        "string_above_max_length",
    ),
    "a field that there is not": (
        [{**HI, "uuid": "7"}],
        "Unknown parameter: 'messages[0].uuid'",
        "unknown_parameter",
    ),
    "an image that is no data URL": (
        [image("AAAA")],
        "but got a value without the 'data:' prefix",
        "invalid_value",
    ),
    "an image of another type": (
        [image(f"data:image/tiff;base64,{PIXEL}")],
        "unsupported MIME type 'image/tiff'",
        "invalid_value",
    ),
    "an image without bytes": (
        [image("data:image/png;base64,")],
        "but got empty base64-encoded bytes",
        "invalid_value",
    ),
    "an image that is not base64": (
        [image("data:image/png;base64,***")],
        "an invalid base64-encoded value",
        "invalid_value",
    ),
    "an image in a result": (
        [HI, asks("c1"), told("c1", image("x")["content"])],
        "Supported values are: 'text'",
        "invalid_value",
    ),
    "more than the window holds": (
        [{"role": "user", "content": "word " * 10_000}],
        (
            "This model's maximum context length is 10000 tokens. However, your messages "
            "resulted in 10008 tokens."
        ),
        "context_length_exceeded",
    ),
}


@pytest.mark.parametrize("case", CHAT)
def test_openai_chat_refuses(gpt: openai.OpenAI, provider: StrictProvider, case: str) -> None:
    messages, words, code = CHAT[case]
    with pytest.raises(openai.BadRequestError) as refused:
        chat(gpt, messages)
    error = refused.value.body
    assert isinstance(error, dict)
    assert words in error["message"]
    assert error["type"] == "invalid_request_error"
    assert error["code"] == code
    assert provider.requests[-1].status == 400
    assert provider.requests[-1].problems[0] == error["message"]


def test_openai_chat_adds_the_completion_to_the_window(gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="8 in the messages, 10000 in the completion"):
        chat(gpt, [HI], max_tokens=10_000)


def test_openai_refuses_a_body_of_more_than_50_megabytes(gpt: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        gpt.responses.create(model="strict-1", input="x" * 52_428_800)
    assert refused.value.status_code == 413


def test_a_request_without_a_key_is_refused(provider: StrictProvider) -> None:
    with (
        openai.OpenAI(base_url=provider.openai_url, api_key="x", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="You didn't provide an API key"),
    ):
        client.responses.create(model="m", input="hi", extra_headers={"Authorization": "no"})


def item(kind: str, **fields: object) -> Object:
    return {"type": kind, **fields}


def call(call_id: str, **fields: object) -> Object:
    return item("function_call", **{"call_id": call_id, "name": "ls", "arguments": "{}", **fields})


def output(call_id: str) -> Object:
    return item("function_call_output", call_id=call_id, output="ok")


def thought(item_id: str, **fields: object) -> Object:
    return item("reasoning", id=item_id, summary=[], **fields)


RESPONSES: dict[str, tuple[list[Object], str, str | None]] = {
    "an output without its call": (
        [HI, output("c1")],
        "No tool call found for function call output with call_id c1.",
        None,
    ),
    "an output before its call": ([HI, output("c1"), call("c1")], "No tool call found", None),
    "a call without its output": (
        [HI, call("c1")],
        "No tool output found for function call c1.",
        None,
    ),
    "one item twice": (
        [HI, call("c1", id="fc_1"), output("c1"), call("c2", id="fc_1"), output("c2")],
        "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
        None,
    ),
    "one call twice": ([HI, call("c1"), call("c1"), output("c1")], "call_id c1", None),
    "an id of another kind": (
        [HI, call("c1", id="call_1"), output("c1")],
        "Expected an ID that begins with 'fc'.",
        "invalid_value",
    ),
    "a call id of 65 characters": (
        [HI, call("c" * 65), output("c" * 65)],
        "maximum length 64",
        "string_above_max_length",
    ),
    "arguments that are an object": (
        [HI, call("c1", arguments={}), output("c1")],
        "'input[1].arguments': expected a string, but got an object",
        "invalid_type",
    ),
    "a part of the wrong speaker": (
        [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}],
        "Supported values are: 'input_text', 'input_image' and 'input_file'.",
        "invalid_value",
    ),
    "an item that there is not": ([item("thought")], "Invalid value: 'thought'", "invalid_value"),
    "a field that there is not": (
        [{**HI, "index": 0}],
        "Unknown parameter: 'input[0].index'.",
        "unknown_parameter",
    ),
    "sealed reasoning that was changed": (
        [HI, thought("rs_1", encrypted_content="gAAAAAchanged"), HI],
        "The encrypted content for item rs_1 could not be verified.",
        "invalid_encrypted_content",
    ),
    "an image that is no data URL": (
        [{"role": "user", "content": [item("input_image", image_url="AAAA")]}],
        "without the 'data:' prefix",
        "invalid_value",
    ),
    "nothing": ([], "empty array", "empty_array"),
    "more than the window holds": (
        [{"role": "user", "content": "word " * 10_000}],
        "Your input exceeds the context window of this model.",
        "context_length_exceeded",
    ),
}


@pytest.mark.parametrize("case", RESPONSES)
def test_openai_responses_refuses(gpt: openai.OpenAI, case: str) -> None:
    given, words, code = RESPONSES[case]
    with pytest.raises(openai.BadRequestError) as refused:
        respond(gpt, given)
    error = refused.value.body
    assert isinstance(error, dict)
    assert words in error["message"]
    assert error["code"] == code


def test_openai_responses_keeps_reasoning_with_what_it_led_to(
    gpt: openai.OpenAI, provider: StrictProvider
) -> None:
    provider.answer = lambda _request: Answer(thinking="hm", calls=(("ls", {}),))
    reasoning, called = respond(gpt, [HI])["output"]
    done = output(called["call_id"])

    respond(gpt, [HI, reasoning, called, done])
    with pytest.raises(openai.BadRequestError, match="without its required following item"):
        respond(gpt, [HI, reasoning, HI])
    other = {**called, "id": "fc_other"}
    with pytest.raises(openai.BadRequestError, match="without its required following item"):
        respond(gpt, [HI, reasoning, other, done])
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        respond(gpt, [HI, called, done])


def test_openai_responses_knows_no_reasoning_it_did_not_store(
    gpt: openai.OpenAI, provider: StrictProvider
) -> None:
    provider.answer = lambda _request: Answer("hello", thinking="hm")
    items = respond(gpt, [HI], store=False)["output"]
    with pytest.raises(openai.NotFoundError, match="Items are not persisted when `store`"):
        respond(gpt, [*items, HI])


def uses(*ids: str) -> Object:
    blocks = [{"type": "tool_use", "id": one, "name": "ls", "input": {}} for one in ids]
    return {"role": "assistant", "content": blocks}


def results(*ids: str, first: tuple[Object, ...] = ()) -> Object:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids]
    return {"role": "user", "content": [*first, *blocks]}


def text(words: str, **fields: object) -> Object:
    return {"type": "text", "text": words, **fields}


def picture(data: str = PIXEL, kind: str = "image/png") -> Object:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def of_user(*blocks: Object) -> Object:
    return {"role": "user", "content": list(blocks)}


WITHOUT_RESULT = "`tool_use` ids were found without `tool_result` blocks immediately after: "
CACHED: Object = {"cache_control": {"type": "ephemeral"}}
ANTHROPIC: dict[str, tuple[list[Object], str]] = {
    "a beginning of the model": (
        [{"role": "assistant", "content": "hi"}, HI],
        'messages: first message must use the "user" role',
    ),
    "no messages": ([], "messages: at least one message is required"),
    "a system message": ([{"role": "system", "content": "x"}], 'Unexpected role "system"'),
    "a role that there is not": (
        [{"role": "tool", "content": "x"}],
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "a use without its result": (
        [HI, uses("t1", "t2"), results("t1"), HI],
        (
            f"messages.1: {WITHOUT_RESULT}t2. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        ),
    ),
    "a use at the end": ([HI, uses("t1")], f"messages.1: {WITHOUT_RESULT}t1."),
    "a text before the results": (
        [HI, uses("t1"), results("t1", first=(text("so:"),))],
        f"messages.1: {WITHOUT_RESULT}t1.",
    ),
    "a result without its use": (
        [HI, uses("t1"), results("t1"), {"role": "assistant", "content": "ok"}, results("t1")],
        (
            "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        ),
    ),
    "a result twice": (
        [HI, uses("t1"), results("t1", "t1")],
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    "a use twice": (
        [HI, uses("t1"), results("t1"), uses("t1"), results("t1")],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "an id with a colon": (
        [HI, uses("ls:1"), results("ls:1")],
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "an empty text": ([of_user(text(""))], "messages: text content blocks must be non-empty"),
    "a blank text": (
        [of_user(text(" \n"))],
        "messages: text content blocks must contain non-whitespace text",
    ),
    "an empty message": (
        [HI, {"role": "assistant", "content": []}, HI],
        "messages.1: all messages must have non-empty content except for the optional final",
    ),
    "a prefill that ends in a space": (
        [HI, {"role": "assistant", "content": "I say "}],
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "thinking that another signed": (
        [
            HI,
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, text("ok")],
            },
            HI,
        ],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "five breakpoints": (
        [of_user(*(text(word, **CACHED) for word in "abcde"))],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour after five minutes": (
        [of_user(text("a", **CACHED), text("b", cache_control={"type": "ephemeral", "ttl": "1h"}))],
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ),
    "101 images": (
        [of_user(*[picture()] * 101)],
        "too many images and documents: 101 + 0 > 100",
    ),
    "an image over 5 MB": (
        [of_user(picture("A" * 5_242_884))],
        "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes",
    ),
    "an image of another type": ([of_user(picture(kind="image/tiff"))], "Input should be 'image/"),
    "an image that is not base64": ([of_user(picture("***"))], "invalid base64 data"),
    "a field of a response": (
        [HI, {"role": "assistant", "content": "ok", "stop_reason": "end_turn"}, HI],
        "messages.1.stop_reason: Extra inputs are not permitted",
    ),
    "a block of the wrong speaker": (
        [of_user(uses("t1")["content"][0])],
        "messages.0.content.0: Input tag 'tool_use' found using 'type' does not match any of",
    ),
    "more than the window holds": (
        [{"role": "user", "content": "word " * 10_000}],
        "prompt is too long: 10008 tokens > 10000 maximum",
    ),
    "no room for the output": (
        [{"role": "user", "content": "word " * 9_950}],
        (
            "input length and `max_tokens` exceed context limit: 9958 + 100 > 10000, decrease "
            "input length or `max_tokens` and try again"
        ),
    ),
}


@pytest.mark.parametrize("case", ANTHROPIC)
def test_anthropic_refuses(claude: anthropic.Anthropic, case: str) -> None:
    messages, words = ANTHROPIC[case]
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(claude, messages)
    body = refused.value.body
    assert isinstance(body, dict)
    assert body["type"] == "error"
    assert body["error"]["type"] == "invalid_request_error"
    assert words in body["error"]["message"]


def test_anthropic_demands_max_tokens(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Field required"):
        claude.post("/v1/messages", body={"model": "m", "messages": [HI]}, cast_to=object)


def test_anthropic_refuses_a_body_of_more_than_32_megabytes(claude: anthropic.Anthropic) -> None:
    large = {"role": "user", "content": "x" * 33_554_432}
    with pytest.raises(anthropic.RequestTooLargeError, match="Request exceeds the maximum size"):
        ask(claude, [large])


def test_anthropic_notices_one_changed_byte_of_thinking(
    claude: anthropic.Anthropic, provider: StrictProvider
) -> None:
    provider.answer = lambda _request: Answer("ok", thinking="The user greets me.")
    thinking, words = ask(claude, [HI])["content"]
    ask(claude, [HI, {"role": "assistant", "content": [thinking, words]}, HI])
    altered = {**thinking, "thinking": "The user greets me!"}
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
        ask(claude, [HI, {"role": "assistant", "content": [altered, words]}, HI])


def test_anthropic_demands_that_a_thinking_turn_begins_with_thinking(
    claude: anthropic.Anthropic,
) -> None:
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking` or"):
        ask(
            claude,
            [HI, uses("t1"), results("t1")],
            max_tokens=2_000,
            thinking={"type": "enabled", "budget_tokens": 1_024},
        )


def test_anthropic_joins_neighbours_of_one_role(claude: anthropic.Anthropic) -> None:
    messages = [HI, HI, uses("t1"), uses("t2"), results("t1"), results("t2"), HI]
    ask(claude, messages)


def test_a_request_of_exactly_the_window_fits_and_one_token_more_does_not(
    gpt: openai.OpenAI, claude: anthropic.Anthropic, provider: StrictProvider
) -> None:
    long: Object = {"role": "user", "content": "word " * 900}
    tokens = provider.count("openai-chat", {"messages": [long]})
    sizes = {"chat": tokens, "responses": tokens, "anthropic": tokens + 100}
    for less in (0, 1):
        provider.models = {name: Model(window=size - less) for name, size in sizes.items()}
        attempts: list[Callable[[], Object]] = [
            lambda: chat(gpt, [long], model="chat"),
            lambda: respond(gpt, [long], model="responses"),
            lambda: ask(claude, [long], model="anthropic"),
        ]
        for attempt in attempts:
            if less:
                with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
                    attempt()
            else:
                attempt()
