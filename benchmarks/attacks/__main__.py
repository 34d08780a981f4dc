"""Run every listed attack on a gateway, and print what came through.

    python -m benchmarks.attacks
    python -m benchmarks.attacks --quick --only shell

Each row is a real attack on real processes: requests to `thalweg serve`, commands in a sandbox,
processes that are killed, servers that are stopped. `tries` counts requests, runs or cases; a
breach is a try that came through, and is printed below its row. Ends with 1 where there is one.
"""

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Sequence

from benchmarks.attacks import files, kills, owners, requests
from benchmarks.attacks.outcome import Attack, Effort, Outcome
from benchmarks.attacks.suites import tests

_SHOWN = 5
ATTACKS = (
    Attack(
        "without keys: strange hosts, origins, preflights, proxies", requests.from_other_origins
    ),
    Attack("request smuggling, paths that climb, a header of 2 MB", requests.with_broken_framing),
    Attack("malformed JSON", requests.with_malformed_json),
    Attack("forged OpenID tokens", owners.by_forged_tokens),
    Attack("every operation, with a key, on another owner's things", owners.by_requests),
    Attack(
        "does it exist: another's and nobody's, compared",
        tests("packages/thalweg-server/tests/server_tests/gateway/test_owners.py"),
    ),
    Attack(
        "rows of others past a forgotten condition (PostgreSQL)",
        tests("packages/thalweg-memory/tests/memory_tests/e2e/test_walls.py"),
    ),
    Attack(
        "handles of another thread",
        tests(
            "packages/thalweg-agent/tests/agent_tests/e2e/test_rights.py::test_a_handle_is_good_in_the_thread_it_was_shown_in_and_in_no_other",
            "packages/thalweg-memory/tests/memory_tests/contract/test_sqlite_archive.py",
            "-k",
            "handle",
        ),
    ),
    Attack("names and contents of uploads", files.by_names_and_contents),
    Attack("paths of file tools: links, climbs, hard links, /proc", files.by_paths),
    Attack(
        "subagents with wider rights, without approval",
        tests(
            "packages/thalweg-agent/tests/agent_tests/property/test_rights.py",
            "packages/thalweg-agent/tests/agent_tests/property/test_approvals.py",
        ),
    ),
    Attack("two owners with a shell; more processes than allowed", owners.by_commands),
    Attack(
        "addresses in models, messages, documents (SSRF)",
        tests("packages/thalweg-server/tests/server_tests/gateway/test_ssrf.py"),
    ),
    Attack("floods of one owner, another one waits", owners.by_floods),
    Attack(
        "headers that never end",
        tests("packages/thalweg-server/tests/server_tests/unit/server/gateway/test_headers.py"),
    ),
    Attack(
        "5,000 tools, a tool's result of 20 MB",
        tests("packages/thalweg-server/tests/server_tests/e2e/test_large_inputs.py"),
    ),
    Attack("kill -9 over a SQLite file", kills.over_one_file),
    Attack("kill -9 over PostgreSQL", kills.over_postgres),
    Attack(
        "PostgreSQL is restarted, a process dies meanwhile",
        tests(
            "packages/thalweg-server/tests/server_tests/e2e/test_runs_kill.py::test_the_server_restarts_and_a_process_dies_meanwhile"
        ),
    ),
    Attack(
        "connections cut in every request of a call",
        tests("packages/thalweg-server/tests/server_tests/e2e/test_cut_connections.py"),
    ),
    Attack(
        "behind PgBouncer", tests("packages/thalweg-server/tests/server_tests/e2e/test_poolers.py")
    ),
    Attack(
        "a full disk, damaged files, read-only files, files of other programs",
        tests(
            "packages/thalweg/tests/core_tests/e2e/test_archive_processes.py",
            "packages/thalweg-memory/tests/memory_tests/contract/test_sqlite_archive.py",
            "packages/thalweg-recorder/tests/recorder_tests/e2e/test_cli.py::test_a_full_disk_is_one_sentence",
        ),
    ),
    Attack(
        "databases of older and newer versions, two versions at once",
        tests(
            "packages/thalweg-memory/tests/memory_tests/e2e/test_migrations.py",
            "packages/thalweg-memory/tests/memory_tests/e2e/test_two_versions.py",
            "packages/thalweg-memory/tests/memory_tests/unit/memory/test_upgrade.py",
        ),
    ),
    Attack("accidents of models and tools, by providers' rules", kills.by_histories),
    Attack(
        "results that imitate a person, a record, a system notice",
        tests("packages/thalweg/tests/core_tests/property/test_obligations.py"),
    ),
    Attack(
        "a learner that lies",
        tests("packages/thalweg-memory/tests/memory_tests/e2e/test_lying_learner.py"),
    ),
    Attack(
        "bytes of a deleted thread",
        tests("packages/thalweg-server/tests/server_tests/e2e/test_erasure.py"),
    ),
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of what takes minutes")
    parser.add_argument("--only", default="", help="rows whose name has these words")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print("| attack | tries | breaches | | seconds |\n|---|---|---|---|---|")
    chosen = [attack for attack in ATTACKS if given.only in attack.name]
    effort: Effort = "quick" if given.quick else "full"
    breached = [attack for attack in chosen if _is_breached(attack, effort)]
    return int(bool(breached))


def _is_breached(attack: Attack, effort: Effort) -> bool:
    began = time.monotonic()
    try:
        outcome = attack.run(effort)
    except Exception as error:  # noqa: BLE001 (the other rows are to be tried, too)
        outcome = Outcome(0, (f"could not be tried: {error!r}",))
    print(_row(attack, outcome, time.monotonic() - began), flush=True)
    for breach in _some(outcome.breaches):
        print(f"    BREACH {breach[:500]}", flush=True)
    return bool(outcome.breaches)


def _row(attack: Attack, outcome: Outcome, seconds: float) -> str:
    counts = f"{outcome.tries:,} | {len(outcome.breaches)}"
    return f"| {attack.name} | {counts} | {outcome.figure} | {seconds:.0f} |"


def _some(breaches: Sequence[str]) -> Sequence[str]:
    return breaches if len(breaches) <= _SHOWN else [*breaches[:_SHOWN], "and more"]


if __name__ == "__main__":
    sys.exit(main())
