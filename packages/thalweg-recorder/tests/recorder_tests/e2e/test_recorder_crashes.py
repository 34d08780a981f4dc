"""Hooks and the worker as processes: killed anywhere, two at once, a full disk, a rewritten log.

What must hold: a row that the agent had written before a hook ended is in the archive once, after
the next event that is worked off.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core_tests import forking
from recorder_tests.e2e.test_cli import posix
from recorder_tests.unit.recorder.sessions import SESSION, numbered, texts, write
from thalweg.archive import open_archive
from thalweg_recorder import hook

pytestmark = [posix, pytest.mark.slow]
ROWS = 200
BREAKS = 16
"""Into how many parts the last two rows are cut."""
KILLS = 8
HOOK_S, WORKER_S = 0.008, 0.025
"""By how much later each is killed than the one before: at last about when it has done its work."""
_MOUNT, _UNMOUNT = (shutil.which(name) or name for name in ("mount", "umount"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _event(path: Path, name: str = "Stop") -> str:
    plain = {"session_id": SESSION, "transcript_path": str(path), "hook_event_name": name}
    return json.dumps(plain)


def _hook(home: Path, event: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", hook.__file__, str(home)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(event.encode())
    process.stdin.close()
    return process


def _worker(home: Path) -> forking.Forked:
    return forking.start("thalweg_recorder.worker", home, stderr=subprocess.DEVNULL)


def _settle(home: Path) -> None:
    """Process the queue, concurrently with any worker that a hook started."""
    for _ in range(100):
        assert _worker(home).wait() == 0
        if not list((home / "queue").glob("*.json")):
            return
        with (home / hook.LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until that worker has ended
    pytest.fail("the queue was not worked off")


@contextmanager
def _worker_lock(home: Path) -> Iterator[None]:
    """Hold the lock of the worker in this process: events wait meanwhile."""
    home.mkdir(exist_ok=True)
    with (home / hook.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _archived(home: Path) -> list[str]:
    with open_archive(home / "thalweg.db") as archive:
        return texts(archive)


def _requests(numbers: range) -> list[str]:
    return [f"request {number}" for number in numbers]


def test_a_host_that_was_killed_anywhere_in_a_row_loses_no_row(tmp_path: Path, home: Path) -> None:
    """The log breaks off at places all over its last two rows and next to their ends, in turn."""
    path = write(tmp_path, numbered(range(4)))
    whole = path.read_bytes()
    rows = whole.splitlines(keepends=True)
    ends = [len(b"".join(rows[:count])) for count in (2, 3, 4)]
    step = max(1, (ends[-1] - ends[0]) // BREAKS)
    breaks = {*range(ends[0], ends[-1], step), *ends, *(end - 1 for end in ends)}
    for end in sorted({*breaks, ends[1] + 1}):
        path.write_bytes(whole[:end])
        with _worker_lock(home):
            assert _hook(home, _event(path)).wait() == 0
        _settle(home)
        kept = whole[:end].count(b"\n")
        assert _archived(home)[:kept] == _requests(range(kept))

    assert _archived(home) == _requests(range(4))


def test_a_hook_or_worker_that_is_killed_at_any_time_loses_nothing(
    tmp_path: Path, home: Path
) -> None:
    """Killed ever later, a hook before it starts a worker; the next event finds the rest."""
    for kill in range(KILLS):
        path = write(tmp_path, numbered(range(ROWS * (kill + 1))))
        with _worker_lock(home):
            process = _hook(home, _event(path))
            time.sleep(HOOK_S * kill)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert _hook(home, _event(path)).wait() == 0
        worker = _worker(home)
        time.sleep(WORKER_S * kill)
        worker.kill()
        worker.wait()
    assert _hook(home, _event(path)).wait() == 0
    _settle(home)

    assert _archived(home) == _requests(range(ROWS * KILLS))


def test_hooks_at_the_same_time_add_each_row_once(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path, numbered(range(ROWS)))
    hooks = [_hook(home, _event(path, name)) for name in ("Stop", "SubagentStop") * 4]
    assert [process.wait() for process in hooks] == [0] * len(hooks)
    _settle(home)

    assert _archived(home) == _requests(range(ROWS))
    assert not list((home / "queue").iterdir())


@pytest.mark.parametrize("moved", [False, True])
def test_of_a_project_that_is_opted_out_nothing_is_written(
    tmp_path: Path, home: Path, *, moved: bool
) -> None:
    """No file of the recorder's is made or changed, in any folder that the agent is in by now."""
    project = tmp_path / "project"
    (project / "api").mkdir(parents=True)
    (project / hook.OPT_OUT).touch()
    rows = [{**row, "cwd": str(project / "api")} for row in numbered(range(9))]
    path = write(tmp_path, rows)
    event = {**json.loads(_event(path)), "cwd": str(tmp_path if moved else project / "api")}
    home.mkdir()
    before = home.stat().st_mtime_ns
    names = (*hook.QUEUED, *hook.INJECTING)
    for name in names:
        fields = {"hook_event_name": name, "source": "compact"}
        assert _hook(home, json.dumps({**event, **fields})).wait() == 0

    assert (list(home.iterdir()), home.stat().st_mtime_ns) == ([], before)


