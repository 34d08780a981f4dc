"""What summaries cost where a model never writes one, against the strict provider."""

from math import log2
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.test_summary_prefix import CONFIG, PROSE, folds, look, script
from strict_llm import Answer, Request, Seen, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy

QUESTION = "[This is not the user speaking.]"
POLICY = ContextPolicy(
    background=False,
    window=16_000,
    trigger=("tokens", 2_500),
    keep=("messages", 4),
    summary_share=0.25,
)


def cost(seen: Seen) -> float:
    """Price a request as Anthropic does, in uncached input tokens."""
    plain = seen.tokens - seen.cached_tokens - seen.written_tokens
    return plain + 0.1 * seen.cached_tokens + 1.25 * seen.written_tokens + 5 * seen.output_tokens


def test_a_model_that_never_complies_costs_at_most_a_quarter_of_the_thread() -> None:
    """The account is the journal's: each run here has a middleware of its own."""

    def never(request: Request) -> Answer:
        answer = script(request)
        return Answer("I will go on with the work.") if "## State" in answer.text else answer

    events: list[dict[str, Any]] = []
    with (
        StrictProvider(answer=never) as provider,
        chat_model(provider, "anthropic") as model,
        open_archive(":memory:") as archive,
    ):
        saver = InMemorySaver()
        for n in range(1, 41):
            context = ContextMiddleware(POLICY, archive=archive)
            agent: Any = create_agent(model, [look], middleware=[context], checkpointer=saver)
            words = f"Item {n} is kept in drawer D-{1000 + n}, {PROSE}"
            given = {"messages": [("user", words)]}
            events += agent.stream(given, CONFIG, stream_mode="custom")
        pages, requests = folds(archive), provider.requests
    asked = [seen for seen in requests if is_for_summary(seen)]
    own = sum(cost(seen) for seen in requests if not is_for_summary(seen))

    assert len(pages) >= 8
    assert 2 <= len(asked) <= log2(len(pages)) + 1
    assert sum(map(cost, asked)) <= own / 4
    assert sum(seen.tokens for seen in asked) <= sum(seen.tokens for seen in requests) / 4
    reports = [event["summaries"] for event in events if event["type"] == "thalweg.context"]
    assert [report["unusable"] for report in reports] == sorted(r["unusable"] for r in reports)
    assert reports[-1]["unusable"] == len(asked)
    assert max(report["waits"] for report in reports) >= 1
    assert all(0 < report["cost"] <= report["allowed"] for report in reports)


def is_for_summary(seen: Seen) -> bool:
    last = str((seen.body or {})["messages"][-1])
    return QUESTION in last or "<transcript" in last


def test_what_is_not_allowed_is_not_requested() -> None:
    """With a share of next to nothing the first allowance is soon spent."""
    policy = POLICY.model_copy(update={"summary_share": 0.000_1, "summary_prompt": "Sum it up."})
    with (
        StrictProvider(answer=script) as provider,
        chat_model(provider, "anthropic") as model,
        open_archive(":memory:") as archive,
    ):
        context = ContextMiddleware(policy, archive=archive)
        agent: Any = create_agent(model, [look], middleware=[context], checkpointer=InMemorySaver())
        for n in range(1, 25):
            agent.invoke({"messages": [("user", f"Item {n}, {PROSE}")]}, CONFIG)
        pages = folds(archive)

    assert len(pages) >= 4
    assert pages[0].spent is not None
    assert pages[-1].spent is None
    assert pages[-1].account.waits == 0
