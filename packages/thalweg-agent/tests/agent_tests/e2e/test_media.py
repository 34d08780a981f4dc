"""What a user attaches and a tool returns reaches the model, through LangChain's own clients."""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.strict_requests import messages_of
from core_tests.unit.engine.media.test_facts import PDFS
from core_tests.unit.test_images import png
from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import EVERY_WIRE, chat_model
from thalweg import ContextMiddleware
from thalweg.engine.media import facts
from thalweg_agent import create_deep_agent

NOTICE = "not sent: "


def document(name: str = "reportlab.pdf", more: int = 0) -> str:
    """Return a PDF in base64, with a comment of so many bytes before its end."""
    raw = (PDFS / name).read_bytes()
    head, end, tail = raw.rpartition(b"startxref")
    padding = b"%" + b"x" * more + b"\n" if more else b""
    return base64.b64encode(head + padding + end + tail).decode()


PAGE = base64.b64encode(png(1_240, 1_754)).decode()
BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat file": (
        "openai-chat",
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,"},
        },
    ),
    "openai-chat image_url": (
        "openai-chat",
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
    ),
    "openai-responses input_file": (
        "openai-responses",
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,"},
    ),
    "openai-responses input_image": (
        "openai-responses",
        {"type": "input_image", "image_url": "data:image/png;base64,", "detail": "auto"},
    ),
    "anthropic document": (
        "anthropic",
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": ""},
        },
    ),
    "gemini media": ("gemini", {"type": "media", "mime_type": "application/pdf", "data": ""}),
    **{
        f"{wire} file": (wire, {"type": "file", "mime_type": "application/pdf", "base64": ""})
        for wire in ("anthropic", "gemini")
    },
}


def filled(block: Any, more: int) -> Any:  # noqa: ANN401 (JSON)
    """Put content into a block where it is empty or ends with its encoding."""
    if isinstance(block, dict):
        return {key: filled(value, more) for key, value in block.items()}
    if isinstance(block, str) and (not block or block.endswith(";base64,")):
        picture = "image/png" in block
        raw = base64.b64decode(PAGE) + b"x" * more if picture else None
        return block + (base64.b64encode(raw).decode() if raw else document(more=more))
    return block


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=1_000_000) as provider:
        yield provider


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def told(model: BaseChatModel, window: int = 200_000) -> BaseChatModel:
    model.profile = {"max_input_tokens": window}
    return model


def content(provider: StrictProvider, of: int = -1) -> Any:  # noqa: ANN401 (JSON)
    """Return the content of a request."""
    body = provider.requests[of].body
    assert body is not None
    return body.get("messages") or body.get("input") or body.get("contents")


@pytest.mark.parametrize("more", [0, 60_000, 1_000_000])
@pytest.mark.parametrize("name", BLOCKS)
def test_what_a_user_attaches_is_sent_as_without_us(
    provider: StrictProvider, stack: ExitStack, name: str, more: int
) -> None:
    wire, block = BLOCKS[name]
    model = told(stack.enter_context(chat_model(provider, wire)))
    said = HumanMessage([{"type": "text", "text": "Summarize it."}, filled(block, more)])
    for middleware in ([], [ContextMiddleware({"prompt_caching": False}, archive=":memory:")]):
        agent: Any = create_agent(model, middleware=middleware)
        agent.invoke({"messages": [said]})

    assert [seen.status for seen in provider.requests] == [200, 200]
    assert content(provider, 0) == content(provider, 1)
    assert len(json.dumps(content(provider))) > more


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_twenty_images_of_one_result_are_sent(
    provider: StrictProvider, stack: ExitStack, wire: str
) -> None:
    @tool
    def pages(number: int) -> list[dict[str, Any]]:
        """Render pages."""
        shown = {"type": "image", "base64": PAGE, "mime_type": "image/png"}
        return [{"type": "text", "text": "here"}, *[shown] * number]

    def render(request: Request) -> Answer:
        calls = (("pages", {"number": 20}),) if len(messages_of(request)) < 2 else ()
        return Answer("" if calls else "I see.", calls=calls)

    provider.answer = render
    model = told(stack.enter_context(chat_model(provider, wire)))
    agent: Any = create_agent(model, [pages], middleware=[ContextMiddleware(archive=":memory:")])
    agent.invoke({"messages": ["Look at all of it."]})

    assert json.dumps(content(provider)).count(PAGE) == 20
    assert [seen.status for seen in provider.requests] == [200, 200]


