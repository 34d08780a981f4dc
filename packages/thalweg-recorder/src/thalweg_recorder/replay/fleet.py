"""Replay of many recordings under many policies, in parallel over the cores.

A recording is run through its contestants request by request, with their accounting.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from pathlib import Path

from pydantic import ValidationError

from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF, tariff_of_model
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import NO_USAGE
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.model_windows import window_of_model
from thalweg.errors import RecordingError, ThalwegError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import read_recording
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.bill import PriceSource
from thalweg_recorder.replay.contestant import Contestant
from thalweg_recorder.replay.harm import Harm
from thalweg_recorder.replay.policies import contestant_named
from thalweg_recorder.replay.questions import Questions, find_questions, requests_of
from thalweg_recorder.replay.recorded import RECORDED, recorded_run
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms, subject_of, terms_of

SECRET = b"thalweg replay"
"""Handles of a replay are the same each time, so that its output is."""
USUAL_WINDOW = 128_000
Begin = Callable[[str, Budget, Tariff, Archive, ThreadKey], Contestant]
"""Makes the contestant of a policy's name, for one thread: `contestant_named`."""
WORKER_DIED = "a process died under it, most often for want of memory; replay fewer at once"


def drive(
    subject: ReplaySubject, contestant: Contestant, accounts: Sequence[Account]
) -> list[ReplayRun]:
    """Run a contestant through a recording, and return the results of its accounts.

    Args:
        subject: The recording.
        contestant: The context manager; new.
        accounts: One per tariff. Cache misses are reported to the contestant by the terms of the
            first, so only a contestant whose requests do not depend on prices may have several.

    Raises:
        WindowExceededError: The part that cannot be compacted exceeds the window.
    """
    cold, harm = accounts[0].terms.cold, Harm(subject)
    for position, message in enumerate(subject.recording.messages):
        if message.role == "assistant":
            request = contestant.request(cold=position in cold)
            steps = harm.take(position, request, contestant)
            for account in accounts:
                account.take(position, request, contestant, steps)
        contestant.receive(message)
    final = contestant.request(cold=False)
    return [account.close(final, contestant) for account in accounts]


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """What to replay, and how."""

    paths: tuple[Path, ...]
    policies: tuple[str, ...]
    budget: Budget | None
    """`None` for the recording's own window, see `window_of`."""
    tariffs: tuple[Tariff, ...]
    """Empty for the prices of the recorded model, or `UNKNOWN` if those are unknown."""
    adds_recorded: bool = False
    """Whether to add the policy `recorded` for a session of an agent that states its usage."""

    def policies_for(self, recording: Recording) -> tuple[str, ...]:
        """Return the policies for a recording."""
        states_usage = bool(recording.session.id) and any(m.usage for m in recording.messages)
        if not self.adds_recorded or RECORDED in self.policies or not states_usage:
            return self.policies
        return (*self.policies, RECORDED)

    def budget_for(self, recording: Recording) -> Budget:
        """Return the budget of a recording's requests."""
        return self.budget or Budget(window=window_of(recording))

    def tariffs_for(self, recording: Recording) -> tuple[Tariff, ...]:
        """Return the tariffs of a recording."""
        return self.tariffs or (tariff_of(recording),)

    def priced_by(self, recording: Recording) -> PriceSource:
        """Return whose prices these are."""
        if self.tariffs:
            return "chosen"
        return "model" if tariff_of_model(recording.model) else "assumed"


def window_of(recording: Recording) -> int:
    """Return the window that a log states or shows, else that of its model, else `USUAL_WINDOW`."""
    return recording.window or window_of_model(recording.model) or USUAL_WINDOW


def tariff_of(recording: Recording) -> Tariff:
    """Return the prices of the model that read most, or `UNKNOWN` if those are unknown.

    If most of its cache writes were for an hour, they are those of a cache that lives an hour.
    """
    tariff = tariff_of_model(recording.model) or UNKNOWN_TARIFF
    written = sum(recording.answers, NO_USAGE)
    is_long = 2 * written.written_long > written.written
    return NAMED_TARIFFS.get(f"{tariff.name}-1h", tariff) if is_long else tariff


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """What came of an order: the runs, and a sentence for each recording that has none."""

    runs: tuple[ReplayRun, ...]
    failures: tuple[str, ...]


def replay_one(path: Path, order: ReplayOrder) -> tuple[list[ReplayRun], list[str]]:
    """Replay one recording under every policy of the order.

    Returns:
        The runs, and a sentence for each policy or recording that could not be replayed.
    """
    try:
        recording = read_recording(path)
    except RecordingError as error:
        return [], [str(error)]
    questions, failures = questions_of(recording, path, questions_about)
    runs, failed = replay_subject(path, subject_of(recording, questions), order)
    return runs, [*failures, *failed]


def replay_subject(
    path: Path, subject: ReplaySubject, order: ReplayOrder, begin: Begin = contestant_named
) -> tuple[list[ReplayRun], list[str]]:
    """Replay a recording that was read under every policy of the order.

    Args:
        path: Names the recording in failures.
        subject: The recording.
        order: The policies, the budget and the tariffs.
        begin: Makes the contestant of each policy but `recorded`.

    Returns:
        The runs, and a sentence for each policy that could not be replayed.
    """
    runs: list[ReplayRun] = []
    failures: list[str] = []
    recording = subject.recording
    try:
        budget = order.budget_for(recording)
    except ValidationError:
        problem = f"its window of {window_of(recording):,} tokens is too small to replay"
        return [], [f"{path}: {problem}; pass a larger one with --window"]
    terms = [
        terms_of(subject, tariff, order.priced_by(recording))
        for tariff in order.tariffs_for(recording)
    ]
    for policy in order.policies_for(recording):
        for one in terms:
            try:
                if policy == RECORDED:
                    runs.append(recorded_run(subject, one, budget.window))
                else:
                    runs += replay_under(subject, policy, budget, [one], begin)
            except ThalwegError as error:
                failures.append(f"{path} under {policy}: {error}")
    started_at = next((message.at for message in recording.messages if message.at), "")
    return [
        replace(
            run, title=recording.title, project=recording.session.project, started_at=started_at
        )
        for run in runs
    ], failures


