"""Find recorded threads, detect their format, and parse them.

Two rules: a format is detected by a file's content, never by its name; the only error, for any
file, is `RecordingError`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from glob import glob, has_magic
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from urllib.parse import quote

from thalweg.cli.plugins import load_plugins
from thalweg.engine.entries import Opaque, Part
from thalweg.errors import RecordingError
from thalweg_recorder.recordings import opencode_database
from thalweg_recorder.recordings.base import NoMessageError, Recording, ResumePoint
from thalweg_recorder.recordings.formats import (
    agent_rows,
    aider,
    chat_document,
    claude_code,
    codex,
    copilot_cli,
    cursor,
    droid,
    gemini_cli,
    kimi_code,
    langgraph,
    openai_chat_log,
    opencode,
    openhands,
    openhands_events,
    pi,
    qwen_code,
    thalweg_thread,
)
from thalweg_recorder.recordings.rows import LogFormat
from thalweg_recorder.recordings.source import (
    SEEN_CHARS,
    RecordedFile,
    find_place,
    open_rest,
    open_source,
    without_open_line,
)

Formats = tuple[LogFormat, ...]

PLUGINS = "thalweg.log_formats"
"""Group of entry points of other packages, each a `LogFormat`."""


def _check_format(_: EntryPoint, value: object) -> LogFormat:
    if not isinstance(value, LogFormat):
        msg = f"it is not a LogFormat: {value!r}"
        raise TypeError(msg)
    return value


FORMATS: Formats = (
    thalweg_thread.FORMAT,
    agent_rows.FORMAT,
    *load_plugins(PLUGINS, _check_format),
    qwen_code.FORMAT,
    copilot_cli.FORMAT,
    copilot_cli.HISTORY_FORMAT,
    cursor.FORMAT,
    droid.FORMAT,
    kimi_code.FORMAT,
    openhands_events.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    pi.FORMAT,
    gemini_cli.FORMAT,
    opencode.FORMAT,
    openhands.FORMAT,
    langgraph.FORMAT,
    aider.FORMAT,
    chat_document.FORMAT,
    openai_chat_log.FORMAT,
)
"""Every format, those of other packages included, specific ones before general ones."""

_JSON_LINES, _JSON = ".jsonl", ".json"
_MOST_THREADS = 1_000
"""Values of a file that are looked at for a session, before the file is taken for no recording."""
_ODD = frozenset({"odd_row", "not_a_message"})
"""Codes of notes about rows that are no messages of their format."""
_NO_MESSAGE = "it holds no message"
_SHOWN_NAMES = 5
"""Names of sessions in an error."""
_SIDECARS = ("needles.jsonl", "goals.jsonl", "index.json")
_SIDECAR_ENDINGS = ("_questions.jsonl", "_qa.jsonl")


def read_recording(
    path: str | Path, *, is_growing: bool = False, formats: Formats = FORMATS
) -> Recording:
    """Parse a recorded thread of any supported format, compressed or not.

    Args:
        path: The file, or the address of a session in a file with several: `FILE#NAME`, as
            `sessions_in` returns it.
        is_growing: Whether another process may be writing the last line, which is then skipped
            until it is complete.
        formats: Those that are detected, specific ones before general ones.

    Raises:
        RecordingError: The file is missing, unreadable or empty, has no supported format, no
            message, or several sessions.
    """
    path = Path(path)
    with _guarded(path):
        return _read(path, formats, is_growing=is_growing)


def read_growing(path: Path, log_format: str = "", point: ResumePoint | None = None) -> Recording:
    """Parse a log that its agent may be writing: from a point of it on, or whole.

    It is read whole if the bytes before the point are not those of before, or a row after it
    depends on an earlier one. See `read_recording` for the errors.
    """
    if point is not None:
        with suppress(RecordingError), _guarded(path):
            source = open_rest(path, point)
            recording = next(one for one in FORMATS if one.name == log_format).read(source)
            if not _misread(recording) and _is_enough(recording, point):
                return replace(recording, resume=find_place(recording.resume, source))
    return read_recording(path, is_growing=True)


def _is_enough(rest: Recording, point: ResumePoint) -> bool:
    """Return whether no row from a point on needs one before it."""
    calls = {call.id for message in rest.messages for call in message.calls}
    return (
        not rest.subagents
        # A copy of an earlier row has its time.
        and all(one.at >= point.at for one in rest.messages)
        and all(one.at >= point.at for one in rest.compactions)
        and all(one.answers in calls for one in rest.messages if one.role == "tool")
        and all(usage.id != point.answer for usage in rest.answers)
    )


@contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Turn any error of a reader, which reads content of any form, into a `RecordingError`."""
    try:
        yield
    except RecordingError:
        raise
    except OSError as error:
        problem = f"cannot be read ({(error.strerror or str(error)).lower()})"
        raise RecordingError(str(path), problem, "check its permissions") from error
    except Exception as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
        raise RecordingError(str(path), problem, "report it as a bug of the reader") from error


