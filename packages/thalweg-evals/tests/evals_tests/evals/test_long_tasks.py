"""The probes about long tasks fail if their subject is broken, and not before.

The model of these tests writes empty summaries, so that all that it recalls after a compaction was
kept by the engine: the newest request, the record, the archive.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from evals_tests.evals.long_tasks import tried
from thalweg.archive.recalled_media import Recalled
from thalweg.context.turn import context_tools
from thalweg.engine.compaction import summary_rendering as records
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.snapshot import Record
from thalweg_evals.base import Score
from thalweg_evals.probes import PROBES, clarification, continuing, objective, premature
from thalweg_evals.scripted.mind import COMPETENCES
from thalweg_evals.trace import Request, Trace, TracedCall, TracedMessage, TracedTurn

Break = Callable[[pytest.MonkeyPatch], None]


def goalless(patch: pytest.MonkeyPatch) -> None:
    """Let a fold keep no request: neither the newest word for word, nor others in the record."""
    patch.setattr(PlanningContext, "latest_request", None)
    patch.setattr(records, "_requests", lambda *_: [])


def without_progress(patch: pytest.MonkeyPatch) -> None:
    """Omit from the record what was done."""
    written = records.render

    def render(record: Record, **given: object) -> str:
        bare = replace(record, runs=(), notes=(), names=(), files={}, summaries=())
        return written(bare, **given)  # type: ignore[arg-type]

    patch.setattr(records, "render", render)


def unreadable(patch: pytest.MonkeyPatch) -> None:
    """Let nothing be read back from the archive."""
    nothing = Recalled("Nothing was found.")
    patch.setattr(context_tools, "recall_content", lambda *_, **__: nothing)


HARMS: list[tuple[str, str, tuple[Break, ...], str]] = [
    ("objective", "5", (goalless, unreadable), "no report was filed"),
    ("clarification", "said_once", (goalless, unreadable), "asked back"),
    ("clarification", "changed", (goalless, unreadable), "asked back"),
    ("continuing", "2", (goalless, unreadable), "left out"),
    ("premature", "2", (unreadable,), "items open, after compaction 1"),
]


@pytest.mark.parametrize(("probe", "variant", "breaks", "said"), HARMS)
def test_a_probe_fails_where_what_it_asks_about_is_broken(
    probe: str,
    variant: str,
    breaks: tuple[Break, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed score names the loss, and the request that shows it."""
    for harm in breaks:
        harm(monkeypatch)
    score, trace = tried(probe, variant, tmp_path)

    assert (score.verdict, said in score.why) == ("failed", True), score.why
    assert trace.compactions()


@pytest.mark.parametrize(
    ("probe", "variant"), list(dict.fromkeys((probe, variant) for probe, variant, _, _ in HARMS))
)
def test_a_probe_passes_where_nothing_is_broken(probe: str, variant: str, tmp_path: Path) -> None:
    """Every summary is empty, and what the engine keeps is enough."""
    score, _ = tried(probe, variant, tmp_path)

    assert score.verdict == "passed", score.why


