"""A memory with a document that people edit: `storage: json`.

The database stays the memory, with all that a document has no place for; the document is a
mirror of it that is looked at before every reading and written after every change. What was
edited by hand is taken in as the user's own change, which can be undone like any other.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Self

from thalweg.archive.blobs import encode
from thalweg.archive.home import home
from thalweg.errors import DocumentError, StaleWriteError, StorageError
from thalweg.facts.changes import Change, Hide
from thalweg.facts.document.changes import marks, picked_up
from thalweg.facts.document.reading import read_document
from thalweg.facts.document.writing import Document, export, without
from thalweg.facts.recall.found import Found, Item
from thalweg.facts.settings import MemorySettings
from thalweg.facts.told import Told
from thalweg.facts.values import (
    HISTORY,
    USER_CONTEXT,
    Fact,
    FactId,
    Mode,
    Profile,
    Scope,
    Section,
    Status,
    Turn,
)
from thalweg.memory.base import Job, Learned, MemoryStore, Operation, Receipt, Selection
from thalweg.memory.clock import new_fact_id, utc_now
from thalweg.memory.document_file import DocumentFile
from thalweg.memory.saying import Sayings

_log = logging.getLogger("thalweg.memory")
GRACE_S = 2.0
"""A document that is missing for so long was deleted. Some editors take a file away for a
moment before they put another in its place."""
_TRIES = 20
"""How often a document is taken in anew that others were faster than."""
_BUSY = "its document was edited all the time"
_EMPTIED = Document("seeds", (), tuple(Section(name, "") for name in USER_CONTEXT + HISTORY), "")
"""What a document that was deleted says."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """What came of looking at a document."""

    operation: Operation | None = None
    was_touched: bool = False


class MirroredMemory:
    """A memory whose facts and profile stand in a document, too, one for each scope.

    See `MemoryStore` for what the methods promise. Beside that: a document that cannot be read
    is left as it is, and the memory goes on without it, until it is mended; `reload` and
    `forget` raise instead. A document that was deleted empties the memory, as it does with
    DeerFlow; `undo` brings it back.

    Args:
        store: The memory itself. It is closed with this one.
        path: Document of the owner's shared memory. Others lie in `owners` beside it.
        owner: Whose memory `path` is.
    """

    def __init__(self, store: MemoryStore, path: Path, *, owner: str = "local") -> None:
        self._store = store
        self._path = path
        self._owner = owner
        self._files: dict[Scope, DocumentFile] = {}
        self._lock = Lock()
        self._told: dict[Scope, str] = {}
        self._missing: dict[Scope, float] = {}
        self._read: dict[Scope, tuple[str, Document]] = {}

    def path_of(self, scope: Scope) -> Path:
        """Name the document of a scope."""
        folder = self._path.parent
        if scope.owner != self._owner:
            folder = folder / "owners" / _as_name(scope.owner)
        if scope.agent:
            folder = folder / "agents" / _as_name(scope.agent)
        return folder / self._path.name

    def reload(self, scope: Scope) -> Operation | None:
        """Take in what was edited by hand, and write the document anew.

        Returns:
            What was changed; `None` where nothing was.

        Raises:
            DocumentError: The document cannot be read; memory and document are as they were.
        """
        file = self._file(scope)
        with file.locked():
            taken = self._take_in(scope, file, grace_s=0)
            self._write(scope, file)
            return taken.operation

    # -- what is kept in step ------------------------------------------------------------

    def version(self, scope: Scope) -> int:
        """See `MemoryStore.version`."""
        self._look(scope)
        return self._store.version(scope)

    def facts(
        self,
        scope: Scope,
        *,
        ids: Sequence[FactId] | None = None,
        statuses: Sequence[Status] | None = ("active",),
        limit: int | None = None,
    ) -> list[Fact]:
        """See `MemoryStore.facts`."""
        self._look(scope)
        return self._store.facts(scope, ids=ids, statuses=statuses, limit=limit)

    def count(self, scope: Scope, *, status: Status = "active", most: int) -> int:
        """See `MemoryStore.count`."""
        self._look(scope)
        return self._store.count(scope, status=status, most=most)

    def profile(self, scope: Scope) -> Profile:
        """See `MemoryStore.profile`."""
        self._look(scope)
        return self._store.profile(scope)

    def vector(self, text: str) -> bytes:
        """See `MemoryStore.vector`."""
        return self._store.vector(text)

    def find(
        self, scope: Scope, words: Sequence[str], *, vector: bytes = b"", limit: int = 2_000
    ) -> Found:
        """See `MemoryStore.find`."""
        self._look(scope)
        return self._store.find(scope, words, vector=vector, limit=limit)

    def operations(
        self, scope: Scope, *, fact: FactId | None = None, limit: int | None = None
    ) -> list[Operation]:
        """See `MemoryStore.operations`."""
        self._look(scope)
        return self._store.operations(scope, fact=fact, limit=limit)

    def commit(
        self,
        scope: Scope,
        changes: Sequence[Change],
        *,
        expected: int,
        actor: str,
        now: str,
        why: str = "",
        learned: Learned | None = None,
        lease: str = "",
    ) -> Operation | None:
        """See `MemoryStore.commit`."""
        with self._in_step(scope):
            return self._store.commit(
                scope,
                changes,
                expected=expected,
                actor=actor,
                now=now,
                why=why,
                learned=learned,
                lease=lease,
            )

    def undo(self, scope: Scope, operation: int, *, now: str) -> Operation:
        """See `MemoryStore.undo`."""
        with self._in_step(scope):
            return self._store.undo(scope, operation, now=now)

    def restore(self, scope: Scope, operation: int, *, now: str) -> list[Operation]:
        """See `MemoryStore.restore`."""
        with self._in_step(scope):
            return self._store.restore(scope, operation, now=now)

    def forget(
        self, scope: Scope, selection: Selection, *, now: str, dry_run: bool = False
    ) -> Receipt:
        """See `MemoryStore.forget`. What is forgotten is in no document of the scope either.

        Raises:
            DocumentError: The document cannot be read, so that nobody can tell what it holds.
        """
        file = self._file(scope)
        with file.locked():
            self._take_in(scope, file)
            plan = self._store.forget(scope, selection, now=now, dry_run=True)
            if dry_run:
                return plan
            sayings = Sayings.of(self._store.facts(scope, ids=plan.facts, statuses=None))
            receipt = self._store.forget(scope, selection, now=now)
            self._write(scope, file, sayings)
            return receipt

    # -- keeping in step -----------------------------------------------------------------

    def _file(self, scope: Scope) -> DocumentFile:
        with self._lock:
            if scope not in self._files:
                self._files[scope] = DocumentFile(self.path_of(scope))
            return self._files[scope]

    def _look(self, scope: Scope) -> None:
        """Take in what was edited since, before something is read."""
        file = self._file(scope)
        with self._lock:
            is_settled = scope not in self._missing
        if is_settled and (file.is_as_seen() or not file.path.parent.is_dir()):
            return
        with file.locked():
            try:
                taken, seen = self._take_in(scope, file), file.seen()
                if taken.was_touched or (seen and seen.version != self._store.version(scope)):
                    self._write(scope, file)
            except (DocumentError, StorageError) as error:
                self._tell(scope, error)

    @contextmanager
    def _in_step(self, scope: Scope) -> Iterator[None]:
        """Do a change with the document taken in before it and written after it."""
        file = self._file(scope)
        with file.locked():
            try:
                self._take_in(scope, file)
            except DocumentError as error:
                self._tell(scope, error)
                yield
                return
            yield
            try:
                self._write(scope, file)
            except (DocumentError, StorageError) as error:
                self._tell(scope, error)  # what was done is done, and is in the database

    def _tell(self, scope: Scope, error: DocumentError | StorageError) -> None:
        """Tell of a document that is out of step, once as long as it is for the same reason."""
        with self._lock:
            is_known = self._told.get(scope) == str(error)
            self._told[scope] = str(error)
        if not is_known:
            _log.warning("%s (the memory goes on without it)", error)

    def _take_in(self, scope: Scope, file: DocumentFile, grace_s: float = GRACE_S) -> _Taken:
        """Take in what differs from what was written last."""
        text, seen = file.read(), file.seen()
        if text is None and seen is not None and not self._is_gone(scope, grace_s):
            return _Taken()
        with self._lock:
            self._missing.pop(scope, None)
        if (text is None and seen is None) or (seen is not None and file.digest == seen.digest):
            return _Taken()
        document = _EMPTIED if text is None else self._read_anew(scope, file, text)
        what = "deleted" if text is None else "edited by hand" if seen else "found"
        why = f"{file.path.name} was {what}"
        for _ in range(_TRIES):
            now, version = utc_now(), self._store.version(scope)
            changes: tuple[Change, ...] = picked_up(
                document,
                seen.marks if seen else None,
                self._store.facts(scope, statuses=None),
                self._store.profile(scope),
                now=now,
                new_id=new_fact_id,
            )
            if text is None:
                changes = (*changes, Hide(why))
            actor = "user" if seen else "import"
            with suppress(StaleWriteError):
                done = self._store.commit(
                    scope, changes, expected=version, actor=actor, now=now, why=why
                )
                return _Taken(done, was_touched=True)
        raise StaleWriteError(_BUSY)

    def _read_anew(self, scope: Scope, file: DocumentFile, text: str) -> Document:
        document = read_document(text, str(file.path))
        with self._lock:
            self._read[scope] = file.digest, document
        return document

    def _as_read(self, scope: Scope, file: DocumentFile, text: str) -> Document:
        """Read a document, if it is another one than was read or written last."""
        with self._lock:
            digest, document = self._read.get(scope, ("", _EMPTIED))
        return document if digest == file.digest else self._read_anew(scope, file, text)

    def _is_gone(self, scope: Scope, grace_s: float) -> bool:
        """Tell whether a document is missing for good: an editor may be about to replace it."""
        with self._lock:
            since = self._missing.setdefault(scope, monotonic())
        return monotonic() - since >= grace_s

    def _write(self, scope: Scope, file: DocumentFile, gone: Sayings | None = None) -> None:
        """Write the document as the memory is; what somebody edits meanwhile is taken in first."""
        with self._lock:
            if scope in self._missing:
                return
        for _ in range(_TRIES):
            text = file.read()
            like = None if text is None else self._as_read(scope, file, text)
            version = self._store.version(scope)
            facts, profile = self._store.facts(scope), self._store.profile(scope)
            document = export(facts, profile, like=like, now=utc_now())
            if gone is not None:
                document = without(document, gone.are_in)
            if file.write(document.text, version, marks(document)):
                with self._lock:
                    self._told.pop(scope, None)
                    self._read[scope] = file.digest, document
                return
            self._take_in(scope, file)
        raise StaleWriteError(_BUSY)

    # -- what no document has ------------------------------------------------------------

    def capture(
        self,
        scope: Scope,
        thread: str,
        turns: Sequence[Turn],
        *,
        upto: int | None = None,
        begun: int | None = None,
    ) -> int:
        """See `MemoryStore.capture`."""
        return self._store.capture(scope, thread, turns, upto=upto, begun=begun)

    def captured(self, scope: Scope, thread: str) -> int:
        """See `MemoryStore.captured`."""
        return self._store.captured(scope, thread)

    def turns(
        self, scope: Scope, thread: str, first: int = 0, last: int | None = None
    ) -> list[Turn]:
        """See `MemoryStore.turns`."""
        return self._store.turns(scope, thread, first, last)

    def learned(self, scope: Scope, thread: str) -> int:
        """See `MemoryStore.learned`."""
        return self._store.learned(scope, thread)

    def is_forgotten(self, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """See `MemoryStore.is_forgotten`."""
        return self._store.is_forgotten(scope, texts)

    @contextmanager
    def view(self, scope: Scope) -> Iterator[None]:  # noqa: ARG002 (as in `MemoryStore`)
        """See `MemoryStore.view`. An edit of the document in the middle of it is seen at once."""
        yield

    def items(self, scope: Scope, numbers: Sequence[int]) -> list[Item]:
        """See `MemoryStore.items`."""
        return self._store.items(scope, numbers)

    def beside(self, scope: Scope, numbers: Sequence[int], reach: int = 2) -> dict[int, list[int]]:
        """See `MemoryStore.beside`."""
        return self._store.beside(scope, numbers, reach)

    def keep_told(self, scope: Scope, thread: str, told: Told) -> None:
        """See `MemoryStore.keep_told`."""
        self._store.keep_told(scope, thread, told)

    def told(self, scope: Scope, thread: str) -> list[Told]:
        """See `MemoryStore.told`."""
        return self._store.told(scope, thread)

    def newest(self, scope: Scope, thread: str, limit: int) -> list[int]:
        """See `MemoryStore.newest`."""
        return self._store.newest(scope, thread, limit)

    def set_mode(self, scope: Scope, thread: str, mode: Mode) -> None:
        """See `MemoryStore.set_mode`."""
        self._store.set_mode(scope, thread, mode)

    def mode(self, scope: Scope, thread: str) -> Mode:
        """See `MemoryStore.mode`."""
        return self._store.mode(scope, thread)

    def scopes(self, owner: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        return self._store.scopes(owner)

    def note(
        self, scope: Scope, thread: str, *, now: str, debounce_s: float, max_wait_s: float
    ) -> None:
        """See `MemoryStore.note`."""
        self._store.note(scope, thread, now=now, debounce_s=debounce_s, max_wait_s=max_wait_s)

    def lease(self, *, now: str, lease_s: float, worker: str) -> Job | None:
        """See `MemoryStore.lease`."""
        return self._store.lease(now=now, lease_s=lease_s, worker=worker)

    def finish(self, job: Job, *, now: str, retry_s: float | None = None) -> None:
        """See `MemoryStore.finish`."""
        self._store.finish(job, now=now, retry_s=retry_s)

    def next_due(self) -> str | None:
        """See `MemoryStore.next_due`."""
        return self._store.next_due()

    def close(self) -> None:
        """See `MemoryStore.close`."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()


def with_document(
    store: MemoryStore, settings: MemorySettings, *, owner: str = "local"
) -> MemoryStore:
    """Put a document before a store, where the settings want one and it has none.

    Args:
        store: The memory itself.
        settings: `storage` and `storage_path` of them.
        owner: Whose document `storage_path` is.
    """
    if settings.storage == "database" or isinstance(store, MirroredMemory):
        return store
    path = Path(settings.storage_path) if settings.storage_path else home() / "memory.json"
    return MirroredMemory(store, path, owner=owner)


def _as_name(text: str) -> str:
    """Write any name so that it is the name of one folder, and no other name is.

    Example:
        >>> _as_name("ada/../x"), _as_name(".."), _as_name("Ada")
        ('ada%2F%2E%2E%2Fx', '%2E%2E', '%41da')
    """
    kept = "abcdefghijklmnopqrstuvwxyz0123456789-_"  # some file systems know no case
    coded = (
        letter if letter in kept else "".join(f"%{byte:02X}" for byte in encode(letter))
        for letter in text
    )
    return "".join(coded)
