"""Limits of a command and its children, measured from outside while they run.

The process tree is read from `/proc`, and the caller kills a tree that is over a limit. Between
two checks a tree can grow: the limits apply to its sustained use, not to its peak. Limits that the
kernel enforces in addition (`ulimit`, control groups) are the responsibility of each sandbox.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from os import sysconf
from pathlib import Path
from typing import Final

_PROC = Path("/proc")
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What one command may use, its children included.

    Example:
        >>> ProcessLimits(memory_mb=64).problem(ProcessUsage(processes=2, memory_bytes=70 << 20))
        'it used 70 MiB of memory, more than the 64 MiB allowed'
    """

    memory_mb: int = 1_024
    """MiB of memory."""
    processes: int = 256
    """Processes at once."""

    def problem(self, usage: "ProcessUsage") -> str:
        """Return which limit is exceeded, or an empty text."""
        if usage.processes > self.processes:
            return f"it ran more than the {self.processes} processes allowed"
        if usage.memory_bytes > self.memory_mb * _MIB:
            used = usage.memory_bytes // _MIB
            return f"it used {used} MiB of memory, more than the {self.memory_mb} MiB allowed"
        return ""

    def exceeded_by(self, pid: int) -> str:
        """Return which limit a process and its descendants exceed now, or an empty text."""
        return self.problem(usage_of(pid, most=self.processes + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUsage:
    """Resources that a process tree uses."""

    processes: int
    memory_bytes: int
    """Memory that is resident and not shared, summed over the processes."""


def usage_of(pid: int, *, most: int = 10_000) -> ProcessUsage:
    """Measure a process and its descendants; those that ended meanwhile count nothing.

    Args:
        pid: The process.
        most: How many processes to measure: a tree may grow faster than it is read.

    Example:
        >>> import os
        >>> usage_of(os.getpid()).processes >= 1 or not _PROC.exists()
        True
    """
    page = sysconf("SC_PAGE_SIZE")
    processes = pages = 0
    for each in islice(_tree(pid), most):
        with suppress(OSError, ValueError):
            _, resident, shared, *_ = (_PROC / str(each) / "statm").read_text().split()
            processes += 1
            pages += max(0, int(resident) - int(shared))
    return ProcessUsage(processes=processes, memory_bytes=pages * page)


def _tree(pid: int) -> Iterator[int]:
    todo = [pid]
    while todo:
        one = todo.pop()
        yield one
        with suppress(OSError):
            for task in (_PROC / str(one) / "task").iterdir():
                with suppress(OSError, ValueError):
                    todo += map(int, (task / "children").read_text().split())
