"""The verdict names the bill, the saving, what the bill leaves out and every loss."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from recorder_tests.unit.lab.replay.runs import a_run
from thalweg_recorder.replay.bill import Bill, PriceSource
from thalweg_recorder.replay.results import NeedleRecall, ReplayRun
from thalweg_recorder.replay.verdict import verdict


def costing(run: ReplayRun, units: float, everything: float = 1_000_000.0) -> ReplayRun:
    """Return a run with one call of this cost."""
    (call, *_) = run.calls or a_run().calls
    return replace(
        run,
        calls=(replace(call, bill=Bill(input=units)),),
        cost_with_steps=units,
        bill_unmanaged=everything,
        cost_unmanaged=everything,
    )


CLEAN = costing(
    replace(
        a_run(),
        usd_per_million=5.0,
        is_whole=True,
        priced_by="model",
        goals_verbatim=15,
        goals_lost=0,
        recall=NeedleRecall(inline=9, search=7),
        unrecoverable_bytes=0,
    ),
    250_000.0,
)
OF_INPUT = replace(CLEAN, is_whole=False)
PAID = costing(
    replace(
        CLEAN,
        policy="recorded",
        compactions=2,
        goals_verbatim=6,
        goals_lost=9,
        recall=NeedleRecall(),
        evicted_tokens=180_000,
    ),
    360_000.0,
)
PAID = replace(PAID, logged_bill=400_000.0)


def test_a_session_with_usage_is_compared_with_its_own_calls() -> None:
    """In the simulated cache; the list price of the log is a sentence of its own."""
    assert verdict([CLEAN, PAID]) == [
        (
            "The tokens in the log cost $2.00 at list prices. In a simulated cache the recorded "
            "calls cost about $1.80, with Thalweg about $1.25, 31% less; 9 of 15 requests of the "
            "user had left the context word for word (the agent can read them again in its "
            "transcript), with Thalweg none."
        ),
        (
            "Recorded: 2 compactions took 180,000 tokens out of the context, which "
            "the agent can read "
            "again in its transcript."
        ),
        "Sending everything would cost about $5.00 there.",
    ]


def test_a_log_that_begins_with_a_compaction_is_not_compared() -> None:
    """Its bill is a list price, and Thalweg's is simulated."""
    first, recorded, *_ = verdict([CLEAN, replace(PAID, is_simulated=False)])

    assert first.startswith("With Thalweg this session costs $1.25 instead of $5.00")
    assert recorded.startswith("The tokens in the log cost $2.00 at list prices; 2 compactions")


def test_text_that_no_transcript_has_cannot_be_read_back() -> None:
    lost = replace(PAID, unrecoverable_bytes=781_000)

    assert verdict([CLEAN, lost])[1] == (
        "Recorded: 2 compactions took 180,000 tokens out of the context; 781 kB "
        "cannot be read back."
    )


def test_losses_of_the_first_policy_are_in_the_comparison() -> None:
    worse = replace(CLEAN, goals_verbatim=14, goals_lost=1, unrecoverable_bytes=9_000)

    assert verdict([worse, PAID])[0].endswith(
        "9 of 15 requests of the user had left the context word for word (the agent can read "
        "them again in its transcript), with Thalweg 1; 9 kB cannot be read back."
    )


@pytest.mark.parametrize(
    ("priced_by", "opening"),
    [
        ("model", "The tokens in the log cost $2.00 at list prices."),
        ("chosen", "The tokens in the log cost $2.00 at the prices of anthropic."),
        (
            "assumed",
            (
                "The tokens in the log cost $2.00 with the prices of anthropic for a model "
                "without known prices."
            ),
        ),
    ],
)
def test_other_prices_than_the_models_own_are_named(priced_by: PriceSource, opening: str) -> None:
    runs = [replace(run, priced_by=priced_by) for run in (CLEAN, PAID)]

    assert verdict(runs)[0].startswith(opening)


def test_several_sessions_are_paid_together() -> None:
    others = [replace(run, trajectory="b") for run in (CLEAN, PAID)]

    assert verdict([CLEAN, PAID, *others])[0].startswith(
        "The tokens in the logs of 2 sessions cost $4.00 at list prices. In a simulated cache the "
        "recorded calls cost about $3.60, with Thalweg about $2.50, 31% less; 18 of 30 requests"
    )


