"""The probe of cost sees a prefix that no cache finds."""

from collections.abc import Container, Sequence
from itertools import count

import pytest
from langchain_core.messages import AnyMessage

from evals_tests.evals.played import played
from thalweg.context.request.message_writer import MessageWriter
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.items import WindowItem
from thalweg_evals.probes import cost
from thalweg_evals.recorder import tokens_of
from thalweg_evals.spending import spent, whole
from thalweg_evals.trace import Kind, Request, Trace, TracedMessage, TracedTurn

write = MessageWriter.write
FEW = 5
"""Compactions: a short talk is enough to see it."""
TALK = [
    TracedMessage("user", "Good morning. " + "fathom shoal mud gravel " * 400),
    TracedMessage("assistant", "Good morning."),
    TracedMessage("user", "Thank you."),
    TracedMessage("assistant", "Goodbye."),
]


@pytest.fixture(autouse=True)
def _talk_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "COMPACTIONS", FEW)


def test_compaction_costs_less_than_the_whole_history() -> None:
    result = played("cost/pages", trigger=0.5)

    assert result.verdict == "passed", result.why


def test_a_prefix_that_is_written_anew_at_every_request_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = count()

    def numbered(
        wording: MessageWriter, items: Sequence[WindowItem], edited: Container[int] = ()
    ) -> list[AnyMessage]:
        first, *others = write(wording, items, edited)
        text = f"[request {next(numbers)}] {first.text}"
        return [first.model_copy(update={"content": text}), *others]

    monkeypatch.setattr(MessageWriter, "write", numbered)

    result = played("cost/pages", trigger=0.5)

    assert result.verdict == "failed", result.why
    assert "of what the whole history costs" in result.why


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_talk_that_is_sent_whole_costs_what_the_whole_history_does(name: str) -> None:
    trace = _trace([_request(0, TALK[:1], TALK[1]), _request(1, TALK[:3], TALK[3])])

    assert spent(trace, TARIFFS[name]).cost == whole(trace, TARIFFS[name]).cost


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_what_the_harness_asks_for_itself_and_a_prefix_that_changes_are_paid_for(name: str) -> None:
    talk = [_request(0, TALK[:1], TALK[1]), _request(1, TALK[:3], TALK[3])]
    summary = _request(
        1, [TracedMessage("user", "Summarize: " + TALK[0].text)], TALK[1], kind="harness"
    )
    changed = _request(1, [TracedMessage("user", "Now: " + TALK[0].text), *TALK[1:3]], TALK[3])
    plain = spent(_trace(talk), TARIFFS[name])

    assert spent(_trace([talk[0], summary, talk[1]]), TARIFFS[name]).cost > plain.cost
    assert spent(_trace([talk[0], changed]), TARIFFS[name]).cost > plain.cost
    assert spent(_trace([talk[0], changed]), TARIFFS[name]).cached == 0


def _request(
    turn: int, messages: Sequence[TracedMessage], answer: TracedMessage, kind: Kind = "agent"
) -> Request:
    return Request(
        number=turn,
        turn=turn,
        thread="main",
        kind=kind,
        messages=tuple(messages),
        tools=(),
        tokens=sum(tokens_of(one, exact_counter()) for one in messages),
        answer=answer,
    )


def _trace(requests: list[Request]) -> Trace:
    return Trace(requests, [TracedTurn("main", one.text, "") for one in TALK if one.role == "user"])
