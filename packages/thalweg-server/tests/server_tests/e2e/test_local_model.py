"""Real weights, served with OpenAI's API by a process of llama.cpp."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.local_models import served
from thalweg.context.request.refusals import Overflow, overflow_of
from thalweg_agent.graph import create_small_agent
from thalweg_server.models import chat_model, discovery, find_models, model_by_name
from thalweg_server.settings import ModelSettings, Settings

pytestmark = [pytest.mark.slow, pytest.mark.local_model, pytest.mark.timeout(900)]
TEMPLATE = Path(__file__).parent / "local_model_tools.jinja"
WINDOW = 1_280


@pytest.fixture(scope="module")
def address(smol: Path) -> Iterator[str]:
    with served(smol, WINDOW) as found:
        yield found


def local(address: str, **given: Any) -> BaseChatModel:  # noqa: ANN401 (as in a file of settings)
    """Make a model with answers that end."""
    options = {"window": WINDOW, "max_output": 32, "temperature": 0, **given}
    return chat_model(ModelSettings(name="m", base_url=address, **options))


def usage(message: AIMessage) -> tuple[int, int]:
    assert message.usage_metadata is not None
    return message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]


def test_it_answers_whole_and_in_a_stream_with_its_usage(address: str) -> None:
    model = local(address)
    whole = model.invoke("Say hello.")
    streamed = AIMessageChunk(content="")
    for chunk in model.stream("Say hello."):
        streamed = streamed + chunk

    assert isinstance(whole, AIMessage)
    assert whole.text
    assert streamed.text
    assert usage(whole)[0] == usage(streamed)[0] > 0


def test_the_server_is_found_with_a_name_that_answers(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "OLLAMA", "http://127.0.0.1:9")
    monkeypatch.setattr(discovery, "SERVERS", (("llama.cpp", address.removesuffix("/v1")),))
    (offer,) = find_models({})

    assert model_by_name(offer.name, Settings()).invoke("hi", max_tokens=4).text


def test_a_request_beyond_the_window_is_an_overflow(address: str) -> None:
    with pytest.raises(Exception, match="exceeds the available context size") as refused:
        local(address).invoke("word " * (2 * WINDOW))
    overflow = overflow_of(refused.value)

    assert isinstance(overflow, Overflow)
    assert overflow.limit == WINDOW


def test_turns_beyond_a_small_window_fit_it(address: str) -> None:
    """Every request and its answer fit, by the model's own count; one is compacted."""
    answer = 12
    model = local(address, max_output=answer)
    agent = create_small_agent(model, archive=":memory:", checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "a"}}
    sizes: list[int] = []
    for turn in range(6):
        asked = f"Part {turn}: " + "the river runs deep and the boats are slow; " * 24
        state = agent.invoke({"messages": [("user", asked)]}, thread)
        said = [m for m in state["messages"] if isinstance(m, AIMessage) and m.usage_metadata]
        sizes.append(usage(said[-1])[0])

    assert max(sizes) + answer <= WINDOW
    assert any(after < before for before, after in pairwise(sizes))


def test_it_calls_the_tools_of_an_agent(qwen: Path) -> None:
    with served(qwen, 4_096, str(TEMPLATE)) as address:
        agent = create_small_agent(local(address, window=4_096, max_output=96), archive=":memory:")
        task = "Write the text 'buy milk' into the file /todo.txt"
        written = agent.invoke({"messages": [("user", task)]})

    assert "buy milk" in str(written["files"]["/todo.txt"])
