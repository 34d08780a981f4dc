"""LangChain's middleware in its own agent loop, over threads made by hand."""

import json

import pytest
from langchain.agents.middleware import SummarizationMiddleware

from benchmarks.arena.contestants.agent import PeerError
from recorder_tests.unit.lab.replay.threads import answered, asked, said
from tests.arena.talks import driven, positions, turns
from thalweg.engine.entries import Media, Message, Text, Thinking, ToolCall
from thalweg_recorder.replay.peers import SUMMARY_TOKENS

PEERS = ("peer:langchain-summarization", "peer:langchain-editing")
ODD = [
    said("system", "You count."),
    said("user", "Count."),
    said("assistant", "I shall."),
    said("assistant", "I begin."),
    Message(
        "assistant",
        (
            Thinking("Both at once.", "signed"),
            ToolCall("", "count", '{"place": "bank 1"}'),
            ToolCall("", "count", "{no json"),
        ),
    ),
    answered("", "count", "one"),
    Message("assistant", (Text("  "),)),
    said("user", "And the other?"),
    asked("same", "count", place="bank 3"),
    asked("same", "count", place="bank 4"),
    answered("same", "count", "four"),
    Message("tool", (Text("see"), Media("image/png", data="aGk=")), answers="same", name="count"),
    said("user", "Stop."),
    said("system", "Time is up."),
    asked("d", "Bash", text="One more.", command="wc"),
    answered("d", "Bash", ""),
    said("assistant", "Done."),
]


@pytest.mark.parametrize("policy", PEERS)
def test_an_odd_log_reaches_the_agent_as_a_clean_conversation(policy: str) -> None:
    """No provider would reject a request of it, and nothing is omitted."""
    requests, _, _ = driven(policy, ODD)

    assert [request.problems for request in requests] == [()] * len(requests)
    shown = set(positions(requests[-1]))
    assert shown >= {p for p in range(len(ODD)) if p != 6}
    assert requests[-1].whole == shown - {-1}


@pytest.mark.parametrize("policy", PEERS)
def test_until_it_acts_a_peer_sends_what_our_engine_sends_when_it_never_acts(policy: str) -> None:
    """Requests are equal token by token: no peer is blamed for the log."""
    thread = [*ODD, *turns(5)]
    theirs, _, _ = driven(policy, thread)
    ours, _, _ = driven("none", thread)

    for their, our in zip(theirs, ours, strict=True):
        if any(thread[p].text.strip() == "" and thread[p].calls == () for p in positions(our)):
            continue
        assert [i.tokens for i in their.items if i.position >= 0] == [
            i.tokens for i in our.items if i.position >= 0
        ]


def test_summarization_acts_at_its_share_and_keeps_twenty_messages() -> None:
    """The summary has no text of the others if a request is too far back."""
    requests, brought, held = driven("peer:langchain-summarization@0.8", [*turns(20)])
    first = next(n for n, request in enumerate(requests) if -1 in positions(request))

    assert sum(item.tokens for item in requests[first - 1].items) < 0.85 * 20_000
    assert len(requests[first].items) in {21, 22}
    assert "too long to summarize" in requests[first].items[0].message.text
    assert [request.summaries for request in requests] == [()] * len(requests)
    assert brought == [""]
    assert not any(held)


def test_what_its_summarizer_was_shown_is_found_word_for_word() -> None:
    """The last 4,000 tokens, from a request on."""
    thread = [*turns(6), said("user", "Go <on> & count."), *list(turns(16))[1:]]
    requests, _, _ = driven("peer:langchain-summarization@0.5", thread)
    made = [summary for request in requests for summary in request.summaries]
    last = next(summary for summary in made if 13 in summary.read)

    assert {summary.output for summary in made} == {SUMMARY_TOKENS}
    assert {(summary.cached, summary.written) for summary in made} == {(0, 0)}
    assert last.read >= {11, 12, 13}
    assert not last.read & {0, 1, 2, 3}
    assert sum(len(thread[p].text) for p in last.read) / 5 < last.tokens < 5_000
    record = next(i for r in requests for i in r.items if i.section == "summary")
    assert SUMMARY_TOKENS <= record.tokens <= SUMMARY_TOKENS + 50


def test_editing_clears_all_but_three_results_at_every_call() -> None:
    """So its prefix changes each time, and what is cleared is nowhere."""
    requests, _, held = driven("peer:langchain-editing@0.25", [*turns(12)])
    last = requests[-1]
    results = [item for item in last.items if item.message.role == "tool"]

    assert [item.message.text for item in results[:-3]] == ["[cleared]"] * (len(results) - 3)
    assert [item.position in last.whole for item in results] == [False] * 9 + [True] * 3
    assert last.problems == ()
    assert not any(held)
    unchanged = {id(item) for item in requests[-2].items} & {id(item) for item in last.items}
    assert len(unchanged) == len(requests[-2].items) - 1


def test_its_own_trigger_is_a_number_of_tokens_whatever_the_window() -> None:
    """As it is documented: 100,000."""
    requests, _, _ = driven("peer:langchain-editing", [*turns(20)], window=20_000)

    assert all("[cleared]" not in i.message.text for r in requests for i in r.items)


def test_asked_again_it_gives_the_same_request_and_pays_nothing_twice() -> None:
    """An empty turn is none."""
    thread = [*turns(2), Message("assistant", ()), Message("assistant", (Text(" "),))]
    requests, _, _ = driven("peer:langchain-summarization", thread)

    assert positions(requests[-1]) == positions(requests[-2]) == positions(requests[-3])


def test_an_agent_that_dies_is_told_with_what_it_died_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its thread ends."""

    def fail(*_: object) -> None:
        raise ValueError("no such luck")  # noqa: TRY003 (an error of theirs)

    monkeypatch.setattr(SummarizationMiddleware, "before_model", fail)
    with pytest.raises(PeerError, match="it died of ValueError: no such luck"):
        driven("peer:langchain-summarization", [*turns(2)])


def test_arguments_that_are_no_object_come_through() -> None:
    """As they were recorded, in what is counted."""
    requests, _, _ = driven(PEERS[0], ODD)
    calls = [call.arguments for item in requests[-1].items for call in item.message.calls]

    assert "{no json" in calls
    assert json.dumps({"place": "bank 3"}) in calls