def test_where_only_some_sessions_state_usage_no_bill_is_compared_with_another() -> None:
    """The bill of one session is not that of two."""
    other = replace(OF_INPUT, trajectory="b")

    first, recorded, *_ = verdict([CLEAN, other, PAID])

    assert first.startswith("With Thalweg these 2 sessions cost $2.50 of input instead of $10.00")
    assert "(not all logs state usage: without system prompt, tools and answers)" in first
    assert recorded.startswith(
        "The tokens in the log cost $2.00 at list prices; 2 compactions took 180,000 tokens"
    )


def test_without_a_recorded_row_the_first_sentence_has_the_money_and_the_losses() -> None:
    """A reader of one sentence learns both."""
    assert verdict([CLEAN]) == [
        (
            "With Thalweg this session costs $1.25 instead of $5.00, 75% less than "
            "sending everything; "
            "nothing is lost."
        )
    ]


def test_a_cost_of_input_is_called_so_in_the_sentence_that_has_it() -> None:
    """With what it leaves out, and whose prices are assumed."""
    assert verdict([replace(OF_INPUT, priced_by="assumed")])[0] == (
        "With Thalweg this session costs $1.25 of input instead of $5.00, 75% less than sending "
        "everything (the log states no usage: without system prompt, tools and answers, at the "
        "prices of anthropic); nothing is lost."
    )


def test_another_policy_has_its_price_and_every_loss() -> None:
    """No loss is omitted, and each has its number."""
    other = replace(
        costing(OF_INPUT, 500_000.0),
        policy="langchain",
        unrecoverable_bytes=378_924,
        goals_verbatim=9,
        goals_lost=6,
        recall=NeedleRecall(lost=16),
    )

    assert verdict([other, OF_INPUT])[1:] == [
        (
            "langchain (a model of its rules): $2.50 of input; 6 of 15 requests of the user are no "
            "longer in the context, 379 kB cannot be read back, 16 of 16 details not found by "
            "a search."
        )
    ]


def test_calls_over_the_window_and_invalid_calls_count() -> None:
    """They are no call that a provider answers."""
    over = replace(CLEAN.calls[0], tokens=CLEAN.window + 1)
    invalid = replace(CLEAN.calls[0], bill=Bill(), problems=("a result without its call",))
    bad = replace(CLEAN, policy="headroom", calls=(over, invalid, invalid))
    none = replace(bad, policy="none")

    assert verdict([CLEAN, bad, none])[1:] == [
        "headroom: $1.25; 1 call exceeds the window, 2 calls are invalid.",
        "Without any policy 1 of 3 calls exceeds the window.",
    ]


def test_dearer_and_equal_are_said_plainly() -> None:
    """A saving that is none is not called one."""
    dearer, equal = costing(CLEAN, 1_100_000.0), costing(CLEAN, 1_001_000.0)

    assert "10% more than sending everything" in verdict([dearer])[0]
    assert "costs $5.00, as much as sending everything" in verdict([equal])[0]


def test_only_the_first_tariff_counts() -> None:
    """Two sessions under two tariffs are two sessions."""
    other = replace(CLEAN, tariff="openai", usd_per_million=2.0)
    runs: Sequence[ReplayRun] = [
        CLEAN,
        other,
        replace(CLEAN, trajectory="b"),
        replace(other, trajectory="b"),
    ]

    assert verdict(runs)[0].startswith("With Thalweg these 2 sessions cost $2.50 instead of $10.00")


def test_without_dollars_the_unit_is_named() -> None:
    """A local model costs time."""
    assert (
        "250,000 uncached input tokens of input instead of"
        in verdict([replace(OF_INPUT, usd_per_million=None)])[0]
    )


def test_output_that_the_logs_leave_out_is_named() -> None:
    """It is missing in every bill, as every policy has the recorded answers."""
    understated = replace(PAID, understated_answers=1, unlogged_tokens=2_100)

    for runs in ([CLEAN, understated], [understated]):
        assert (
            "Every amount is too low by 2,100 output tokens, in our count: 1 of 1 answers have "
            "more than twice the output that their log states."
        ) in verdict(runs)


def test_the_recorded_row_alone_says_what_the_log_costs() -> None:
    assert verdict([PAID]) == [
        (
            "The tokens in the log cost $2.00 at list prices; 2 compactions took 180,000 tokens "
            "out of the context, which the agent can "
            "read again in its transcript; 9 of 15 requests of the user are no longer "
            "in the context."
        )
    ]


def test_a_session_without_calls_has_no_saving() -> None:
    """Nothing is divided by nothing."""
    empty = replace(CLEAN, calls=(), bill_unmanaged=0.0)

    assert verdict([empty]) == ["The session has no model call."]