def test_what_was_queued_before_an_opt_out_is_dropped(tmp_path: Path, home: Path) -> None:
    """The copy of the log and the summary that was due are dropped, and the archive gets no row."""
    path = write(tmp_path, [{**row, "cwd": str(tmp_path)} for row in numbered(range(9))])
    with _worker_lock(home):
        assert _hook(home, _event(path, "PreCompact")).wait() == 0
        start = {**json.loads(_event(path, "SessionStart")), "source": "compact"}
        assert _hook(home, json.dumps(start)).wait() == 0
    assert len(list((home / "queue").rglob("*.jsonl"))) == 1
    (tmp_path / hook.OPT_OUT).touch()
    assert _hook(home, _event(path)).wait() == 0
    _settle(home)

    assert not list((home / "queue").iterdir())
    assert not list((home / "summaries").iterdir())
    assert _archived(home) == []
    assert b"request 4" not in b"".join(p.read_bytes() for p in home.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", ["Stop", "PreCompact"])
def test_a_log_that_is_rewritten_before_the_worker_reads_it_loses_nothing(
    tmp_path: Path, home: Path, name: str
) -> None:
    """The lock of the worker is held meanwhile: the agent is faster, and rewrites in place."""
    with _worker_lock(home):
        path = write(tmp_path, numbered(range(9)))
        assert _hook(home, _event(path, name)).wait() == 0
        path.write_bytes(b"")
        assert _hook(home, _event(path, name)).wait() == 0
        write(tmp_path, numbered(range(7, 12)))
        assert _hook(home, _event(path, name)).wait() == 0
    _settle(home)

    assert _archived(home) == _requests(range(12))


def test_a_full_disk_stops_no_agent_and_loses_nothing_of_the_log(tmp_path: Path) -> None:
    """The recorder's folder is on a file system of 1 MB, which fills; then there is space again."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = [_MOUNT, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if os.geteuid() or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        home = small / "home"
        for size in (ROWS, ROWS * 20):
            path = write(tmp_path, numbered(range(size)))
            with _worker_lock(home):
                assert _hook(home, _event(path)).wait() == 0
            _worker(home).wait()
        assert _archived(home) == _requests(range(ROWS))
        subprocess.run([_MOUNT, "-o", "remount,size=64m", str(small)], check=True)
        assert _hook(home, _event(path)).wait() == 0
        _settle(home)

        assert _archived(home) == _requests(range(ROWS * 20))
    finally:
        subprocess.run([_UNMOUNT, "-l", str(small)], check=False)
        shutil.rmtree(small, ignore_errors=True)
