"""Rows of the table that are tests of the project: what they compare is in the tests themselves."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

from benchmarks.attacks.outcome import Effort, Outcome


def tests(*arguments: str) -> Callable[[Effort], Outcome]:
    """Make an attack of tests: each case is a try, and each that fails a breach.

    Args:
        arguments: Of pytest: files, cases and options.
    """

    def run(effort: Effort) -> Outcome:
        del effort
        with TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            options = ("-q", "-p", "no:cacheprovider", "-m", "", f"--junitxml={report}")
            command = (sys.executable, "-m", "pytest", *options, *arguments)
            ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (ours)
            if not report.exists():
                return Outcome(0, (ran.stdout[-500:] + ran.stderr[-500:],))
            cases = [*ET.parse(report).iter("testcase")]  # noqa: S314 (ours)
        failed = [_name(each) for each in cases if _has(each, "failure") or _has(each, "error")]
        skipped = [each for each in cases if _has(each, "skipped")]
        figure = f"{len(skipped)} skipped: {_reason(skipped[0])}" if skipped else ""
        return Outcome(len(cases) - len(skipped), tuple(failed), figure)

    return run


def _has(case: ET.Element, tag: str) -> bool:
    return case.find(tag) is not None


def _name(case: ET.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"


def _reason(case: ET.Element) -> str:
    found = case.find("skipped")
    return "" if found is None else str(found.get("message"))[:100]
