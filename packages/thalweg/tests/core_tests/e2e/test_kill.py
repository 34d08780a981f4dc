"""Agents in real processes, killed at any moment and started again."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from core_tests.e2e.killed import AT, Durability, checkpoints
from core_tests.forking import Forked, start
from core_tests.postgres import fresh_database
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import page_from_json, read_page
from thalweg.context.turn.threads import read_pointer_turn
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("THALWEG_KILLS", "20"))
SHARED_KILLS = 10
MEAN_S = 0.15
"""From the moment a worker is ready to the kill."""
MOST = 0.9
"""Share of the kills that wait for that moment."""
ENDLESS, CALM = 1_000_000, 8
"""Runs of a worker that is killed, and of the last one."""
KEY = ThreadKey("local", "t")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one thread is kept."""

    archive: str
    checkpoints: str
    told: Path
    """Where workers write what went wrong."""


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Place]]:
    """Keep two threads, each in a database of its own."""
    with ExitStack() as stack:
        found: list[Place] = []
        for name in ("left", "right"):
            told = tmp_path / f"{name}-told"
            if request.param == "sqlite":
                files = tmp_path / f"{name}.db", tmp_path / f"{name}-state.db"
                found.append(Place(str(files[0]), str(files[1]), told))
            else:
                server = request.getfixturevalue("postgres_server")
                url = stack.enter_context(fresh_database(server))
                found.append(Place(url, url, told))
        yield found


@contextmanager
def workers(place: Place) -> Iterator[Forked]:
    """Start a process that forks workers."""
    process = start(
        "core_tests.e2e.killed",
        *(place.archive, place.checkpoints, place.told),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        new_session=True,
    )
    try:
        until("ready", process)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def said(process: Forked) -> str:
    """Read the next line of a process's output."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process is gone"
    return line.strip()


def until(what: str, process: Forked) -> None:
    """Wait until a process prints a line."""
    while said(process) != what:
        pass


def ask(process: Forked, line: str) -> int:
    """Start a worker."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return int(said(process))


def kill(place: Place, durability: Durability, kills: int, seed: int) -> None:
    """Let a thread be worked on, and kill the worker again and again."""
    dice = random.Random(seed)  # noqa: S311 (moments, not secrets)
    with workers(place) as process:
        for _ in range(kills):
            worker = ask(process, f"{ENDLESS} {durability}")
            if dice.random() < MOST:
                until("at work", process)
            time.sleep(dice.expovariate(1 / MEAN_S))
            os.kill(worker, signal.SIGKILL)
            until("gone", process)
            assert not place.told.exists(), place.told.read_text()
        ask(process, f"{CALM} {durability}")
        until("gone", process)
        assert not place.told.exists(), place.told.read_text()


def line_at(place: Place) -> tuple[list[Message], int]:
    """Read a thread's line and the number of the newest question, by its newest checkpoint."""
    with checkpoints(place.checkpoints) as saver, open_archive(place.archive) as archive:
        newest = saver.get_tuple(AT)
        assert newest is not None
        state = newest.checkpoint["channel_values"]
        turn = read_pointer_turn(state["thalweg_turn"], KEY, archive.identity)
        assert turn is not None
        page = read_page(archive, KEY, turn)
        log = archive.messages(KEY)
        assert len(log) == archive.length(KEY)
        assert page.length == len(log)
        return [log[position] for position in page.line], state["asked"]


def folds_of(place: Place) -> int:
    """Count the folds of a thread."""
    with open_archive(place.archive) as archive:
        pages = map(page_from_json, archive.turns(KEY))
        return sum(isinstance(edit, Fold) for page in pages for edit in page.edits)


def check_line(place: Place) -> int:
    """Check a thread; return the number of its questions."""
    line, asked = line_at(place)
    questions = [m.text for m in line if m.role == "user"]
    assert questions == [f"question {n}" for n in range(1, asked + 1)]
    uids = [message.uid for message in line]
    assert len(set(uids)) == len(uids)
    waiting: dict[str, None] = {}
    for message in line:
        waiting.update((call.id, None) for call in message.calls)
        waiting.pop(message.answers, None)
    assert not waiting, "calls without a result, not even of a retry"
    for number in range(1, asked + 1):
        assert f"answer {number}" in [m.text for m in line]
    return asked


def test_a_kill_loses_nothing_where_checkpoints_and_archive_are_one_file(tmp_path: Path) -> None:
    """Two connections of a process write to it."""
    shared = str(tmp_path / "state.db")
    place = Place(shared, shared, tmp_path / "told")

    kill(place, "async", SHARED_KILLS, 7)

    assert check_line(place) >= CALM
    assert folds_of(place) > 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_an_agent_that_is_killed_again_and_again_loses_nothing(
    places: list[Place], durability: Durability
) -> None:
    """It repeats nothing, and sends no request that a provider refuses."""
    each = KILLS // 2 // len(places)
    with ThreadPoolExecutor(len(places)) as pool:
        jobs = [pool.submit(kill, place, durability, each, n) for n, place in enumerate(places)]
        for job in jobs:
            job.result()

    for place in places:
        assert check_line(place) >= CALM
        assert folds_of(place) > 0
