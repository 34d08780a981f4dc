"""Media that a compaction removed come back from `recall` as they were received."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.media_blocks import BLOCKS, BY_CLIENT, PDF, Block, media_in
from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, Script, StrictProvider
from strict_llm_tests.chat_models import EVERY_WIRE, chat_model, run_async
from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, open_archive
from thalweg.engine.prompts import prompt
from thalweg_agent import create_deep_agent

Kind = Literal["create_agent", "create_deep_agent"]
LAST, AGAIN, COMPACTED = "Look again.", "And once more.", prompt("compact_answer").text
FILLER = "river stone valley cloud lamp paper engine garden mirror salt copper window thread " * 60
THREAD: Any = {"configurable": {"thread_id": "t"}}
POLICY = ContextPolicy(window=20_000, max_output=500, summarize=False)


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider() as provider:
        yield provider


def agent_of(
    model: BaseChatModel,
    kind: Kind = "create_agent",
    *,
    saver: InMemorySaver | None = None,
    archive: Archive | str = ":memory:",
) -> Any:  # noqa: ANN401 (a compiled graph)
    saver = saver or InMemorySaver()
    if kind == "create_deep_agent":
        return create_deep_agent(model, context=POLICY, archive=archive, checkpointer=saver)
    middleware = [ContextMiddleware(POLICY, archive=archive)]
    return create_agent(model, middleware=middleware, checkpointer=saver)


def reads_back(*positions: str) -> Script:
    """Return a model that compacts its context in the last turn, and then recalls positions."""

    def answer(request: Request) -> Answer:
        newest = messages_of(request)[-1].text
        if newest == LAST:
            return Answer(calls=(("compact_conversation", {}),))
        if newest in {COMPACTED, AGAIN} and positions:
            text = "\n".join(message.text for message in messages_of(request))
            handle = re.findall(r'recall\(handle="(\w+)#POSITION', text)[-1]
            return Answer(calls=tuple(("recall", {"handle": f"{handle}#{p}"}) for p in positions))
        return Answer(f"ok {FILLER}")

    return answer


def turns(block: Block) -> list[HumanMessage]:
    """Return the user's messages: a request with media, two long ones, and the last."""
    first = HumanMessage([{"type": "text", "text": "Here is the plan."}, block])
    return [first, *(HumanMessage(f"{n} {FILLER}") for n in range(2)), HumanMessage(LAST)]


def play(agent: Any, block: Block) -> None:  # noqa: ANN401 (a compiled graph)
    for message in turns(block):
        agent.invoke({"messages": [message]}, THREAD)


async def play_async(agent: Any, block: Block) -> None:  # noqa: ANN401 (a compiled graph)
    for message in turns(block):
        await agent.ainvoke({"messages": [message]}, THREAD)


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


NATIVE = {
    "openai-chat": "file",
    "openai-responses": "input_file",
    "anthropic": "document",
    "gemini": "media-pdf",
}


@pytest.mark.parametrize("second", EVERY_WIRE)
@pytest.mark.parametrize("first", EVERY_WIRE)
def test_another_client_gets_it_in_a_form_that_it_sends(
    provider: StrictProvider, first: str, second: str
) -> None:
    """The thread began with another provider, whose own block is in the archive."""
    saver = InMemorySaver()
    with open_archive(":memory:") as archive:
        provider.answer = reads_back()
        with chat_model(provider, first) as model:
            play(agent_of(model, saver=saver, archive=archive), BLOCKS[NATIVE[first]])
        provider.answer = reads_back("0")
        with chat_model(provider, second) as model:
            agent = agent_of(model, saver=saver, archive=archive)
            agent.invoke({"messages": [HumanMessage(AGAIN)]}, THREAD)

    assert [seen.problems for seen in provider.requests if seen.problems] == []
    (block,) = media_in(provider.requests[-1].body)
    assert PDF in str(block).replace("-", "+").replace("_", "/")  # Google's client writes these


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_results_of_one_step_stay_together(provider: StrictProvider, wire: str) -> None:
    """What is put into a user message follows all of them, and is not the user's."""
    provider.answer = reads_back("0", "2", "0")
    with chat_model(provider, wire) as model:
        play(agent_of(model), BLOCKS["image"])

    assert [seen.problems for seen in provider.requests if seen.problems] == []
    last = provider.requests[-1].body
    assert len(media_in(last)) == 2
    if wire == "openai-chat":
        assert last is not None
        *_, one, two, three, below = last["messages"]
        assert [m["role"] for m in (one, two, three, below)] == ["tool", "tool", "tool", "user"]
        assert below["content"][0]["text"] == prompt("media_behind").text


def test_a_model_without_images_gets_a_sentence(provider: StrictProvider) -> None:
    """The thread was begun by a model that sees."""
    saver = InMemorySaver()
    with open_archive(":memory:") as archive:
        provider.answer = reads_back()
        with chat_model(provider, "anthropic") as model:
            play(agent_of(model, saver=saver, archive=archive), BLOCKS["image"])
            model.profile = {"image_inputs": False}
            provider.answer = reads_back("0")
            agent = agent_of(model, saver=saver, archive=archive)
            agent.invoke({"messages": [HumanMessage(AGAIN)]}, THREAD)

    last = provider.requests[-1].body
    assert media_in(last) == []
    assert "[image/png: not shown, since this model does not accept it. Ask for" in str(last)


def test_a_subagent_reads_its_own_media_back(provider: StrictProvider) -> None:
    """Its thread is its own; what it read back is in its own requests alone."""

    def answer(request: Request) -> Answer:
        newest, number = messages_of(request)[-1].text, len(messages_of(request))
        if not any(tool.name == "shown_plan" for tool in request.tools):
            called = any(message.calls for message in messages_of(request))
            task = ("task", {"description": LOOK, "subagent_type": "viewer"})
            return Answer("done") if called else Answer(calls=(task,))
        if newest == COMPACTED:
            text = "\n".join(message.text for message in messages_of(request))
            handle = re.findall(r'recall\(handle="(\w+)#POSITION', text)[-1]
            return Answer(calls=(("recall", {"handle": f"{handle}#2"}),))
        if messages_of(request)[-1].role == "user":
            return Answer(calls=(("shown_plan", {}),))
        if any(call.name == "recall" for m in messages_of(request) for call in m.calls):
            return Answer("I see it.")
        step = "ls" if number < FEW else "compact_conversation"
        return Answer(FILLER, calls=((step, {"path": "/"}),))

    @tool
    def shown_plan() -> Any:  # noqa: ANN401 (blocks)
        """Show the plan."""
        return [{"type": "text", "text": "the plan"}, BLOCKS["image"]]

    provider.answer = answer
    viewer: Any = {
        "name": "viewer",
        "description": "Looks.",
        "system_prompt": "Look.",
        "tools": [shown_plan],
    }
    with chat_model(provider, "anthropic") as model:
        agent = create_deep_agent(
            model,
            subagents=[viewer],
            context=POLICY,
            archive=":memory:",
            checkpointer=InMemorySaver(),
        )
        agent.invoke({"messages": [HumanMessage("Delegate.")]}, THREAD)

    assert [seen.problems for seen in provider.requests if seen.problems] == []
    *_, before, after, parent = (media_in(seen.body) for seen in provider.requests)
    assert len(after) == len(before) + 1
    assert parent == []


LOOK, FEW = "Look at the plan.", 9
