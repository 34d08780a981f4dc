"""An outline shows the state of a request when it was sent."""

import pytest

from recorder_tests.unit.lab.replay.threads import replayed
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg_recorder.replay.results import ReplayRun

TURNS = 12


@pytest.fixture(scope="module")
def run() -> ReplayRun:
    """Replay a thread whose second result is huge and whose start is folded later."""
    messages = [Message("user", (Text("Count the birds of the delta."),))]
    for turn in range(TURNS):
        words = 6_000 if turn == 1 else 300
        call = ToolCall(f"c{turn}", "count", f'{{"place": "bank {turn}"}}')
        messages.append(Message("assistant", (call,)))
        result = "\n".join(f"bank {turn} bird {k}" for k in range(words // 5))
        messages.append(Message("tool", (Text(result),), answers=f"c{turn}", name="count"))
    messages.append(Message("assistant", (Text("Done."),)))
    return replayed(messages, "thalweg", 4_000)


def test_an_evicted_message_is_told_so_though_it_was_folded_later(run: ReplayRun) -> None:
    """What comes later does not change what was sent."""
    huge = next(e for call in run.calls for e in call.edits if e.reason == "arrived too large")
    call = run.calls[huge.turn - 1]
    line = run.outlines[call.outline][call.length - 1]

    assert any(type(e).__name__ == "Fold" for later in run.calls[huge.turn :] for e in later.edits)
    assert (line.position, line.shown) == (4, "evict")


def test_what_is_not_whole_shows_the_handle_that_reads_it_back(run: ReplayRun) -> None:
    """Previews and records name a handle; whole messages need none."""
    lines = [line for outline in run.outlines for line in outline]

    assert {line.shown for line in lines if line.handle} == {"evict", "record"}
    assert all(line.handle for line in lines if line.shown in {"evict", "record"})


def test_the_lines_of_a_request_add_up_to_it(run: ReplayRun) -> None:
    """Every call's request is the beginning of its outline."""
    for call in run.calls:
        lines = run.outlines[call.outline][: call.length]
        assert sum(line.tokens for line in lines) == call.tokens
