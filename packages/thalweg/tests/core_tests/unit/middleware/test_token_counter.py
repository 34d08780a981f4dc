"""A counter of tokens of the caller's: it gets whole messages, as LangChain's do."""

from collections.abc import Iterable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.scripted import calls
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import page_at
from thalweg.context.message_counter import MessageCounter
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.entries import Media, Message, Text, Thinking
from thalweg.engine.tokens import measure
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel

IMAGE = 50_000
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@tool
def draw() -> list[Any]:
    """Draw."""
    return [{"type": "text", "text": "drawn"}, PICTURE]


class Counter:
    """A character each, and 50,000 for an image."""

    def __init__(self) -> None:
        self.seen: list[BaseMessage] = []

    def __call__(self, messages: Iterable[BaseMessage]) -> int:
        """Count messages."""
        tokens = 0
        for message in messages:
            assert isinstance(message, BaseMessage)
            self.seen.append(message)
            blocks = message.content if isinstance(message.content, list) else []
            kinds = [block["type"] for block in blocks if isinstance(block, dict)]
            tokens += 3 + len(message.text) + IMAGE * sum("image" in kind for kind in kinds)
        return tokens


def history_tokens(counter: Any, *content: Any, **policy: Any) -> tuple[int, list[Any]]:  # noqa: ANN401
    """Run an agent on messages; return the tokens of the history and the requests."""
    requests: list[Any] = []

    def script(messages: Any) -> AIMessage | str:  # noqa: ANN401
        requests.append(messages)
        return calls("draw", "c1") if messages[-1].text == "draw" else "Hi."

    with open_archive(":memory:") as archive:
        policy = {"window": 400_000, **policy}
        middleware = ContextMiddleware(policy, archive=archive, token_counter=counter)
        agent: Any = create_agent(
            ScriptedModel(script=script),
            [draw],
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        for one in content:
            agent.invoke({"messages": [HumanMessage(one)]}, {"configurable": {"thread_id": "t"}})
        _, page = page_at(archive, ThreadKey("local", "t"))
    return page.tokens["history"], requests


def test_a_request_is_counted_by_it() -> None:
    """A message of 3,000 characters counts as 3,000 and what the function adds to each."""
    tokens, _ = history_tokens(Counter(), "word " * 600)
    assert 3_000 <= tokens < 3_100


@pytest.mark.parametrize("content", [[{"type": "text", "text": "see"}, PICTURE], "draw"])
def test_images_have_its_price(content: Any) -> None:  # noqa: ANN401
    """Of a user and of a tool; without it, they have that of the table."""
    counter = Counter()
    tokens, _ = history_tokens(counter, content)
    assert IMAGE < tokens < IMAGE + 200
    kinds = {type(message).__name__ for message in counter.seen}
    others = {"ToolMessage", "AIMessage"} if content == "draw" else set()
    assert kinds >= {"HumanMessage"} | others
    assert history_tokens(None, content)[0] < 2_000


def test_a_trigger_is_reached_by_its_count() -> None:
    """Five images of 50,000 exceed 200,000 tokens; by the table they have a few hundred."""
    pictures = [[{"type": "text", "text": f"number {n} " * 99}, PICTURE] for n in range(6)]
    limits: Any = {"window": 1_000_000, "trigger": ("tokens", 200_000), "keep": ("messages", 2)}
    limits["summarize"] = False
    _, requests = history_tokens(Counter(), *pictures, **limits)
    _, by_table = history_tokens(None, *pictures, **limits)
    assert len(by_table[-1]) == 11
    assert "<thread-record>" in requests[-1][0].text


def test_reasoning_and_media_are_what_they_add_to_a_message() -> None:
    """By the count of the function."""
    counter = MessageCounter(Counter())
    parts = (Text("word"), Thinking("hm"), Media("image/png", "iVBORw0KGgo="))
    size = measure(Message("assistant", parts), counter)
    assert (size.tokens, size.media_tokens, size.media, size.slack) == (50_007, IMAGE, 1, 0)
    assert size.thinking == 0
    assert counter("word") == 4
    assert counter("") == 0


def test_the_counter_of_langchain_works() -> None:
    """As it is."""
    tokens, _ = history_tokens(count_tokens_approximately, "word " * 600)
    assert 700 < tokens < 900


@pytest.mark.parametrize(
    ("counter", "problem"),
    [
        (7, "object is not callable"),
        (lambda messages: messages, "it returned list for a message"),
        (lambda _: 0, "it returned 0"),
        (len, "it returned 1 for 1 character and 1 for 23"),
        (lambda text: len(text.encode()), "it raised AttributeError.*for a counter of texts"),
    ],
)
def test_what_counts_no_messages_is_refused_before_any_run(
    counter: Any,  # noqa: ANN401 (what callers give)
    problem: str,
) -> None:
    with pytest.raises(ConfigError, match=problem):
        ContextMiddleware(token_counter=counter)
