"""Output of a chat is a function of the events of its runs."""

import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.api.catalogue import Usage
from thalweg_server.api.events import (
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    Notice,
    RunCompleted,
    RunResumed,
    RunStarted,
    SubagentEvent,
    ThinkingDelta,
    ToolCompleted,
    ToolStarted,
)
from thalweg_server.api.threads import HistoryItem, Message
from thalweg_server.cli.chat.commands import last_exchange
from thalweg_server.cli.chat.printing import Printer, RunPrinter

ANSWER = (
    MessageStarted(message="m"),
    MessageDelta(message="m", text="For"),
    MessageDelta(message="m", text="ty.\n\n"),
    MessageCompleted(message="m", text="Forty.\n\n"),
)


def printed(*events: Event, dims: bool = False) -> str:
    """Return the output for some events, and check that its line is ended."""
    out = io.StringIO()
    printer = Printer(out, dims=dims)
    run = RunPrinter(printer)
    for event in events:
        run.handle(event)
    printer.end_line()
    return out.getvalue()


def test_an_answer_streams_without_the_blank_lines_at_its_end() -> None:
    assert printed(RunStarted(run="r", thread="t"), *ANSWER) == "Forty.\n"


def test_a_word_of_an_answer_is_not_broken_at_the_end_of_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a terminal; lines of code are not changed."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")
    printer = Printer(out)
    for text in ("One heron", " and", " two", " walruses.\n", "```\nx = one heron + 1\n```\n"):
        printer.write(text, "answer")

    assert out.getvalue().replace(" \n", "\n") == (
        "One heron\nand two\nwalruses.\n```\nx = one heron + 1\n```"
    )


