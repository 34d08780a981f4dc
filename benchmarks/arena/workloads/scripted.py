"""The workloads by name, as `thalweg replay scripted:NAME` calls them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.arena.workloads.script import Script
from benchmarks.arena.workloads.tools import Pages
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.questions import Questions

SCHEME = "scripted:"
"""A place that begins with it is a workload, `scripted:all` every one."""
TURNS = 300
"""Model calls of a workload."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The parameters of a workload."""

    language: str
    pages: Pages
    """Sizes of what its tools return."""


WORKLOADS: dict[str, Workload] = {
    "mixed": Workload(
        "english",
        ((200, 3_000, 40), (4_000, 16_000, 36), (18_000, 58_000, 20), (80_000, 120_000, 4)),
    ),
    "small": Workload("english", ((200, 3_000, 60), (3_000, 13_000, 40))),
    "chinese": Workload(
        "chinese",
        ((150, 1_800, 40), (2_400, 10_000, 36), (11_000, 44_000, 20), (45_000, 65_000, 4)),
    ),
}
"""Sizes are such that sending all of a workload, always, costs about as much as in the
300-turn runs that other systems were measured with: 24, 7 and 25 million units."""


def is_scripted(place: str | Path) -> bool:
    """Return whether a place names workloads, not files."""
    return str(place).startswith(SCHEME)


def scripted_places(place: str | Path) -> list[Path]:
    """List the workloads that a place names.

    Raises:
        RecordingError: There is no such workload.
    """
    name = str(place).removeprefix(SCHEME)
    if name == "all":
        return [Path(SCHEME + known) for known in WORKLOADS]
    _parsed(place)
    return [Path(place)]


@lru_cache(maxsize=4)
def scripted(place: str | Path) -> tuple[Recording, Questions]:
    """Write a workload: `scripted:NAME`, or `scripted:NAME@SEED` for another of its kind.

    Raises:
        RecordingError: There is no such workload.
    """
    name, seed = _parsed(place)
    kind = WORKLOADS[name]
    script = Script(kind.language, kind.pages, TURNS, f"{name} {seed}")
    script.write()
    recording = Recording(str(place), "scripted", tuple(script.messages))
    return recording, Questions(tuple(script.needles), tuple(script.goals))


def _parsed(place: str | Path) -> tuple[str, int]:
    name, _, seed = str(place).removeprefix(SCHEME).partition("@")
    if name not in WORKLOADS or not (seed or "1").isdecimal():
        known = ", ".join(SCHEME + known for known in (*WORKLOADS, "all"))
        raise RecordingError(str(place), "there is no such workload", f"known are {known}")
    return name, int(seed or "1")
