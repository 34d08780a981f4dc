"""`thalweg replay` with installed peers, the best in hindsight, workloads and every format.

uv run --group arena python -m benchmarks.arena.replay PATH... [--policy thalweg,peer:deepagents]

A PATH is a file, a folder or a glob, or a workload of 300 turns: `scripted:mixed`. The policy
`oracle` is Thalweg's engine with the best compactions in hindsight; with it, each policy has a
regret.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.arena.oracle.base import Oracle
from benchmarks.arena.oracle.bounds import Hindsight
from benchmarks.arena.oracle.scheduled import Scheduled
from benchmarks.arena.policies import ORACLE, POLICIES, check_policies, contestant_named
from benchmarks.arena.sources import find_threads, questions_about, read_thread
from thalweg.archive import Archive, ThreadKey
from thalweg.cli.values import parse_names
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.budget import Budget
from thalweg.errors import RecordingError, ThalwegError
from thalweg_recorder.cli.replay import (
    USUAL_POLICIES,
    named_with_prices,
    print_outcome,
    tariffs_named,
)
from thalweg_recorder.replay.contestant import Contestant
from thalweg_recorder.replay.faults import uses_of_results
from thalweg_recorder.replay.fleet import (
    ReplayOrder,
    questions_of,
    replay_all,
    replay_subject,
    totals,
)
from thalweg_recorder.replay.ours import ThalwegContestant
from thalweg_recorder.replay.report import write_report
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HindsightRun(ReplayRun):
    """A run and the best in hindsight of its thread, at the same prices."""

    oracle: Oracle

    @property
    def regret(self) -> float | None:
        """The cost with the former faults, as a share above the best compactions in hindsight."""
        best = self.oracle.one_cut
        return self.cost_with_faults / best - 1 if best else None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        regret = None if self.regret is None else round(self.regret, 4)
        more = {"regret": regret, "oracle": self.oracle.to_json()}
        return ReplayRun.to_json(self) | more


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay, and print a table and a verdict; 2 if a thread could not be replayed."""
    options = _parser().parse_args(arguments)
    try:
        policies = parse_names([options.policy or USUAL_POLICIES])
        check_policies(policies)
        order = ReplayOrder(
            tuple(find_threads(options.paths)),
            policies,
            Budget(window=options.window) if options.window else None,
            tuple(tariffs_named(options.prices)),
            adds_recorded=not options.policy,
        )
    except ThalwegError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    outcome = replay_all(order, replay=replay_one)
    for failure in outcome.failures:
        print(failure, file=sys.stderr)
    if not outcome.runs:
        return 2
    print_outcome(outcome, as_json=options.json)
    if not options.json:
        print(*regrets(outcome.runs), sep="\n")
    if options.html:
        write_report(named_with_prices(outcome.runs), options.html)
    return 2 if outcome.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena.replay", description=__doc__)
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="recorded files, folders, globs; workloads")
    add("--policy", default="", help=f"by commas: {', '.join(POLICIES)}; default: {USUAL_POLICIES}")
    add("--window", type=int, help="tokens; default: the window of the recorded model")
    add("--prices", default="", help=f"by commas: {', '.join(TARIFFS)}")
    add("--json", action="store_true", help="print one JSON object with every figure")
    add("--html", type=Path, metavar="FILE", help="write a report for a browser")
    return parser


def replay_one(path: Path, order: ReplayOrder) -> tuple[list[ReplayRun], list[str]]:
    """Replay one thread under every policy of the order; see `thalweg_recorder.replay.fleet`."""
    try:
        recording = read_thread(path)
    except RecordingError as error:
        return [], [str(error)]
    questions, failures = questions_of(recording, path, questions_about)
    subject = subject_of(recording, questions)
    oracles = _oracles(subject, order) if ORACLE in order.policies else {}

    def begin(
        name: str, budget: Budget, tariff: Tariff, archive: Archive, key: ThreadKey
    ) -> Contestant:
        if name == ORACLE:
            return ThalwegContestant(Scheduled(oracles[tariff.name]), budget, archive, key)
        return contestant_named(name, budget, tariff, archive, key)

    runs, failed = replay_subject(path, subject, order, begin)
    return [_with_oracle(run, oracles) for run in runs], [*failures, *failed]


def _oracles(subject: ReplaySubject, order: ReplayOrder) -> dict[str, Oracle]:
    budget = order.budget_for(subject.recording)
    hindsight = Hindsight.of(subject.entries, uses_of_results(subject), budget)
    terms = [terms_of(subject, tariff) for tariff in order.tariffs_for(subject.recording)]
    return {one.tariff.name: hindsight.oracle(one.tariff, one.cold) for one in terms}


def _with_oracle(run: ReplayRun, oracles: Mapping[str, Oracle]) -> ReplayRun:
    if run.tariff not in oracles:
        return run
    own = {field.name: getattr(run, field.name) for field in fields(run)}
    return HindsightRun(**own, oracle=oracles[run.tariff])


def regrets(runs: Sequence[ReplayRun]) -> Iterator[str]:
    """Yield a line for each policy and tariff: the cost above the best in hindsight."""
    measured = [run for run in runs if isinstance(run, HindsightRun)]
    for (policy, tariff), group in totals(measured).items():
        own = [run for run in group if isinstance(run, HindsightRun)]
        best = sum(run.oracle.one_cut for run in own)
        if best:
            regret = sum(run.cost_with_faults for run in own) / best - 1
            yield f"regret of {policy}, {tariff}: {regret:+.0%}"


if __name__ == "__main__":
    sys.exit(main())
