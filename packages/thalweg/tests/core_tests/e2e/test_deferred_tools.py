"""Deferred tools: withheld, found, loaded without breaking the prefix, and kept for the thread."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import EVERY_WIRE, chat_model
from thalweg.archive import Archive, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.entries import Message
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.wires.registry import READERS

CONFIG: Any = {"configurable": {"thread_id": "t"}}
LONG = "This sentence stands for the details that a schema of a real server has. " * 20
PROSE = "the shelf stays where it is, as it was agreed upon earlier. " * 60
REWRITES = {"openai-chat", "gemini"}
"""Clients without a way to load a schema in the middle of a conversation."""


def catalogue(number: int = 100) -> list[BaseTool]:
    """Make tools that return their own names."""

    def make(n: int) -> BaseTool:
        def run(item: str) -> str:
            return f"tool_{n:03} did {item}"

        about = f"Handle things of kind K{n:03}. {LONG}"
        return StructuredTool.from_function(run, name=f"tool_{n:03}", description=about)

    return [make(n) for n in range(number)]


def names_of(request: Request) -> set[str]:
    """Name the tools that the model sees."""
    return {tool.name for tool in request.tools}


def read(request: Request) -> Sequence[Message]:
    """Read the messages of a request, without the tools that are added between them."""
    items = [item for item in request.items if item.get("type") != "additional_tools"]
    return READERS[request.wire].read(items)[0]


def seeker(seen: list[Request], made: list[Answer] | None = None) -> Any:  # noqa: ANN401 (a script)
    """Make a model that finds a tool before it calls it, as one that sees its request must."""

    def answer(request: Request) -> Answer:
        seen.append(request)
        messages = read(request)
        last = messages[-1]
        if "[This is not the user speaking.]" in last.text or "<transcript" in last.text:
            return Answer("## State of work\n- It goes on.")
        if last.role == "tool":
            wanted = next(m for m in reversed(messages) if m.role == "user").text[:8]
            if "did" in last.text:
                return Answer(f"Done. {PROSE}")
            return Answer("", ((wanted, {"item": "it"}),))
        wanted = last.text[:8]
        if wanted in names_of(request):
            return Answer("", ((wanted, {"item": "it"}),))
        search = Answer("", (("find_tools", {"query": f"kind K{wanted[5:]}"}),))
        (made if made is not None else []).append(search)
        return search

    return answer


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with open_archive(tmp_path / "threads.db") as archive:
        yield archive


def agent_of(
    model: Any,  # noqa: ANN401 (LangChain's)
    archive: Archive,
    saver: InMemorySaver | None = None,
    **settings: Any,  # noqa: ANN401 (of the policy)
) -> Any:  # noqa: ANN401 (LangGraph's)
    policy = ContextPolicy(**{"defer_tools": "provider", "summarize": False, **settings})
    middleware = ContextMiddleware(policy, archive=archive)
    saver = saver or InMemorySaver()
    return create_agent(model, catalogue(), middleware=[middleware], checkpointer=saver)


def ask(agent: Any, *tools: str) -> None:  # noqa: ANN401 (LangGraph's)
    """Ask for one tool after the other."""
    for name in tools:
        said = agent.invoke({"messages": [HumanMessage(f"{name}, please")]}, CONFIG)["messages"]
        assert any(f"{name} did it" in message.text for message in said[-4:])


def refused(provider: StrictProvider) -> list[Any]:
    """List the problems of all requests."""
    return [one.problems for one in provider.requests if one.problems]


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_a_tool_is_withheld_until_it_is_found_and_then_called(wire: str, archive: Archive) -> None:
    """One search, and the tool is there in every later request; the others never are."""
    seen: list[Request] = []
    with (
        StrictProvider(answer=seeker(seen), window=200_000) as provider,
        chat_model(provider, wire) as model,
    ):
        agent = agent_of(model, archive)
        ask(agent, "tool_042", "tool_007", "tool_042")
    assert refused(provider) == []
    shown = [names_of(request) & {f"tool_{n:03}" for n in range(100)} for request in seen]
    assert shown[0] == set()
    assert shown[1] == shown[3] == {"tool_042"}
    assert shown[-1] == {"tool_042", "tool_007"}
    assert len(seen) == 3 + 3 + 2
    whole = sum(tool.name.startswith("tool") for tool in catalogue())
    assert whole == 100
    assert max(request.tokens for request in seen) < 12_000


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_loading_breaks_the_cached_prefix_only_where_it_has_to(wire: str, archive: Archive) -> None:
    """Each request begins with the one before, at the providers that load in the middle."""
    seen: list[Request] = []
    with (
        StrictProvider(answer=seeker(seen), window=200_000) as provider,
        chat_model(provider, wire) as model,
    ):
        ask(agent_of(model, archive), "tool_042", "tool_007", "tool_011")
    broken = [
        before.tokens - later.cached_tokens > 128  # OpenAI's blocks
        for before, later in pairwise(provider.requests)
        if before.tokens > 2_000
    ]
    assert any(broken) == (wire in REWRITES)


@pytest.mark.slow
@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_what_was_loaded_stays_loaded_after_a_compaction_and_in_another_process(
    wire: str, archive: Archive
) -> None:
    """The result of the search is no longer in the request; its tool is."""
    seen: list[Request] = []
    asked: list[Answer] = []
    saver = InMemorySaver()
    folding = {"window": 20_000, "max_output": 1_000, "trigger": ("tokens", 6_000)}
    with (
        StrictProvider(answer=seeker(seen, asked), window=20_000) as provider,
        chat_model(provider, wire) as model,
    ):
        ask(agent_of(model, archive, saver, **folding), *["tool_042", "tool_007"] * 6)
        ask(agent_of(model, archive, saver, **folding), "tool_042")  # a process of its own
    assert refused(provider) == []
    assert {"tool_042", "tool_007"} <= names_of(seen[-1])
    assert not any(call.name == "find_tools" for m in read(seen[-1]) for call in m.calls)
    assert len(asked) == 2


def test_what_is_named_kept_or_forced_is_never_withheld(archive: Archive) -> None:
    """By the system prompt, by the setting, by `tool_choice`."""
    seen: list[Request] = []

    @wrap_model_call
    def force(request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        return handler(request.override(tool_choice="tool_033"))

    def answer(request: Request) -> Answer:
        seen.append(request)
        return Answer("Done.")

    with (
        StrictProvider(answer=answer, window=200_000) as provider,
        chat_model(provider, "anthropic") as model,
    ):
        policy = ContextPolicy(defer_tools="provider", keep_tools=("tool_01?",), summarize=False)
        layers: list[Any] = [force, ContextMiddleware(policy, archive=archive)]
        agent = create_agent(
            model,
            catalogue(),
            system_prompt="Begin with tool_050.",
            middleware=layers,
        )
        agent.invoke({"messages": [HumanMessage("hi")]})
    kept = {f"tool_01{n}" for n in range(10)} | {"tool_050", "tool_033"}
    assert names_of(seen[0]) == kept | {"find_tools", "recall", "compact_conversation"}
    assert refused(provider) == []


def test_nothing_is_deferred_where_that_does_not_pay(archive: Archive) -> None:
    """A few tools cost less than the searches for them; then there is no search tool, either."""
    seen: list[Request] = []

    def answer(request: Request) -> Answer:
        seen.append(request)
        return Answer("Done.")

    with (
        StrictProvider(answer=answer, window=200_000) as provider,
        chat_model(provider, "anthropic") as model,
    ):
        policy = ContextPolicy(defer_tools="provider", summarize=False)
        middleware = ContextMiddleware(policy, archive=archive)
        agent = create_agent(model, catalogue(10), middleware=[middleware])
        agent.invoke({"messages": [HumanMessage("hi")]})
    assert len(names_of(seen[0])) == 12
    assert "find_tools" not in names_of(seen[0])
    assert not any(tool.get("defer_loading") for tool in seen[0].body["tools"])
