"""The strict provider takes what is valid from LangChain's own clients, and fails as ordered."""

import asyncio
import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from strict_llm import Answer, FaultName, Finish, Model, Request, StrictProvider
from strict_llm.counting import TokenCounter
from strict_llm_tests.chat_models import WIRES, chat_model, run_async

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and a pixel").decode()


@tool
def read(path: str) -> str:
    """Read a file."""
    return path


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider() as provider:
        yield provider


def looks_twice(request: Request) -> Answer:
    """Ask for two files, then for one more, then answer."""
    assert request.ends_in_result == (request.number > 0)
    match request.number:
        case 0:
            calls = (("read", {"path": "a.py"}), ("read", {"path": "b.py"}))
            return Answer("I read both.", calls, thinking="Two files are named.")
        case 1:
            return Answer(calls=(("read", {"path": "c.py"}),), thinking="One more.")
        case _:
            return Answer("All three are fine.")


def begin() -> list[BaseMessage]:
    picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    request: list[str | dict[str, Any]] = [{"type": "text", "text": "Compare the files."}, picture]
    return [SystemMessage("Be brief."), HumanMessage(request)]


def answered(message: AIMessage) -> list[BaseMessage]:
    """Return a message and the results of its calls."""
    results = [
        ToolMessage(f"text of {c['args']['path']}", tool_call_id=c["id"])
        for c in message.tool_calls
    ]
    return [message, *results]


def check(provider: StrictProvider, history: list[BaseMessage]) -> None:
    assert history[-1].text == "All three are fine."
    called = [
        call["args"]["path"] for m in history if isinstance(m, AIMessage) for call in m.tool_calls
    ]
    assert called == ["a.py", "b.py", "c.py"]
    assert [seen.status for seen in provider.requests] == [200, 200, 200]
    assert not any(seen.problems for seen in provider.requests)
    for message, seen in zip(
        (m for m in history if isinstance(m, AIMessage)), provider.requests, strict=True
    ):
        assert message.usage_metadata is not None
        assert message.usage_metadata["input_tokens"] == seen.tokens
        assert message.usage_metadata["output_tokens"] == seen.output_tokens


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_loop_with_an_image_and_thinking_passes(provider: StrictProvider, wire: str) -> None:
    provider.answer = looks_twice
    history = begin()
    with chat_model(provider, wire) as model:
        for _ in range(3):
            message = model.bind_tools([read]).invoke(history)
            assert isinstance(message, AIMessage)
            history += answered(message)
    check(provider, history)


@pytest.mark.parametrize("wire", WIRES)
def test_a_streamed_tool_loop_passes(provider: StrictProvider, wire: str) -> None:
    provider.answer = looks_twice
    history = begin()
    with chat_model(provider, wire) as model:
        for _ in range(3):
            chunks = list(model.bind_tools([read]).stream(history))
            assert len(chunks) > 3
            history += answered(joined(chunks))
    check(provider, history)
    assert all(seen.stream for seen in provider.requests)


def joined(chunks: list[Any]) -> AIMessage:
    message = reduce(lambda one, other: one + other, chunks)
    assert isinstance(message, AIMessageChunk)
    return message


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_an_async_tool_loop_passes(provider: StrictProvider, wire: str, *, streamed: bool) -> None:
    provider.answer = looks_twice
    history = begin()
    with chat_model(provider, wire) as model:
        bound = model.bind_tools([read])

        async def talk() -> None:
            for _ in range(3):
                if streamed:
                    message: Any = joined([chunk async for chunk in bound.astream(history)])
                else:
                    message = await bound.ainvoke(history)
                history.extend(answered(message))

        run_async(model, talk)
    check(provider, history)


@pytest.mark.parametrize("wire", WIRES)
def test_a_script_reads_the_request(provider: StrictProvider, wire: str) -> None:
    read_of: list[Request] = []

    def script(request: Request) -> Answer:
        read_of.append(request)
        return Answer("ok")

    provider.answer = script
    with chat_model(provider, wire) as model:
        model.bind_tools([read]).invoke(begin())
    (request,) = read_of
    assert request.wire == wire
    assert [item["role"] for item in request.items] == ["system", "user"]
    assert request.last_text == "Compare the files."
    assert not request.ends_in_result
    assert [(each.name, each.description) for each in request.tools] == [("read", "Read a file.")]
    assert request.tools[0].schema["required"] == ["path"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("finish", "reasons"),
    [
        ("length", {"length", "incomplete", "max_tokens"}),
        ("refusal", {"stop", "completed", "refusal"}),
    ],
)
def test_an_answer_ends_as_the_script_says(
    provider: StrictProvider,
    wire: str,
    finish: Finish,
    reasons: set[str],
) -> None:
    provider.answer = lambda _request: Answer("I cannot", finish=finish)
    with chat_model(provider, wire) as model:
        said = model.invoke("hi").response_metadata
        streamed = joined(list(model.stream("hi"))).response_metadata
    for metadata in (said, streamed):
        assert {metadata.get(name) for name in ("finish_reason", "stop_reason", "status")} & reasons


