"""The scorers of the probes, on made traces."""

from collections.abc import Sequence
from random import Random

import pytest

from thalweg_evals import PROBES, Conversation, Score, Trace, World, material
from thalweg_evals.trace import Request, TracedCall, TracedMessage, TracedTurn
from thalweg_evals.world import failed, passed, seed_of

DONE = TracedMessage("assistant", "All is done.")


def built(name: str, case: str) -> World:
    """Build a world of seed 1."""
    dice = Random(1)  # noqa: S311 (not a secret)
    return PROBES[name].build(case, dice, Conversation(64_000, 0.1, 1))


def made(*answers: TracedMessage, is_compacted: bool = True) -> Trace:
    """Make a trace of an agent that answered so, perhaps compacted with every other answer."""
    requests = [
        Request(
            number=number,
            turn=0,
            kind="agent",
            messages=(),
            tokens=100 - number % 2 if is_compacted else number,
            answer=answer,
        )
        for number, answer in enumerate(answers)
    ]
    return Trace(requests, [TracedTurn("Please do it.", answers[-1].text)])


def calls(tool: str, **arguments: object) -> TracedMessage:
    """Answer with a call."""
    return TracedMessage("assistant", "", (TracedCall("c", tool, arguments),))


LAMPS = [
    calls("do_item", station=line.split()[-1])
    for line in built("premature", "2").tools[0]().splitlines()
]


def test_without_enough_compactions_only_a_failure_after_one_counts() -> None:
    world = built("premature", "2")
    right, wrong = (*LAMPS, calls("close_order"), DONE), (LAMPS[0], LAMPS[1], DONE)

    for answers in (right, wrong):
        score = world.grade(made(*answers, is_compacted=False))
        assert (score.verdict, "0 of 2 compactions" in score.why) == ("untested", True)
    assert world.grade(made(*wrong)).verdict == "failed"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([*LAMPS, calls("close_order"), DONE], "to the end"),
        ([*LAMPS[:4], DONE], "6 of 10 items open, after compaction 2"),
        ([*LAMPS[:4], calls("close_order"), *LAMPS[4:], DONE], "the order was closed"),
        ([*LAMPS, DONE], "without closing"),
    ],
)
def test_an_agent_that_stops_with_items_left_stops_too_early(
    answers: Sequence[TracedMessage], why: str
) -> None:
    score = built("premature", "2").grade(made(*answers))

    assert (score.verdict == "passed", why in score.why) == (why == "to the end", True), score.why


def report(**changes: str) -> TracedMessage:
    """File the report of seed 1, with changes."""
    dice = Random(1)  # noqa: S311 (not a secret)
    right = {
        "title": f"Lamps of {dice.choice(material.STATIONS)}",
        "recipient": dice.choice(material.PEOPLE),
        "priority": dice.choice(("amber", "violet", "ochre")),
        "closing_word": dice.choice(("tamarisk", "bellows", "quillwort")),
    }
    return calls("file_report", **{**right, **changes})


@pytest.mark.parametrize("lost", ["title", "recipient", "priority", "closing_word"])
def test_a_report_must_have_all_that_was_requested(lost: str) -> None:
    world = built("objective", "1")
    wrong = world.grade(made(report(**{lost: "Nobody"}), DONE))

    assert (wrong.verdict, f"the report's {lost} is 'Nobody'" in wrong.why) == ("failed", True)
    assert world.grade(made(report(), DONE)).verdict == "passed"


def test_a_world_with_a_task_and_functions_needs_no_more() -> None:
    """A task as text, a function as tool, a scorer of the trace."""

    def score(trace: Trace) -> Score:
        return passed("yes") if "4" in trace.answer else failed(trace.answer)

    world = World(user="How much is 2 and 2?", score=score)

    assert world.grade(made(TracedMessage("assistant", "4."))).verdict == "passed"
    assert world.grade(made(DONE)).verdict == "failed"


def test_a_trial_has_the_same_seed_for_every_agent_and_another_for_each_repetition() -> None:
    seeds = {
        seed_of(seed, "needle", case, number)
        for seed in (0, 1)
        for case in ("once", "many")
        for number in (1, 2)
    }

    assert len(seeds) == 8
    assert seed_of(0, "needle", "once", 1) == seed_of(0, "needle", "once", 1)


def test_a_message_before_there_is_an_agent_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"in World\.user"):
        Conversation(64_000, 0.1, 1).send("Hello.")