@pytest.mark.parametrize("more", [0, 1_500_000])
def test_a_deep_agent_sees_the_document_that_it_reads(
    provider: StrictProvider, stack: ExitStack, more: int
) -> None:
    def read(request: Request) -> Answer:
        if any(message.role == "tool" for message in messages_of(request)):
            return Answer("It has three pages.")
        return Answer(calls=(("read_file", {"file_path": "/a.pdf"}),))

    provider.answer = read
    model = told(stack.enter_context(chat_model(provider, "anthropic")))
    data = document(more=more)
    file = {"content": data, "encoding": "base64", "created_at": "", "modified_at": ""}
    agent: Any = create_deep_agent(model, archive=":memory:")
    agent.invoke({"messages": ["Summarize /a.pdf"], "files": {"/a.pdf": file}})

    (result,) = content(provider)[-1]["content"]
    assert result["type"] == "tool_result"
    assert result["content"][0]["source"]["data"] == data


def test_an_image_above_the_published_limit_has_a_notice_and_the_thread_goes_on(
    provider: StrictProvider, stack: ExitStack
) -> None:
    model = told(stack.enter_context(chat_model(provider, "anthropic")))
    agent: Any = create_agent(
        model, middleware=[ContextMiddleware(archive=":memory:")], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    huge = {"type": "image", "base64": PAGE + "AAAA" * 2_500_000, "mime_type": "image/png"}
    small = {"type": "image", "base64": PAGE, "mime_type": "image/png"}
    for block in (huge, small):
        agent.invoke({"messages": [HumanMessage([{"type": "text", "text": "see"}, block])]}, thread)

    sent = json.dumps(content(provider))
    assert [seen.status for seen in provider.requests] == [200, 200]
    assert sent.count(NOTICE) == 1
    assert "an image of at most 10,000,000 bytes in base64" in sent
    assert sent.count(PAGE) == 1


def test_whether_a_document_fits_is_known_by_the_provider_alone(
    provider: StrictProvider, stack: ExitStack
) -> None:
    """It is sent where its lower bound fits; after a refusal there is a notice in its place."""
    model = told(stack.enter_context(chat_model(provider, "anthropic")), 1_000_000)
    block = {
        "type": "file",
        "mime_type": "application/pdf",
        "base64": document("qpdf-230-pages.pdf"),
    }
    said = HumanMessage([{"type": "text", "text": "Summarize it."}, block])
    for window, statuses in ((800_000, [200]), (400_000, [400, 200])):
        provider.window = window
        done = len(provider.requests)
        agent: Any = create_agent(model, middleware=[ContextMiddleware(archive=":memory:")])
        agent.invoke({"messages": [said]})

        assert [seen.status for seen in provider.requests[done:]] == statuses
        assert (NOTICE in json.dumps(content(provider))) == (len(statuses) > 1)


def test_a_document_in_the_history_is_parsed_once(
    provider: StrictProvider, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    count = facts.count_pages

    def counted(raw: bytes) -> int | None:
        parsed.append(len(raw))
        return count(raw)

    monkeypatch.setattr(facts, "count_pages", counted)
    model = told(stack.enter_context(chat_model(provider, "anthropic")))
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    context = ContextMiddleware(archive=":memory:")
    block = {
        "type": "file",
        "mime_type": "application/pdf",
        "base64": document(more=12_345),  # of its own, so that no other test has read it
    }
    for n in range(4):
        agent: Any = create_agent(model, middleware=[context], checkpointer=saver)
        words: list[Any] = [{"type": "text", "text": f"Look, {n}."}, *([] if n else [block])]
        agent.invoke({"messages": [HumanMessage(words)]}, thread)

    assert json.dumps(content(provider)).count(block["base64"]) == 1
    assert len(parsed) == 1