def test_a_word_that_fills_a_line_is_followed_by_one_line_feed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The space behind it would begin the next row of the terminal, which would stay empty."""
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")
    Printer(out).write("eleven heron walruses", "answer")
    assert out.getvalue() == "eleven heron\nwalruses"


def test_a_fence_is_recognized_in_chunks_and_after_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "12")
    printer = Printer(out)
    for text in ("``", "`python\nx = one heron + 1\n``", "`\n  ```\ny = one heron\n  ```\n"):
        printer.write(text, "answer")
    printer.write("A long sentence", "answer")

    assert out.getvalue().replace(" \n", "\n") == (
        "```python\nx = one heron + 1\n```\n  ```\ny = one heron\n  ```\nA long\nsentence"
    )


def test_an_answer_that_did_not_stream_is_printed_whole() -> None:
    assert printed(ANSWER[0], ANSWER[-1]) == "Forty.\n"


def test_tools_have_lines_of_their_own_apart_from_the_answer() -> None:
    done = ToolCompleted(call="c", name="read", text="first\n  second")
    failed = ToolCompleted(call="d", name="read", text="no such file", is_error=True)
    started = ToolStarted(call="c", name="read", arguments='{"path":\n"/a"}')
    assert printed(*ANSWER, started, done, failed, *ANSWER) == (
        'Forty.\n\n· read {"path": "/a"}\n  → read: first second\n  ✗ read: no such file\n\n'
        "Forty.\n"
    )


def test_of_a_subagent_the_beginning_and_the_end_are_printed() -> None:
    events = (
        SubagentEvent(kind="task_started", task="c", subagent="scout"),
        MessageStarted(message="n", caller="c"),
        MessageDelta(message="n", text="inner"),
        ToolStarted(call="d", name="grep", caller="c"),
        SubagentEvent(kind="task_running", task="c", subagent="scout", detail={"turn": 2}),
        ToolCompleted(call="d", name="grep", caller="c"),
        SubagentEvent(kind="task_timed_out", task="c", subagent="scout", detail={"error": "9 s"}),
    )
    assert printed(*events) == "· subagent scout started\n· subagent scout timed out 9 s\n"


def test_thinking_is_dim_and_apart_from_the_answer() -> None:
    thought = ThinkingDelta(message="m", text="Let me see.")
    assert printed(ANSWER[0], thought, *ANSWER[1:], dims=True) == (
        "\x1b[2mLet me see.\x1b[0m\n\nForty.\n"
    )


def test_a_compaction_says_how_much_and_why() -> None:
    changed = ContextChanged(
        turn=3,
        tokens_before=12_000,
        tokens_after=4_000,
        limit=16_000,
        reasons=("75% of the window", "stale"),
        detail={"edits": [{"kind": "evict"}]},
    )
    assert printed(changed) == (
        "· context 12,000 → 4,000 of 16,000 tokens (1 evict): 75% of the window; stale\n"
    )


@pytest.mark.parametrize(
    ("kind", "detail", "line"),
    [
        (
            "thalweg.memory.told",
            {"facts": ["a", "b"], "turns": 1, "tokens": 90},
            "· memory recalled 2 facts and 1 earlier turn (90 tokens)\n",
        ),
        ("thalweg.memory.told", {"facts": [], "turns": 0, "taken_back": 1}, ""),
        (
            "thalweg.memory.review",
            {"facts": ["a"], "waiting": 3},
            "· memory has 3 facts to review: thalweg memory review\n",
        ),
        (
            "thalweg.memory.failed",
            {"problem": "StorageError"},
            "· memory is unavailable in this run: StorageError\n",
        ),
        ("thalweg.prices", {"note": "prices of x assumed"}, "· prices of x assumed\n"),
        ("mine", {"step": 3}, ""),
    ],
)
def test_notices_are_sentences(kind: str, detail: dict[str, object], line: str) -> None:
    assert printed(Notice(kind=kind, detail=detail)) == line


def test_an_answer_that_was_broken_off_is_said_to_be() -> None:
    again = (MessageStarted(message="n"), MessageCompleted(message="n", text="Forty."))
    broken = (*ANSWER[:2], MessageWithdrawn(message="m"))
    assert printed(*broken, *again) == "For\n\n· this answer was broken off\n\nForty.\n"
    assert printed(ANSWER[0], MessageWithdrawn(message="m"), *again) == "Forty.\n"
    assert "attempt 2" in printed(RunResumed(attempt=2))


def parted(text: str, at: list[int]) -> Iterator[Event]:
    """Yield a text as deltas."""
    places = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    yield ANSWER[0]
    for a, b in pairwise(places):
        yield MessageDelta(message="m", text=text[a:b])
    yield MessageCompleted(message="m", text=text)


@given(st.text(), st.lists(st.integers(0, 999), max_size=6))
def test_the_output_does_not_depend_on_the_parts_of_an_answer(text: str, at: list[int]) -> None:
    """A carriage return and its line feed in two parts are the exception."""
    text = text.replace("\r\n", "\n")
    assert printed(*parted(text, at)) == printed(*parted(text, []))


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
        detail=st.just({"error": None, "tokens": 3}),
    ),
    st.builds(Notice, kind=words, detail=st.dictionaries(words, words, max_size=2)),
)


@given(st.lists(any_event, max_size=25))
def test_any_events_are_printed_and_control_no_terminal(events: list[Event]) -> None:
    """A gateway of another version, a run that two processes performed: a chat continues."""
    text = printed(*events, RunCompleted(text="", usage=Usage()))
    assert not {char for char in text if char < " " and char not in "\n\t"}
    assert not text or text.endswith("\n")


def item(role: str, text: str) -> HistoryItem:
    return HistoryItem(position=0, message=Message.model_validate({"role": role, "text": text}))


def test_a_resumed_chat_shows_the_newest_question_and_its_last_answer() -> None:
    items = [item("user", "first"), item("assistant", "One."), item("user", "second")]
    items += [item("assistant", "I look."), item("tool", "a"), item("assistant", "Two.")]
    assert list(last_exchange(items)) == ["> second\n", "Two."]
    assert list(last_exchange(items[:3])) == ["> second\n"]
    assert list(last_exchange([])) == []
