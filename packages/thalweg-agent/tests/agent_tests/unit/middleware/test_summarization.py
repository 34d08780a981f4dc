"""LangChain's constructor makes a policy of ours; the model's profile decides what is sent."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from agent_tests.unit.agent.graph.test_layers import recipe
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.graph.build import stack
from thalweg_agent.middleware import (
    DEEPAGENTS_DEFAULT_SUMMARY_PROMPT,
    SummarizationMiddleware,
)
from thalweg_agent.middleware.summarization import create_summarization_middleware

SIZES: list[tuple[Any, Any]] = [
    (("tokens", 4000), {"type": "tokens", "value": 4000}),
    ([("fraction", 0.8), ("messages", 50)], [{"type": "fraction", "value": 0.8}, ("messages", 50)]),
]


@pytest.mark.parametrize(("tuples", "mappings"), SIZES)
def test_tuples_and_mappings_make_the_same_policy(tuples: Any, mappings: Any) -> None:  # noqa: ANN401
    made = SummarizationMiddleware(trigger=tuples, keep=("messages", 6))

    assert made.policy == SummarizationMiddleware(trigger=mappings, keep=("messages", 6)).policy
    assert made.policy == ContextPolicy(trigger=tuples, keep=("messages", 6))


def test_prices_decide_without_a_trigger_and_the_standard_prompt_is_ours() -> None:
    made = SummarizationMiddleware(summary_prompt=DEEPAGENTS_DEFAULT_SUMMARY_PROMPT, backend=None)

    assert made.policy == ContextPolicy()
    own = SummarizationMiddleware(summary_prompt="Sum up.", trim_tokens_to_summarize=99).policy
    assert (own.summary_prompt, own.trim_tokens_to_summarize) == ("Sum up.", 99)


def counting_agent(kind: str, counter: Any) -> Any:  # noqa: ANN401 (LangChain's)
    """Return an agent whose context is counted by a function of the caller's."""
    model = ScriptedModel(script=lambda _: "Seen.")
    if kind == "deep agent":
        return create_deep_agent(model, archive=":memory:", token_counter=counter)
    if kind == "factory":
        middleware = create_summarization_middleware(model, token_counter=counter)
        return create_agent(model, middleware=[middleware])
    mine = SummarizationMiddleware(archive=":memory:", token_counter=counter)
    if kind == "in a deep agent":
        return create_deep_agent(model, middleware=[mine])
    return create_agent(model, middleware=[mine])


@pytest.mark.parametrize("kind", ["alone", "in a deep agent", "factory", "deep agent"])
def test_a_counter_of_the_callers_own_is_given_whole_messages(kind: str) -> None:
    """Images included, in each place that takes one."""
    seen: list[BaseMessage] = []

    def counter(messages: Any) -> int:  # noqa: ANN401
        seen.extend(messages)
        return count_tokens_approximately(messages, tokens_per_image=9_000)

    url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    content: Any = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": url}]
    counting_agent(kind, counter).invoke({"messages": [HumanMessage(content)]})

    assert any(message.content == content for message in seen)


def test_a_size_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(ConfigError):
        SummarizationMiddleware(trigger=("tokens", -1))


def test_it_stands_in_the_place_of_the_engine() -> None:
    mine = SummarizationMiddleware(archive=":memory:")

    made = stack(recipe(mine))

    assert [one for one in made if one.name == "ContextMiddleware"] == [mine]


def test_a_long_thread_is_compacted_at_the_trigger() -> None:
    """The first messages are no longer in the request, but in the record."""
    sizes: list[int] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        sizes.append(len(messages))
        return "word " * 50

    mine = SummarizationMiddleware(
        ScriptedModel(script=lambda _: "Summed up."),
        trigger=("messages", 10),
        keep=("messages", 4),
        archive=":memory:",
    )
    agent = create_deep_agent(ScriptedModel(script=script), middleware=[mine])
    words = "and this is what it is about " * 30
    talk = [("user" if n % 2 == 0 else "ai", f"{n}: {words}") for n in range(31)]
    agent.invoke({"messages": talk})

    assert sizes[0] < 12


def test_the_state_keeps_what_the_request_lacks() -> None:
    seen: list[Sequence[BaseMessage]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(messages)
        return "Seen."

    model = ScriptedModel(script=script, profile={"image_inputs": False})
    agent: Any = create_agent(model, middleware=[SummarizationMiddleware(archive=":memory:")])
    image: Any = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    result = agent.invoke({"messages": [HumanMessage([image])]})

    assert seen[0][0].content_blocks[0]["type"] == "text"
    assert result["messages"][0].content_blocks[0]["type"] == "image"
