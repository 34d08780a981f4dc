"""Each constant of a peer's policy shows its effect on a thread made by hand."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from recorder_tests.unit.lab.replay.threads import answered, asked, replayed, said
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.edits import Edit, Elide, Evict, Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget
from thalweg_recorder.replay.peers import (
    DEEPAGENTS,
    DEERFLOW,
    LANGCHAIN,
    PROMPT_TOKENS,
    SUMMARY_TOKENS,
    NoPolicy,
)

WINDOW = 40_000
ABOUT = 1_000
"""Tokens of one turn of `turns`, nearly."""


@dataclass
class Driven:
    """A policy that has seen a thread: what it did, call by call."""

    engine: Engine
    sizes: list[int] = field(default_factory=list)
    """Tokens of each request, as it was before the policy acted."""

    @property
    def folds(self) -> list[Fold]:
        """Every fold, in order."""
        return [edit for edit in self.engine.history if isinstance(edit, Fold)]

    def of(self, kind: type[Edit]) -> list[Edit]:
        """Every edit of a kind."""
        return [edit for edit in self.engine.history if isinstance(edit, kind)]


def drive(policy: Policy, messages: Iterator[Message] | list[Message]) -> Driven:
    """Let a policy see each message, with a request before each of the assistant's."""
    engine = Engine(
        budget=Budget(window=WINDOW),
        policy=policy,
        count=exact_counter(),
        name_span=lambda first, last: f"handle-{first}-{last}",
    )
    driven = Driven(engine)
    for message in messages:
        if message.role == "assistant":
            engine.window.settle()
            driven.sizes.append(engine.window.tokens)
            engine.prepare()
        engine.receive(message)
    return driven


def turns(count: int, words: int = ABOUT - 20) -> Iterator[Message]:
    """Make a request and turns of about as many tokens as words."""
    yield said("user", "Count the birds of the delta.")
    for turn in range(count):
        yield asked(f"c{turn}", "count", place=f"bank {turn}")
        yield answered(f"c{turn}", "count", " bird" * words)


@pytest.mark.parametrize(
    ("policy", "share"), [(DEEPAGENTS, 0.85), (LANGCHAIN, 0.85), (DEERFLOW, 0.80)]
)
def test_it_acts_at_its_share_of_the_window_and_not_before(policy: Policy, share: float) -> None:
    """The first request at or above the share is folded, none below it."""
    # Fewer than 50 messages, so that only the share can fire.
    driven = drive(policy, turns(20, words=2_000))

    first = driven.folds[0].turn
    assert driven.sizes[first - 1] >= share * WINDOW
    assert all(size < share * WINDOW for size in driven.sizes[: first - 1])


def test_deerflow_acts_at_fifty_messages_however_small() -> None:
    """The others look at tokens alone."""
    small = list(turns(40, words=5))

    first = drive(DEERFLOW, small).folds[0]
    # Before call n stand the request and n - 1 turns of two messages each.
    assert 1 + 2 * (first.turn - 1) in {50, 51}
    assert drive(LANGCHAIN, small).folds == drive(DEEPAGENTS, small).folds == []


@pytest.mark.parametrize("policy", [LANGCHAIN, DEERFLOW])
def test_twenty_messages_stay(policy: Policy) -> None:
    """The twenty newest are still there, and a cut never parts a call from its result."""
    driven = drive(policy, turns(20, words=2_000))
    fold = driven.folds[0]
    last_seen = 2 * (fold.turn - 1)

    assert last_seen - fold.last in {19, 20}


def test_deepagents_keeps_a_tenth_of_the_window() -> None:
    """The kept messages fill no more than that, and nearly that."""
    driven = drive(DEEPAGENTS, turns(36))
    kept = [2 * (fold.turn - 1) - fold.last for fold in driven.folds]

    assert kept[0] // 2 * ABOUT == pytest.approx(0.10 * WINDOW, abs=ABOUT)


@pytest.mark.parametrize("policy", [LANGCHAIN, DEERFLOW])
def test_the_summarizer_reads_the_last_4_000_tokens_of_what_goes(policy: Policy) -> None:
    """The rest is never seen by anyone again."""
    fold = drive(policy, turns(20, words=2_000)).folds[0]

    assert fold.tokens_before > 4_000
    assert fold.summary_input == 4_000 + PROMPT_TOKENS


def test_the_summarizer_of_deepagents_reads_all_that_goes() -> None:
    """It pays for that."""
    fold = drive(DEEPAGENTS, turns(36)).folds[0]

    assert fold.summary_input == fold.tokens_before + PROMPT_TOKENS


