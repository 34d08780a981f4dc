"""What removed content costs agents, on recorded threads: steps to have it again, by kind.

uv run --group arena python -m benchmarks.harm FOLDER [--policies thalweg,peer:deepagents]
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.arena.policies import check_policies, contestant_named
from benchmarks.arena.sources import find_threads, read_thread
from thalweg.archive import ThreadKey, open_archive
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg.errors import ThalwegError
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.fleet import drive
from thalweg_recorder.replay.harm import LOST, Miss
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of
from thalweg_recorder.replay.uses import KINDS

POLICIES = (
    "thalweg",
    "peer:deepagents",
    "peer:langchain-summarization",
    "peer:langchain-editing",
    "none",
)
SAMPLES = 1_000
"""Resamplings of the sessions for an interval."""


@dataclass(frozen=True, slots=True)
class HarmRow:
    """The misses of one thread under one policy."""

    thread: str
    policy: str
    window: int
    calls: int
    misses: Sequence[tuple[str, str, int, int]]
    """Kind, way, steps and tokens of each."""
    costs: tuple[int, ...] = ()
    """Of input and summaries alone, with the former faults, and with the steps; empty in rows
    from before these were kept."""

    def to_json(self) -> str:
        """Return it as a line."""
        fields = (self.thread, self.policy, self.window, self.calls, list(self.misses), self.costs)
        return json.dumps(fields)


def main() -> int:
    """Measure what the file of rows does not hold yet, and print the tables."""
    asked = _asked()
    policies = asked.policies.split(",")
    check_policies(policies)
    rows = _known(asked.rows)
    paths = find_threads(asked.places)
    for path in paths:
        missing = [p for p in policies if (path.name, p, asked.window) not in rows]
        subject = _subject(path) if missing else None
        for policy in missing if subject else ():
            print(f"{path.name} {policy}", file=sys.stderr, flush=True)
            row = measure(subject, path.name, policy, asked.window) if subject else None
            if row is not None:
                rows[row.thread, row.policy, row.window] = row
                with asked.rows.open("a", encoding="utf-8") as file:
                    file.write(f"{row.to_json()}\n")
    names = {path.name for path in paths}
    shown = [r for r in rows.values() if r.thread in names and r.window == asked.window]
    print("\n".join(tables([row for row in shown if row.policy in policies], policies)))
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harm", description=__doc__)
    add = parser.add_argument
    add("places", nargs="+", help="recorded files, or folders of them")
    add("--window", type=int, default=128_000)
    add("--policies", default=",".join(POLICIES))
    add("--rows", type=Path, default=Path(".harm.jsonl"), help="keeps what was measured")
    return parser.parse_args()


def _known(path: Path) -> dict[tuple[str, str, int], HarmRow]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (_row(*json.loads(line)) for line in lines)
    return {(row.thread, row.policy, row.window): row for row in rows}


def _row(
    thread: str,
    policy: str,
    window: int,
    calls: int,
    misses: Sequence[Sequence[Any]],
    costs: Sequence[int] = (),
) -> HarmRow:
    return HarmRow(thread, policy, window, calls, tuple(map(_fields, misses)), tuple(costs))


def _fields(miss: Sequence[Any]) -> tuple[str, str, int, int]:
    kind, way, steps, tokens = miss
    return kind, way, steps, tokens


def _subject(path: Path) -> ReplaySubject | None:
    try:
        return subject_of(read_thread(path), Questions())
    except ThalwegError as error:
        print(f"left out: {error}", file=sys.stderr)
        return None


def measure(subject: ReplaySubject, name: str, policy: str, window: int) -> HarmRow | None:
    """Drive one thread under one policy; `None` where the policy fails on it."""
    terms = terms_of(subject, TARIFFS["anthropic"])
    budget, key = Budget(window=window), ThreadKey("harm", name)
    with closing(open_archive(":memory:", secret=b"thalweg harm")) as archive:
        contestant = contestant_named(policy, budget, terms.tariff, archive, key)
        try:
            with closing(contestant):
                (run,) = drive(subject, contestant, [Account(subject, terms, policy, budget)])
        except ThalwegError as error:
            print(f"left out: {name} under {policy}: {error}", file=sys.stderr)
            return None
    costs = (run.cost, run.cost_with_faults, run.cost_with_steps)
    misses = tuple(map(_plain, run.misses))
    return HarmRow(name, policy, window, len(run.calls), misses, tuple(map(round, costs)))


def _plain(miss: Miss) -> tuple[str, str, int, int]:
    return miss.use.kind, miss.use.way, miss.steps, miss.tokens


def tables(rows: Sequence[HarmRow], policies: Sequence[str]) -> Iterator[str]:
    """Yield the lines of tables in Markdown: the policies, the kinds under each, and costs."""
    common = set.intersection(*({r.thread for r in rows if r.policy == p} for p in policies))
    of = {p: [row for row in rows if row.policy == p and row.thread in common] for p in policies}
    yield f"{len(common)} threads, {sum(row.calls for row in of[policies[0]])} calls"
    yield ""
    titles = "uses of removed content | 0 steps | 1 | 2 | lost | steps per 100 calls | lost"
    yield f"| policy | {titles} | tokens per call |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for policy, found in of.items():
        each = [miss for row in found for miss in row.misses]
        counts = [sum(miss[2] == n for miss in each) for n in (0, 1, 2, LOST)]
        figures = (_interval(found, per) for per in (_steps, _lost))
        brought = sum(miss[3] for miss in each if miss[2] != LOST)
        tokens = brought / max(1, sum(row.calls for row in found))
        cells = (policy, len(each), *counts, *figures, f"{tokens:.0f}")
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield f"| used, steps and lost | {' | '.join(policies)} |"
    yield f"|{'---|' * (len(policies) + 1)}"
    for kind in KINDS:
        yield f"| {kind} | {' | '.join(_cell(of[policy], kind) for policy in policies)} |"
    if all(row.costs for found in of.values() for row in found):
        yield ""
        yield from _costs(of)


def _costs(of: Mapping[str, Sequence[HarmRow]]) -> Iterator[str]:
    """Yield the lines of a table of costs, in thousands of uncached input tokens."""
    yield "| policy | cost | with faults (former) | with steps |"
    yield "|---|---|---|---|"
    for policy, found in of.items():
        costs = (f"{sum(row.costs[k] for row in found) / 1_000:,.0f}" for k in range(3))
        yield f"| {policy} | {' | '.join(costs)} |"


def _cell(rows: Iterable[HarmRow], kind: str) -> str:
    found = [miss[2] for row in rows for miss in row.misses if miss[0] == kind]
    return f"{len(found)}: {sum(n for n in found if n > 0)}, {found.count(LOST)}"


def _steps(row: HarmRow) -> int:
    return sum(miss[2] for miss in row.misses if miss[2] > 0)


def _lost(row: HarmRow) -> int:
    return sum(miss[2] == LOST for miss in row.misses)


def _interval(rows: Sequence[HarmRow], figure: Callable[[HarmRow], int]) -> str:
    """Return a rate per 100 calls with its bootstrap interval of 95 % over the sessions."""
    if not rows:
        return "-"
    dice, rates = Random(0), list[float]()  # noqa: S311 (resampling)
    for _ in range(SAMPLES):
        drawn = dice.choices(rows, k=len(rows))
        rates.append(100 * sum(map(figure, drawn)) / max(1, sum(row.calls for row in drawn)))
    rates.sort()
    rate = 100 * sum(map(figure, rows)) / max(1, sum(row.calls for row in rows))
    return f"{rate:.2f} ({rates[25]:.2f}-{rates[-26]:.2f})"


if __name__ == "__main__":
    sys.exit(main())
