"""The peer's public tests pass, but for those that are waived with a reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers import public_suite
from tests.peers.public_suite import reason_of, suite_folder, waived_cases

pytestmark = pytest.mark.slow

SUITE = Path(public_suite.__file__)


def _cases() -> list[str]:
    folder = suite_folder()
    if folder is None:
        pytest.skip("deepagents' tests are not here: set THALWEG_PEER_SUITE to their folder")
    return (folder / "cases.txt").read_text("utf-8").splitlines()


def test_every_waiver_names_a_case_and_a_reason() -> None:
    cases = _cases()
    waived = waived_cases()

    assert all(waived.values())
    parts = [case.partition("[")[0].split("::") for case in cases]
    known = {"::".join(names[:count]) for names in parts for count in (1, 2, 3)} | set(cases)
    assert [case for case in waived if case not in known] == []
    supported = [case for case in cases if case.partition("::")[0] not in waived]
    assert len([case for case in supported if reason_of(case, waived)]) <= 200


def test_without_the_folder_it_says_so() -> None:
    environment = {**os.environ, "THALWEG_PEER_SUITE": "/nowhere"}
    ran = subprocess.run(
        [sys.executable, str(SUITE)], capture_output=True, text=True, check=False, env=environment
    )

    assert (ran.returncode, ran.stdout.startswith("deepagents' tests are not here")) == (0, True)
