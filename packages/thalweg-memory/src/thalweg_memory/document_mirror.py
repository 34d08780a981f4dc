"""The editable document of a memory: `storage: json`.

The database remains the memory, with all data that a document cannot represent. A store with a
mirror calls it before it reads a scope and around each change. Manual edits are committed as the
user's own change, which can be undone like any other.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, local
from time import monotonic

from thalweg.database.base import encode
from thalweg.errors import DocumentError, StaleWriteError, StorageError
from thalweg_memory.base import MemoryStore, Operation
from thalweg_memory.clock import new_fact_id, utc_now
from thalweg_memory.deciding import Decider, MemorySnapshot
from thalweg_memory.document_file import DocumentFile
from thalweg_memory.facts.changes import Change, Hide
from thalweg_memory.facts.document.changes import marks, picked_up
from thalweg_memory.facts.document.reading import read_document
from thalweg_memory.facts.document.writing import Document, export, without
from thalweg_memory.facts.values import HISTORY, USER_CONTEXT, ProfileSection, Scope
from thalweg_memory.verbatim import FactTexts

_log = logging.getLogger("thalweg.memory")
GRACE_S = 2.0
"""A document that is missing for this long was deleted. Some editors remove a file for a moment
before they put another in its place."""
_TRIES = 20
"""How often a document is read again that an editor changed before it was written."""
_EMPTIED = Document(
    "seeds", (), tuple(ProfileSection(name, "") for name in USER_CONTEXT + HISTORY), ""
)
"""The content of a document that was deleted."""


class DocumentMirror:
    """Synchronizes one document for each scope with a store.

    An invalid document is not changed, and a warning is logged: reads and changes use the database
    alone until it is repaired; `reload` and `forgetting` raise instead. A document that was deleted
    clears the memory, as it does with DeerFlow; `undo` restores both.

    Safe to share between threads. Processes exclude each other with a lock file next to
    each document, which is taken before a transaction of the store begins, never inside one.

    Args:
        store: The memory. It calls this mirror: see `TableMemory.mirror_to`.
        path: Document of the owner's shared memory. Others are in the folder `owners` next to it.
        owner: The owner of the memory in `path`.
    """

    def __init__(self, store: MemoryStore, path: Path, *, owner: str = "local") -> None:
        self._store = store
        self._path = path
        self._owner = owner
        self._lock = Lock()
        self._files: dict[Scope, DocumentFile] = {}
        self._reported: dict[Scope, str] = {}
        self._missing: dict[Scope, float] = {}
        self._parsed: dict[Scope, tuple[str, Document]] = {}
        self._thread = local()

    def path_of(self, scope: Scope) -> Path:
        """Return the path of a scope's document."""
        folder = self._path.parent
        if scope.owner != self._owner:
            folder = folder / "owners" / _as_name(scope.owner)
        if scope.agent:
            folder = folder / "agents" / _as_name(scope.agent)
        return folder / self._path.name

    # -- called by the store ---------------------------------------------------------------

    def refresh(self, scope: Scope) -> None:
        """Commit edits made since the last check; called before the store reads a scope.

        It costs one `stat` call if nothing was edited.
        """
        if self._is_inside():
            return
        file = self._file(scope)
        with self._lock:
            is_settled = scope not in self._missing
        if is_settled and (file.is_as_seen() or not file.path.parent.is_dir()):
            return
        with self._locked(file):
            try:
                is_touched, seen = self._commit_edits(scope, file)[0], file.seen()
                if is_touched or (seen and seen.version != self._store.version(scope)):
                    self._write(scope, file)
            except (DocumentError, StorageError) as error:
                self._report(scope, error)

    @contextmanager
    def changing(self, scope: Scope) -> Iterator[None]:
        """Commit edits before a change of the store, and write the document after it."""
        if self._is_inside():
            yield
            return
        file = self._file(scope)
        with self._locked(file):
            try:
                self._commit_edits(scope, file)
            except DocumentError as error:
                self._report(scope, error)
                yield
                return
            yield
            try:
                self._write(scope, file)
            except (DocumentError, StorageError) as error:
                self._report(scope, error)  # the change itself is durable in the database

    @contextmanager
    def forgetting(self, scope: Scope) -> Iterator[list[FactTexts]]:
        """Erase from the document the content that is forgotten; the store lists it in the block.

        Raises:
            DocumentError: The document cannot be read, so its content is unknown.
        """
        file = self._file(scope)
        with self._locked(file):
            self._commit_edits(scope, file)
            forgotten: list[FactTexts] = []
            yield forgotten
            if forgotten:
                self._write(scope, file, forgotten[0])

    def reload(self, scope: Scope) -> Operation | None:
        """Commit the edits made by hand, and write the document.

        Returns:
            The commit; `None` if nothing was changed.

        Raises:
            DocumentError: The document cannot be read; memory and document are unchanged.
        """
        file = self._file(scope)
        with self._locked(file):
            _, operation = self._commit_edits(scope, file, grace_s=0)
            self._write(scope, file)
            return operation

    # -- with the document locked ----------------------------------------------------------

    def _file(self, scope: Scope) -> DocumentFile:
        with self._lock:
            if scope not in self._files:
                self._files[scope] = DocumentFile(self.path_of(scope))
            return self._files[scope]

    @contextmanager
    def _locked(self, file: DocumentFile) -> Iterator[None]:
        """Lock a document; what this thread reads and commits meanwhile calls no hook."""
        with file.locked():
            self._thread.is_inside = True
            try:
                yield
            finally:
                self._thread.is_inside = False

    def _is_inside(self) -> bool:
        return getattr(self._thread, "is_inside", False)

    def _report(self, scope: Scope, error: DocumentError | StorageError) -> None:
        """Log why a document is out of step, once for each reason."""
        with self._lock:
            is_known = self._reported.get(scope) == str(error)
            self._reported[scope] = str(error)
        if not is_known:
            _log.warning("%s (the memory continues without it)", error)

    def _commit_edits(
        self, scope: Scope, file: DocumentFile, grace_s: float = GRACE_S
    ) -> tuple[bool, Operation | None]:
        """Commit the differences from the last written document.

        Returns:
            Whether the document was edited, and the commit; `None` if the edit changes nothing.
        """
        text, seen = file.read(), file.seen()
        if text is None and seen is not None and not self._is_deleted(scope, grace_s):
            return False, None
        with self._lock:
            self._missing.pop(scope, None)
        if (text is None and seen is None) or (seen is not None and file.digest == seen.digest):
            return False, None
        document = _EMPTIED if text is None else self._parse(scope, file, text)
        what = "deleted" if text is None else "edited by hand" if seen else "found"
        why = f"{file.path.name} was {what}"

        def decide(known: MemorySnapshot) -> tuple[Change, ...]:
            before = seen.marks if seen else None
            changes = picked_up(
                document, before, known.facts, known.profile, now=utc_now(), new_id=new_fact_id
            )
            return (*changes, Hide(why)) if text is None else changes

        decider = Decider(self._store, scope, utc_now)
        return True, decider.change(decide, actor="user" if seen else "import", why=why)

    def _parse(self, scope: Scope, file: DocumentFile, text: str) -> Document:
        """Parse a document, unless it is the one that was read or written last."""
        with self._lock:
            digest, document = self._parsed.get(scope, ("", _EMPTIED))
        if digest != file.digest:
            document = read_document(text, str(file.path))
            self._keep_parsed(scope, file, document)
        return document

    def _keep_parsed(self, scope: Scope, file: DocumentFile, document: Document) -> None:
        with self._lock:
            self._parsed[scope] = file.digest, document

    def _is_deleted(self, scope: Scope, grace_s: float) -> bool:
        """Return whether a missing document was deleted, and is not about to be replaced."""
        with self._lock:
            since = self._missing.setdefault(scope, monotonic())
        return monotonic() - since >= grace_s

    def _write(self, scope: Scope, file: DocumentFile, forgotten: FactTexts | None = None) -> None:
        """Write the document from the memory; commit edits that are saved meanwhile first."""
        with self._lock:
            if scope in self._missing:
                return
        for _ in range(_TRIES):
            text = file.read()
            like = None if text is None else self._parse(scope, file, text)
            version = self._store.version(scope)
            facts, profile = self._store.facts(scope), self._store.profile(scope)
            document = export(facts, profile, like=like, now=utc_now())
            if forgotten is not None:
                document = without(document, forgotten.are_in)
            if file.write(document.text, version, marks(document)):
                with self._lock:
                    self._reported.pop(scope, None)
                self._keep_parsed(scope, file, document)
                return
            self._commit_edits(scope, file)
        problem = "its document was edited all the time"
        raise StaleWriteError(problem)


def _as_name(text: str) -> str:
    """Encode any name as the name of one folder, and of no other name's.

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
