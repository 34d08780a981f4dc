"""What is best in hindsight, on threads made by hand and on the sample that ships."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.arena.oracle.base import Oracle
from benchmarks.arena.oracle.bounds import Hindsight
from benchmarks.arena.replay import HindsightRun, replay_one
from core_tests.recorded import RECORDED, WHY_SKIPPED
from recorder_tests.unit.lab.replay.threads import FLAT, answered, asked, said
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.faults import uses_of_results
from thalweg_recorder.replay.fleet import ReplayOrder
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.sample import sample_path
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of

POLICIES = ("thalweg-record", "deepagents", "langchain", "none", "oracle")
NEAR = 0.02
"""The engine's tail and its record differ a little from those the oracle counts with."""


def working(turns: int, words: int = 400) -> list[Message]:
    """Make a thread that reads one file a turn and never needs it again."""
    thread = [said("user", "Read every file.")]
    for turn in range(turns):
        thread.append(asked(f"c{turn}", "read_file", path=f"/srv/file{turn}.txt"))
        thread.append(answered(f"c{turn}", "read_file", f"word{turn} " * words))
    return [*thread, said("assistant", "Done.")]


def subject(thread: list[Message]) -> ReplaySubject:
    """Read a thread."""
    return subject_of(Recording("by-hand", "by hand", tuple(thread)), Questions())


def best(thread: list[Message], read: float = 0.1, window: int = 200_000) -> Oracle:
    """Find what is best for a thread."""
    known = subject(thread)
    terms = terms_of(known, FLAT.model_copy(update={"read": read}))
    hindsight = Hindsight.of(known.entries, uses_of_results(known), Budget(window=window))
    return hindsight.oracle(terms.tariff, terms.cold)


def test_where_reading_is_free_nothing_is_folded() -> None:
    """Then the whole thread is the cheapest context."""
    assert best(working(20), read=0.0).folds == ()


def test_the_dearer_reading_is_the_more_often_the_best_folds() -> None:
    """The interval of the best folds follows the tariff."""
    cheap, dear = (len(best(working(40), read).folds) for read in (0.02, 0.5))
    assert 0 < cheap < dear


def test_the_best_cuts_right_before_what_was_not_sent_yet() -> None:
    """What came since the request before is written anyway, for any fold."""
    known = subject(working(40))
    last = {call.position - 1 for call in known.entries if call.message.role == "assistant"}
    for fold in best(working(40)).folds:
        asked_at = fold.position
        assert known.entries[asked_at].message.role == "assistant"
        assert asked_at + 1 in last


def test_a_window_that_is_too_small_makes_the_best_fold() -> None:
    """The limit binds, even where reading costs nothing."""
    oracle = best(working(20), read=0.0, window=6_000)
    assert oracle.folds
    assert all(fold.after <= Budget(window=6_000).limit for fold in oracle.folds)


def test_a_fold_that_is_free_is_made_when_the_cache_is_cold() -> None:
    """Everything is written again then, so what is dropped is not."""
    known = subject(working(40))
    cold = next(e.position for e in known.entries[50:] if e.message.role == "assistant")
    hindsight = Hindsight.of(known.entries, uses_of_results(known), Budget(window=200_000))
    found = hindsight.oracle(FLAT, {cold})
    assert [fold.is_cold for fold in found.folds].count(True) == 1


def test_what_is_read_again_is_fetched_or_kept() -> None:
    """Wanting the first file at the end costs something, and less than keeping it all along."""
    thread = working(40)
    again = [asked("again", "read_file", path="/srv/file0.txt"), said("assistant", "Done again.")]
    again.insert(1, answered("again", "read_file", "word0 " * 400))
    with_need, alike = [*thread, *again], [*thread, *_elsewhere(again)]
    assert best(alike).one_cut < best(with_need).one_cut < best(alike).one_cut * 1.2


def _elsewhere(thread: list[Message]) -> list[Message]:
    first, *others = thread
    return [replace(first, parts=asked("again", "read_file", path="/srv/fileX.txt").parts), *others]


def test_a_result_that_is_too_large_is_shortened_where_that_is_best() -> None:
    """A huge result that is not needed again costs its preview alone."""
    huge = [*working(10), *working(10, words=30_000)[1:3], *working(10)[1:]]
    assert best(huge).bounds_arrivals
    assert not best(working(10)).bounds_arrivals