def _read(path: Path, formats: Formats, *, is_growing: bool) -> Recording:
    if opencode_database.is_session(path):
        return opencode_database.read_session(path)
    if name := session_name(path):
        source = _session(path, name, formats)
    elif opencode_database.is_database(path):
        raise _several(path, [session_name(one) for one in opencode_database.sessions_in(path)])
    else:
        source = _opened(path, formats)
        source = without_open_line(source) if is_growing else source
        if sessions := _sessions(source, formats):
            raise _several(path, list(sessions))
    problem = ""
    for known in formats:
        if known.detect(source):
            recording = known.read(source)
            if not (misread := _misread(recording)):
                if is_growing and recording.resume.at:
                    recording = replace(recording, resume=find_place(recording.resume, source))
                return recording
            problem = problem or f"looks like {known.name}, but {misread}"
    if not problem:
        raise _unknown(path, source, formats)
    kind = NoMessageError if problem.endswith(_NO_MESSAGE) else RecordingError
    raise kind(str(path), problem, "leave it out, or convert it (docs/recorder.md)")


def _misread(recording: Recording) -> str:
    """Return why a recording is not of its format; empty if most of its messages could be read."""
    odd = {note.line for note in recording.notes if note.code in _ODD}
    messages = [one for part in (recording, *recording.subagents) for one in part.messages]
    unread = [one for one in messages if one.line in odd or all(map(_is_opaque, one.parts))]
    if not messages:
        is_read = all(note.code == "left_out" for note in recording.notes)
        return _NO_MESSAGE if is_read else f"{_NO_MESSAGE} that can be read"
    return f"{len(unread)} of {len(messages)} messages are not in its form" * (
        2 * len(unread) > len(messages)
    )


def _is_opaque(part: Part) -> bool:
    return isinstance(part, Opaque)


def _several(path: Path, names: Sequence[str]) -> RecordingError:
    fix = f"name one, as {path}#{next(iter(names), 'NAME')}; it has {_few(names)}"
    return RecordingError(str(path), f"holds {len(names)} sessions", fix)


def _opened(path: Path, formats: Formats) -> RecordedFile:
    return open_source(path, [known.unpack for known in formats if known.unpack])


def sessions_in(path: Path, formats: Formats = FORMATS) -> list[Path]:
    """Return the addresses of the sessions in a file with several, in its order.

    Any other path is returned unchanged, as is a file that cannot be read: reading it states why.

    Raises:
        RecordingError: A database of opencode cannot be read.
    """
    with _guarded(path):
        if opencode_database.is_database(path):
            return opencode_database.sessions_in(path)
    try:
        with _guarded(path):
            if not path.is_file() or _is_plain_log(path, formats):
                return [path]
            names = list(_sessions(_opened(path, formats), formats))
    except RecordingError:
        return [path]
    return [path.with_name(f"{path.name}#{name}") for name in names] or [path]


def session_state(path: Path) -> tuple[int, int]:
    """Return the size of a source, and when it changed last, in nanoseconds.

    Raises:
        RecordingError: The file cannot be read.
    """
    with _guarded(path):
        if opencode_database.is_session(path):
            return opencode_database.session_state(path)
        file = file_of(path)
        more = [one for known in FORMATS if known.companions for one in known.companions(file)]
        states = [one.stat() for one in (file, *more)]
        return sum(one.st_size for one in states), max(one.st_mtime_ns for one in states)


def file_of(path: Path) -> Path:
    """Return the file that an address of a session names; any other path unchanged."""
    return path.with_name(path.name.rpartition("#")[0]) if session_name(path) else path


def session_name(path: Path) -> str:
    """Return the session that an address names; empty for the path of a file."""
    file, mark, name = path.name.rpartition("#")
    return name if mark and file and not path.exists() else ""


def _is_plain_log(path: Path, formats: Formats) -> bool:
    """Return whether a file begins with a row of a log, which is then not parsed twice."""
    with path.open("rb") as file:
        first = file.readline()
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and format_of(_alone(path.name, row), formats) is None


def _session(path: Path, name: str, formats: Formats) -> RecordedFile:
    file = file_of(path)
    sessions = _parsed(file, formats, *session_state(file))
    if name not in sessions:
        raise RecordingError(str(path), "there is no such session", f"it has {_few(sessions)}")
    return sessions[name]


@lru_cache(maxsize=1)
def _parsed(file: Path, formats: Formats, *_state: int) -> dict[str, RecordedFile]:
    """Parse a file with several sessions: once for all of them, unless its state changes."""
    return _sessions(_opened(file, formats), formats)


