"""Signed reasoning remains acceptable to models that bind it to everything before it."""

from typing import Any

import anthropic
import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks import preserved_thinking
from benchmarks.preserved_thinking import drive, steps
from strict_llm import Answer, Model, Request, StrictProvider
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg_agent.middleware.answer_retry import AnswerMiddleware

BETA = "thinking-binding-controls-2026-08-01"


@pytest.mark.slow
@pytest.mark.nightly
def test_no_request_is_refused_whatever_happens_to_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compactions, rewinds, forks, undo, pins, other models, tools, prompts, memory, restarts."""
    monkeypatch.setattr(preserved_thinking, "ACTS", 1.0)
    acts = {
        *("compact", "rewind", "fork", "undo", "pin", "switch_model"),
        *("change_tools", "change_system", "change_memory", "load_skill", "restart"),
    }
    happened: set[str] = set()
    # Tools that run at a time share the dice, so that each run of a seed may differ.
    seeds = iter(range(1, 20))
    while not happened >= acts:
        provider, world = drive(80, next(seeds))
        assert [seen.problems for seen in provider.requests if seen.status != httpx.codes.OK] == []
        assert world.watch.cuts
        happened |= set(world.happened)


def test_long_tool_loops_are_never_refused() -> None:
    """Clears and compactions in the middle of a loop."""
    provider, watch, _ = steps(3, "ours")
    assert [seen.problems for seen in provider.requests if seen.status != httpx.codes.OK] == []
    assert watch.cuts
    assert watch.kept < 1


def model_of(provider: StrictProvider, name: str) -> ChatAnthropic:
    """Make a client of the provider."""
    return ChatAnthropic(
        model_name=name,
        base_url=provider.anthropic_url,
        api_key=SecretStr("x"),
        max_tokens_to_sample=1_000,
        max_retries=0,
        timeout=30,
        stop=None,
        thinking={"type": "adaptive"},
    )


class Reworded(AgentMiddleware[Any, Any, Any]):
    """Third-party middleware, after ours: it changes the model's instructions each time."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:  # noqa: ANN401
        """Change the system prompt once in a while."""
        self.times += 1
        said = SystemMessage(f"It is day {self.times // 4}.")
        return handler(request.override(system_message=said))


@pytest.mark.parametrize("behind", [False, True])
def test_an_unknown_model_that_binds_is_learned_from_one_refusal(behind: bool) -> None:  # noqa: FBT001
    """The thread is repaired and sent again in the same run; the next edit is not refused."""

    @tool
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"{page} " + "word " * 900

    def answer(request: Request) -> Answer:
        thought = f"thought {request.number} " + "so " * 40
        if request.number % 5 == 4:
            return Answer("Done.", thinking=thought)
        return Answer("", calls=(("fetch", {"page": request.number}),), thinking=thought)

    provider = StrictProvider(window=200_000, answer=answer)
    provider.models["claude-next-9"] = Model(binds=True)
    with provider:
        ours = ContextMiddleware(ContextPolicy(window=16_000, summarize=False), archive=":memory:")
        middleware = [ours, Reworded()] if behind else [ours]
        agent: Any = create_agent(
            model_of(provider, "claude-next-9"),
            [fetch],
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}}
        for turn in range(6):
            agent.invoke({"messages": [HumanMessage(f"go on {turn}")]}, config)
    refused = [seen for seen in provider.requests if seen.status != httpx.codes.OK]
    assert all("bound to a different conversation" in seen.problems[0] for seen in refused)
    if behind:
        days = {str(seen.body["system"]) for seen in provider.requests if seen.body}
        assert 0 < len(refused) <= len(days)
    else:
        assert len(refused) == 1


class Reminding(AgentMiddleware[Any, Any, Any]):
    """Third-party middleware: it appends a reminder to every request, stored in no state."""

    def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:  # noqa: ANN401
        """Add it."""
        reminder = HumanMessage("Be brief.")
        return handler(request.override(messages=[*request.messages, reminder]))


@pytest.mark.parametrize("behind", [False, True])
def test_a_reminder_behind_every_request_is_part_of_what_binds(behind: bool) -> None:  # noqa: FBT001
    """The next request has neither the reminder nor the reasoning after it."""

    @tool
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}"

    def answer(request: Request) -> Answer:
        calls = () if request.number % 4 == 3 else (("fetch", {"page": request.number}),)
        return Answer("Done.", calls=calls, thinking=f"thought {request.number}")

    with StrictProvider(answer=answer) as provider:
        ours: list[AgentMiddleware[Any, Any, Any]] = [ContextMiddleware(archive=":memory:")]
        agent: Any = create_agent(
            model_of(provider, "claude-opus-5-5"),
            [fetch],
            middleware=[*ours, Reminding()] if behind else [Reminding(), *ours],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}}
        for turn in range(3):
            agent.invoke({"messages": [HumanMessage(f"go on {turn}")]}, config)
    assert [seen.problems for seen in provider.requests if seen.status != httpx.codes.OK] == []


