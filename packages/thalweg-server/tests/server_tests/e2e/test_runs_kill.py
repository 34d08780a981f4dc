"""Processes that perform runs and are killed at any moment.

Every run ends once, every stream continues without gap or repeat, the emitted text is the kept
text, and no tool is called again after the checkpoint that has its result.
"""

import signal
from pathlib import Path

import pytest

from core_tests.postgres import Server
from server_tests.e2e.runs_world import Findings, World, world

pytestmark = pytest.mark.slow

SLOW = {"words": 30, "pause_s": 0.05}
"""A run takes two and a half seconds at least."""


def checked(made: World) -> Findings:
    """Follow every run to its end, and see that nothing went wrong."""
    made.finish()
    found = made.found()
    assert not found.problems
    assert not made.errors
    return found


@pytest.mark.timeout(600)
def test_two_processes_share_runs_and_either_may_be_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    """PostgreSQL: thirty runs, three kills, another process in the place of each."""
    with world(postgres_url, tmp_path, **SLOW) as made:
        made.add_worker()
        made.add_worker()
        made.wait_ready(2)
        for kill in range(kills := 3):
            for number in range(kill * 10, kill * 10 + 10):
                made.start((f"owner {number % 7}", f"thread {number}", f"run-{number}"))
            made.until_streaming(5)
            made.kill(made.workers[0])  # the oldest: it has taken runs over from the one before it
            made.add_worker()
            made.wait_ready(2)
        found = checked(made)
        taken_up = sum(count for attempts, count in found.attempts.items() if attempts > 1)

        assert taken_up >= kills, "too few kills fell into a run"


@pytest.mark.timeout(600)
def test_one_process_is_killed_and_started_again_over_one_file(tmp_path: Path) -> None:
    """SQLite: no process is running between the kill and the new start."""
    home = tmp_path / "home"
    home.mkdir()
    with world(str(home), tmp_path, **SLOW) as made:
        made.add_worker()
        made.wait_ready()
        for number in range(8):
            made.start(("ann", f"thread {number}", f"run-{number}"))
        for _ in range(3):
            made.until_streaming(1)
            made.kill(made.workers[0])
            made.add_worker()
            made.wait_ready()
        found = checked(made)

        assert max(found.attempts) > 1, "too few kills fell into a run"


@pytest.mark.timeout(600)
def test_two_processes_over_one_file_and_one_is_killed(tmp_path: Path) -> None:
    """SQLite: `serve` and `chat` side by side; the one resumes the runs of the other."""
    home = tmp_path / "home"
    home.mkdir()
    with world(str(home), tmp_path, **SLOW) as made:
        made.add_worker()
        made.add_worker()
        made.wait_ready(2)
        for number in range(8):
            made.start(("ann", f"thread {number}", f"run-{number}"))
        made.until_streaming(5)
        made.kill(made.workers[0])
        found = checked(made)

        assert found.attempts[2] > 0, "the kill fell into no run"


@pytest.mark.timeout(600)
def test_a_process_that_is_told_to_stop_hands_its_runs_over_at_once(
    postgres_url: str, tmp_path: Path
) -> None:
    """SIGTERM, as a new release sends it."""
    with world(postgres_url, tmp_path, **SLOW) as made:
        made.add_worker()
        made.add_worker()
        made.wait_ready(2)
        for number in range(10):
            made.start(("ann", f"thread {number}", f"run-{number}"))
        made.until_streaming(5)
        leaving = made.workers[0]
        made.kill(leaving, signal.SIGTERM)
        found = checked(made)

        assert leaving.process.returncode == 0
        assert found.attempts[2] > 0, "it performed no run when it was told to stop"


@pytest.mark.timeout(600)
def test_the_server_restarts_and_a_process_dies_meanwhile(
    own_postgres: Server, tmp_path: Path
) -> None:
    """The rows name the dead process; the living one takes its runs over when the server is back.

    The living one continues its own runs: its lock is taken again under the same name.
    """
    with world(own_postgres.url, tmp_path, **SLOW) as made:
        made.add_worker()
        made.add_worker()
        made.wait_ready(2)
        for number in range(10):
            made.start(("ann", f"thread {number}", f"run-{number}"))
        made.until_streaming(5)
        own_postgres.stop()
        made.kill(made.workers[0])
        made.tend(1.0)
        own_postgres.start()
        made.finish()
        found = made.found()  # readers were refused meanwhile, and asked again

        assert not found.problems
        assert sum(count for attempts, count in found.attempts.items() if attempts > 1) > 0
