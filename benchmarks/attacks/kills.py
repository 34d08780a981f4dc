"""Processes that are killed while they are at work, and histories of everything that fails."""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks import gateway_kill, rules
from benchmarks.attacks.outcome import Effort, Outcome
from core_tests.postgres import fresh_database, running_server
from server_tests.e2e.gateways_findings import Findings
from server_tests.e2e.gateways_world import roles, world
from tests.rules.players import KINDS
from tests.rules.rule import PROVIDERS

_MODEL = {"words": 40, "pause_s": 0.1}
_FAULTS = ("refused", "over", "failed", "lost")


def over_one_file(effort: Effort) -> Outcome:
    """Kill the one gateway over a SQLite file, and start it again."""
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-kill-") as folder,
        world(Path(folder), None, gateways=1, **_MODEL) as made,
        redirect_stdout(sys.stderr),
    ):
        found, _ = gateway_kill.killed(
            made, 24 if effort == "quick" else 60, 3 if effort == "quick" else 6
        )
    return _outcome(found)


def over_postgres(effort: Effort) -> Outcome:
    """Kill two gateways over PostgreSQL in turn."""
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-kill-") as folder,
        running_server() as server,
        fresh_database(server) as admin,
        roles(admin) as url,
        world(Path(folder), url, **_MODEL) as made,
        redirect_stdout(sys.stderr),
    ):
        found, _ = gateway_kill.killed(
            made, 24 if effort == "quick" else 60, 3 if effort == "quick" else 4
        )
    return _outcome(found)


def _outcome(found: Findings) -> Outcome:
    attempts = dict(sorted(found.attempts.items()))
    figure = f"{found.events:,} events; runs by attempts {attempts}; {found.facts} facts"
    return Outcome(found.runs, tuple(found.problems), figure)


def by_histories(effort: Effort) -> Outcome:
    """Play histories of accidents through real clients, against the providers' rules."""
    given = argparse.Namespace(
        histories=80 if effort == "quick" else 800, first=0, seed=None, calm=False
    )
    total: Counter[str] = Counter()
    breaches: list[str] = []
    for kind in KINDS:
        for provider in PROVIDERS:
            for outcome in rules.played(provider, kind, given):
                total["histories"] += 1
                total["requests"] += outcome.requests
                faults = [each for name in _FAULTS for each in getattr(outcome, name)]
                breaches += [f"{provider} {kind} seed {outcome.seed}: {each}" for each in faults]
    return Outcome(total["histories"], tuple(breaches), f"{total['requests']:,} requests")
