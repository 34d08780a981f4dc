"""Media that a compaction removed come back from `recall` as they were received."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.e2e.chat_models import EVERY_WIRE, chat_model, run_async
from tests.media_blocks import BLOCKS, BY_CLIENT, Block, media_in
from thalweg import ContextMiddleware, ContextPolicy, create_deep_agent
from thalweg.engine.prompts import prompt
from thalweg.testing.strict import Answer, Request, StrictProvider

Kind = Literal["create_agent", "create_deep_agent"]
LAST, COMPACTED = "Look again.", prompt("compact_answer").text
FILLER = "river stone valley cloud lamp paper engine garden mirror salt copper window thread " * 60
POLICY = ContextPolicy(window=20_000, max_output=500, summarize=False)


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider() as provider:
        yield provider


def agent_of(model: BaseChatModel, kind: Kind = "create_agent") -> Any:  # noqa: ANN401 (a compiled graph)
    if kind == "create_deep_agent":
        return create_deep_agent(
            model, context=POLICY, archive=":memory:", checkpointer=InMemorySaver()
        )
    middleware = [ContextMiddleware(POLICY, archive=":memory:")]
    return create_agent(model, middleware=middleware, checkpointer=InMemorySaver())


def reads_back(position: str) -> Any:  # noqa: ANN401 (a script)
    """Return a model that compacts its context in the last turn, and then recalls a position."""

    def answer(request: Request) -> Answer:
        text = "\n".join(message.text for message in request.messages)
        newest = request.messages[-1].text
        if newest == LAST:
            return Answer(calls=(("compact_conversation", {}),))
        if newest == COMPACTED:
            handle = re.findall(r'recall\(handle="(\w+)#POSITION', text)[-1]
            return Answer(calls=(("recall", {"handle": f"{handle}#{position}"}),))
        return Answer(f"ok {FILLER}")

    return answer


def turns(block: Block) -> list[HumanMessage]:
    """Return what the user says: a request with media, two long ones, and the last."""
    first = HumanMessage([{"type": "text", "text": "Here is the plan."}, block])
    return [first, *(HumanMessage(f"{n} {FILLER}") for n in range(2)), HumanMessage(LAST)]


def play(agent: Any, block: Block) -> None:  # noqa: ANN401 (a compiled graph)
    for message in turns(block):
        agent.invoke({"messages": [message]}, {"configurable": {"thread_id": "t"}})


async def play_async(agent: Any, block: Block) -> None:  # noqa: ANN401 (a compiled graph)
    for message in turns(block):
        await agent.ainvoke({"messages": [message]}, {"configurable": {"thread_id": "t"}})


def check(provider: StrictProvider) -> None:
    """The last request holds the media of the first, after one that did not."""
    assert [seen.problems for seen in provider.requests if seen.problems] == []
    first, *_, before, last = (media_in(seen.body) for seen in provider.requests)
    assert len(first) == 1
    assert before == []
    assert last == first


CASES = [(wire, name) for wire in EVERY_WIRE for name in BY_CLIENT[wire]]


@pytest.mark.parametrize(("wire", "name"), CASES)
def test_the_next_request_has_an_equal_block(
    provider: StrictProvider, wire: str, name: str
) -> None:
    provider.answer = reads_back("0")
    with chat_model(provider, wire) as model:
        play(agent_of(model), BLOCKS[name])
    check(provider)


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_deep_and_async_agents_have_it_too(provider: StrictProvider, wire: str) -> None:
    provider.answer = reads_back("0")
    with chat_model(provider, wire) as model:
        agent = agent_of(model, "create_deep_agent")
        run_async(model, lambda: play_async(agent, BLOCKS["pdf"]))
    check(provider)
