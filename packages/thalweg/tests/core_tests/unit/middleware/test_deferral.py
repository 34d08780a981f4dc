"""Deferred tools: the price of deferring, the search, and their places in a body."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool

from core_tests.property.driving import quick_count
from strict_llm.rules.anthropic_deferral import deferral_problems
from strict_llm.rules.responses_items import item_problems
from thalweg.context.deferral.tool_layout import lay_out_tools, with_items, with_references
from thalweg.engine import ContextPolicy
from thalweg.engine.deferral import ToolCard, expected_saving, find_cards, plan_deferral
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.testing import ScriptedModel

PRICES = NAMED_TARIFFS["anthropic"]
NAMES = [f"tool_{n}" for n in range(6)]
CALLS = ["call_0", "call_1", "call_2"]
LOADED = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", *CALLS]))
LIVE = st.sets(st.sampled_from(CALLS))
DEFINED = st.sets(st.sampled_from(NAMES))


def cards(number: int, tokens: int) -> list[ToolCard]:
    """Make tools whose schemas have so many tokens each."""
    return [ToolCard(f"tool_{n}", "", tokens) for n in range(number)]


@given(st.integers(1, 200), st.integers(20, 2_000), st.sampled_from(["openai", "anthropic"]))
def test_rewriting_the_prefix_is_never_cheaper(number: int, tokens: int, provider: str) -> None:
    tariff = NAMED_TARIFFS[provider]
    some = cards(number, tokens)
    assert expected_saving(some, tariff, rewrites=True) <= expected_saving(
        some, tariff, rewrites=False
    )


def test_it_pays_from_some_size_on_and_in_a_small_window_at_once() -> None:
    def deferred(tokens: int, window: int) -> int:
        named = plan_deferral(
            cards(60, tokens),
            system="",
            kept_patterns=(),
            tariff=PRICES,
            rewrites=False,
            window=window,
        )
        return len(named)

    assert deferred(50, 200_000) == 0
    assert deferred(400, 200_000) == 60
    assert deferred(50, 8_000) == 60


def test_a_name_is_found_before_words() -> None:
    some = [ToolCard("create_issue", "Open one."), ToolCard("list_issues", "create create")]
    assert find_cards(some, "create_issue")[0].name == "create_issue"
    assert [card.name for card in find_cards(some, "create issue")] == [
        "create_issue",
        "list_issues",
    ]
    assert find_cards(some, "weather in Rome") == []


def body_for_anthropic(defined: set[str], live: set[str]) -> dict[str, Any]:
    """Make a body with the results of some searches, one of them marked for the cache."""
    uses = [{"type": "tool_use", "id": c, "name": "find_tools", "input": {}} for c in sorted(live)]
    mark = {"cache_control": {"type": "ephemeral"}}
    results = [
        {"type": "tool_result", "tool_use_id": c, "content": "Loaded", **mark} for c in sorted(live)
    ]
    turns = [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(defined)]
    tools.append({"name": "find_tools", "input_schema": {"type": "object"}})
    messages = [{"role": "user", "content": "hi"}, *(turns if live else [])]
    return {"model": "m", "max_tokens": 9, "tools": tools, "messages": messages}


@given(DEFINED, LOADED, LIVE)
def test_every_loaded_tool_is_there_once_for_anthropic(
    defined: set[str], loaded: dict[str, str], live: set[str]
) -> None:
    body = body_for_anthropic(defined, live)
    made = with_references(NAMES, loaded, body)
    assert [*deferral_problems(made)] == []
    full = {tool["name"] for tool in made["tools"] if not tool.get("defer_loading")}
    referred = [
        one["tool_name"]
        for message in made["messages"][1:]
        for block in message["content"]
        if isinstance(block.get("content"), list)
        for one in block["content"]
    ]
    assert len(referred) == len(set(referred))
    assert full.isdisjoint(referred)
    assert full | {*referred} == (loaded.keys() & defined) | {"find_tools"}
    assert body == body_for_anthropic(defined, live)  # unchanged


@given(DEFINED, LOADED, LIVE)
def test_every_loaded_tool_is_there_once_for_openai(
    defined: set[str], loaded: dict[str, str], live: set[str]
) -> None:
    calls = [
        {"type": "function_call", "call_id": c, "name": "find_tools", "arguments": "{}"}
        for c in sorted(live)
    ]
    results = [
        {"type": "function_call_output", "call_id": c, "output": "Loaded"} for c in sorted(live)
    ]
    tools: list[BaseTool | dict[str, Any]] = [
        {"type": "function", "name": name, "defer_loading": True}
        for name in [*sorted(defined), "find_tools"]
    ]
    items = [{"role": "user", "content": "hi"}, *calls, *results]
    made = with_items(NAMES, loaded, {"input": items, "tools": tools})
    added = [item for item in made["input"] if item.get("type") == "additional_tools"]
    names = [tool["name"] for item in (*added, made) for tool in item["tools"]]
    assert sorted(names) == sorted((loaded.keys() & defined) | {"find_tools"})
    assert not any(tool.get("defer_loading") for item in (*added, made) for tool in item["tools"])
    assert [p for n, i in enumerate(made["input"]) for p in item_problems(f"input[{n}]", i)] == []
    assert [item for item in made["input"] if item not in added] == items


def test_a_body_without_items_has_the_loaded_tools_in_its_list() -> None:
    """The Chat Completions API takes no tools among its messages."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("a", "b", "c")]
    body = {"messages": [], "tools": tools}
    made = with_items(["a", "b"], {"b": "call_0"}, body)
    assert [tool["function"]["name"] for tool in made["tools"]] == ["b", "c"]


@pytest.mark.parametrize("known", [{}, {"tool_001": "c1"}])
def test_tools_that_a_thread_found_or_called_are_loaded(known: dict[str, str]) -> None:
    called = AIMessage("", tool_calls=[{"name": "tool_002", "args": {}, "id": "c2"}])
    tools: list[BaseTool | dict[str, Any]] = [
        StructuredTool.from_function(
            lambda: "", name=f"tool_{n:03}", description="of the kind " * 99
        )
        for n in range(100)
    ]
    state: Any = {"messages": [HumanMessage("Go"), called]} | (
        {"thalweg_tools": known} if known else {}
    )
    request = ModelRequest(
        model=ScriptedModel(script=lambda _: "Done."), messages=[], tools=tools, state=state
    )
    policy = ContextPolicy(defer_tools="own")

    layout = lay_out_tools(request, policy, PRICES, 100_000, quick_count)

    assert layout.loaded == {**known, "tool_002": ""}
    assert {"tool_001", "tool_002", "tool_003"} <= set(layout.deferred)