OVERFLOWS = (openai.BadRequestError, ContextOverflowError)
"""What LangChain's clients raise; of OpenAI's the `code` states that it is the window."""


@pytest.mark.parametrize("wire", WIRES)
def test_a_context_that_overflows_says_so(provider: StrictProvider, wire: str) -> None:
    provider.window = 1_000
    with chat_model(provider, wire) as model, pytest.raises(OVERFLOWS) as refused:
        model.invoke("word " * 1_000)
    if wire == "anthropic":
        assert isinstance(refused.value, ContextOverflowError)
    else:
        assert getattr(refused.value, "code", "") == "context_length_exceeded"
    assert provider.requests[-1].tokens > 1_000


@pytest.mark.parametrize("wire", WIRES)
def test_the_window_and_the_count_can_be_changed_per_model(
    provider: StrictProvider, wire: str
) -> None:
    provider.inflation = 2.0
    provider.models["small"] = Model(window=1_100, inflation=1.0)
    words = "word " * 600
    with chat_model(provider, wire) as model, chat_model(provider, wire, model="small") as small:
        model.invoke(words)
        with pytest.raises(OVERFLOWS):
            small.invoke(words * 2)
    assert TokenCounter().text(words) == 601
    assert provider.requests[0].tokens == 2 * (601 + 4 + 3)
    assert provider.requests[1].tokens == 1_201 + 4 + 3


def grown(model: BaseChatModel, turns: int, **settings: Any) -> None:  # noqa: ANN401 (a request's)
    history: list[BaseMessage] = [SystemMessage("rule " * 1_100)]
    for turn in range(turns):
        history.append(HumanMessage(f"request {turn}"))
        history.append(model.invoke(history, **settings))


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_openai_caches_a_growing_prefix_in_steps_of_128(
    provider: StrictProvider, wire: str
) -> None:
    with chat_model(provider, wire) as model:
        grown(model, 12)
        first, *others = provider.requests
        assert first.cached_tokens == 0
        for before, seen in zip(provider.requests, others, strict=False):
            assert seen.cached_tokens == before.tokens - before.tokens % 128
        model.invoke("rule " * 1_100 + "another beginning")
        assert provider.requests[-1].cached_tokens == 0


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_openai_caches_nothing_short_nor_old(provider: StrictProvider, wire: str) -> None:
    now = [0.0]
    provider.clock = lambda: now[0]
    with chat_model(provider, wire) as model:
        for words, pause, hit in (
            ("short", 0, False),
            ("rule " * 1_100, 500, True),
            ("rule " * 1_100, 700, False),
        ):
            model.invoke(words)
            now[0] += pause
            model.invoke(words)
            assert (provider.requests[-1].cached_tokens > 0) is hit
            now[0] += 10_000


def test_anthropic_caches_up_to_the_breakpoint_and_reads_it_back(provider: StrictProvider) -> None:
    now = [0.0]
    provider.clock = lambda: now[0]
    mark = {"type": "ephemeral"}
    with chat_model(provider, "anthropic") as model:
        grown(model, 6, cache_control=mark)
        first, *others = provider.requests
        assert (first.cached_tokens, first.written_tokens) == (0, first.tokens)
        for before, seen in zip(provider.requests, others, strict=False):
            assert seen.cached_tokens == before.tokens
            assert seen.written_tokens == seen.tokens - before.tokens
        now[0] += 301
        grown(model, 1, cache_control=mark)
        assert provider.requests[-1].cached_tokens == 0


def test_anthropic_caches_nothing_without_a_breakpoint_or_before_1024_tokens(
    provider: StrictProvider,
) -> None:
    with chat_model(provider, "anthropic") as model:
        grown(model, 3)
        model.invoke("short", cache_control={"type": "ephemeral"})
    assert not any(seen.cached_tokens or seen.written_tokens for seen in provider.requests)


def test_anthropic_looks_back_over_20_blocks_and_no_further(provider: StrictProvider) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    long: dict[str, Any] = {"type": "text", "text": "rule " * 1_100}
    with chat_model(provider, "anthropic") as model:
        for added, hit in ((19, True), (20, False)):
            provider.cache.clear()
            more = [{"type": "text", "text": f"block {n}"} for n in range(added)]
            model.invoke([HumanMessage([{**long, **mark}])])
            model.invoke([HumanMessage([long, *more[:-1], {**more[-1], **mark}])])
            assert (provider.requests[-1].cached_tokens > 0) is hit


def test_anthropic_keeps_an_hour_where_it_is_asked_to(provider: StrictProvider) -> None:
    now = [0.0]
    provider.clock = lambda: now[0]
    hour = {"type": "ephemeral", "ttl": "1h"}
    with chat_model(provider, "anthropic") as model:
        grown(model, 1, cache_control=hour)
        now[0] += 3_500
        grown(model, 1, cache_control=hour)
        assert provider.requests[-1].cached_tokens > 0


