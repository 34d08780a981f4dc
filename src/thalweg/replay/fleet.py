"""Many recordings under many policies, side by side over the cores."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from thalweg.archive import open_archive
from thalweg.context.budget import Budget
from thalweg.context.pricing import Tariff
from thalweg.errors import ContextError, RecordingError
from thalweg.recordings.files import read_recording
from thalweg.replay.questions import Questions, questions_beside
from thalweg.replay.results import Run
from thalweg.replay.run import Replay, subject_of

SECRET = b"thalweg replay"
"""Handles of a replay are the same each time, so that its output is."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to replay, and how."""

    paths: tuple[Path, ...]
    policies: tuple[str, ...]
    budget: Budget
    tariff: Tariff


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an order: the runs, and a sentence for each recording that has none."""

    runs: tuple[Run, ...]
    failures: tuple[str, ...]


def replay_one(path: Path, order: Order) -> tuple[list[Run], list[str]]:
    """Replay one recording under every policy of the order.

    Returns:
        The runs, and a sentence for each policy or recording that could not be replayed.
    """
    try:
        recording = read_recording(path)
    except RecordingError as error:
        return [], [str(error)]
    questions = questions_beside(path).get(recording.name, Questions())
    subject = subject_of(recording, questions, order.tariff)
    runs: list[Run] = []
    failures: list[str] = []
    for policy in order.policies:
        archive = open_archive(":memory:", secret=SECRET)
        try:
            runs.append(Replay(subject, policy, order.budget, order.tariff, archive).run())
        except ContextError as error:
            failures.append(f"{path} under {policy}: {error}")
        finally:
            archive.close()
    return runs, failures


def replay_all(
    order: Order, *, workers: int | None = None, tell: Callable[[Path], None] | None = None
) -> Outcome:
    """Replay every recording of an order; the result is in the order's own order.

    Args:
        order: What to replay.
        workers: Processes to use; as many as there are cores when not given.
        tell: Called with each path when it is done, in no particular order.
    """
    workers = min(workers or os.cpu_count() or 1, len(order.paths))
    done: dict[Path, tuple[list[Run], list[str]]] = {}
    if workers <= 1:
        for path in order.paths:
            done[path] = replay_one(path, order)
            if tell:
                tell(path)
    else:
        done = _over_processes(order, workers, tell)
    return Outcome(
        runs=tuple(run for path in order.paths for run in done[path][0]),
        failures=tuple(failure for path in order.paths for failure in done[path][1]),
    )


def _over_processes(
    order: Order, workers: int, tell: Callable[[Path], None] | None
) -> dict[Path, tuple[list[Run], list[str]]]:
    done: dict[Path, tuple[list[Run], list[str]]] = {}
    largest_first = sorted(order.paths, key=lambda path: -path.stat().st_size)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        asked: dict[Future[tuple[list[Run], list[str]]], Path] = {
            pool.submit(replay_one, path, order): path for path in largest_first
        }
        for future in as_completed(asked):
            done[asked[future]] = future.result()
            if tell:
                tell(asked[future])
    return done


def totals(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Group runs by policy, in the order the policies first appear."""
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.policy, []).append(run)
    return grouped
