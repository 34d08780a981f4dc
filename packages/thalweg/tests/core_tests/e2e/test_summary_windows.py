"""No request of any kind is larger than the window that was set, summaries included."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.models import limits_for
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.errors import WindowExceededError
from thalweg.testing import ScriptedModel

CONFIG: Any = {"configurable": {"thread_id": "t"}}
WORDS = "the rest of the shelf stays where it is "
count = exact_counter()
POLICIES = st.fixed_dictionaries(
    {
        "window": st.integers(1_300, 24_000),
        "trigger": st.sampled_from([None, ("fraction", 0.5), ("fraction", 0.9)]),
        "background": st.booleans(),
        "trim_tokens_to_summarize": st.none() | st.integers(200, 40_000),
        "summary_prompt": st.none() | st.integers(1, 300).map(lambda n: "Keep names. " * n),
    }
)


class Meter:
    """Answers with many words, and writes down how large each request was."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, bool]] = []

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        """Answer."""
        last = messages[-1].text
        is_summary = "[This is not the user speaking.]" in last or "<transcript" in last
        self.sizes.append((sum(count(m.text) for m in messages), is_summary))
        return "## Goal\n- The shelf is in order." if is_summary else "done " + WORDS * 20


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(POLICIES, st.booleans(), st.lists(st.integers(1, 700), min_size=6, max_size=10))
def test_no_request_is_larger_than_the_window_that_was_set(
    options: dict[str, Any],
    is_named: bool,  # noqa: FBT001 (drawn)
    lengths: list[int],
) -> None:
    """The window of nobody's table: an unknown model is assumed to take 32,000 tokens."""
    policy = ContextPolicy(**options)
    own, other = Meter(), Meter()
    model = ScriptedModel(script=own)
    named = ScriptedModel(script=other, model="other", profile={"max_input_tokens": 3_000})
    middleware = ContextMiddleware(
        policy, archive=":memory:", summarizer=named if is_named else None
    )
    agent: Any = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    refused: list[WindowExceededError] = []
    for number, length in enumerate(lengths):
        try:
            agent.invoke({"messages": [HumanMessage(f"{number}: {WORDS * length}")]}, CONFIG)
        except WindowExceededError as error:
            refused.append(error)
        middleware.flush(10)
    assert all(error.needed > error.window for error in refused)
    most = limits_for(model, policy).input
    assert max(size for size, _ in own.sizes) <= most
    assert all(size <= limits_for(named, None).input for size, _ in other.sizes)


def test_summaries_of_the_agents_own_model_fit_the_window_of_the_policy() -> None:
    """As many small requests as that takes, and the summary is there."""
    own = Meter()
    middleware = ContextMiddleware(
        ContextPolicy(window=6_000, background=False, trigger=("fraction", 0.9)),
        archive=":memory:",
    )
    agent: Any = create_agent(
        ScriptedModel(script=own), [], middleware=[middleware], checkpointer=InMemorySaver()
    )
    for number in range(10):
        agent.invoke({"messages": [HumanMessage(f"{number}: {WORDS * 400}")]}, CONFIG)
    summaries = [size for size, is_summary in own.sizes if is_summary]
    assert summaries
    assert max(summaries) <= 6_000 * 7 // 8


def test_an_error_counts_as_the_provider_does() -> None:
    """Claude's tokens are more than ours: what does not fit is larger than what fits."""
    middleware = ContextMiddleware(ContextPolicy(window=2_000), archive=":memory:")
    agent: Any = create_agent(
        ScriptedModel(script=Meter(), model="claude-opus-4-6"),
        [],
        system_prompt=WORDS * 175,
        middleware=[middleware],
    )
    assert count(WORDS * 175) < 2_000 * 7 // 8
    with pytest.raises(WindowExceededError) as caught:
        agent.invoke({"messages": [HumanMessage("Which drawer?")]})
    assert (caught.value.window, caught.value.unit) == (2_000 * 7 // 8, "tokens")
    assert caught.value.needed > caught.value.window
