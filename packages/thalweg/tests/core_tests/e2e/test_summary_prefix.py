"""A summary that is requested after the live request, against the strict provider (I41)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models import _client_utils as openai_clients
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, Seen, StrictProvider
from strict_llm_tests.chat_models import WIRES, chat_model
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.journal import TurnRecord, page_from_json
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.compaction.model_summary import QUESTION_TOKENS
from thalweg.engine.edits import Fold
from thalweg.engine.settings import ContextPolicy

BLOCK = 128
CONFIG: Any = {"configurable": {"thread_id": "t"}}
POLICY = ContextPolicy(
    background=False,
    window=16_000,
    max_output=1_000,
    trigger=("fraction", 0.5),
    keep=("messages", 6),
)
PROSE = "and the rest of the shelf stays where it is, as it was agreed upon earlier. " * 12
SUMMARY = "## State of work\n- Item 1 is kept in drawer D-1001."


@tool
def look(drawer: str) -> str:
    """Look into a drawer."""
    return f"{drawer} holds one item, {PROSE}"


def script(request: Request) -> Answer:
    """Summarize when asked to; else look once for every request, then answer."""
    last = messages_of(request)[-1]
    if "[This is not the user speaking.]" in last.text or "<transcript" in last.text:
        return Answer(SUMMARY)
    if last.role == "user":
        return Answer("I look.", (("look", {"drawer": last.text[:12]}),), thinking="Which one?")
    return Answer(f"It is there, {PROSE}")


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(answer=script) as provider:
        yield provider


def talk(
    model: BaseChatModel,
    archive: Archive,
    summarizer: BaseChatModel | None = None,
    *,
    policy: ContextPolicy = POLICY,
    times: int = 1,
) -> None:
    """Talk until something was folded, so many times; wait for what is written in parallel."""
    context = ContextMiddleware(policy, archive=archive, summarizer=summarizer)
    middleware: list[Any] = [
        context,
        AnthropicPromptCachingMiddleware(unsupported_model_behavior="ignore"),
    ]
    agent: Any = create_agent(
        model,
        [look],
        middleware=middleware,
        checkpointer=InMemorySaver(),
        system_prompt="You keep the shelf in order.",
    )
    for n in range(1, 40):
        words = f"Item {n} is kept in drawer D-{1000 + n}, {PROSE}"
        agent.invoke({"messages": [("user", words)]}, CONFIG)
        assert context.flush(30)
        if len(folds(archive)) >= times:
            return
    msg = "nothing was folded"
    raise AssertionError(msg)


def folds(archive: Archive) -> list[TurnRecord]:
    pages = [page_from_json(text) for text in archive.turns(ThreadKey("local", "t"))]
    return [page for page in pages if any(isinstance(edit, Fold) for edit in page.edits)]


def body(seen: Seen) -> dict[str, Any]:
    assert seen.body is not None
    return seen.body


def pieces(seen: Seen) -> list[str]:
    """The messages of a request, without the marks of what is to be cached."""
    sent = body(seen)
    return [bare(message) for message in sent.get("messages") or sent["input"]]


def bare(value: object) -> str:
    def without(one: Any) -> Any:  # noqa: ANN401 (JSON)
        if isinstance(one, dict):
            return {k: without(v) for k, v in one.items() if k != "cache_control"}
        return [without(v) for v in one] if isinstance(one, list) else one

    return json.dumps(without(value), sort_keys=True)


def place(provider: StrictProvider) -> int:
    """Find the request for the summary."""
    (found,) = [n for n, r in enumerate(provider.requests) if "six sections" in json.dumps(body(r))]
    return found


@pytest.mark.parametrize("wire", WIRES)
def test_the_request_for_a_summary_extends_the_live_one(
    provider: StrictProvider, wire: str
) -> None:
    """System prompt, tools, settings and removed messages are the same; the question follows."""
    with chat_model(provider, wire) as model, open_archive(":memory:") as archive:
        talk(model, archive)
        page = folds(archive)[-1]
    at = place(provider)
    live, asked = provider.requests[at - 1], provider.requests[at]

    assert not any(seen.problems for seen in provider.requests)
    before, now = pieces(live), pieces(asked)
    shared = now[:-1]
    assert len(shared) > len(before) // 2
    assert shared == before[: len(shared)]
    for name in body(asked).keys() | body(live).keys():
        if name not in {"messages", "input"}:
            assert bare(body(asked).get(name)) == bare(body(live).get(name)), name
    assert asked.tokens - QUESTION_TOKENS - BLOCK <= asked.cached_tokens <= asked.tokens
    assert page.spent is not None
    assert page.spent.calls == 1
    assert page.spent.input == asked.tokens
    assert page.spent.cached == asked.cached_tokens
    assert page.spent.output == asked.output_tokens
    assert page.note == ""


@pytest.mark.parametrize("wire", WIRES)
def test_a_cold_cache_is_not_read_again_at_the_price_of_writing(
    provider: StrictProvider, wire: str
) -> None:
    """A named model never had the prefix: it is shown the folded messages alone."""
    with (
        chat_model(provider, wire) as model,
        chat_model(provider, wire, model="strict-small") as small,
        open_archive(":memory:") as archive,
    ):
        talk(model, archive, summarizer=small)
        page = folds(archive)[-1]
    asked = provider.requests[place(provider)]

    assert asked.model == "strict-small"
    assert len(pieces(asked)) == 1
    assert "tools" not in body(asked)
    assert page.spent is not None
    assert page.spent.input == asked.tokens
    assert page.spent.model.endswith(":strict-small")
    assert not any(seen.problems for seen in provider.requests)


def test_the_model_that_the_policy_names_writes_the_summaries(
    provider: StrictProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`model_name` is what `init_chat_model` takes."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
    policy = POLICY.model_copy(update={"model_name": "openai:gpt-4o-mini"})
    with chat_model(provider, "openai-chat") as model, open_archive(":memory:") as archive:
        middleware = ContextMiddleware(policy, archive=archive)
        agent: Any = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        for n in range(1, 40):
            words = f"Item {n} is kept in drawer D-{1000 + n}, {PROSE}"
            agent.invoke({"messages": [("user", words)]}, CONFIG)
            if folds(archive):
                break
        named = middleware._sessions.summarizer  # noqa: SLF001 (to close its connections)
        assert isinstance(named, ChatOpenAI)
        named.root_client.close()
        openai_clients._cached_sync_httpx_client.cache_clear()  # noqa: SLF001 (as in chat_models)

    models = [seen.model for seen in provider.requests]
    assert models.count("gpt-4o-mini") == 1
    assert set(models) == {"gpt-4o-mini", "strict-1"}


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_fails_for_the_summary_does_not_fail_the_run(
    provider: StrictProvider, wire: str
) -> None:
    """It is refused and not repeated; the record is kept, and the next request succeeds."""

    def fails(request: Request) -> Answer:
        answer = script(request)
        if answer.text != SUMMARY:
            return answer
        return Answer("", finish="refusal" if request.wire == "anthropic" else "length")

    provider.answer = fails
    with chat_model(provider, wire) as model, open_archive(":memory:") as archive:
        talk(model, archive)
        page = folds(archive)[-1]

    assert page.note
    assert page.spent is not None
    assert page.spent.calls == 1
    assert provider.requests[-1].status == 200
    assert not any(seen.problems for seen in provider.requests)
