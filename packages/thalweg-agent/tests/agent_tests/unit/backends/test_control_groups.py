"""Control groups that bound the processes of a command, on the kernel of this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg_agent.backends.local.control_groups import (
    ProcessGroups,
    find_process_groups,
    places,
    ulimit_binds,
)

PIDS = "36 31 0:33 {root} /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"
UNIFIED = "30 23 0:26 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
FORKS = """
import os, time
made = 0
for _ in range(60):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(30)
        os._exit(0)
    made += 1
print(made, flush=True)
os.killpg(0, 9)
"""


@pytest.mark.parametrize(
    ("membership", "mounts", "expected"),
    [
        ("8:pids:/", PIDS.format(root="/"), ["/sys/fs/cgroup/pids"]),
        ("8:cpu,pids:/a/b\n0::/", PIDS.format(root="/"), ["/sys/fs/cgroup/pids/a/b"]),
        ("8:pids:/docker/1", PIDS.format(root="/docker/1"), ["/sys/fs/cgroup/pids"]),
        ("0::/", UNIFIED.format(root="/"), ["/sys/fs/cgroup"]),
        (
            "0::/system.slice/t.service",
            UNIFIED.format(root="/"),
            ["/sys/fs/cgroup/system.slice/t.service", "/sys/fs/cgroup/system.slice"],
        ),
        ("8:pids:/\n0::/x", UNIFIED.format(root="/"), []),
        ("3:cpu:/", "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", []),
        ("0::/", UNIFIED.format(root="/").replace("/cgroup ", "/c\\040g "), ["/sys/fs/c g"]),
        ("0::/", "22 1 8:1 / / rw shared:1 master:2 - ext4 /dev/sda rw", []),
    ],
)
def test_groups_are_made_where_the_controller_of_processes_is(
    membership: str, mounts: str, expected: list[str]
) -> None:
    """In a container, the path of the host is no folder of the mount."""
    assert places(membership, mounts) == tuple(map(Path, expected))


@pytest.mark.parametrize(
    ("release", "uid_map", "user", "expected"),
    [
        ("6.18.44-x", "         0          0 4294967295", 1000, True),
        ("6.18.44-x", "         0          0 4294967295", 0, False),
        ("6.1.0", "0 1000 1\n1 100000 65536", 0, True),
        ("6.1.0", "0 1000 1\n1 100000 65536", 5, True),
        ("6.1.0", "1000 0 1", 1000, False),
        ("5.10.0-9-amd64", "0 0 4294967295", 1000, False),
        ("unknown", "0 0 4294967295", 1000, False),
    ],
)
def test_root_and_old_kernels_are_not_bound_by_ulimit(
    release: str, uid_map: str, user: int, *, expected: bool
) -> None:
    assert ulimit_binds(release, uid_map, user) is expected


@pytest.fixture
def groups() -> ProcessGroups:
    found = find_process_groups()
    if found is None:
        pytest.skip("this process may make no control groups")
    return found


def test_the_kernel_refuses_one_process_too_many(groups: ProcessGroups) -> None:
    """Of 60 processes under a limit of 20, all that fit are there: one is the one that counts."""
    with groups.entered(20) as enter:
        ran = subprocess.run(
            [*enter, sys.executable, "-c", FORKS],
            capture_output=True,
            start_new_session=True,
            check=False,
        )
    assert ran.stdout == b"19\n"


def test_nothing_runs_outside_of_a_group_that_is_gone(groups: ProcessGroups) -> None:
    with groups.entered(20) as enter:
        pass
    ran = subprocess.run([*enter, "/bin/echo", "ran"], capture_output=True, check=False)
    assert ran.returncode != 0
    assert ran.stdout == b""


def test_groups_of_ended_commands_and_of_dead_processes_are_removed(tmp_path: Path) -> None:
    """One that still has processes is removed after the next command."""
    dead, own = tmp_path / "thalweg-999999999-0", tmp_path / f"thalweg-{os.getpid()}-x"
    dead.mkdir()
    own.mkdir()
    groups = ProcessGroups(tmp_path)
    assert list(tmp_path.iterdir()) == [own]
    own.rmdir()
    with groups.entered(7) as enter:
        [busy] = tmp_path.iterdir()
        assert (busy / "pids.max").read_text() == "7"
        assert enter[-1] == str(busy / "cgroup.procs")
    assert busy.exists()  # an ordinary folder with a file in it cannot be removed, as a busy group
    (busy / "pids.max").unlink()
    with groups.entered(8):
        assert busy.exists()
        [last] = {*tmp_path.iterdir()} - {busy}
        (last / "pids.max").unlink()
    assert list(tmp_path.iterdir()) == []


def test_root_without_control_groups_is_refused_a_shell() -> None:
    """A process that sees no control groups: its folder is covered by an empty one."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None or shutil.which("bwrap") is None:
        pytest.skip("needs root, unshare and bubblewrap")
    check = "from thalweg_agent.backends.bubblewrap import check_bubblewrap; check_bubblewrap()"
    covered = 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" -c "$1"'
    ran = subprocess.run(
        [unshare, "--mount", "/bin/sh", "-c", covered, sys.executable, check],
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount" in ran.stderr.splitlines()[0]:
        pytest.skip(ran.stderr)
    assert "the number of processes of a command cannot be limited here" in ran.stderr
    assert "run as a user that is not root" in ran.stderr
