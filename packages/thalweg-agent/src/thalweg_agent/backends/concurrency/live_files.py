"""The files of a run as they are now, between two steps of its graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from uuid import uuid4

from thalweg_agent.backends.concurrency.file_versions import MAIN, FileClient, FileVersions
from thalweg_agent.backends.concurrency.path_lock import PathLockQueue
from thalweg_agent.backends.protocol import FileData

Stamp = tuple[str, int]
"""A stretch of changes, and the place of one in it."""


@dataclass(frozen=True, slots=True)
class Version:
    """The state of a path after one change; `data` is `None` if it was deleted."""

    data: FileData | None
    stamp: Stamp
    authors: frozenset[FileClient]
    """All that had a part in it during this step."""


class LiveFiles:
    """The files of a run: those of its last step, overlaid with the running step's changes.

    One of them serves an agent and all its subagents. Hold `lock` from reading a file to
    the change that is based on it.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.ledger = FileVersions()
        self.turnstile = PathLockQueue()
        self.main = FileClient(MAIN)
        self.awaited: dict[str, FileClient] = {}
        """Interrupted subagents with their earlier changes; they may resume."""
        self.is_taken_up = False
        """Whether the changes of an interrupted step were restored."""
        self._base: Mapping[str, FileData] = {}
        self._changed: dict[str, Version] = {}
        self._stretch = ""
        self._n = 0
        self._made_on: dict[str, int] = {}

    def settle(self, base: Mapping[str, FileData]) -> None:
        """Begin a step on the files after the last one."""
        with self.lock:
            self._base = base
            self._changed.clear()
            self._made_on.clear()
            self._stretch, self._n = "", 0

    def files(self) -> dict[str, FileData]:
        """Copy the files as they are now."""
        with self.lock:
            merged: dict[str, FileData] = dict(self._base)
            for path, version in self._changed.items():
                if version.data is None:
                    merged.pop(path, None)
                else:
                    merged[path] = version.data
            return merged

    def get(self, path: str) -> FileData | None:
        """Look at one file."""
        with self.lock:
            version = self._changed.get(path)
            return self._base.get(path) if version is None else version.data

    def put(self, author: FileClient, path: str, data: FileData | None) -> Stamp:
        """Change one file, or delete it with `None`."""
        with self.lock:
            self._stretch = self._stretch or uuid4().hex
            self._n += 1
            stamp = (self._stretch, self._n)
            held = self._changed.get(path)
            self._made_on.setdefault(path, 0 if held is None else held.stamp[1])
            authors = {author} if held is None else {author, *held.authors}
            self._changed[path] = Version(data, stamp, frozenset(authors))
            return stamp

    def adopt(self, author: FileClient, path: str, data: FileData | None, stamp: Stamp) -> bool:
        """Restore a change that was made before the step was interrupted.

        Returns:
            Whether it is in effect, alone or within a later change: not if another agent has since
            changed the path without it.
        """
        with self.lock:
            self._stretch = self._stretch or stamp[0]
            held = self._changed.get(path)
            if held is None and stamp[0] != self._stretch:
                self.put(author, path, data)
                return True
            if held is not None and held.data == data:
                return True
            if stamp[0] != self._stretch or stamp[1] > self._made_on.get(path, stamp[1]):
                return False
            self._n = max(self._n, stamp[1])
            authors = frozenset({author, *(() if held is None else held.authors)})
            if held is None or held.stamp[1] < stamp[1]:
                self._changed[path] = Version(data, stamp, authors)
            else:
                self._changed[path] = Version(held.data, held.stamp, authors)
            return True

    def changes(self, by: FileClient) -> dict[str, Version]:
        """Return the running step's changes that an author, or one under it, took part in."""
        with self.lock:
            changed = list(self._changed.items())
        return {p: v for p, v in changed if any(author.under(by) for author in v.authors)}

    def authors(self, path: str) -> frozenset[FileClient]:
        """Name all that had a part in a path during the running step."""
        with self.lock:
            version = self._changed.get(path)
            return frozenset() if version is None else version.authors
