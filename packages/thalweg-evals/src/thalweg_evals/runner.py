"""Run trials: in parallel, within a budget, and none twice."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from thalweg_evals.kept import Settings, kept_at
from thalweg_evals.results import Result
from thalweg_evals.trial import Trial

ResultCallback = Callable[[Result, bool], None]
"""Called with each result, and whether it is new."""


@dataclass(frozen=True, slots=True)
class Played:
    """The results of trials."""

    results: tuple[Result, ...]
    """In the order of the trials, including earlier results."""
    unplayed: int = 0
    """Trials that exceeded the budget."""
    again: int = 0
    """Earlier results."""

    @property
    def spent(self) -> float:
        """Dollars that all results cost, as far as prices are available."""
        return sum(one.cost or 0.0 for one in self.results)


def play_all(
    trials: Sequence[Trial],
    *,
    parallel: int = 1,
    budget: float | None = None,
    out: Path | None = None,
    settings: Settings | None = None,
    on_result: ResultCallback = lambda _result, _is_new: None,
) -> Played:
    """Run trials.

    Args:
        trials: In the order in which to start them.
        parallel: How many at once.
        budget: Dollars. When the results cost as much, no further trial is started; those under
            way are completed. Earlier results count.
        out: File for results; trials it contains are not run again.
        settings: Settings that all results share.
        on_result: Called with results, in this thread.

    Raises:
        ConfigError: `out` cannot be continued, or a model or subject cannot be created.
    """
    opened = nullcontext(((), None)) if out is None else kept_at(out, settings or {})
    with opened as (before, keeper):
        keys = {trial.key for trial in trials}
        found = {result.key: result for result in before if result.key in keys}
        for result in found.values():
            on_result(result, False)  # noqa: FBT003 (whether it is new)
        again, spent = len(found), sum(one.cost or 0.0 for one in found.values())
        todo = [trial for trial in trials if trial.key not in found]
        for result in _played(_OpenTrials(iter(todo), budget, spent), min(parallel, len(todo))):
            if keeper is not None:
                keeper.add(result)
            found[result.key] = result
            on_result(result, True)  # noqa: FBT003 (see above)
    results = tuple(found[trial.key] for trial in trials if trial.key in found)
    return Played(results, len(trials) - len(results), again)


@dataclass(slots=True)
class _OpenTrials:
    """Trials to run, until the budget is spent."""

    trials: Iterator[Trial]
    budget: float | None
    spent: float
    is_stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def perform(self) -> Result | None:
        """Run the next trial; `None` if there is none."""
        with self._lock:
            is_spent = self.budget is not None and self.spent >= self.budget
            trial = None if self.is_stopped or is_spent else next(self.trials, None)
        if trial is None:
            return None
        result = trial.play()
        with self._lock:
            self.spent += result.cost or 0.0
        return result


def _played(work: _OpenTrials, parallel: int) -> Iterator[Result]:
    if parallel <= 1:
        yield from iter(work.perform, None)
    else:
        yield from _in_threads(work, parallel)


def _in_threads(work: _OpenTrials, working: int) -> Iterator[Result]:
    """Yield results as they become available.

    The threads are daemons, so that an interrupt ends the process at once.
    """
    done: SimpleQueue[Result | BaseException | None] = SimpleQueue()

    def perform_all() -> None:
        try:
            for result in iter(work.perform, None):
                done.put(result)
            done.put(None)
        except BaseException as error:  # noqa: BLE001 (raised in the thread that asked)
            done.put(error)

    for number in range(working):
        name = f"thalweg-eval-{number}"
        threading.Thread(target=perform_all, name=name, daemon=True).start()
    try:
        while working:
            match done.get():
                case None:
                    working -= 1
                case Result() as result:
                    yield result
                case error:
                    raise error
    finally:
        work.is_stopped = True
