"""The documents of a memory on disk: `storage: json`.

The database remains the memory, with all data that a document cannot represent. A store with
documents calls them before it reads a scope and around each change. Next to `memory.json` are
`.memory.json.lock`, which is locked while the file is read and written, and `.memory.json.seen`,
which has digests of the content last written, without any text. While the document is replaced,
`.memory.json.part` has its new content, and `.memory.json.new` the digests of that.
"""

import hashlib
import json
import logging
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import local

from thalweg.database.base import encode
from thalweg.database.private_files import FILE_MODE, make_private_folder, open_private
from thalweg.errors import DocumentError, StorageError
from thalweg_memory.deciding import Decider, MemorySnapshot
from thalweg_memory.facts.by_hand import plan_clear
from thalweg_memory.facts.document import (
    Document,
    Marks,
    export,
    plan_document,
    read_document,
    without,
)
from thalweg_memory.facts.values import Change, Scope
from thalweg_memory.store.records import FactTexts, Operation, new_fact_id, utc_now
from thalweg_memory.store.tables import MemoryStore

_log = logging.getLogger("thalweg.memory")
_Stamp = tuple[int, ...]
_RENAME_WAIT_S = 0.5
"""Seconds before a missing document counts as deleted: an editor may rename it, and then write the
new one."""


class DocumentFiles:
    """One document for each scope of a store.

    An invalid document is not changed, and a warning is logged: reads and changes use the database
    alone until it is repaired; `reload` and `forgetting` raise instead. A deleted document clears
    the memory, as it does with DeerFlow; `undo` restores both.

    Safe to share between threads and processes: each document is locked before a transaction of
    the store begins, never inside one.

    Args:
        store: The memory. It calls these methods: see `MemoryStore.documents`.
        path: Document of the owner's shared memory. Others are in the folder `owners` next to it.
        owner: The owner of the memory in `path`.
    """

    def __init__(self, store: MemoryStore, path: Path, *, owner: str = "local") -> None:
        self._store = store
        self._path = path
        self._owner = owner
        self._files: dict[Scope, _DocumentFile] = {}
        self._thread = local()

    def path_of(self, scope: Scope) -> Path:
        """Return the path of a scope's document."""
        folder = self._path.parent
        if scope.owner != self._owner:
            folder = folder / "owners" / _encoded_folder_name(scope.owner)
        if scope.agent:
            folder = folder / "agents" / _encoded_folder_name(scope.agent)
        return folder / self._path.name

    def refresh(self, scope: Scope) -> None:
        """Commit edits made since the last check; called before the store reads a scope.

        It costs one `stat` call if nothing was edited.
        """
        file = self._file(scope)
        if self._holds_lock() or file.seen == file.stamp() or not file.path.parent.is_dir():
            return
        with self._locked(file):
            self._try_synchronize(scope, file)

    @contextmanager
    def changing(self, scope: Scope) -> Iterator[None]:
        """Commit edits before a change of the store, and write the document after it."""
        if self._holds_lock():
            yield
            return
        file = self._file(scope)
        with self._locked(file):
            is_settled = self._try_synchronize(scope, file)
            yield
            if is_settled:
                self._try_synchronize(scope, file)

    @contextmanager
    def forgetting(self, scope: Scope, forgotten: list[FactTexts]) -> Iterator[None]:
        """Erase from the document the content that the block forgets and puts in the list.

        Raises:
            DocumentError: The document cannot be read, so its content is unknown.
            StorageError: It cannot be written.
        """
        file = self._file(scope)
        with self._locked(file):
            self._synchronize(scope, file)
            yield
            self._synchronize(scope, file, forgotten)

    def reload(self, scope: Scope) -> Operation | None:
        """Commit the edits made by hand, and write the document.

        Returns:
            The commit; `None` if nothing was changed.

        Raises:
            DocumentError: The document cannot be read; memory and document are unchanged.
            StorageError: It cannot be written.
        """
        file = self._file(scope)
        with self._locked(file):
            return self._synchronize(scope, file)

    def _file(self, scope: Scope) -> "_DocumentFile":
        return self._files.setdefault(scope, _DocumentFile(self.path_of(scope)))

    @contextmanager
    def _locked(self, file: "_DocumentFile") -> Iterator[None]:
        """Lock a document; reads and commits of this thread call no method here meanwhile."""
        with ExitStack() as stack:
            with _storage_errors(file.path):
                stack.enter_context(file.locked())
            self._thread.holds_lock = True
            try:
                yield
            finally:
                self._thread.holds_lock = False

    def _holds_lock(self) -> bool:
        return getattr(self._thread, "holds_lock", False)

    def _try_synchronize(self, scope: Scope, file: "_DocumentFile") -> bool:
        """Return whether memory and document are equal now; log each reason once if not."""
        try:
            self._synchronize(scope, file)
        except (DocumentError, StorageError) as error:
            if file.problem != str(error):
                file.problem = str(error)
                _log.warning("%s (the memory continues without it)", error)
            return False
        return True

    def _synchronize(
        self, scope: Scope, file: "_DocumentFile", forgotten: Iterable[FactTexts] = ()
    ) -> Operation | None:
        """Commit edits, and write the document, until it has the memory's current version.

        The digests are those of the content on the disk, also after a process was killed: of a
        document that lags behind the memory, and is replaced here, or of the newest.
        """
        operation = None
        with _storage_errors(file.path):
            if file.read() is None and file.written():
                time.sleep(_RENAME_WAIT_S)
            while True:
                stamp, raw, written = file.stamp(), file.read(), file.written()
                digest = "" if raw is None else _digest(raw)
                version = self._store.version(scope)
                if written and written.version > version:
                    written = None  # of a memory that was deleted: its content is edits of this one
                if written and (written.file, written.version) == (digest, version):
                    file.seen, file.problem = stamp, ""
                    return operation
                try:
                    document = None if raw is None else _parse(file.path, raw)
                except DocumentError:
                    file.seen = stamp
                    raise
                if digest != (written.file if written else ""):
                    operation = self._commit_edits(scope, document, written) or operation
                with self._store.view(scope):
                    version = self._store.version(scope)
                    facts, profile = self._store.facts(scope), self._store.profile(scope)
                text = export(facts, profile, like=document, now=utc_now())
                for texts in forgotten:
                    text = without(text, texts.are_in)
                file.replace(raw, read_document(text, str(file.path)), version)
                _log.debug("memory persisted to %s", file.path)

    def _commit_edits(
        self, scope: Scope, document: Document | None, written: "_LastWrite | None"
    ) -> Operation | None:
        what = "deleted" if document is None else "edited by hand" if written else "found"

        def decide(known: MemorySnapshot) -> tuple[Change, ...]:
            if document is None:
                return plan_clear(known.facts, known.profile, now=utc_now())
            return plan_document(
                document,
                known.facts,
                known.profile,
                now=utc_now(),
                new_id=new_fact_id,
                before=written,
            )

        decider = Decider(self._store, scope, utc_now)
        why = f"{self._path.name} was {what}"
        return decider.change(decide, actor="user" if written else "import", why=why)


