"""The file of results: one line a trial, each on disk before the next trial begins.

Its first line holds the settings of the results. A line that was torn, by a crash or a full disk,
counts as not written.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from thalweg.errors import ConfigError
from thalweg_evals.results import Result

Settings = Mapping[str, str | int | None]
"""The settings that all results of a file share, by the name of the option."""
_HEAD = "thalweg eval"
_NO_FILE = "it is no file of results"


@dataclass(frozen=True, slots=True)
class StoredResults:
    """The content of a file of results."""

    settings: Settings
    results: tuple[Result, ...]
    size: int
    """Bytes of complete lines."""


def read_kept(path: Path) -> StoredResults:
    """Parse a file of results.

    Raises:
        ConfigError: It cannot be read, or has another format.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise _unreadable(path, (error.strerror or str(error)).lower()) from error
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    if not lines:
        raise _unreadable(path, _NO_FILE)
    settings: Settings = {}
    results: list[Result] = []
    for number, line in enumerate(lines, 1):
        try:
            plain = json.loads(line)
            if number == 1:
                settings = plain[_HEAD]
            else:
                results.append(Result.from_json(plain))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            problem = _NO_FILE if number == 1 else f"line {number} is no result"
            raise _unreadable(path, problem) from error
    return StoredResults(settings, tuple(results), sum(map(len, lines)))


def _unreadable(path: Path, problem: str) -> ConfigError:
    return ConfigError(str(path), problem, "name a file that `thalweg eval --out` has written")


@dataclass(slots=True)
class ResultsWriter:
    """Appends results to a file."""

    _file: BinaryIO

    def add(self, result: Result) -> None:
        """Append a result; on return it is on disk."""
        self._write(result.to_line())

    def begin(self, settings: Settings) -> None:
        """Write the first line."""
        self._write(json.dumps({_HEAD: dict(settings)}) + "\n")

    def _write(self, line: str) -> None:
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def kept_at(path: Path, settings: Settings) -> Iterator[tuple[tuple[Result, ...], ResultsWriter]]:
    """Open a file of results to continue it; create it if missing.

    Args:
        path: The file.
        settings: Settings of the results to write.

    Returns:
        Its results, and a writer.

    Raises:
        ConfigError: It cannot be written, has another format, was made with other settings, or is
            in use by another process.
    """
    try:
        file = path.open("ab")
    except OSError as error:
        problem = f"it cannot be written: {(error.strerror or str(error)).lower()}"
        raise _unwritable(path, problem, "name a file that can be") from error
    with file:
        _lock(path, file)
        keeper = ResultsWriter(file)
        results: tuple[Result, ...] = ()
        if _has_a_line(path):
            kept = read_kept(path)
            _same(path, kept.settings, settings)
            file.truncate(kept.size)
            results = kept.results
        else:
            file.truncate(0)
            keeper.begin(settings)
        yield results, keeper


def _lock(path: Path, file: BinaryIO) -> None:
    try:
        import fcntl  # noqa: PLC0415 (not everywhere)

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError as error:
        problem, fix = "another process writes it", "wait for that one, or name another file"
        raise _unwritable(path, problem, fix) from error


def _has_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline().endswith(b"\n")


def _same(path: Path, before: Settings, now: Settings) -> None:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if names:
        differences = ", ".join(
            f"{one} {_display(before, one)} and not {_display(now, one)}" for one in names
        )
        fix = "use the same, or name another file"
        raise _unwritable(path, f"its results were made with {differences}", fix)


def _unwritable(path: Path, problem: str, fix: str) -> ConfigError:
    return ConfigError(f"--out {path}", problem, fix)


def _display(settings: Settings, name: str) -> Any:  # noqa: ANN401 (to be printed)
    value = settings.get(name)
    return "none given" if value is None else value
