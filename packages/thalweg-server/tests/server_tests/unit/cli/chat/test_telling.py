"""What a chat shows of a run is a function of its events."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from server_tests.e2e.chat_gateway import RIVERS, spoken
from thalweg_server.api.events import (
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    Notice,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SubagentEvent,
    ThinkingDelta,
    ToolCompleted,
    ToolStarted,
    UsageReported,
)
from thalweg_server.api.problems import Problem
from thalweg_server.api.threads import Question
from thalweg_server.api.usage import Usage
from thalweg_server.cli.chat.event_rendering import EventRenderer
from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.status import Status


def told(*events: Event) -> list[PrintedLine]:
    telling = EventRenderer(Status())
    return [line for event in events for line in telling.handle(event)]


def test_an_answer_comes_block_by_block() -> None:
    lines = told(RunStarted(run="r", thread="t"), *spoken("m", "One.\n\n- a\n- b\n\nTwo."))
    assert lines == [
        PrintedLine("answer", "One."),
        PrintedLine("answer", "- a\n- b"),
        PrintedLine("answer", "Two."),
    ]


def test_what_is_not_finished_is_shown_meanwhile() -> None:
    telling = EventRenderer(Status())
    for event in (MessageStarted(message="m"), MessageDelta(message="m", text="One.\n\nTw")):
        telling.handle(event)
    assert telling.now() == [PrintedLine("answer", "Tw")]


def test_an_answer_that_did_not_stream_is_shown_whole() -> None:
    whole = MessageCompleted(message="m", text="Forty.")
    assert told(MessageStarted(message="m"), whole) == [PrintedLine("answer", "Forty.")]


def test_a_tool_is_one_line_that_changes_and_then_stays() -> None:
    telling = EventRenderer(Status())
    assert (
        telling.handle(ToolStarted(call="c", name="read", arguments='{"path": "/a", "n": 3}')) == []
    )
    assert telling.now() == [PrintedLine("tool", "… read(path=/a, n=3)")]
    done = ToolCompleted(call="c", name="read", text="first\n  second")
    assert telling.handle(done) == [PrintedLine("tool", "✓ read(path=/a, n=3): first second")]
    assert telling.now() == []


def test_a_tool_that_failed_says_so() -> None:
    failed = ToolCompleted(call="c", name="read", text="no such file", is_error=True)
    assert told(ToolStarted(call="c", name="read"), failed) == [
        PrintedLine("failure", "✗ read(): no such file")
    ]


def test_a_subagent_is_one_line_and_its_tools_are_none() -> None:
    telling = EventRenderer(Status())
    figures: dict[str, JsonValue] = {"turn": 2, "tokens": 1_200, "seconds": 3.0, "tool": "grep"}
    for event in (
        ToolStarted(call="c", name="task", arguments="{}"),
        SubagentEvent(kind="task_started", task="c", subagent="scout"),
        ToolStarted(call="d", name="grep", caller="c"),
        SubagentEvent(kind="task_running", task="c", subagent="scout", detail=figures),
        ToolCompleted(call="d", name="grep", caller="c"),
    ):
        assert telling.handle(event) == []
    assert telling.now() == [
        PrintedLine("subagent", "… scout: 2 model calls, 1,200 tokens, 3 s, grep")
    ]
    end = SubagentEvent(kind="task_timed_out", task="c", subagent="scout", detail={"turn": 9})
    assert telling.handle(end) == [PrintedLine("failure", "✗ scout timed out: 9 model calls")]
    assert telling.handle(ToolCompleted(call="c", name="task", text="nothing")) == []


def test_thinking_is_shown_until_there_is_something_else() -> None:
    telling = EventRenderer(Status())
    telling.handle(MessageStarted(message="m"))
    telling.handle(ThinkingDelta(message="m", text="Let me\nsee."))
    assert telling.now() == [PrintedLine("thinking", "thinking: …Let me see.")]
    telling.handle(MessageDelta(message="m", text="So"))
    assert telling.now() == [PrintedLine("answer", "So")]


def test_a_compaction_says_how_much_and_why() -> None:
    changed = ContextChanged(
        turn=3,
        tokens_before=12_000,
        tokens_after=4_000,
        limit=16_000,
        reasons=("75% of the window", "stale"),
        detail={"edits": [{"kind": "evict"}], "note": "no usable summary"},
    )
    assert told(changed) == [
        PrintedLine(
            "context",
            "context 12,000 → 4,000 of 16,000 tokens (1 evict): 75% of the window; stale; "
            "no usable summary",
        )
    ]


@pytest.mark.parametrize(
    ("kind", "detail", "lines"),
    [
        (
            "thalweg.memory.told",
            {"facts": ["a", "b"], "turns": 1, "tokens": 90},
            [PrintedLine("memory", "memory told 2 facts and 1 earlier turn in 90 tokens")],
        ),
        ("thalweg.memory.told", {"facts": [], "turns": 0, "taken_back": 1}, []),
        (
            "thalweg.memory.review",
            {"facts": ["a"], "waiting": 3},
            [PrintedLine("memory", "1 new fact of 3 to review: thalweg memory review")],
        ),
        (
            "thalweg.memory.review",
            {"facts": ["a", "b"], "waiting": 2},
            [PrintedLine("memory", "2 facts to review: thalweg memory review")],
        ),
        (
            "thalweg.memory.failed",
            {"problem": "StorageError"},
            [PrintedLine("failure", "memory is unavailable in this run: StorageError")],
        ),
        (
            "thalweg.prices",
            {"note": "prices of x assumed"},
            [PrintedLine("note", "prices of x assumed")],
        ),
        ("mine", {"step": 3}, []),
    ],
)
def test_notices_are_told_in_words(
    kind: str, detail: dict[str, object], lines: list[PrintedLine]
) -> None:
    assert told(Notice(kind=kind, detail=detail)) == lines


def test_an_answer_that_was_taken_back_is_said_to_be() -> None:
    begun = (MessageStarted(message="m"), MessageDelta(message="m", text="Fort"))
    again = spoken("n", "Forty.")
    assert told(*begun, MessageWithdrawn(message="m"), *again) == [
        PrintedLine("answer", "Fort"),
        PrintedLine("note", "that answer was interrupted; it starts again"),
        PrintedLine("answer", "Forty."),
    ]
    assert told(MessageStarted(message="m"), MessageWithdrawn(message="m"), *again) == [
        PrintedLine("answer", "Forty.")
    ]
    stopped = told(*begun, MessageWithdrawn(message="m"), RunCancelled())
    assert [line.kind for line in stopped] == ["answer", "note"]
    assert "stopped" in stopped[-1].text


def test_how_a_run_ends_is_told() -> None:
    assert told(RunCancelled())[0].kind == "note"
    assert told(RunFailed(problem=Problem(title="T", status=502, detail="it broke"))) == [
        PrintedLine("error", "it broke")
    ]
    assert "attempt 2" in told(RunResumed(attempt=2))[0].text
    telling = EventRenderer(Status())
    questions = (Question(id="q", value="really?"),)
    telling.handle(RunInterrupted(questions=questions))
    assert telling.questions == questions


def test_the_status_follows_what_the_run_reports() -> None:
    telling = EventRenderer(Status(before=Usage(calls=1, input_tokens=10)))
    telling.handle(RunStarted(run="r", thread="t", model="small"))
    telling.handle(UsageReported(total=Usage(calls=1, input_tokens=5), tokens=900, limit=1_000))
    status = telling.status
    assert (status.model, status.tokens, status.limit) == ("small", 900, 1_000)
    assert status.spent.input_tokens == 15


def parted(events: list[Event], at: list[int]) -> Iterator[Event]:
    """Join or part deltas otherwise."""
    for event in events:
        if not isinstance(event, MessageDelta):
            yield event
            continue
        places = sorted({0, len(event.text), *(place % (len(event.text) + 1) for place in at)})
        for a, b in pairwise(places):
            yield event.model_copy(update={"text": event.text[a:b]})


@given(st.text() | st.just(RIVERS), st.lists(st.integers(0, 999), max_size=6))
def test_what_stays_does_not_depend_on_how_the_answer_was_parted(text: str, at: list[int]) -> None:
    events: list[Event] = [
        MessageStarted(message="m"),
        MessageDelta(message="m", text=text),
        MessageCompleted(message="m", text=text),
    ]
    assert told(*parted(events, at)) == told(*events)


calls, messages, callers = (st.sampled_from(names) for names in ("cd", "mn", ("", "c")))
words = st.text(max_size=12)
any_event = st.one_of(
    st.builds(MessageStarted, message=messages, caller=callers),
    st.builds(MessageDelta, message=messages, text=words),
    st.builds(ThinkingDelta, message=messages, text=words),
    st.builds(MessageCompleted, message=messages, text=words, usage=st.none()),
    st.builds(MessageWithdrawn, message=messages),
    st.builds(ToolStarted, call=calls, name=words, arguments=words, caller=callers),
    st.builds(ToolCompleted, call=calls, name=words, text=words, caller=callers),
    st.builds(
        SubagentEvent,
        kind=st.sampled_from(["task_started", "task_running", "task_completed", "task_failed"]),
        task=calls,
        subagent=words,
        detail=st.just({"turn": "x", "seconds": None, "tokens": 3}),
    ),
    st.builds(Notice, kind=words, detail=st.dictionaries(words, words, max_size=2)),
)


@given(st.lists(any_event, max_size=25))
def test_any_events_are_told_and_nothing_is_left_when_the_run_has_ended(
    events: list[Event],
) -> None:
    """A gateway of another version, a run that two processes performed: a chat continues."""
    telling = EventRenderer(Status())
    for event in events:
        telling.handle(event)
        telling.now()
    telling.handle(RunCompleted(text="", usage=Usage()))
    assert telling.now() == []


@given(st.lists(any_event, max_size=25))
def test_one_sentence_stays_on_one_line(events: list[Event]) -> None:
    assert all("\n" not in line.text for line in told(*events) if line.kind in {"tool", "subagent"})