def test_a_thread_without_a_call_costs_nothing() -> None:
    """There is nothing to do better."""
    assert best([said("user", "hello")]).one_cut == 0


def replayed(path: Path, order: ReplayOrder) -> tuple[list[HindsightRun], list[str]]:
    """Replay a thread; every run has the best in hindsight."""
    runs, failures = replay_one(path, order)
    measured = [run for run in runs if isinstance(run, HindsightRun)]
    assert len(measured) == len(runs)
    return measured, failures


@cache
def sample_runs(tariff: str) -> dict[str, HindsightRun]:
    """Replay the sample under every policy."""
    order = ReplayOrder((sample_path(),), POLICIES, Budget(window=128_000), (TARIFFS[tariff],))
    runs, failures = replayed(sample_path(), order)
    assert failures == []
    return {run.policy: run for run in runs}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("tariff", ["anthropic", "deepseek"])
def test_nobody_costs_less_than_the_bounds(tariff: str) -> None:
    """On the sample: the set bound binds all, the one-cut bound every policy that folds."""
    for run in sample_runs(tariff).values():
        assert run.oracle.sets <= run.oracle.one_cut
        assert run.oracle.sets <= run.cost_with_faults
        assert run.oracle.one_cut <= run.cost_with_faults * (1 + NEAR)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("tariff", ["anthropic", "deepseek"])
def test_the_engine_reaches_what_the_oracle_promises(tariff: str) -> None:
    """With the oracle's folds, our engine pays the predicted cost, and sends nothing wrong."""
    told = sample_runs(tariff)["oracle"]
    assert told.cost_with_faults == pytest.approx(told.oracle.one_cut, rel=NEAR)
    # a record that is more than what it stands for can bring a prefix to the cache's minimum
    due = {fold.call for fold in told.oracle.folds if fold.after < fold.before}
    assert {call.turn - 1 for call in told.calls if call.edits} == due
    assert not any(call.problems for call in told.calls)
    assert max(call.tokens for call in told.calls) <= told.limit


@pytest.mark.nightly
def test_regret_is_what_a_run_costs_above_the_best() -> None:
    """Regret is reported for every run of a replay that asked the oracle."""
    runs = sample_runs("anthropic")
    mine = runs["thalweg-record"]
    assert mine.regret == pytest.approx(mine.cost_with_faults / mine.oracle.one_cut - 1)
    told = mine.to_json()
    assert told["oracle"]["one_cut"] > told["oracle"]["sets"] > 0
    assert told["regret"] > runs["oracle"].to_json()["regret"]
    free = replace(mine, oracle=replace(mine.oracle, one_cut=0.0))
    assert free.to_json()["regret"] is None


@pytest.mark.skipif(not RECORDED.is_dir(), reason=WHY_SKIPPED)
@pytest.mark.parametrize("name", ["tau-airline-t02-r1", "openhands-b", "deerflow2-leica-photos"])
@pytest.mark.parametrize("window", [16_000, 128_000])
def test_nobody_costs_less_on_recorded_threads(name: str, window: int) -> None:
    """The set bound binds every policy on what others recorded, in a small window, too."""
    (path,) = (RECORDED / "trajectories").glob(f"{name}.jsonl*")
    order = ReplayOrder((path,), POLICIES, Budget(window=window), (TARIFFS["openai"],))
    runs, failures = replayed(path, order)
    assert len(runs) + len(failures) == len(POLICIES)
    for run in runs:
        assert run.oracle.sets <= min(run.cost_with_faults, run.oracle.one_cut)


def test_several_tariffs_share_what_is_known_of_a_recording() -> None:
    """One layout, priced twice, has the results of two."""
    known = subject(working(20))
    hindsight = Hindsight.of(known.entries, uses_of_results(known), Budget(window=32_000))
    for name in ("openai", "deepseek"):
        own = Hindsight.of(known.entries, uses_of_results(known), Budget(window=32_000))
        alone = own.oracle(TARIFFS[name], ())
        assert hindsight.oracle(TARIFFS[name], ()) == alone
