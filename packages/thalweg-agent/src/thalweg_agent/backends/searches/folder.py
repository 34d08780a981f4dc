"""A search through folders on disk, with its limits and the problems that occurred.

If ripgrep is installed, it finds the files that contain a text. It only narrows a search down: its
files are read and searched as without it, so that the result is the same.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from thalweg.errors import PathError
from thalweg_agent.backends.local.disk import Find, FolderEntry, entry_at, read_bytes, walk
from thalweg_agent.backends.paths import relative_to
from thalweg_agent.backends.protocol import FileInfo, GrepMatch
from thalweg_agent.backends.searches.globs import Matcher
from thalweg_agent.backends.searches.matches import matching_lines


@cache
def _ripgrep() -> str | None:
    return shutil.which("rg")


def files_with(text: str, folder: str, *, timeout_s: float) -> list[str] | None:
    """Return the files below a folder that contain a text, a folder's own before deeper ones.

    Args:
        text: What to search for, literally.
        folder: A real path.
        timeout_s: Seconds until a timeout.

    Returns:
        Paths relative to the folder; `None` if unknown: no ripgrep, a timeout, or an unreadable
        file.
    """
    program = _ripgrep()
    if program is None or not text or not text.isprintable():
        return None
    options = ("--files-with-matches", "--null", "--fixed-strings", "--text", "--encoding=none")
    everything = ("--no-config", "--no-ignore", "--hidden")
    try:
        done = subprocess.run(  # noqa: S603  # the text is an argument, after `--`
            [program, *options, *everything, "--", text, "."],
            cwd=folder,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in {0, 1}:
        return None
    found = (os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name)
    return sorted(found, key=_in_order)


def _in_order(path: str) -> list[tuple[bool, str]]:
    *folders, name = path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]


@dataclass(slots=True, kw_only=True)
class FolderSearch:
    """One search; it records the files that it could not search."""

    find: Find
    """Opens the place of a path from a walk."""
    led: Callable[[FolderEntry], FolderEntry]
    """Returns an entry, or the target of a link."""
    most_bytes: int
    """Of a file that is searched."""
    disk: str
    """Prefix that turns a shown path into the path on this machine."""
    shown: Callable[[str], str]
    """Returns a path of a walk as results have it."""
    deadline: float
    """On the monotonic clock."""
    is_late: bool = False
    problems: list[str] = field(default_factory=list)
    """Files and folders that could not be read, one a line."""
    skipped: list[FileInfo] = field(default_factory=list[FileInfo])
    """Files that are larger than `most_bytes`."""

    @property
    def error(self) -> str | None:
        """Return what could not be searched."""
        if not self.problems:
            return None
        return "\n".join(["One or more files could not be fully searched:", *sorted(self.problems)])

    def files(self, base: FolderEntry, matches: Matcher) -> Iterator[tuple[FolderEntry, str]]:
        """Yield the files whose paths match, each with its shown path.

        A link to a file yields that file with the link's path.
        """
        if not base.is_folder:
            return
        for entry in self._walked(base.place.shown):
            if not matches(relative_to(entry.place.shown, base.place.shown)):
                continue
            with suppress(OSError, PathError):
                led = self.led(entry)
                if led.is_file:
                    yield led, entry.place.shown

    def lines(
        self, base: FolderEntry, text: str, included: Matcher | None, context_lines: int
    ) -> Iterator[GrepMatch]:
        """Yield the lines that contain a text, of a file or of the files below a folder."""
        needle = text.encode(errors="surrogatepass")
        for entry in self._candidates(base, text):
            if not entry.is_file:
                continue
            if included and not included(relative_to(entry.place.shown, base.place.shown)):
                continue
            shown = self.shown(entry.place.shown)
            if entry.status.st_size > self.most_bytes:
                self.skipped.append(FileInfo(path=shown, size=entry.status.st_size))
                continue
            try:
                raw = read_bytes(entry.place)
            except (OSError, PathError) as problem:
                self.problems.append(f"- {shown}: {type(problem).__name__}: {error_text(problem)}")
                continue
            if needle in raw and b"\0" not in raw:
                yield from matching_lines(shown, raw.decode(errors="replace"), text, context_lines)

    def _candidates(self, base: FolderEntry, text: str) -> Iterator[FolderEntry]:
        if not base.is_folder:
            yield base
            return
        shown = base.place.shown.rstrip("/")
        # Half of the time is reserved for a search without it, in case it does not end.
        seconds = max(0.0, self.deadline - time.monotonic()) / 2
        names = files_with(text, f"{self.disk}{shown}/", timeout_s=seconds)
        if names is None:
            yield from self._walked(shown or "/")
            return
        for name in names:
            if self._is_out_of_time():
                return
            with suppress(OSError, PathError), self.find(f"{shown}/{name}") as place:
                yield entry_at(place)

    def _walked(self, path: str) -> Iterator[FolderEntry]:
        return walk(self.find, path, unread=self._unread, stop=self._is_out_of_time)

    def _is_out_of_time(self) -> bool:
        self.is_late = self.is_late or time.monotonic() > self.deadline
        return self.is_late

    def _unread(self, path: str) -> None:
        self.problems.append(f"- {path}: folder could not be read")


def error_text(problem: Exception) -> str:
    """Return an error's text, without this machine's paths that the system adds."""
    match problem:
        case OSError():
            return problem.strerror or type(problem).__name__
        case PathError():
            return f"{problem.problem}. {problem.fix}" if problem.fix else problem.problem
        case _:
            return str(problem)
