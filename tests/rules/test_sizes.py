"""Requests fit the window, for any way a provider counts and any usage it reports."""

import logging
import warnings
from contextlib import ExitStack

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from tests.rules.endpoint import Endpoint, serving
from tests.rules.players import Outcome, Theatre, client
from tests.rules.rule import Provider
from thalweg import ContextMiddleware
from thalweg.testing import ScriptedModel

SEEDS = range(3)


def played(provider: Provider, *, reports: float, counts: float) -> list[Outcome]:
    """Play calm stories on endpoints that count and report in their own way."""
    warnings.simplefilter("ignore")  # clients warn of models that they do not know
    with ExitStack() as addresses:

        def address_of(point: Endpoint) -> str:
            point.reports, point.counts = reports, counts
            return addresses.enter_context(serving(point))

        theatre = Theatre(provider, "create_agent", address_of)
        return [theatre.play(seed, calm=True) for seed in SEEDS]


@pytest.mark.slow
@pytest.mark.parametrize("reports", [0.1, 0.8])
def test_usage_that_is_reported_too_low_does_not_open_the_window(reports: float) -> None:
    """A proxy may omit cached tokens, and a provider may count only a part."""
    outcomes = played("openai-chat", reports=reports, counts=1.0)
    assert [o.over for o in outcomes if o.over] == []


@pytest.mark.slow
def test_a_provider_that_counts_more_is_known_before_its_first_report() -> None:
    """Claude's newest vocabulary has one and a half tokens for one of ours."""
    outcomes = played("anthropic", reports=1.0, counts=1.45)
    assert [o.over for o in outcomes if o.over] == []


def test_a_model_of_unknown_window_is_reported_once_with_the_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings.simplefilter("ignore")
    with serving(Endpoint(32_000)) as address, caplog.at_level(logging.WARNING):
        model = client("openai-chat", "brand-new-1", address)
        agent = create_agent(model, [], middleware=[ContextMiddleware(archive=":memory:")])
        for _ in range(3):
            agent.invoke({"messages": [HumanMessage("hi")]})
    said = [r.getMessage() for r in caplog.records if "window of" in r.getMessage()]
    assert len(said) == 1
    assert "brand-new-1" in said[0]
    assert "ContextPolicy(window=…)" in said[0]


@tool
def fetch(page: int) -> str:
    """Fetch a page of the handbook by its number, from 1."""
    return f"page {page}"


def test_the_scripted_model_reports_what_it_was_sent() -> None:
    """Calls and schemas of tools are input tokens as well."""
    model = ScriptedModel(script=lambda _: "Done.")
    call = {"name": "fetch", "args": {"page": 1}, "id": "c", "type": "tool_call"}
    thread = [HumanMessage("Read page 1."), AIMessage("", tool_calls=[call])]
    thread += [ToolMessage("page 1", tool_call_id="c")]
    short = model.invoke(thread[:1]).usage_metadata
    whole = model.invoke(thread).usage_metadata
    tools = model.bind_tools([fetch]).invoke(thread).usage_metadata
    assert short
    assert whole
    assert tools
    assert short["input_tokens"] + 15 < whole["input_tokens"]
    assert whole["input_tokens"] + 20 < tools["input_tokens"]
