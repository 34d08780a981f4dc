"""LangChain's own tests of agents, with and without ours: `python tests/peers/langchain_suite.py`.

The tests are in the source distribution of the installed LangChain, which is fetched, or in the
folder `THALWEG_LANGCHAIN_SUITE`. They run three times: as they are, and with a `ContextMiddleware`
that is the first or the last of every agent. `langchain_suite.toml` lists, with reasons, the cases
whose result may differ. In pytest this file is the plug-in that adds the middleware.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

POSITION, RESULTS = "THALWEG_POSITION", "THALWEG_RESULTS"
PLACES = ("none", "first", "last")
CASES = "tests/unit_tests/agents"
WAIVED = Path(__file__).with_suffix(".toml")
NEEDS = (
    "langchain-tests",
    "syrupy",
    "pytest-asyncio",
    "pytest-socket",
    "pytest-mock",
    "pytest-benchmark",
    "blockbuster",
    "toml",
)
"""What its tests need besides LangChain."""


def pytest_configure() -> None:
    """Add the middleware to every agent that the tests make."""
    position = os.environ.get(POSITION, "none")
    if position == "none":
        return
    import langchain.agents as package  # noqa: PLC0415 (of the run with its tests)
    from langchain.agents import factory  # noqa: PLC0415

    from thalweg import ContextMiddleware  # noqa: PLC0415

    plain = factory.create_agent

    @wraps(plain)
    def create_agent(*args: Any, middleware: Sequence[Any] = (), **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's)
        ours = ContextMiddleware(archive=":memory:")
        placed = [ours, *middleware] if position == "first" else [*middleware, ours]
        return plain(*args, middleware=placed, **kwargs)

    factory.create_agent = package.create_agent = create_agent


_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: Any) -> None:  # noqa: ANN401 (pytest's)
    """Keep the outcome of each case: a failure in any phase counts."""
    if report.when == "call" or report.outcome != "passed":
        failed = _outcomes.get(report.nodeid) == "failed" or report.outcome == "failed"
        _outcomes[report.nodeid] = "failed" if failed else report.outcome


def pytest_sessionfinish() -> None:
    """Write the outcomes for the process that started this one."""
    if path := os.environ.get(RESULTS):
        Path(path).write_text(json.dumps(_outcomes), encoding="utf-8")


def fetch_suite(folder: Path) -> Path | None:
    """Return the folder of LangChain's sources, fetched into a folder; `None` if it cannot be."""
    if named := os.environ.get("THALWEG_LANGCHAIN_SUITE"):
        return Path(named) if (Path(named) / CASES).is_dir() else None
    wanted = f"langchain=={version('langchain')}"
    fetch = ["uv", "run", "-q", "--no-project", "--with", "pip", "--with", "hatchling", "python"]
    fetch += ["-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation"]
    fetch += ["--no-binary", "langchain", "--dest", str(folder), wanted]
    try:
        subprocess.run(fetch, check=True, capture_output=True, timeout=300)
        (found,) = folder.glob("*.tar.gz")
        with tarfile.open(found) as archive:
            archive.extractall(folder, filter="data")
        (whole,) = (path for path in folder.iterdir() if path.is_dir())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return whole if (whole / CASES).is_dir() else None


def run_suite(suite: Path, position: str, options: Sequence[str] = ()) -> dict[str, str]:
    """Run the tests with ours at a position; return the outcome of each case by its id."""
    here = Path(__file__).parent
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        added = [part for name in NEEDS for part in ("--with", name)]
        run = ["uv", "run", "-q", "--no-sync", *added, "python", "-m", "pytest", "-q"]
        run += ["-p", "langchain_suite", "-c", str(suite / "pyproject.toml")]
        run += ["--rootdir", str(suite), str(suite / CASES), *options]
        env = {**os.environ, POSITION: position, RESULTS: str(results), "PYTHONPATH": str(here)}
        ran = subprocess.run(
            run, cwd=here.parents[1], env=env, capture_output=True, text=True, check=False
        )
        if not results.exists():
            sys.exit(f"the tests did not run: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        outcomes: dict[str, str] = json.loads(results.read_text("utf-8"))
    return outcomes


def waived_cases(position: str) -> dict[str, str]:
    """Return the reason of each waived case at a position; an id names a test or one case."""
    groups = tomllib.loads(WAIVED.read_text("utf-8"))["group"]
    return {
        case: group["reason"]
        for group in groups
        if position in group.get("positions", PLACES)
        for case in group["cases"]
    }


def differing(plain: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """List the cases that fail only with ours."""
    return [c for c, outcome in ours.items() if outcome == "failed" and plain.get(c) != "failed"]


def report(position: str, plain: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Print how a run differs from the plain one; return whether it may."""
    waived, reasons, faults = waived_cases(position), Counter[str](), list[str]()
    for case in differing(plain, ours):
        name = case.removeprefix(f"{CASES}/")
        reason = waived.get(name) or waived.get(name.partition("[")[0])
        if reason is None:
            faults.append(name)
        else:
            reasons[reason] += 1
    counts = Counter(ours.values())
    told = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
    _say(f"{position}: {told}; {reasons.total()} differ with a reason, {len(faults)} without")
    for reason, n in reasons.most_common():
        _say(f"    {n:3} {reason}")
    for name in faults:
        _say(f"    FAULT {name}")
    return not faults


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests at each position and compare.

    Returns:
        1 if a case differs without a reason.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--position", choices=PLACES[1:], action="append", help="both by default")
    parser.add_argument("--options", default="", help="further options of pytest")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        suite = fetch_suite(Path(folder))
        if suite is None:
            _say("LangChain's tests are not here: its source distribution cannot be fetched")
            return 0
        options = given.options.split()
        plain = run_suite(suite, "none", options)
        counts = Counter(plain.values())
        told = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
        _say(f"without ours: {told}")
        places = given.position or PLACES[1:]
        fine = [report(place, plain, run_suite(suite, place, options)) for place in places]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