@pytest.mark.parametrize("removes", [False, True])
def test_the_note_behind_an_empty_answer_binds_what_it_is_answered_with(removes: bool) -> None:  # noqa: FBT001
    """While the note is in the thread, the reasoning is shown; without it, it is not."""
    said = iter(["", "Here it is.", "More.", "And more."])
    ours: list[AgentMiddleware[Any, Any, Any]] = [ContextMiddleware(archive=":memory:")]
    with StrictProvider(answer=lambda _: Answer(next(said), thinking="hm")) as provider:
        agent: Any = create_agent(
            model_of(provider, "claude-opus-5-5"),
            [],
            middleware=[AnswerMiddleware(), *ours],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}}
        messages = agent.invoke({"messages": [HumanMessage("hi")]}, config)["messages"]
        if removes:
            change = {"messages": [RemoveMessage(id=messages[1].id)]}
            agent.update_state(config, change)
        agent.invoke({"messages": [HumanMessage("and?")]}, config)
    assert {seen.status for seen in provider.requests} == {httpx.codes.OK}
    thinks = "thinking" in str((provider.requests[-1].body or {})["messages"])
    assert thinks is not removes


def asked(provider: StrictProvider, **changes: Any) -> anthropic.types.beta.BetaMessage:  # noqa: ANN401
    """Ask with the vendor's own client."""
    body: dict[str, Any] = {"model": "claude-fable-5-2", "max_tokens": 100, **changes}
    with anthropic.Anthropic(base_url=provider.anthropic_url, api_key="x", max_retries=0) as client:
        answer: anthropic.types.beta.BetaMessage = client.beta.messages.create(**body)
    return answer


def test_the_strict_provider_drops_and_reports_what_it_would_refuse() -> None:
    """With the setting and its beta header; a system prompt that changed invalidates all."""
    thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    user = {"role": "user", "content": "hi"}
    with StrictProvider(answer=lambda _: Answer("hello", thinking="hm")) as provider:
        first = asked(provider, messages=[user], system="a")
        content = [block.model_dump(exclude_none=True) for block in first.content]
        said = {"role": "assistant", "content": content}
        again: dict[str, Any] = {"messages": [user, said, user], "system": "b"}
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            asked(provider, **again)
        with pytest.raises(anthropic.BadRequestError, match="block_binding"):
            asked(provider, **again, thinking=thinking)
        dropped = asked(provider, **again, thinking=thinking, betas=[BETA])
        kept = asked(provider, **again | {"system": "a"}, thinking=thinking, betas=[BETA])
    (one,) = dropped.input_transformations or []
    assert one.path == "messages.1.content.0"
    assert kept.input_transformations == []
    assert [seen.dropped for seen in provider.requests][-2:] == [("messages.1.content.0",), ()]


def test_these_models_take_no_forced_tool() -> None:
    """They choose for themselves; older ones may be forced."""
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": tools,
        "tool_choice": {"type": "any"},
    }
    with StrictProvider() as provider:
        with pytest.raises(anthropic.BadRequestError, match="tool_choice"):
            asked(provider, **body)
        asked(provider, **body, model="claude-opus-4-8")


@pytest.mark.parametrize(
    ("name", "keeps"),
    [("claude-opus-5-5", True), ("claude-fable-5-2", True), ("claude-opus-4-6", False)],
)
def test_a_system_message_in_mid_conversation_keeps_its_authority(
    name: str, *, keeps: bool
) -> None:
    """Where the model takes one; an older model gets it as a note."""
    with StrictProvider(answer=lambda _: Answer("hello", thinking="hm")) as provider:
        agent: Any = create_agent(
            model_of(provider, name),
            [],
            system_prompt="You are brief.",
            middleware=[ContextMiddleware(archive=":memory:")],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}}
        for said in ("hi", "and?", "so?"):
            told = [SystemMessage("Be exact.")] if said == "and?" else []
            agent.invoke({"messages": [*told, HumanMessage(said)]}, config)
    assert {seen.status for seen in provider.requests} == {httpx.codes.OK}
    messages = (provider.requests[-1].body or {})["messages"]
    late = [message["role"] for message in messages if "Be exact." in str(message["content"])]
    assert late == (["system"] if keeps else ["user"])