@pytest.mark.parametrize(
    ("probe", "harm"),
    [("objective", goalless), ("continuing", without_progress), ("premature", goalless)],
)
def test_what_one_mechanism_loses_another_brings_back(
    probe: str, harm: Break, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A goal that no record has can be searched for; steps that none has, in the rest."""
    harm(monkeypatch)
    score, _ = tried(probe, PROBES[probe].variants[0], tmp_path)

    assert score.verdict == "passed", score.why


def test_an_objective_outlives_twenty_compactions(tmp_path: Path) -> None:
    """The figure is how many it outlived."""
    score, trace = tried("objective", "20", tmp_path, COMPETENCES["searcher"])

    assert (score.verdict, score.value) == ("passed", len(trace.compactions()))
    assert len(trace.turns) == 1


def played(*answers: TracedMessage, is_compacted: bool = True) -> Trace:
    """Make a trace of an agent that answered so, perhaps compacted with every other answer."""
    requests = [
        Request(
            number=number,
            turn=0,
            thread="main",
            kind="agent",
            messages=(),
            tools=(),
            tokens=100 - number % 2 if is_compacted else number,
            answer=answer,
        )
        for number, answer in enumerate(answers)
    ]
    return Trace(requests, [TracedTurn("main", "Please do it.", answers[-1].text)])


def asks(tool: str, **arguments: object) -> TracedMessage:
    """Answer with a call."""
    return TracedMessage("assistant", "", (TracedCall("c", tool, arguments),))


def dice() -> Random:
    """Return a generator of seed 1."""
    return Random(1)  # noqa: S311 (not a secret)


def graded(probe: str, variant: str, *answers: TracedMessage) -> Score:
    """Grade a made trace; the case has the names of seed 1."""
    case = PROBES[probe].make(variant, dice())
    return case.grade(played(*answers))


STATIONS = continuing.make("2", dice()).stations
ROUND = [asks("inspect_station", station=name) for name in STATIONS]
CLOSE = asks("close_round", first=STATIONS[0], last=STATIONS[-1])
DONE = TracedMessage("assistant", "All is done.")


@pytest.mark.parametrize(
    ("answers", "verdict", "value", "said"),
    [
        ([*ROUND, CLOSE, DONE], "passed", 0, "every station once"),
        ([*ROUND[:5], *ROUND, CLOSE, DONE], "failed", 5, "5 of 12 stations inspected again"),
        ([*ROUND[:5], *ROUND[6:], CLOSE, DONE], "failed", 1, "1 of 12 stations left out"),
        ([ROUND[1], ROUND[0], *ROUND[2:], CLOSE, DONE], "failed", 0, "out of order"),
        ([*ROUND, DONE], "failed", 0, "the round not closed"),
        ([*ROUND, asks("inspect_station", station="Ys"), CLOSE, DONE], "failed", 1, "'ys'"),
    ],
)
def test_steps_are_counted_that_were_repeated_or_left_out(
    answers: Sequence[TracedMessage], verdict: str, value: int, said: str
) -> None:
    """The score counts the steps even if everything else went well."""
    score = graded("continuing", "2", *answers)

    assert (score.verdict, score.value, said in score.why) == (verdict, value, True), score.why


def test_what_was_never_compacted_is_not_judged() -> None:
    """Neither what went well nor what did not; one compaction is enough for what did not."""
    case = PROBES["continuing"].make("2", dice())
    well, badly = (*ROUND, CLOSE, DONE), (ROUND[0], ROUND[0], DONE)

    for answers in (well, badly):
        score = case.grade(played(*answers, is_compacted=False))
        assert (score.verdict, "0 of 2 compactions" in score.why) == ("untested", True)
    assert case.grade(played(*badly)).verdict == "failed"


LAMPS = [asks("do_item", station=name) for name in premature.make("2", dice()).stations]


@pytest.mark.parametrize(
    ("answers", "request_number", "said"),
    [
        ([*LAMPS, asks("close_order"), DONE], len(LAMPS), "to the end"),
        ([*LAMPS[:4], DONE], 4, "6 of 10 items open, after compaction 2"),
        ([*LAMPS[:4], asks("close_order"), *LAMPS[4:], DONE], 4, "the order was closed"),
        ([*LAMPS, DONE], None, "without closing"),
    ],
)
def test_whoever_stops_with_items_left_stops_too_early(
    answers: Sequence[TracedMessage], request_number: int | None, said: str
) -> None:
    """The score names that request."""
    score = graded("premature", "2", *answers)

    assert (score.request, said in score.why) == (request_number, True), score.why


CASE = objective.make("1", dice())
RIGHT = {
    "title": CASE.title,
    "recipient": CASE.recipient,
    "priority": CASE.priority,
    "closing_word": CASE.closing,
}


@pytest.mark.parametrize("lost", RIGHT)
def test_a_report_must_have_all_that_was_asked_for(lost: str) -> None:
    """One wrong thing is named; the same report with it right passes."""
    wrong = graded("objective", "1", asks("file_report", **{**RIGHT, lost: "Nobody"}), DONE)
    right = graded("objective", "1", asks("file_report", **RIGHT), DONE)

    assert (wrong.verdict, f"the report's {lost} is 'Nobody'" in wrong.why) == ("failed", True)
    assert right.verdict == "passed"


def test_a_note_as_it_was_wished_passes_and_a_question_behind_it_does_not() -> None:
    """A question may not ask for a stated fact."""
    case = clarification.make("said_once", dice())
    text = f"{case.heading}: the depth is {case.depth} {case.unit}."
    note = asks("send_note", recipient=case.recipient, text=text)
    question = TracedMessage("assistant", "In which unit did you want it?")

    assert graded("clarification", "said_once", note, DONE).verdict == "passed"
    assert "asked back" in graded("clarification", "said_once", note, question).why
    assert "asked back" in graded("clarification", "said_once", DONE, question).why
    metres = asks("send_note", recipient=case.recipient, text=text.replace(case.unit, "metres"))
    assert "the unit is not" in graded("clarification", "said_once", metres, DONE).why
