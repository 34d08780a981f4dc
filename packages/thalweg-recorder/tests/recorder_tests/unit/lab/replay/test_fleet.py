"""Many recordings at once: a failure is reported, and costs the others nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.window.budget import Budget
from thalweg_recorder.recordings.base import RecordedCompaction, Recording, SessionInfo
from thalweg_recorder.replay.fleet import (
    USUAL_WINDOW,
    FleetOutcome,
    ReplayOrder,
    replay_all,
    tariff_of,
    window_of,
)

POLICIES = ("thalweg", "none")


def write(path: Path, *, turns: int = 3, system: str = "") -> Path:
    """Write a small recording."""
    rows = [{"role": "system", "content": system}] if system else []
    rows.append({"role": "user", "content": "Count the birds"})
    for turn in range(turns):
        rows.append({"role": "assistant", "content": f"There are {turn}."})
        rows.append({"role": "user", "content": "And now?"})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def an_order(*paths: Path, window: int = 4_000) -> ReplayOrder:
    """Order a replay of these."""
    return ReplayOrder(paths, POLICIES, Budget(window=window), (TARIFFS["anthropic"],))


def names(outcome: FleetOutcome) -> list[tuple[str, str]]:
    """List what was replayed under what."""
    return [(run.trajectory, run.policy) for run in outcome.runs]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_recording_that_fails_does_not_lose_the_others(tmp_path: Path, workers: int) -> None:
    """It is named, with what is wrong, and the others are there in order."""
    good, later = write(tmp_path / "a.jsonl"), write(tmp_path / "d.jsonl", turns=9)
    (empty := tmp_path / "b.jsonl").touch()
    gone = tmp_path / "c.jsonl"

    outcome = replay_all(an_order(good, empty, gone, later), workers=workers)

    assert names(outcome) == [(name, policy) for name in "ad" for policy in POLICIES]
    assert [failure.split(":")[0] for failure in outcome.failures] == [str(empty), str(gone)]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_path_is_told_when_it_is_done(tmp_path: Path, workers: int) -> None:
    """Failed ones as well: a bar that counts them reaches its end."""
    paths = [write(tmp_path / f"{n}.jsonl") for n in range(3)] + [tmp_path / "gone.jsonl"]
    told: list[Path] = []

    replay_all(an_order(*paths), workers=workers, on_done=told.append)

    assert sorted(told) == sorted(paths)


def test_one_process_and_two_find_the_same(tmp_path: Path) -> None:
    """In the order of the paths, with equal results."""
    paths = [write(tmp_path / f"{n}.jsonl", turns=3 * n) for n in range(1, 5)]
    alone, together = (replay_all(an_order(*paths), workers=n) for n in (1, 2))

    assert alone == together


def test_a_policy_that_cannot_fit_does_not_lose_the_other(tmp_path: Path) -> None:
    """The sentence names what cannot shrink."""
    path = write(tmp_path / "a.jsonl", system="rule " * 5_000)

    outcome = replay_all(an_order(path), workers=1)

    assert names(outcome) == [("a", "none")]
    assert len(outcome.failures) == 1
    assert outcome.failures[0].startswith(f"{path} under thalweg: ")
    assert "parts that cannot shrink: system 5" in outcome.failures[0]


def test_a_window_that_is_too_small_is_a_failure_of_its_recording_alone(tmp_path: Path) -> None:
    """An export can state any window."""
    (small := tmp_path / "a.jsonl").write_text(
        '{"thalweg": "thalweg-thread", "version": 1, "window": 900}\n'
        '{"role": "user", "parts": [{"kind": "text", "text": "hi"}]}\n'
    )
    order = replace(an_order(small, write(tmp_path / "b.jsonl")), budget=None)

    outcome = replay_all(order, workers=1)

    assert {name for name, _ in names(outcome)} == {"b"}
    problem = "its window of 900 tokens is too small to replay"
    assert outcome.failures == (f"{small}: {problem}; pass a larger one with --window",)


def test_recordings_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """Names get as few folders as needed; a name that is unique is unchanged."""
    paths = [
        write(tmp_path / place)
        for place in ("a/x/s.jsonl", "b/x/s.jsonl", "b/y/s.jsonl", "b/y/t.jsonl")
    ]

    outcome = replay_all(an_order(*paths), workers=1)

    assert [run.trajectory for run in outcome.runs[::2]] == ["a/x/s", "b/x/s", "b/y/s", "t"]


def test_recordings_that_folders_do_not_tell_apart_go_by_their_whole_path(tmp_path: Path) -> None:
    """Two endings of one name in one folder."""
    paths = [write(tmp_path / name) for name in ("s.jsonl", "s.jsonl.txt")]

    outcome = replay_all(an_order(*paths), workers=1)

    assert [run.trajectory for run in outcome.runs[::2]] == list(map(str, paths))


def test_a_broken_file_of_questions_is_told_once_and_costs_nobody_the_replay(
    tmp_path: Path,
) -> None:
    """They are replayed without questions."""
    paths = [write(tmp_path / f"{n}.jsonl") for n in range(3)]
    (tmp_path / "needles.jsonl").write_text("{")

    outcome = replay_all(an_order(*paths), workers=1)

    assert len(outcome.runs) == 6
    assert len(outcome.failures) == 1
    assert "needles.jsonl: line 1 is no JSON" in outcome.failures[0]
    assert outcome.failures[0].endswith("replayed without questions")


def recorded(
    *answers: Usage, window: int = 0, compactions: tuple[RecordedCompaction, ...] = ()
) -> Recording:
    """Make a recording of answers with usage."""
    messages = tuple(Message("assistant", (), usage=usage) for usage in answers)
    last = answers[-1].model if answers else ""
    info = SessionInfo(id="s", model=last, window=window)
    return Recording("s", "claude-code", messages, session=info, compactions=compactions)


def test_the_window_is_that_of_the_log_then_of_the_model() -> None:
    opus = Usage(150_000, model="claude-opus-4-6")
    full = RecordedCompaction(3, trigger="auto", tokens_before=167_471)
    by_hand = RecordedCompaction(3, trigger="manual", tokens_before=40_000)

    assert window_of(recorded(opus, window=258_400, compactions=(full,))) == 258_400
    assert window_of(recorded(opus, compactions=(full,))) == 167_471
    assert window_of(recorded(Usage(168_000, model="m"), compactions=(full,))) == 168_000
    assert window_of(recorded(opus, compactions=(by_hand,))) == 1_000_000
    assert window_of(recorded(Usage(9, model="nobody-s"))) == USUAL_WINDOW


def test_the_prices_are_those_of_the_model_that_read_most_and_of_its_writes() -> None:
    opus = Usage(150_000, written=9_000, model="claude-opus-4-6")
    long = Usage(150_000, written=9_000, written_long=8_000, model="claude-opus-4-6")
    haiku = Usage(1_000, model="claude-haiku-4-5")

    assert tariff_of(recorded(opus, haiku)).name == "claude-opus-4-6"
    assert tariff_of(recorded(long, haiku)).name == "claude-opus-4-6-1h"
    assert tariff_of(recorded(Usage(9, model="nobody-s"))).name == TARIFFS["anthropic"].name
