"""Anthropic's API clears old results of a thread, so that no reasoning is discarded."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks.preserved_thinking import MODELS, steps
from strict_llm import Answer, Request, StrictProvider
from strict_llm.rules.anthropic_editing import PLACEHOLDER
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import read_pages
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy

KEY = ThreadKey("local", "t")
WINDOW = 24_000


@tool
def fetch(page: int) -> str:
    """Fetch a page."""
    return f"page {page}: heron-{page} " + "word " * 1_500


def answer(request: Request) -> Answer:
    """Fetch six pages for each message, thinking before each."""
    thought = f"thought {request.number} " + "so " * 60
    if request.number % 6 == 5:
        return Answer("That is done.", thinking=thought)
    return Answer("", calls=(("fetch", {"page": request.number}),), thinking=thought)


def agent(provider: StrictProvider, saver: InMemorySaver, place: Path, model: str) -> Any:  # noqa: ANN401 (LangGraph's)
    """Make the agent of a process."""
    chat = ChatAnthropic(
        model_name=model,
        base_url=provider.anthropic_url,
        api_key=SecretStr("x"),
        max_tokens_to_sample=500,
        max_retries=0,
        timeout=60,
        stop=None,
        thinking={"type": "adaptive"},
    )
    policy = ContextPolicy(window=WINDOW, max_output=500, summarize=False, clear_on_server=True)
    context = ContextMiddleware(policy, archive=place, owner=KEY.owner)
    return create_agent(chat, [fetch], middleware=[context], checkpointer=saver), context


@pytest.mark.slow
@pytest.mark.nightly
def test_all_reasoning_stays_valid_through_clears() -> None:
    """No request differs from the one before but at its end; none is over the window."""
    provider, watch, seen = steps(4, "clearing")

    assert [seen.problems for seen in provider.requests if seen.status != httpx.codes.OK] == []
    assert (len(watch.cuts), watch.kept) == (0, 1.0)
    assert seen.cuts
    assert seen.kept == 1.0
    assert max(seen.tokens for seen in provider.requests) < 128_000 * 0.75


@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]])
def test_a_thread_goes_on_in_another_process(tmp_path: Path, model: str) -> None:
    """What is cleared is taken from the last answer; a model that binds nothing is edited by us."""
    saver, place, binds = InMemorySaver(), tmp_path / "archive.db", model == MODELS[0]
    shown: list[str] = []

    def watched(request: Request) -> Answer:
        shown.append(str(request.items))
        return answer(request)

    with StrictProvider(window=WINDOW, answer=watched) as provider:
        for _ in range(3):
            made, context = agent(provider, saver, place, model)
            config: Any = {"configurable": {"thread_id": KEY.thread}, "recursion_limit": 100}
            for _ in range(2):
                made.invoke({"messages": [HumanMessage("Fetch pages.")]}, config)
            context.close()
        bodies = [seen.body for seen in provider.requests if seen.body]

    assert [seen.problems for seen in provider.requests if seen.problems] == []
    asked = [body["context_management"] for body in bodies if body.get("context_management")]
    assert bool(asked) == binds
    assert (PLACEHOLDER in shown[-1]) == binds
    with open_archive(place) as archive:
        pages = read_pages(archive, KEY).values()
        assert any(page.cleared[0] > 0 for page in pages) == binds
        everything = archive.messages(KEY, 0, archive.length(KEY) - 1)
    assert sum("heron-" in message.text for message in everything) > 6
