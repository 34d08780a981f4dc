"""Control groups of Linux: the kernel refuses the process that is one more than a command may have.

Needed for root, because the kernel never enforces the shell's limit (`ulimit -u`) for it. A group
is created for each command, the command's first process enters it before any code of the model
runs, and all its descendants are in it.
"""

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

_PREFIX: Final = "thalweg-"
_ENTER: Final = 'echo 0 > "$0" && exec "$@"'
"""A process that writes 0 to `cgroup.procs` enters the group; without it, nothing is run."""
_ESCAPES: Final = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def ulimit_binds(release: str, uid_map: str, user: int) -> bool:
    """Return whether `ulimit -u` bounds the processes of a user namespace that a process makes.

    It counts those of one namespace since Linux 5.14, and is not enforced for root. Root of a
    rootless container is another user outside of it, and bound.

    Args:
        release: The kernel's, as of `uname -r`.
        uid_map: The text of `/proc/self/uid_map` (`user_namespaces(7)`): on each line a first id
            in this namespace, the first one outside, and their number.
        user: The effective user id of the process.

    Example:
        >>> [ulimit_binds("6.1.0", "0 0 4294967295", user) for user in (0, 1000)]
        [False, True]
    """
    version = re.match(r"(\d+)\.(\d+)", release)
    if version is None or (int(version[1]), int(version[2])) < (5, 14):
        return False
    for line in uid_map.splitlines():
        inside, outside, number = map(int, line.split())
        if inside <= user < inside + number:
            return user - inside + outside != 0
    return True


class ProcessGroups:
    """Makes control groups that bound the number of processes, below a folder of the kernel's.

    Args:
        parent: The folder of a control group in which this process may make others.

    Example:
        ```python
        with groups.entered(128) as enter:
            subprocess.run([*enter, "/bin/sh", "-c", command])
        ```
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._numbers = itertools.count()
        self._ended: set[Path] = set()
        self._remove_those_of_dead_processes()

    @contextmanager
    def entered(self, processes: int) -> Iterator[tuple[str, ...]]:
        """Make a group of so many processes, threads included, for the length of a block.

        Yields:
            Program and arguments that enter the group and run the arguments after them.

        Raises:
            OSError: The group cannot be made.
        """
        group = self._parent / f"{_PREFIX}{os.getpid()}-{next(self._numbers)}"
        group.mkdir()
        try:
            (group / "pids.max").write_text(str(processes))
            yield "/bin/sh", "-c", _ENTER, str(group / "cgroup.procs")
        finally:
            self._ended.add(group)
            self._remove_ended()

    def _remove_ended(self) -> None:
        """Remove groups without processes; those that were killed may take some milliseconds."""
        for group in tuple(self._ended):
            with suppress(OSError):
                group.rmdir()
                self._ended.discard(group)

    def _remove_those_of_dead_processes(self) -> None:
        for group in self._parent.glob(f"{_PREFIX}*-*"):
            maker = group.name.removeprefix(_PREFIX).partition("-")[0]
            if not Path("/proc", maker).exists():
                with suppress(OSError):
                    group.rmdir()


@cache
def find_process_groups() -> ProcessGroups | None:
    """Find, once, the folder in which this process may create groups; `None` if there is none."""
    with suppress(OSError):
        membership = Path("/proc/self/cgroup").read_text()
        mounts = Path("/proc/self/mountinfo").read_text()
        for parent in places(membership, mounts):
            if _can_bound(parent):
                return ProcessGroups(parent)
    return None


def places(membership: str, mounts: str) -> tuple[Path, ...]:
    r"""Return the folders in which groups for commands may be created, the best one first.

    In version 2, a group that has processes passes no controller on, so that a sibling of the own
    group is the other place.

    Args:
        membership: The text of `/proc/self/cgroup`.
        mounts: The text of `/proc/self/mountinfo`; `proc(5)` describes both.

    Example:
        >>> places("4:pids:/a\n0::/", "36 31 0:33 / /sys/pids rw - cgroup cgroup rw,pids")
        (PosixPath('/sys/pids/a'),)
    """
    entries = [line.split(":", 2) for line in membership.splitlines()]
    of_pids = [path for _, names, path in entries if "pids" in names.split(",")]
    of_all = [path for number, names, path in entries if (number, names) == ("0", "")]
    found: list[Path] = []
    for line in mounts.splitlines():
        before, _, behind = line.partition(" - ")
        _, _, _, root, at, *_ = before.split(" ")
        kind, _, options, *_ = behind.split(" ")
        if kind == "cgroup" and "pids" in options.split(","):
            found += [_below(at, root, path) for path in of_pids]
        elif kind == "cgroup2" and not of_pids:
            own = [_below(at, root, path) for path in of_all]
            found += [*own, *(each.parent for each in own if each != Path(_plain(at)))]
    return tuple(found)


def _below(at: str, root: str, path: str) -> Path:
    """Return the folder of a group; its path begins with the root of the mount."""
    inner = path.removeprefix(_plain(root)) if _plain(root) != "/" else path
    return Path(_plain(at), inner.lstrip("/"))


def _plain(field: str) -> str:
    for escape, sign in _ESCAPES.items():
        field = field.replace(escape, sign)
    return field


def _can_bound(parent: Path) -> bool:
    """Make a group, and look whether it can bound processes."""
    probe = parent / f"{_PREFIX}{os.getpid()}-probe"
    try:
        probe.mkdir()
    except OSError:
        return False
    try:
        if not (probe / "pids.max").exists():
            (parent / "cgroup.subtree_control").write_text("+pids")
        (probe / "pids.max").write_text("max")
    except OSError:
        return False
    finally:
        with suppress(OSError):
            probe.rmdir()
    return True
