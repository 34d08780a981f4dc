"""The events that an agent's context engine emits for its decisions, for every kind of listener."""

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import use_span

from thalweg import ContextMiddleware, ContextPolicy
from thalweg.engine import Pricing
from thalweg.testing import ScriptedModel

KNOWN = Pricing(tariff="anthropic")


class Unheard(ScriptedModel):
    """A model of an unknown provider."""

    @property
    def _llm_type(self) -> str:
        return "unheard"


@tool
def ruler(text: str) -> int:
    """Measure a text."""
    return len(text)


def talk(
    pricing: Pricing = KNOWN,
    model: type[ScriptedModel] = ScriptedModel,
    **policy: Any,  # noqa: ANN401 (settings as a file has them)
) -> list[dict[str, Any]]:
    """Send messages until something was folded; return what came on the custom stream."""
    agent = create_agent(
        model(script=lambda _: "An answer. " * 200),
        [ruler],  # with tools of its own an agent has ours from its first request on
        middleware=[
            ContextMiddleware(
                ContextPolicy(window=8_000, summarize=False, pricing=pricing, **policy),
                archive=":memory:",
            )
        ],
        checkpointer=InMemorySaver(),
    )
    told: list[dict[str, Any]] = []
    for number in range(12):
        said: Any = {"messages": [("user", f"topic {number} " + "blah " * 300)]}
        told += agent.stream(said, {"configurable": {"thread_id": "t"}}, stream_mode="custom")
        if any(event["type"] == "thalweg.context" for event in told):
            break
    return told


def test_one_decision_is_one_event_with_its_reason_and_its_price() -> None:
    """Only turns in which something was decided emit events."""
    (event,) = talk()

    assert event["type"] == "thalweg.context"
    assert event["trigger"] == ["the request would not fit"]
    assert [edit["kind"] for edit in event["edits"]] == ["fold"]
    assert event["tokens_after"] < event["limit"] < event["tokens_before"]
    assert 0 < event["tokens_rewritten"] <= event["tokens_after"]
    assert event["price"] > 0
    assert event["saving_per_call"] > 0
    price, saving, calls = event["price"], event["saving_per_call"], event["predicted_calls"]
    assert event["break_even_calls"] == pytest.approx(price / saving, abs=0.1)
    assert event["predicted_gain"] == pytest.approx(saving * calls - price, abs=1.0)
    assert calls == event["turn"]
    assert saving == pytest.approx(0.1 * (event["tokens_before"] - event["tokens_after"]), abs=0.1)


def test_the_log_says_it_in_a_sentence_and_the_numbers_line_by_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The sentence for those who run it, the lines for those who look."""
    with caplog.at_level(logging.DEBUG, "thalweg.context"):
        (event,) = talk()

    said = [(r.levelname, r.message) for r in caplog.records if r.name == "thalweg.context"]
    before, limit = event["tokens_before"], event["limit"]
    assert said[0][0] == "INFO"
    assert f"{before} -> {event['tokens_after']} tokens of {limit} (1 fold)" in said[0][1]
    assert said[1][1] == (
        f"[ContextMiddleware] Token count: {before} / 8000 ({100 * before // 8_000}%)"
    )
    assert any("New message count" in line for _, line in said)


SETTINGS: list[tuple[Any, list[str]]] = [
    (("fraction", 0.5), ["fraction threshold met (0.5)"]),
    ([("fraction", 0.9), ("tokens", 3_000)], ["tokens threshold met (3000)"]),
    ([("messages", 7), ("tokens", 9_999)], ["messages threshold met (7)"]),
    (
        [("messages", 7), ("tokens", 2_500)],
        ["messages threshold met (7)", "tokens threshold met (2500)"],
    ),
]


@pytest.mark.parametrize(("trigger", "met"), SETTINGS)
def test_the_log_names_the_triggers_that_were_met(
    caplog: pytest.LogCaptureFixture,
    trigger: Any,  # noqa: ANN401 (as a file has it)
    met: list[str],
) -> None:
    """And the messages that a summary replaces, and those that are kept."""
    with caplog.at_level(logging.DEBUG, "thalweg.context"):
        (event,) = talk(trigger=trigger, keep=("messages", 2))

    lines = [r.message for r in caplog.records if r.name == "thalweg.context"]
    assert [line for line in lines if "Trigger: " in line] == [
        f"[ContextMiddleware] Trigger: {one}" for one in met
    ]
    assert event["trigger"] == met
    assert lines[0].endswith(f": {'; '.join(met)}")
    kept = event["messages_after"] - 1
    replaced = event["messages_before"] - kept
    assert f"[ContextMiddleware] Summarizing {replaced} messages, keeping last {kept}" in lines
    assert (event["messages_before"] % 2, kept) == (1, 2)
    assert event["window"] == 8_000


def test_a_trace_has_the_event_in_the_span_of_the_run() -> None:
    """Where OpenTelemetry is installed."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with use_span(provider.get_tracer("test").start_span("run"), end_on_exit=True):
        (event,) = talk()

    (span,) = spans.get_finished_spans()
    (traced,) = span.events
    assert traced.name == "thalweg.context"
    assert traced.attributes is not None
    assert traced.attributes["tokens_after"] == event["tokens_after"]


def test_that_prices_had_to_be_assumed_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Not with every turn: on the stream, and as a warning."""
    assumed, _ = talk(Pricing(), Unheard)

    assert assumed["type"] == "thalweg.prices"
    assert assumed["tariff"] == "anthropic"
    assert "are unknown; compaction assumes those of anthropic" in assumed["note"]
    warned = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert warned == [assumed["note"]]  # the window is given: nothing is assumed of it


def test_of_a_script_in_the_place_of_a_model_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It costs nothing."""
    assert [event["type"] for event in talk(Pricing())] == ["thalweg.context"]
    assert not [r for r in caplog.records if r.levelno == logging.WARNING]
