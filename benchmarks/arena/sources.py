"""Threads to measure: recorded files in every format, or workloads of a script."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.arena.workloads import is_scripted, scripted, scripted_places
from benchmarks.formats import FORMATS
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import find_recordings, read_recording
from thalweg_recorder.replay import fleet
from thalweg_recorder.replay.questions import Questions

SCRIPTED_BYTES = 5_000_000
"""About what a script writes."""


def find_threads(places: Iterable[str | Path]) -> list[Path]:
    """Find recorded files, see `find_recordings`, and the workloads that are named.

    Returns:
        Files first, sorted; then workloads, each once.

    Raises:
        RecordingError: A place does not exist, or has no recording; there is no such workload.
    """
    places = list(places)
    files = [place for place in places if not is_scripted(place)]
    named = [path for place in places if is_scripted(place) for path in scripted_places(place)]
    return [*(find_recordings(files, FORMATS) if files else ()), *dict.fromkeys(named)]


def read_thread(path: Path) -> Recording:
    """Read a thread, or generate it.

    Raises:
        RecordingError: See `read_recording`; or there is no such workload.
    """
    return scripted(path)[0] if is_scripted(path) else read_recording(path, formats=FORMATS)


def questions_about(recording: Recording, path: Path) -> Questions:
    """Return the questions about a thread: from files in its folder, or from its script.

    Raises:
        RecordingError: A file of questions is invalid.
    """
    return scripted(path)[1] if is_scripted(path) else fleet.questions_about(recording, path)


def size_of(path: Path) -> int:
    """Return the approximate bytes of a thread, to start with the largest; 0 if missing."""
    try:
        return SCRIPTED_BYTES if is_scripted(path) else path.stat().st_size
    except OSError:
        return 0
