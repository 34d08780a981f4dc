"""Find recorded threads, detect their format, and parse them.

Two rules: a format is detected by a file's content, never by its name; the only error, for any
file, is `RecordingError`.
"""

from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path

from thalweg.errors import RecordingError
from thalweg.lab.recordings.base import Recording
from thalweg.lab.recordings.formats import (
    aider,
    atif,
    chat_document,
    claude_code,
    codex,
    dialogues,
    event_stream,
    gemini_cli,
    langgraph,
    openai_chat_log,
    opencode,
    openhands,
    pi,
    swe_agent,
    thalweg_thread,
)
from thalweg.lab.recordings.opencode_database import is_session, read_session, sessions_in
from thalweg.lab.recordings.rows import LogFormat
from thalweg.lab.recordings.source import SEEN_CHARS, RecordedFile, open_source, without_open_line

FORMATS: tuple[LogFormat, ...] = (
    thalweg_thread.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    pi.FORMAT,
    gemini_cli.FORMAT,
    opencode.FORMAT,
    swe_agent.FORMAT,
    openhands.FORMAT,
    langgraph.FORMAT,
    atif.FORMAT,
    chat_document.FORMAT,
    dialogues.FORMAT,
    event_stream.FORMAT,
    aider.FORMAT,
    openai_chat_log.FORMAT,
)
"""Every format, specific ones before general ones."""

_ALWAYS = (".jsonl", ".traj", ".eval")
_IF_KNOWN = (".json", ".txt", ".md")
_MOST_THREADS = 1_000
"""Most threads of one file that are counted for its error."""
_SIDECARS = ("needles.jsonl", "goals.jsonl", "index.json")
_SIDECAR_ENDINGS = ("_questions.jsonl", "_qa.jsonl")


def read_recording(path: str | Path, *, is_growing: bool = False) -> Recording:
    """Parse a recorded thread of any supported format, compressed or not.

    Args:
        path: The file, or the address of a session in a database of opencode.
        is_growing: Whether another process may be writing the last line, which is then skipped
            until it is complete.

    Raises:
        RecordingError: The file is missing, unreadable or empty, has no supported format, or has
            no message.
    """
    path = Path(path)
    if is_session(path):
        return read_session(path)
    source = open_source(path)
    source = without_open_line(source) if is_growing else source
    known = format_of(source)
    if known is None:
        raise _unknown(path, source)
    recording = known.read(source)
    if not recording.messages:
        problem = f"was taken for {known.name} but holds no message"
        raise RecordingError(str(path), problem, "record at least one turn")
    return recording


def format_of(source: RecordedFile) -> LogFormat | None:
    """Return the first format that detects a file as its own; `None` if none does."""
    return next((known for known in FORMATS if known.detect(source)), None)


def _unknown(path: Path, source: RecordedFile) -> RecordingError:
    if "\0" in source.text or source.text[:SEEN_CHARS].count("\ufffd") > SEEN_CHARS // 8:
        return RecordingError(str(path), "is a binary file", "pass a recorded thread")
    if (threads := _count_threads(source)) > 1:
        problem = f"holds {threads} threads"
        return RecordingError(str(path), problem, "use a separate file for each")
    seen = source.text.strip()[:SEEN_CHARS]
    looked_for = "; ".join(f"{known.name}: {known.looks_for}" for known in FORMATS)
    problem = f"unknown format (it begins {seen!r})"
    return RecordingError(str(path), problem, f"known are {looked_for}")


def _count_threads(source: RecordedFile) -> int:
    """Count the values that would be a recording, each in a file of its own."""
    values = source.document if isinstance(source.document, list) else None
    if values is None:
        values = [row.value for row in source.objects]
    alone = (RecordedFile(source.name, "", value, ()) for value in values[:_MOST_THREADS])
    return sum(format_of(one) is not None for one in alone)


def find_recordings(places: Iterable[str | Path]) -> list[Path]:
    """Return the files of recorded threads.

    The path of a file is used unchanged; a folder is searched recursively, without hidden folders;
    a pattern (`*`, `?`, `[…]`, `**`) is expanded first. In folders and patterns, questions and
    indices next to recordings are skipped; JSON, text and Markdown are included only if they
    contain a thread.

    Returns:
        Every file once, by the first path it was found under, sorted by path.

    Raises:
        RecordingError: A path does not exist, or has no recording.
    """
    found: dict[Path, Path] = {}
    for place in places:
        files = list(_files(place))
        if not files:
            problem = "holds no recording (*.jsonl, *.json, *.traj, *.txt, *.md, also .gz)"
            raise RecordingError(str(place), problem, "check the path")
        for path in files:
            found.setdefault(path.resolve(), path)
    return sorted(found.values())


def _files(place: str | Path) -> Iterator[Path]:
    path = Path(place)
    if path.is_file():
        yield from sessions_in(path)
    elif path.is_dir():
        yield from filter(_is_recording, _beneath(path))
    elif has_magic(str(place)):
        for match in _matches(str(place)):
            inside = _beneath(match) if match.is_dir() else (match,)
            yield from filter(_is_recording, inside)
    else:
        raise RecordingError(str(place), "there is no such file or folder", "check the path")


def _matches(pattern: str) -> Iterator[Path]:
    # `Path.glob` takes no absolute pattern.
    return map(Path, glob(pattern, recursive=True))  # noqa: PTH207


def _beneath(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield path


def _is_recording(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    if name in _SIDECARS or name.endswith(_SIDECAR_ENDINGS):
        return False
    if name.endswith(_ALWAYS):
        return True
    return name.endswith(_IF_KNOWN) and _holds_thread(path)


def _holds_thread(path: Path) -> bool:
    try:
        return format_of(open_source(path)) is not None
    except RecordingError:
        return False
