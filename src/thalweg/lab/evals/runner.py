"""Run trials: in parallel, within a budget, and none twice."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from thalweg.lab.evals.kept import Settings, kept_at
from thalweg.lab.evals.results import Result
from thalweg.lab.evals.trial import Trial

Tell = Callable[[Result, bool], None]
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
    tell: Tell = lambda _result, _is_new: None,
) -> Played:
    """Run trials.

    Args:
        trials: In the order in which to start them.
        parallel: How many at once.
        budget: Dollars. When the results cost as much, no further trial is started; those under
            way are completed. Earlier results count.
        out: File for results; trials it contains are not run again.
        settings: Settings that all results share.
        tell: Called with results, in this thread.

    Raises:
        ConfigError: `out` cannot be continued, or a model or subject cannot be created.
    """
    opened = nullcontext(((), None)) if out is None else kept_at(out, settings or {})
    with opened as (before, keeper):
        wanted = {trial.key for trial in trials}
        found = {result.key: result for result in before if result.key in wanted}
        for result in found.values():
            tell(result, False)  # noqa: FBT003 (whether it is new)
        again, spent = len(found), sum(one.cost or 0.0 for one in found.values())
        todo = [trial for trial in trials if trial.key not in found]
        purse = _TrialBudget(budget, spent)
        for result in _played(todo, parallel, purse):
            if keeper is not None:
                keeper.add(result)
            found[result.key] = result
            tell(result, True)  # noqa: FBT003 (see above)
    results = tuple(found[trial.key] for trial in trials if trial.key in found)
    return Played(results, len(trials) - len(results), again)


@dataclass(slots=True)
class _TrialBudget:
    budget: float | None
    spent: float

    def pay(self, result: Result) -> None:
        self.spent += result.cost or 0.0

    @property
    def is_empty(self) -> bool:
        return self.budget is not None and self.spent >= self.budget


def _played(trials: Sequence[Trial], parallel: int, purse: _TrialBudget) -> Iterator[Result]:
    if parallel == 1:
        for trial in trials:
            if purse.is_empty:
                return
            result = trial.play()
            purse.pay(result)
            yield result
        return
    yield from _WorkerThreads(trials, parallel, purse).results()


class _WorkerThreads:
    """Worker threads for trials: daemons, so that an interrupt ends the process at once."""

    def __init__(self, trials: Sequence[Trial], size: int, purse: _TrialBudget) -> None:
        self._todo = iter(trials)
        self._purse = purse
        self._lock = threading.Lock()
        self._done: SimpleQueue[Result | BaseException | None] = SimpleQueue()
        self._is_stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"thalweg-eval-{k}", daemon=True)
            for k in range(min(size, len(trials)))
        ]

    def results(self) -> Iterator[Result]:
        """Yield results as they become available."""
        for thread in self._threads:
            thread.start()
        working = len(self._threads)
        try:
            while working:
                match self._done.get():
                    case None:
                        working -= 1
                    case Result() as result:
                        yield result
                    case error:
                        raise error
        finally:
            self._is_stopped = True

    def _work(self) -> None:
        try:
            while (trial := self._next()) is not None:
                result = trial.play()
                with self._lock:
                    self._purse.pay(result)
                self._done.put(result)
            self._done.put(None)
        except BaseException as error:  # noqa: BLE001 (raised in the thread that asked)
            self._done.put(error)

    def _next(self) -> Trial | None:
        with self._lock:
            if self._is_stopped or self._purse.is_empty:
                return None
            return next(self._todo, None)
