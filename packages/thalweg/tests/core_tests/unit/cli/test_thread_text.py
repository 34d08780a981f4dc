"""Turns and contexts as people read them."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core_tests.terminals import terminal
from thalweg.archive.threads.contexts import TurnContext
from thalweg.archive.threads.finding import ThreadOverview
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord
from thalweg.archive.threads.operations import OperationResult
from thalweg.archive.threads.savings import BranchSavings
from thalweg.archive.threads.thread_history import LoggedMessage, Taken
from thalweg.cli.thread.text import (
    render_history,
    render_operation,
    render_threads,
    render_turn,
    render_turns,
)
from thalweg.engine.edits import Evict, Fold, Pin, Reason
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.savings import Forecast, Saving
from thalweg.engine.pricing.usage import Usage

AT = 1_790_000_000.0
EVICTS = tuple(
    Evict(
        reason="the request would not fit",
        turn=2,
        tokens_before=1_000,
        tokens_after=100,
        position=position,
        parts=(),
    )
    for position in (3, 5)
)
FOLD = Fold(
    reason="asked for", turn=2, tokens_before=900, tokens_after=90, last=7, kept=(0,), record="r"
)
PIN = Pin(
    reason="asked for", turn=2, tokens_before=0, tokens_after=0, position=4, quote="never\n\x1b[1m"
)
PAGE = TurnRecord(
    kind="call",
    at=AT,
    length=9,
    turns=2,
    parent=1,
    line=ThreadBranch.of(range(9)),
    model="openai:gpt",
    limit=5_000,
    tokens={"system": 10, "history": 1_240},
    edits=(*EVICTS, FOLD, PIN),
    spent=Usage(calls=2, input=300, output=40, model="mini"),
)


@pytest.fixture(autouse=True)
def in_utc() -> Iterator[None]:
    """Have this machine in UTC, since times are those of the reader's zone."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def test_turns_are_told_with_what_was_edited_and_why() -> None:
    """Edits of one kind and reason together; a model where it is another one."""
    end = TurnRecord(kind="end", at=AT, length=10, model="openai:gpt")
    told = [*render_turns([Taken(2, PAGE, Usage(1_300), is_current=True),
                         Taken(3, end, None, is_current=False)])]  # fmt: skip

    assert told == [
        "   turn  kind  when              tokens  limit  reported  model",
        "      2  call  2026-09-21 14:13   1,250  5,000     1,300  openai:gpt",
        '        pin #4 "never \\x1b[1m"',
        "        evict x2 2,000 -> 200: the request would not fit",
        "        fold 900 -> 90: asked for",
        "        the summary took 2 calls of mini: 300 tokens in, 40 out",
        "x        end   2026-09-21 14:13",
        "",
        "x: abandoned by a rewind or by an edit of the agent's state.",
    ]


def a_saving(reason: Reason, **changed: float) -> Saving:
    """Make a line of the ledger of savings."""
    forecast = Forecast(price=1_370.0, saving=changed.get("saving", 100.0), calls=137)
    return Saving(
        turn=2,
        reason=reason,
        forecast=forecast,
        freed=1_000,
        calls=int(changed.get("calls", 99)),
        saved=changed.get("saved", 11_240.0),
        rewriting=1_370.0,
        summary_cost=0.0,
        fetched=0.0,
    )


def test_what_came_of_a_fold_is_told_under_it() -> None:
    """What was predicted, what came of it, and of all edits together."""
    lines = {2: a_saving("asked for"), 3: a_saving("asked for", saving=0.0, saved=0.0)}
    plain = replace(PAGE, edits=(FOLD,), spent=None)
    taken = [Taken(2, plain, None, is_current=True), Taken(3, plain, None, is_current=True)]
    told = [*render_turns(taken, BranchSavings(lines, beyond=4_000.0))]

    assert told[2:4] == [
        "        fold 900 -> 90: asked for",
        "        predicted +12,330 after 137 calls; so far +9,870 (break-even after 14)",
    ]
    assert told[6] == "        predicted -1,370 after 137 calls; so far -1,370 (break-even never)"
    assert told[-1] == (
        "So far all edits have saved +8,500 uncached input tokens, compared with sending "
        "all messages; 4,000 of what that costs is for tokens over the window."
    )


def test_large_figures_of_a_compaction_remain_on_the_screen() -> None:
    """A line is broken rather than wider than a terminal."""
    lines = {2: a_saving("asked for", saving=1e9, saved=1e12, calls=1_000_000)}
    with terminal(80):
        told = [*render_turns([Taken(2, PAGE, None, is_current=True)], BranchSavings(lines))]

    assert max(map(len, told)) <= 80
    assert "break-even after 1)" in " ".join(told)


def test_bounding_what_arrived_is_no_rewrite_to_be_told_of() -> None:
    """It cannot lose: nothing that was sent is sent again."""
    lines = {2: a_saving("arrived too large")}
    told = [*render_turns([Taken(2, PAGE, None, is_current=True)], BranchSavings(lines))]

    assert not any("predicted" in line for line in told)
    assert any("+9,870" in line for line in told)


def test_one_turn_is_told_by_section() -> None:
    """With what was folded and kept."""
    context = TurnContext(2, PAGE, PAGE.tokens, (), None, ())
    told = [*render_turn(context, Usage(1_300, 200, 50, 7), before=1)]

    assert told[:5] == [
        "turn 2, 2026-09-21 14:13, openai:gpt",
        "  1,250 of 5,000 tokens: system 10, history 1,240",
        "  reported: 1,300 tokens in (200 cached, 50 written), 7 out",
        "  0 messages, 0 tools; it continues from turn 1",
        "  folded up to #7, but kept #0",
    ]


def test_a_thread_without_a_journal_is_told_by_its_messages() -> None:
    """There is no other source."""
    assert list(render_threads([ThreadOverview("名\x1b", 3, 0, None)]))[1] == (
        "       3      0       -  -             名\\x1b"
    )


def test_messages_that_were_left_behind_are_marked() -> None:
    """With an x before the position."""
    hi = Message("user", (Text("hi"),))
    assert [*render_history([LoggedMessage(4, hi, is_abandoned=True)])] == ["\n== x #4 user\nhi"]


def test_what_was_done_is_told_with_what_comes_of_it() -> None:
    """A request that is too large will be compacted again."""
    assert render_operation("undo", OperationResult(4, 900, 1_000)) == (
        "The compaction of turn 4 is undone; the next request begins from 900 of 1,000 tokens."
    )
    assert "compacts again" in render_operation("undo", OperationResult(4, 1_001, 1_000))
    assert "of 0" not in render_operation("pin", OperationResult(4, 900, 0))