STATUS: dict[FaultName, tuple[int, int]] = {
    "rate_limit": (429, 429),
    "overloaded": (503, 529),
    "server": (500, 500),
}
"""Of OpenAI and of Anthropic."""


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STATUS)
def test_an_ordered_error_is_what_the_sdk_raises(
    provider: StrictProvider,
    wire: str,
    name: FaultName,
    *,
    streamed: bool,
) -> None:
    provider.fail_next(name, seconds=7)
    status = STATUS[name][wire == "anthropic"]
    with chat_model(provider, wire) as model:
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as failed:
            list(model.stream("hi")) if streamed else model.invoke("hi")
        assert isinstance(failed.value, (openai.APIStatusError, anthropic.APIStatusError))
        assert failed.value.status_code == status
        assert failed.value.response.headers["retry-after"] == "7"
        assert model.invoke("hi").text
    assert [seen.status for seen in provider.requests] == [status, 200]
    assert [seen.fault for seen in provider.requests] == [name, ""]


@pytest.mark.parametrize("wire", WIRES)
def test_silence_is_the_sdks_timeout(provider: StrictProvider, wire: str) -> None:
    provider.fail_next("stall", seconds=30)
    with chat_model(provider, wire, timeout_s=0.3) as model:
        with pytest.raises((openai.APITimeoutError, anthropic.APITimeoutError)):
            model.invoke("hi")
        assert model.invoke("hi").text
    assert provider.requests[0].status == 0


@pytest.mark.parametrize("wire", WIRES)
def test_silence_shorter_than_the_timeout_passes(provider: StrictProvider, wire: str) -> None:
    provider.fail_next("stall", 2, seconds=0.05, after=0.5)
    with chat_model(provider, wire) as model:
        assert model.invoke("hi").text == "Understood, that was request 0."
        assert joined(list(model.stream("hi"))).text == "Understood, that was request 1."


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_cut_in_the_middle_is_the_clients_error(
    provider: StrictProvider, wire: str
) -> None:
    """The SDKs wrap a body that breaks; a stream that breaks they may pass on to their client."""
    provider.fail_next("cut", 2)
    wrapped = (openai.APIConnectionError, anthropic.APIConnectionError)
    with chat_model(provider, wire) as model:
        with pytest.raises(wrapped):
            model.invoke("hi")
        with pytest.raises((*wrapped, httpx2.RemoteProtocolError)):
            list(model.stream("hi"))
        assert model.invoke("hi").text


def test_a_fault_waits_for_its_wire(provider: StrictProvider) -> None:
    provider.fail_next("server", wire="anthropic")
    with chat_model(provider, "openai-chat") as gpt, chat_model(provider, "anthropic") as claude:
        assert gpt.invoke("hi").text
        with pytest.raises(anthropic.InternalServerError):
            claude.invoke("hi")


@pytest.mark.parametrize("wire", WIRES)
def test_many_requests_at_once_are_all_answered(provider: StrictProvider, wire: str) -> None:
    provider.keep_bodies = False
    with chat_model(provider, wire) as model:
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda n: str(model.invoke(f"request {n}").text), range(40)))

        async def talk() -> list[str]:
            answers = await asyncio.gather(*(model.ainvoke(f"request {n}") for n in range(40)))
            return [str(answer.text) for answer in answers]

        said += run_async(model, talk)
    assert len(set(said)) == 80
    assert len(provider.requests) == 80
    assert all(seen.body is None for seen in provider.requests)


def test_what_a_script_raises_is_raised_when_the_provider_closes() -> None:
    def script(request: Request) -> Answer:
        msg = f"no answer to {request.last_text}"
        raise LookupError(msg)

    strict = StrictProvider(answer=script)
    strict.start()
    with chat_model(strict, "openai-chat") as model, pytest.raises(openai.APIConnectionError):
        model.invoke("hi")
    with pytest.raises(LookupError, match="no answer to hi"):
        strict.close()


def test_a_provider_closes_while_a_request_waits() -> None:
    """A test that fails in the middle of a silence is not held up by it."""
    with ThreadPoolExecutor(1) as pool:
        with StrictProvider() as strict, chat_model(strict, "openai-chat") as model:
            strict.fail_next("stall", seconds=600)
            waiting = pool.submit(model.invoke, "hi")
            while not strict.requests:
                pass
        assert isinstance(waiting.exception(), openai.APIConnectionError)


def test_anthropics_count_of_tokens_is_the_one_it_bills(provider: StrictProvider) -> None:
    with chat_model(provider, "anthropic") as model:
        counted = model.get_num_tokens_from_messages(begin())
        model.invoke(begin())
    assert counted == provider.requests[-1].tokens