def _sessions(source: RecordedFile, formats: Formats) -> dict[str, RecordedFile]:
    """Return the sessions of a file by their names; empty if it does not have several."""
    if (known := format_of(source, formats)) is not None:
        return _named(source, known.split(source))
    listed = source.document if isinstance(source.document, list) else None
    values = source.objects if listed is None else listed
    if not any(format_of(_alone(source.name, value), formats) for value in values[:_MOST_THREADS]):
        return {}
    return _named(source, _split_each(source.name, values, formats))


def _split_each(name: str, values: Sequence[Any], formats: Formats) -> Iterator[tuple[str, Any]]:
    """Yield the sessions of values each of which would be a recording in a file of its own."""
    for index, value in enumerate(values):
        if format_of(_alone(name, value), formats) is not None:
            yield str(index), value


def _named(source: RecordedFile, documents: Iterable[tuple[str, Any]]) -> dict[str, RecordedFile]:
    named: dict[str, RecordedFile] = {}
    for given, document in documents:
        name = quote(given, safe=" ,.:;@+=~")
        while name in named:
            name += "~"
        one = _alone(f"{source.name}#{name}", document)
        named[name] = replace(one, file_notes=source.file_notes, path=source.path)
    return named if len(named) > 1 else {}


def _alone(name: str, document: object) -> RecordedFile:
    return RecordedFile(name, "", document, ())


def _few(sessions: Iterable[str]) -> str:
    names = list(sessions)
    more = f" and {len(names) - _SHOWN_NAMES} more" if names[_SHOWN_NAMES:] else ""
    return ", ".join(names[:_SHOWN_NAMES] or ["one session"]) + more


def format_of(source: RecordedFile, formats: Formats = FORMATS) -> LogFormat | None:
    """Return the first format that detects a file as its own; `None` if none does."""
    return next((known for known in formats if known.detect(source)), None)


def _unknown(path: Path, source: RecordedFile, formats: Formats) -> RecordingError:
    if "\0" in source.text or source.text[:SEEN_CHARS].count("\ufffd") > SEEN_CHARS // 8:
        return RecordingError(str(path), "is a binary file", "pass a recorded thread")
    seen = source.text.strip()[:SEEN_CHARS]
    known = ", ".join(dict.fromkeys(one.name for one in formats))
    return RecordingError(str(path), f"unknown format (it begins {seen!r})", f"known are {known}")


def find_recordings(places: Iterable[str | Path], formats: Formats = FORMATS) -> list[Path]:
    """Return the files of recorded threads.

    The path of a file is used unchanged; a folder is searched recursively, without hidden folders;
    a pattern (`*`, `?`, `[…]`, `**`) is expanded first. In folders and patterns, questions and
    indices next to recordings are skipped; JSON Lines are included, and files with another ending
    (`.json`, `LogFormat.endings`) only if they contain a thread.

    Args:
        places: Files, folders and patterns.
        formats: See `read_recording`.

    Returns:
        Every file once, by the first path it was found under, sorted by path.

    Raises:
        RecordingError: A path does not exist, or has no recording.
    """
    found: dict[Path, Path] = {}
    for place in places:
        files = list(_files(place, formats))
        if not files:
            names = ", ".join(f"*{ending}" for ending in (_JSON_LINES, *_endings(formats)))
            problem = f"holds no recording ({names}, also .gz)"
            raise RecordingError(str(place), problem, "check the path")
        for path in files:
            found.setdefault(path.resolve(), path)
    return sorted(found.values())


def _files(place: str | Path, formats: Formats) -> Iterator[Path]:
    path = Path(place)
    if file_of(path).is_file():
        yield from sessions_in(path, formats)
    elif path.is_dir():
        yield from _recordings(_beneath(path), formats)
    elif has_magic(str(place)):
        for match in _matches(str(place)):
            yield from _recordings(_beneath(match) if match.is_dir() else (match,), formats)
    else:
        raise RecordingError(str(place), "there is no such file or folder", "check the path")


def _matches(pattern: str) -> Iterator[Path]:
    # `Path.glob` takes no absolute pattern.
    return map(Path, glob(pattern, recursive=True))  # noqa: PTH207


def _beneath(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder).parent
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield path


def _recordings(files: Iterable[Path], formats: Formats) -> Iterator[Path]:
    for path in files:
        if _is_recording(path, formats):
            yield from sessions_in(path, formats)


def _is_recording(path: Path, formats: Formats) -> bool:
    name = path.name.removesuffix(".gz")
    if name in _SIDECARS or name.endswith(_SIDECAR_ENDINGS):
        return False
    if name.endswith(_JSON_LINES):
        return True
    return name.endswith(_endings(formats)) and _holds_thread(path, formats)


def _endings(formats: Formats) -> tuple[str, ...]:
    return _JSON, *sorted({ending for known in formats for ending in known.endings})


def _holds_thread(path: Path, formats: Formats) -> bool:
    try:
        with _guarded(path):
            source = _opened(path, formats)
            return format_of(source, formats) is not None or bool(_sessions(source, formats))
    except RecordingError:
        return False
