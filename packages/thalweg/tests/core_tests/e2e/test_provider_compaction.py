"""A provider compacts a thread itself: the archive, our summary and other models go on."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks.preserved_thinking import MODELS
from strict_llm import Answer, Request, StrictProvider
from strict_llm.exchange import RequestProblem
from strict_llm.rules import anthropic_blocks, responses_compaction
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import read_pages
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.compaction.provider_edits import COMPACTED_BY_PROVIDER
from thalweg.engine.edits import Fold
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError

INVALID = RequestProblem("messages.1.content.0: compaction_signature_invalid: compaction")
KEY = ThreadKey("local", "t")
WINDOW = 100_000
TRIGGER = {"type": "input_tokens", "value": 50_000}
BINDS, PLAIN = MODELS[0], MODELS[2]


@tool
def fetch(page: int) -> str:
    """Fetch a page."""
    return f"page {page}: heron-{page} " + "word " * 5_000


def answer(request: Request) -> Answer:
    """Fetch six pages for each message, thinking before each; at length where that is kept."""
    thought = f"thought {request.number} " + "so " * (4_500 if request.model == BINDS else 60)
    if request.number % 7 == 6:
        return Answer("That is done.", thinking=thought)
    return Answer("", calls=(("fetch", {"page": request.number}),), thinking=thought)


def anthropic(provider: StrictProvider, model: str, **settings: Any) -> BaseChatModel:  # noqa: ANN401 (LangChain's)
    """Make a client of Anthropic's API."""
    return ChatAnthropic(
        model_name=model,
        base_url=provider.anthropic_url,
        api_key=SecretStr("x"),
        max_tokens_to_sample=500,
        max_retries=0,
        timeout=60,
        stop=None,
        thinking={"type": "adaptive"},
        **settings,
    )


def openai(provider: StrictProvider, model: str = "gpt-6-sol", **settings: Any) -> BaseChatModel:  # noqa: ANN401 (LangChain's)
    """Make a client of OpenAI's Responses API that stores nothing there."""
    return ChatOpenAI(
        model=model,
        base_url=provider.openai_url,
        api_key=SecretStr("x"),
        max_completion_tokens=500,
        max_retries=0,
        use_responses_api=True,
        store=False,
        include=["reasoning.encrypted_content"],
        **settings,
    )


class Thread:
    """One thread with an archive; its model may change between runs."""

    def __init__(self, place: Path, **policy: Any) -> None:  # noqa: ANN401 (settings)
        self.place, self.saver = place / "archive.db", InMemorySaver()
        policy = {"compaction": "provider", **policy}
        self.policy = ContextPolicy(window=WINDOW, max_output=500, summarize=False, **policy)

    def run(self, model: BaseChatModel, times: int = 1) -> None:
        """Send messages in a process of their own."""
        context = ContextMiddleware(self.policy, archive=self.place, owner=KEY.owner)
        agent = create_agent(model, [fetch], middleware=[context], checkpointer=self.saver)
        config: Any = {"configurable": {"thread_id": KEY.thread}, "recursion_limit": 100}
        for _ in range(times):
            agent.invoke({"messages": [HumanMessage("Fetch pages.")]}, config)
        context.close()

    def folds(self) -> list[Fold]:
        """Return the compactions of the thread."""
        with open_archive(self.place) as archive:
            pages = read_pages(archive, KEY).values()
        return [edit for page in pages for edit in page.edits if isinstance(edit, Fold)]

    def texts(self) -> list[str]:
        """Return the results in the archive."""
        with open_archive(self.place) as archive:
            found = archive.messages(KEY, 0, archive.length(KEY) - 1)
            return [message.text for message in found if message.role == "tool"]


def blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks or items of earlier compactions in a body."""
    contents = [m["content"] for m in body.get("messages", ()) if isinstance(m["content"], list)]
    every = [block for content in contents for block in content] + body.get("input", [])
    return [block for block in every if block.get("type") == "compaction"]


MAKERS: dict[str, Callable[[StrictProvider], BaseChatModel]] = {
    "anthropic": lambda provider: anthropic(provider, PLAIN),
    "anthropic-binds": lambda provider: anthropic(provider, BINDS),
    "anthropic-streams": lambda provider: anthropic(provider, PLAIN, streaming=True),
    "openai": openai,
    "openai-streams": lambda provider: openai(provider, streaming=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_thread_goes_on_from_the_providers_compaction(tmp_path: Path, name: str) -> None:
    """No request is refused, every block is an edit of the log, and nothing is lost."""
    thread = Thread(tmp_path)
    with StrictProvider(window=WINDOW, answer=answer) as provider:
        for _ in range(2):
            thread.run(MAKERS[name](provider), times=2)
        seen = list(provider.requests)

    assert [one.problems for one in seen if one.problems] == []
    done = [one for one in seen[:-1] if one.compaction]  # the next call logs it
    folds = thread.folds()
    assert done
    assert {fold.reason for fold in folds} == {COMPACTED_BY_PROVIDER}
    assert len(folds) == len(done)
    assert all(blocks(one.body or {}) for one in seen[seen.index(done[0]) + 1 :])
    assert max(one.tokens for one in seen) < WINDOW
    if "streams" not in name and "anthropic" in name:
        costs = [(one.compaction.input, one.compaction.output) for one in done if one.compaction]
        assert [(fold.summary_input, fold.summary_output) for fold in folds] == costs
    texts = thread.texts()
    assert all(any(f"heron-{n} " in text for text in texts) for n in range(6))


def test_another_model_reads_our_summary(tmp_path: Path) -> None:
    """A block is sent to its own model only; the others are sent what it represents."""
    thread = Thread(tmp_path)
    with StrictProvider(window=WINDOW, answer=answer) as provider:
        models = [
            anthropic(provider, PLAIN),
            openai(provider),
            anthropic(provider, "claude-opus-5"),
        ]
        for model in (models[0], models[0], models[0], models[1], models[2], models[0]):
            thread.run(model)
        seen = list(provider.requests)

    assert [one.problems for one in seen if one.problems] == []
    first = next(n for n, one in enumerate(seen) if one.compaction)
    later = seen[first + 1 :]
    assert {one.model for one in later} == {PLAIN, "gpt-6-sol", "claude-opus-5"}
    again = next(n for n, one in enumerate(later) if one.compaction)
    assert all(bool(blocks(one.body or {})) == (one.model == PLAIN) for one in later[:again])
    assert not any(blocks(one.body or {}) for one in later if one.model == "claude-opus-5")
    record = thread.folds()[0].record
    others = [one.body for one in later[:again] if one.model != PLAIN]
    assert others
    assert record
    assert all(record[:200] in _said(body or {}) for body in others)


def _said(body: dict[str, Any]) -> str:
    """Return the texts of a body."""
    contents = [one.get("content") or [] for one in (body.get("messages") or body["input"])]
    plain = [content for content in contents if isinstance(content, str)]
    listed = [part for content in contents if isinstance(content, list) for part in content]
    return "\n".join([*plain, *(str(part.get("text")) for part in listed)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_block_that_is_refused_is_left_out(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider's key has changed (openai/codex#36704): our summary takes the block's place."""
    thread = Thread(tmp_path)
    with StrictProvider(window=WINDOW, answer=answer) as provider:
        thread.run(MAKERS[name](provider), times=3)
        before = len(provider.requests)
        monkeypatch.setattr(responses_compaction, "summary_in", lambda _: ("", ""))
        monkeypatch.setitem(anthropic_blocks._RULES, "compaction", lambda *_: iter([INVALID]))  # noqa: SLF001 (the refusal itself)
        thread.run(MAKERS[name](provider))
        seen = provider.requests[before:]

    assert blocks(seen[0].body or {})
    assert seen[0].problems
    for one, following in pairwise(seen):
        assert bool(one.problems) == bool(blocks(one.body or {}))  # also a later compaction's block
        assert not (one.problems and following.problems)
    assert thread.folds()[0].record[:200] in _said(seen[1].body or {})


def test_a_block_that_was_asked_for_by_the_user_counts(tmp_path: Path) -> None:
    """The policy is `ours`; the client has its own setting, and the thread follows it."""
    thread = Thread(tmp_path, compaction="ours", enabled=False)
    edits = {"edits": [{"type": "compact_20260112", "trigger": TRIGGER}]}
    with StrictProvider(window=WINDOW, answer=answer) as provider:
        model = anthropic(provider, PLAIN, context_management=edits, betas=["compact-2026-01-12"])
        thread.run(model, times=4)
        seen = list(provider.requests)

    assert [one.problems for one in seen if one.problems] == []
    done = sum(one.compaction is not None for one in seen)
    assert done
    assert sum(fold.reason == COMPACTED_BY_PROVIDER for fold in thread.folds()) == done


def test_a_trigger_and_the_providers_compaction_are_refused() -> None:
    """Sizes decide when we compact; prices decide when the provider does."""
    with pytest.raises(ConfigError, match=r"compaction.*trigger"):
        ContextPolicy.from_mapping({"compaction": "provider", "trigger": ["tokens", 4_000]})