def _parse(path: Path, raw: bytes) -> Document:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        where = f"{path}: line {number}"
        problem = "it is not written in UTF-8"
        raise DocumentError(where, problem, "save it as UTF-8") from None
    return read_document(text, str(path))


def _encoded_folder_name(text: str) -> str:
    """Encode any name as the name of one folder, and of no other name's.

    Example:
        >>> [_encoded_folder_name(name) for name in ("ada/../x", "..", "Ada")]
        ['ada%2F%2E%2E%2Fx', '%2E%2E', '%41da']
    """
    kept = "abcdefghijklmnopqrstuvwxyz0123456789-_"  # some file systems know no case
    coded = (
        letter if letter in kept else "".join(f"%{byte:02X}" for byte in encode(letter))
        for letter in text
    )
    return "".join(coded)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastWrite(Marks):
    """The content of a file when it was last written; the fields of `.memory.json.seen`."""

    file: str
    """The file's digest."""
    version: int
    """The version of the memory that was written; see `MemoryStore.version`."""


class _DocumentFile:
    """One document on the disk. It is read and replaced while it is locked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: _Stamp | None = ()
        """The stamp of the content that the memory has; empty before the first reading."""
        self.problem = ""
        """The error that was logged last."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other processes and threads that use this file."""
        make_private_folder(self.path.parent)
        with open(self._sibling("lock"), "ab", opener=open_private) as lock:
            _set_lock(lock.fileno(), is_locked=True)
            try:
                self._finish_replacing()
                yield
            finally:
                _set_lock(lock.fileno(), is_locked=False)

    def stamp(self) -> _Stamp | None:
        """Return values that a change of the file changes, too; `None` if it is missing.

        An edit of the same length within one tick of the file system's clock is only noticed by
        the next write, which compares the content.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def read(self) -> bytes | None:
        """Read the file; `None` if it is missing."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def written(self) -> _LastWrite | None:
        """Return the last write of any process; `None` if it is unknown."""
        try:
            return _LastWrite(**json.loads(self._sibling("seen").read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def replace(self, before: bytes | None, document: Document, version: int) -> None:
        """Replace the content that was read, unless the file was changed since."""
        if self.read() != before:
            return
        raw, place = document.text.encode(), Path(os.path.realpath(self.path))
        marks = document.marks
        written = _LastWrite(marks.facts, marks.sections, file=_digest(raw), version=version)
        if raw != before:
            mode = FILE_MODE if before is None else stat.S_IMODE(place.stat().st_mode)
            _write(self._sibling("part"), raw, mode)
        _write(self._sibling("new"), json.dumps(asdict(written)).encode())
        if raw != before:
            self._sibling("part").replace(place)
            _sync_folder(place.parent)
        self._sibling("new").replace(self._sibling("seen"))

    def _finish_replacing(self) -> None:
        """Finish or cancel the work of a process that was killed while it replaced the content.

        The document was replaced if its new content is not there any more, and its digests are.
        """
        part, new = self._sibling("part"), self._sibling("new")
        if part.exists():
            new.unlink(missing_ok=True)
            part.unlink()
        elif new.exists():
            new.replace(self._sibling("seen"))

    def _sibling(self, what: str) -> Path:
        """Return the path of an auxiliary file next to the document, on the same file system."""
        place = Path(os.path.realpath(self.path))
        return place.with_name(f".{place.name}.{what}")


def _write(place: Path, raw: bytes, mode: int = FILE_MODE) -> None:
    """Write a new file durably."""
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(handle, "wb") as new:  # noqa: PTH123 (of a handle)
        new.write(raw)
        new.flush()
        os.fsync(handle)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise StorageError(str(path), problem, "check the place and the disk") from error


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


if sys.platform == "win32":
    import msvcrt

    def _sync_folder(folder: Path) -> None:
        """Do nothing: Windows has no such call."""

    def _set_lock(handle: int, *, is_locked: bool) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK if is_locked else msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _sync_folder(folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def _set_lock(handle: int, *, is_locked: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX if is_locked else fcntl.LOCK_UN)
