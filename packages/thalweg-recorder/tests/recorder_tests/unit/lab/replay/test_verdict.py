"""The verdict names the saving, the money and every loss."""

from dataclasses import replace

from recorder_tests.unit.lab.replay.runs import a_run
from thalweg_recorder.replay.results import NeedleRecall
from thalweg_recorder.replay.verdict import verdict

CLEAN = replace(
    a_run(),
    cost=250_000.0,
    cost_unmanaged=1_000_000.0,
    usd_per_million=5.0,
    goals_verbatim=15,
    goals_lost=0,
    recall=NeedleRecall(inline=9, search=7),
    unrecoverable_bytes=0,
)


def test_the_first_sentence_has_the_money_and_that_nothing_is_lost() -> None:
    """A reader of one sentence learns both."""
    assert verdict([CLEAN]) == [
        (
            "With thalweg this session costs $1.25 instead of $5.00, 75% less than sending "
            "everything; nothing is lost."
        )
    ]


def test_another_policy_has_its_price_and_every_loss() -> None:
    """No loss is omitted, and each has its number."""
    other = replace(
        CLEAN,
        policy="langchain",
        cost=500_000.0,
        unrecoverable_bytes=378_924,
        goals_verbatim=9,
        goals_lost=6,
        recall=NeedleRecall(lost=16),
    )

    assert verdict([other, CLEAN])[1:] == [
        (
            "langchain: $2.50; 379 kB cannot be read back, 6 of 15 requests of the user are no "
            "longer in the context, 16 of 16 details are not found again."
        )
    ]


def test_calls_over_the_window_and_invalid_calls_count() -> None:
    """They are no call that a provider answers."""
    over = replace(CLEAN.calls[0], tokens=CLEAN.window + 1)
    invalid = replace(CLEAN.calls[0], problems=("a result without its call",))
    bad = replace(CLEAN, policy="headroom", calls=(over, invalid, invalid))
    none = replace(bad, policy="none")

    assert verdict([CLEAN, bad, none])[1:] == [
        "headroom: $1.25; 1 call exceeds the window, 2 calls are invalid.",
        "Without any policy 1 of 3 calls exceeds the window.",
    ]


def test_dearer_and_equal_are_said_plainly() -> None:
    """A saving that is none is not called one."""
    dearer = replace(CLEAN, cost=1_100_000.0)
    equal = replace(CLEAN, cost=1_001_000.0)

    assert "10% more than sending everything" in verdict([dearer])[0]
    assert "costs $5.00, as much as sending everything" in verdict([equal])[0]


def test_sessions_are_added_up_and_only_the_first_tariff_counts() -> None:
    """Two sessions under two tariffs are two sessions."""
    other = replace(CLEAN, tariff="openai", usd_per_million=2.0)
    runs = [CLEAN, other, replace(CLEAN, trajectory="b"), replace(other, trajectory="b")]

    assert verdict(runs)[0].startswith("With thalweg these 2 sessions cost $2.50 instead of $10.00")


def test_without_dollars_the_unit_is_named() -> None:
    """A local model costs time."""
    assert (
        "250,000 uncached input tokens instead of"
        in verdict([replace(CLEAN, usd_per_million=None)])[0]
    )


def test_a_session_without_calls_has_no_saving() -> None:
    """Nothing is divided by nothing."""
    empty = replace(CLEAN, calls=(), cost=0.0, cost_unmanaged=0.0)

    assert verdict([empty]) == ["The session has no model call."]
