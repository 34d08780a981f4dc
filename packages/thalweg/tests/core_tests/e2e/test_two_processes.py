"""Two real processes that drive one thread at once, and a third that continues it."""

import subprocess
from pathlib import Path

import pytest

from core_tests import forking
from core_tests.e2e.killed import ask, worked_on
from core_tests.e2e.test_kill import KEY, Place, line_at, places, until
from thalweg.archive import open_archive

pytestmark = pytest.mark.slow

__all__ = ["places"]  # a fixture

ROUNDS = 10
"""Questions that each of the two asks."""


def start(place: Place, first: int, durability: str) -> forking.Forked:
    """Start a process that asks every other question."""
    pipe = subprocess.PIPE
    return forking.start(
        "core_tests.e2e.talking_at_once",
        *(place.archive, place.checkpoints, first, ROUNDS, durability),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_two_processes_that_talk_in_one_thread_lose_nothing_of_each_other(
    places: list[Place], durability: str
) -> None:
    """LangGraph's checkpoint is that of the last one; the thread has the words of both."""
    check_two_processes(places[0], durability)


def test_two_processes_share_one_file_for_checkpoints_and_archive(tmp_path: Path) -> None:
    """Two connections of each process write to it."""
    shared = str(tmp_path / "state.db")
    check_two_processes(Place(shared, shared, tmp_path / "told"), "async")


def check_two_processes(place: Place, durability: str) -> None:
    """Have two processes talk in a thread that exists, and a third one after them."""
    with worked_on(place.archive, place.checkpoints) as agent:
        ask(agent, 0, "sync")
    processes = [start(place, first, durability) for first in (1, 2)]
    for process in processes:
        until("ready", process)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=250)
        assert out.endswith("done\n"), err
    with worked_on(place.archive, place.checkpoints) as agent:
        ask(agent, 2 * ROUNDS + 1, "sync")

    line, _ = line_at(place)
    questions = [message.uid for message in line if message.role == "user"]
    for first in (1, 2):
        own = [f"u{number}" for number in range(first, 2 * ROUNDS + first, 2)]
        assert [uid for uid in questions if uid in own] == own
    assert len(questions) == 2 * ROUNDS + 2
    uids = [message.uid for message in line]
    assert len(set(uids)) == len(uids)
    with open_archive(place.archive) as archive:
        log = archive.messages(KEY)
    assert [m.uid for m in log if m.uid not in set(uids)] == []