def questions_about(recording: Recording, path: Path) -> Questions:
    """Return the questions about a recording in the files of its folder.

    Raises:
        RecordingError: A file of questions is invalid.
    """
    return find_questions(path).get(recording.name, Questions())


def questions_of(
    recording: Recording, path: Path, find: Callable[[Recording, Path], Questions]
) -> tuple[Questions, list[str]]:
    """Return the questions about a recording; its user's requests are goals by default.

    Returns:
        The questions, and a sentence if `find` raised a `RecordingError`.
    """
    failures: list[str] = []
    try:
        questions = find(recording, path)
    except RecordingError as error:
        failures.append(f"{error}; replayed without questions")
        questions = Questions()
    if not questions.goals and recording.session.id:
        questions = replace(questions, goals=requests_of(recording))
    return questions, failures


def replay_under(
    subject: ReplaySubject,
    policy: str,
    budget: Budget,
    terms: Sequence[TariffTerms],
    begin: Begin = contestant_named,
) -> list[ReplayRun]:
    """Replay a recording under one policy, once for all these tariffs.

    Args:
        subject: The recording.
        policy: A name.
        budget: The budget of each request.
        terms: Terms of the tariffs; only one, unless the policy ignores prices.
        begin: Makes the contestant.

    Raises:
        WindowExceededError: The part that cannot be compacted exceeds the window.
    """
    key = ThreadKey("replay", f"{subject.recording.name} under {policy}")
    with closing(open_archive(":memory:", secret=SECRET)) as archive:
        accounts = [Account(subject, one, policy, budget) for one in terms]
        with closing(begin(policy, budget, terms[0].tariff, archive, key)) as contestant:
            return drive(subject, contestant, accounts)


ReplayOne = Callable[[Path, ReplayOrder], tuple[list[ReplayRun], list[str]]]
"""Replays one path of an order: `replay_one`. Other processes import it by its name."""


def replay_all(
    order: ReplayOrder,
    *,
    workers: int | None = None,
    on_done: Callable[[Path], None] | None = None,
    replay: ReplayOne = replay_one,
) -> FleetOutcome:
    """Replay every recording of an order; the result is in the order's own order.

    Recordings of one name are distinguished by their folders.

    Args:
        order: The replays to run.
        workers: Processes to use; the number of cores by default.
        on_done: Called with each path when it is done, in no particular order.
        replay: Replays each path.
    """
    workers = min(workers or os.cpu_count() or 1, len(order.paths))
    done: dict[Path, tuple[list[ReplayRun], list[str]]] = {}
    if workers <= 1:
        for path in order.paths:
            done[path] = replay(path, order)
            if on_done:
                on_done(path)
    else:
        done = _over_processes(order, workers, on_done, replay)
    names = _distinct_names({path: done[path][0][0].trajectory for path in done if done[path][0]})
    return FleetOutcome(
        runs=tuple(
            replace(run, trajectory=names[path]) for path in order.paths for run in done[path][0]
        ),
        failures=tuple(dict.fromkeys(failure for path in order.paths for failure in done[path][1])),
    )


def _distinct_names(names: Mapping[Path, str]) -> dict[Path, str]:
    """Return each name with as many folders as make it unique; the whole path at worst."""
    distinct: dict[Path, str] = {}
    alike: dict[str, list[Path]] = defaultdict(list)
    for path, name in names.items():
        alike[name].append(path)
    for name, paths in alike.items():
        deepest = max(len(path.parent.parts) for path in paths) if len(paths) > 1 else 0
        for depth in range(deepest + 1):
            labels = ["/".join((*p.parent.parts[-depth:][:depth], name)) for p in paths]
            if len(set(labels)) == len(paths):
                break
        else:
            labels = list(map(str, paths))
        distinct.update(zip(paths, labels, strict=True))
    return distinct


def _over_processes(
    order: ReplayOrder, workers: int, on_done: Callable[[Path], None] | None, replay: ReplayOne
) -> dict[Path, tuple[list[ReplayRun], list[str]]]:
    done: dict[Path, tuple[list[ReplayRun], list[str]]] = {}
    largest_first = sorted(order.paths, key=lambda path: -_size_of(path))
    existing = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        with _no_interrupt():
            futures: dict[Future[tuple[list[ReplayRun], list[str]]], Path] = {
                pool.submit(replay, path, order): path for path in largest_first
            }
        for future in as_completed(futures):
            path = futures[future]
            try:
                done[path] = future.result()
            except BrokenProcessPool:
                done[path] = [], [f"{path}: {WORKER_DIED}"]
            if on_done:
                on_done(path)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - existing:
            child.terminate()
        raise
    pool.shutdown()
    return done


def _size_of(path: Path) -> int:
    """Return the bytes of a file; 0 if it is missing."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Start processes that a Ctrl-C does not reach: who started them ends them, in silence."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def totals(runs: Sequence[ReplayRun]) -> dict[tuple[str, str], list[ReplayRun]]:
    """Group runs by policy and tariff, in the order they first appear."""
    grouped: dict[tuple[str, str], list[ReplayRun]] = {}
    for run in runs:
        grouped.setdefault((run.policy, run.tariff), []).append(run)
    return grouped
