"""A subagent that was at work when its process died."""

import json
import signal
import time
from pathlib import Path

import pytest

from agent_tests.e2e.killed_subagent import drive
from core_tests.forking import start

pytestmark = pytest.mark.slow


def test_after_kill_9_the_ledger_says_what_ran_and_the_child_goes_on_where_it_stood(
    tmp_path: Path,
) -> None:
    """One task, begun once; no turn that was over is taken again."""
    process = start("agent_tests.e2e.killed_subagent", tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "waiting").exists():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (tmp_path / "notes").read_text().splitlines()
    (tmp_path / "notes").unlink()
    (tmp_path / "go on").touch()

    values = drive(tmp_path, first=False)

    after = (tmp_path / "notes").read_text().splitlines()
    standing = json.loads(after[0].removeprefix("standing "))
    assert before == [
        "task_started False",
        "child's model 0",
        "task_running 1",
        "child's model 1",
        "task_running 2",
    ]
    assert {name: task["status"] for name, task in standing.items()} == {"t1": "running"}
    assert after[1:] == [
        "task_started True",
        "task_running 2",
        "child's model 2",
        "task_running 3",
        "task_completed 3",
    ]
    assert {name: task["status"] for name, task in values["tasks"].items()} == {"t1": "completed"}
    assert values["messages"][-2].artifact["turns"] == 3
    assert values["messages"][-1].content == "done"
