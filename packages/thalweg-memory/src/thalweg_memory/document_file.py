"""The file of a memory document: read, written atomically, and checked for edits.

Next to `memory.json` are `.memory.json.lock`, which is locked while the file is read and written,
and `.memory.json.seen`, which contains digests of the last write, without any text.
"""

import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from thalweg.database.private_files import make_private_file, make_private_folder, open_private
from thalweg.errors import DocumentError, StorageError
from thalweg_memory.facts.document.changes import Marks

_RACY_NS = 2_000_000_000
"""A file that was changed so shortly before it was looked at may be changed again within the
same tick of the file system's clock: it is read again to be sure."""


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The content of a file when it was last written."""

    digest: str
    version: int
    """State of the memory that was written; see `MemoryStore.version`."""
    marks: Marks


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The stat values and the digest of a file, and the time they were read."""

    stamp: tuple[int, int, int] | None
    digest: str
    at_ns: int


class DocumentFile:
    """One document on the disk. `read`, `seen` and `write` are called while it is locked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._snapshot: _Snapshot | None = None

    def is_as_seen(self) -> bool:
        """Return whether it is unchanged since this object's last read or write.

        It needs no lock, and usually one lookup in the directory.
        """
        snapshot, stamp = self._snapshot, self._stamp()
        if snapshot is None or snapshot.stamp != stamp:
            return False
        if stamp is None or snapshot.at_ns - stamp[0] > _RACY_NS:
            return True
        return self._digest_on_disk() == snapshot.digest

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads that use this file out of it."""
        try:
            make_private_folder(self.path.parent)
            make_private_file(self._sibling("lock"))
            file = self._sibling("lock").open("a+b")
        except OSError as error:
            raise _as_storage_error(self.path, error) from error
        with file:
            _lock(file.fileno())
            try:
                self._sibling("part").unlink(missing_ok=True)  # of a process that was killed
                yield
            finally:
                _unlock(file.fileno())

    def read(self) -> str | None:
        """Read the file; `None` if it does not exist.

        Raises:
            DocumentError: It is not in UTF-8.
            StorageError: It cannot be read at all.
        """
        at_ns, stamp = time.time_ns(), self._stamp()
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            self._snapshot = _Snapshot(None, "", at_ns)
            return None
        except OSError as error:
            raise _as_storage_error(self.path, error) from error
        self._snapshot = _Snapshot(stamp, _digest(raw), at_ns)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            problem = "it is not written in UTF-8"
            where = f"{self.path}: line {line}"
            raise DocumentError(where, problem, "save it as UTF-8") from None

    @property
    def digest(self) -> str:
        """The digest of the content last read or written; empty if there was no file."""
        return self._snapshot.digest if self._snapshot else ""

    def seen(self) -> WrittenDocument | None:
        """Return the last write of any process; `None` if unknown."""
        try:
            plain = json.loads(self._sibling("seen").read_bytes())
            marks = Marks(plain["facts"], plain["sections"])
            return WrittenDocument(plain["file"], plain["version"], marks)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # nothing goes from a memory for want of it: see `picked_up`

    def write(self, text: str, version: int, marks: Marks) -> bool:
        """Replace the text that was read.

        Returns:
            Whether it was written: not if the file was changed since.

        Raises:
            StorageError: It cannot be written; the file did not change.
        """
        raw = text.encode()
        try:
            if self._digest_on_disk() != self.digest:
                return False
            if _digest(raw) != self.digest:
                self._replace(raw)
            self._snapshot = _Snapshot(self._stamp(), _digest(raw), time.time_ns())
            self._write_seen(WrittenDocument(_digest(raw), version, marks))
        except OSError as error:
            raise _as_storage_error(self.path, error) from error
        return True

    def _replace(self, raw: bytes) -> None:
        place = Path(os.path.realpath(self.path))  # a link goes on leading there
        part = self._sibling("part")
        part.unlink(missing_ok=True)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _mode(place))
            with open(handle, "wb") as new:  # noqa: PTH123 (of a handle)
                new.write(raw)
                new.flush()
                os.fsync(new.fileno())
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(place.parent)

    def _write_seen(self, seen: WrittenDocument) -> None:
        record = {
            "file": seen.digest,
            "version": seen.version,
            "facts": dict(seen.marks.facts),
            "sections": dict(seen.marks.sections),
        }
        # In place, and not synced: half of it is taken for none.
        with open(self._sibling("seen"), "w", encoding="utf-8", opener=open_private) as file:
            file.write(json.dumps(record))

    def _sibling(self, what: str) -> Path:
        """Return the path of an auxiliary file next to the document, on the same file system."""
        place = Path(os.path.realpath(self.path))
        return place.with_name(f".{place.name}.{what}")

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _digest_on_disk(self) -> str:
        try:
            return _digest(self.path.read_bytes())
        except FileNotFoundError:
            return ""


def _as_storage_error(path: Path, error: OSError) -> StorageError:
    problem = (error.strerror or str(error)).lower()
    return StorageError(str(path), problem, "check the place and the disk")


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _mode(place: Path) -> int:
    """Keep the rights of a file that is there; a new one is its owner's alone."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(place.stat().st_mode)
    return 0o600


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