@pytest.mark.parametrize("policy", [DEEPAGENTS, LANGCHAIN, DEERFLOW])
def test_the_stand_in_has_the_stated_size(policy: Policy) -> None:
    """To the token, but for the handle that may follow it."""
    fold = drive(policy, turns(36, words=1_500)).folds[0]
    summary = fold.record.partition(" The full history")[0]

    assert exact_counter()(summary) == fold.summary_output == SUMMARY_TOKENS


def test_only_deepagents_says_where_the_history_is() -> None:
    """The others throw it away."""
    named = [
        "handle-0-" in drive(policy, turns(36, words=1_500)).folds[-1].record
        for policy in (DEEPAGENTS, LANGCHAIN, DEERFLOW)
    ]

    assert named == [True, False, False]


@pytest.mark.parametrize(("characters", "evicted"), [(80_000, 0), (80_001, 1)])
def test_deepagents_offloads_a_result_above_80_000_characters(
    characters: int, evicted: int
) -> None:
    """As it arrives, with five lines from either end."""
    lines = [f"line {n}" for n in range(100)]
    text = "\n".join(lines)
    text += "\n" + " " * (characters - len(text) - 1)
    thread = [said("user", "Go"), asked("c", "count"), answered("c", "count", text)]
    driven = drive(DEEPAGENTS, [*thread, said("assistant", "Done")])

    edits = driven.of(Evict)
    assert len(edits) == evicted
    if evicted:
        shown = driven.engine.window.items[2].message.text
        assert "handle-2-2" in shown
        assert "line 4\n…\nline 96" in shown
        assert "line 50" not in shown


def writes(characters: int) -> Iterator[Message]:
    """Write a file of so many characters first, then go on until the window is nearly full."""
    yield said("user", "Write it")
    body = ("word " * characters)[: characters - len('{"path": "a.py", "content": ""}')]
    yield asked("w", "write_file", path="a.py", content=body)
    yield answered("w", "write_file", "ok")
    yield from list(turns(36))[1:]


@pytest.mark.parametrize(("characters", "cut"), [(2_000, 0), (2_001, 1)])
def test_deepagents_cuts_arguments_of_old_writes_above_2_000_characters(
    characters: int, cut: int
) -> None:
    """When it acts, and not before."""
    driven = drive(DEEPAGENTS, writes(characters))
    edits = driven.of(Elide)

    assert len(edits) == cut
    assert all(driven.sizes[edit.turn - 1] >= 0.85 * WINDOW for edit in edits)


def test_once_it_has_cut_arguments_the_boundary_slides_with_every_call() -> None:
    """What it cut counts as if it were still there, so that the prefix changes again and again."""
    thread = [said("user", "Write them")]
    for turn in range(48):
        thread.append(asked(f"w{turn}", "write_file", path=f"{turn}.py", content="word " * 800))
        thread.append(answered(f"w{turn}", "write_file", "ok"))
    driven = drive(DEEPAGENTS, thread)

    cut = sorted({edit.turn for edit in driven.of(Elide)})
    assert cut == list(range(cut[0], 49))
    assert all(driven.sizes[turn - 1] < 0.85 * WINDOW for turn in cut[1:])
    assert driven.folds == []


@pytest.mark.parametrize("policy", [LANGCHAIN, DEERFLOW])
def test_the_others_offload_nothing_and_cut_nothing(policy: Policy) -> None:
    """They cut no result of any size."""
    thread = [
        said("user", "Go"),
        asked("c", "count"),
        answered("c", "count", "bird " * 20_000),
        said("assistant", "Done"),
    ]
    driven = drive(policy, thread)

    assert driven.of(Evict) == driven.of(Elide) == []


def test_no_policy_sends_everything() -> None:
    """Above the window as well, which is counted."""
    run = replayed(list(turns(50)), "none", WINDOW).to_json()

    assert drive(NoPolicy(), turns(50)).engine.history == []
    assert run["over_window"] > 0
    assert run["peak_tokens"] > WINDOW
    assert run["cost"] == run["cost_unmanaged"]


def test_a_summary_is_paid_for_on_top() -> None:
    """Its input at the base price, its output at that of output."""
    run = replayed(list(turns(36)), "deepagents", WINDOW)
    calls = sum(call.cost for call in run.calls)

    assert run.summary_output_tokens > 0
    assert run.cost == calls + run.summary_input_tokens + 5 * run.summary_output_tokens


def test_a_thread_without_a_break_still_has_text() -> None:
    """A fold with nothing but the request in front of it changes nothing."""
    huge = Message("user", (Text("word " * 36_000),))

    assert drive(LANGCHAIN, [huge, said("assistant", "Well")]).folds == []
