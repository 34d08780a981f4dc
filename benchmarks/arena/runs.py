"""Drive every thread under every policy, over the cores, and shelve what was measured."""

import sys
from collections.abc import Container, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from benchmarks.arena.bills import bill_of
from benchmarks.arena.oracle.bounds import Hindsight
from benchmarks.arena.policies import ORACLE, check_policies, contestant_named, is_peer
from benchmarks.arena.rows import RECORDED, Row, Shelf
from benchmarks.arena.sources import find_threads, questions_about, read_thread, size_of
from benchmarks.arena.workloads import is_scripted
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg.errors import ThalwegError
from thalweg_recorder.replay.faults import uses_of_results
from thalweg_recorder.replay.fleet import replay_under
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms, subject_of, terms_of

ALL: frozenset[str] = frozenset()
"""Selects all threads."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thread under one policy in one window, at some prices."""

    path: Path
    policy: str
    window: int
    tariffs: tuple[str, ...]


def policies_here(policies: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sort out the policies that can run here; the others with what is missing."""
    here: list[str] = []
    absent: list[str] = []
    for policy in policies:
        try:
            if policy != ORACLE:
                check_policies([policy])
            here.append(policy)
        except ThalwegError as error:
            absent.append(str(error))
    return here, absent


def measure(
    shelf: Shelf,
    places: Sequence[str],
    policies: Sequence[str],
    windows: Sequence[int],
    tariffs: Sequence[str],
    *,
    only: Container[str] = ALL,
) -> list[Row]:
    """Measure what the shelf does not hold yet; return all that was requested.

    Args:
        shelf: The rows of former runs.
        places: See `find_threads`.
        policies: Names of policies.
        windows: In tokens.
        tariffs: Names of tariffs.
        only: Names of the threads to measure; all by default.
    """
    paths = [path for path in find_threads(places) if only is ALL or _name(path) in only]
    paths.sort(key=lambda path: -size_of(path))
    jobs = [
        Job(path, policy, window, tuple(missing))
        for path in paths
        for window in windows
        for policy in policies
        if (missing := shelf.missing(_name(path), policy, window, tariffs))
    ]
    total = len(paths) * len(windows) * len(policies)
    print(f"{total} drives, {total - len(jobs)} of them known", file=sys.stderr)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        jobs_by_future = {pool.submit(drive, job): job for job in jobs}
        for done, future in enumerate(as_completed(jobs_by_future), 1):
            job = jobs_by_future[future]
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                raise error
            if error is None:
                shelf.add(future.result())
            else:
                shelf.note(_crash(job, error))
            line = f"{done}/{len(jobs)} {_name(job.path)} {job.policy} {job.window}"
            print(line, file=sys.stderr, flush=True)
    names = {_name(path) for path in paths}
    return [
        row
        for (name, policy, window, tariff), row in shelf.rows.items()
        if name in names and policy in policies and window in windows and tariff in tariffs
    ]


def drive(job: Job) -> list[Row]:
    """Do one job."""
    subject = _subject(job.path)
    terms = [_terms(job.path, tariff) for tariff in job.tariffs]
    if job.policy == ORACLE:
        return [_bounds(job, subject, one) for one in terms]
    rows: list[Row] = []
    for together in [terms] if is_peer(job.policy) else [[one] for one in terms]:
        try:
            budget = Budget(window=job.window)
            runs = replay_under(subject, job.policy, budget, together, contestant_named)
            rows += [_row(job, subject, one, run) for one, run in zip(together, runs, strict=True)]
        except ThalwegError as error:
            rows += [_failure(job, subject, one.tariff.name, str(error)) for one in together]
    return rows


@lru_cache(maxsize=2)
def _subject(path: Path) -> ReplaySubject:
    recording = read_thread(path)
    return subject_of(recording, questions_about(recording, path))


@lru_cache(maxsize=8)
def _terms(path: Path, tariff: str) -> TariffTerms:
    return terms_of(_subject(path), TARIFFS[tariff])


@lru_cache(maxsize=1)
def _hindsight(path: Path, window: int) -> Hindsight:
    subject = _subject(path)
    return Hindsight.of(subject.entries, uses_of_results(subject), Budget(window=window))


def _name(path: Path) -> str:
    """Name a thread by its file, without the part for its format."""
    return str(path) if is_scripted(path) else path.name.partition(".")[0]


def _group(path: Path) -> str:
    return str(path) if is_scripted(path) else RECORDED


def _whole(subject: ReplaySubject) -> int:
    return sum(entry.tokens for entry in subject.entries)


def _bounds(job: Job, subject: ReplaySubject, terms: TariffTerms) -> Row:
    found = _hindsight(job.path, job.window).oracle(terms.tariff, terms.cold)
    return Row(
        group=_group(job.path),
        trajectory=_name(job.path),
        policy=ORACLE,
        window=job.window,
        tariff=terms.tariff.name,
        whole_tokens=_whole(subject),
        cost=found.one_cut,
        cost_with_steps=found.one_cut,
        cost_with_faults=found.one_cut,
        cost_unmanaged=terms.cost_unmanaged,
        sets=found.sets,
    )


def _failure(job: Job, subject: ReplaySubject, tariff: str, why: str) -> Row:
    return Row(
        group=_group(job.path),
        trajectory=_name(job.path),
        policy=job.policy,
        window=job.window,
        tariff=tariff,
        whole_tokens=_whole(subject),
        failed=why,
    )


def _crash(job: Job, error: BaseException) -> list[Row]:
    """Report an unforeseen exception of a peer: the others' figures are not lost by it."""
    line = f"{type(error).__name__}: {error}"
    print(f"{_name(job.path)} under {job.policy}: {line}", file=sys.stderr)
    subject = _subject(job.path)
    return [_failure(job, subject, tariff, line) for tariff in job.tariffs]


def _row(job: Job, subject: ReplaySubject, terms: TariffTerms, run: ReplayRun) -> Row:
    scripted = is_scripted(job.path)
    return Row(
        group=_group(job.path),
        trajectory=_name(job.path),
        policy=job.policy,
        window=job.window,
        tariff=run.tariff,
        whole_tokens=_whole(subject),
        calls=len(run.calls),
        cold=sum(call.cold or not k for k, call in enumerate(run.calls)),
        peak=max((call.tokens for call in run.calls), default=0),
        over=sum(call.tokens > run.window for call in run.calls),
        invalid=sum(bool(call.problems) for call in run.calls),
        input=sum(call.tokens for call in run.calls),
        cached=sum(call.cached for call in run.calls),
        breaks=sum(call.broke_at >= 0 for call in run.calls),
        summaries=run.summaries,
        cost=run.cost,
        cost_with_steps=run.cost_with_steps,
        cost_with_faults=run.cost_with_faults,
        cost_unmanaged=run.cost_unmanaged,
        steps=run.steps_needed,
        steps_lost=run.steps_lost,
        faults=run.faults_recoverable + run.faults_lost,
        faults_lost=run.faults_lost,
        inline=run.recall.inline,
        search=run.recall.search,
        lost=run.recall.lost,
        goals=run.goals_verbatim + run.goals_lost,
        goals_lost=run.goals_lost,
        evicted=run.evicted_tokens,
        unread=run.unread_evicted_tokens,
        bill=bill_of(subject, terms, run),
        by_call=tuple(round(call.cost) for call in run.calls) if scripted else (),
    )
