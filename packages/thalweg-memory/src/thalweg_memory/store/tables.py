"""The logic of a memory on SQL tables, for any database."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Self

from thalweg.database.base import Database, read_secret
from thalweg.engine.extras import needs_extra
from thalweg.errors import StaleWriteError
from thalweg_memory.base import Job, Learned, LearningSchedule, Operation, Receipt, Selection
from thalweg_memory.document_files import DocumentFiles
from thalweg_memory.facts.recall.found import RecallItem, WordOccurrences
from thalweg_memory.facts.values import (
    HISTORY,
    USER_CONTEXT,
    Change,
    Fact,
    FactId,
    Hide,
    Mode,
    Profile,
    PutFact,
    RemoveFact,
    Scope,
    ShownFacts,
    Statement,
    Status,
)
from thalweg_memory.forgetting import execution
from thalweg_memory.search.index import MOST_WORDS
from thalweg_memory.search.vectors import Embed, Embedding
from thalweg_memory.store import commits, queue
from thalweg_memory.store.commits import read_operations
from thalweg_memory.store.records import Kind, read_fact
from thalweg_memory.store.scoped import (
    FORMAT,
    MemoryRows,
    ScopeRow,
    ScopeTransaction,
    ThreadFactsRow,
    find_scope,
    find_thread,
    get_or_create_scope,
    get_or_create_thread,
    save_scope,
    save_thread,
    scopes_of_owner,
)
from thalweg_memory.store.turns import (
    all_turns,
    capture_turns,
    index_turns,
    keep_shown,
    list_shown,
    read_turns,
    turn_texts,
)
from thalweg_memory.store.turns import items as read_items
from thalweg_memory.store.turns import newest as newest_items
from thalweg_memory.verbatim import FactTexts

if TYPE_CHECKING:
    from thalweg_memory.search.nearest import VectorIndex

_NEAR = 200
"""Items that vectors find at most."""
_BURIED: tuple[Kind, ...] = ("content", "fact", "uid")


class TableMemory(ABC):
    """The memories of all scopes, in SQL tables. See `MemoryStore` for the methods.

    A subclass opens the database, and erases deleted rows from its files. A writer of a scope locks
    its row until the end of the transaction. `DocumentFiles` are called before a scope is read
    and around each change of its facts.
    """

    def __init__(
        self,
        database: Database[MemoryRows],
        secret: bytes | None,
        *,
        embed: Embed | None,
        version: int,
    ) -> None:
        self._database = database
        self._embed = embed
        self._nearest: VectorIndex | None = None
        self._views = local()
        self._documents: DocumentFiles | None = None
        self._before_close: list[Callable[[], object]] = []
        try:
            self._secret = read_secret(database, "memory", secret, version=version)
        except BaseException:
            database.close()
            raise

    @property
    def place(self) -> str:
        """The address of the database, without a password."""
        return self._database.place

    @property
    def documents(self) -> DocumentFiles | None:
        """The documents of the store, if it has any."""
        return self._documents

    def add_documents(self, path: Path, *, owner: str = "local") -> None:
        """Keep documents equal to the store from now on; existing ones are kept.

        Args:
            path: See `DocumentFiles`.
            owner: The owner of the memory in `path`.
        """
        self._documents = self._documents or DocumentFiles(self, path, owner=owner)

    def _writing(self, owner: str | None) -> AbstractContextManager[MemoryRows]:
        """See `Database.writing`."""
        return self._database.writing(owner)

    @abstractmethod
    def _forgetting(self, owner: str) -> AbstractContextManager[MemoryRows]:
        """Begin a transaction like `_writing`, after which its deleted rows are to be erased."""

    @abstractmethod
    def _erased(self) -> tuple[str, ...]:
        """Erase deleted rows from the files.

        Returns:
            Places in which they may remain, for `Receipt.left`.
        """

    def before_close(self, end: Callable[[], object]) -> None:
        """Call a function before the store is closed, to end what works on it."""
        self._before_close.append(end)

    def close(self) -> None:
        """See `MemoryStore.close`. A learner of this process ends its active job first."""
        while self._before_close:
            self._before_close.pop()()
        self._database.close()

    def close_when_collected(self) -> None:
        """Release connections and files when nothing refers to this store any more."""
        self._database.close_with(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _read(self, scope: Scope) -> Iterator[ScopeTransaction]:
        """Read a scope. One that was never written to has the number 0, and nothing is in it."""
        seen = getattr(self._views, "seen", None)
        if seen is not None and seen[0] == scope:
            yield seen[1]
            return
        if self._documents is not None:
            self._documents.refresh(scope)
        with self._database.reading(scope.owner) as db:
            row = find_scope(db, scope) or ScopeRow()
            yield ScopeTransaction(db, row, self._secret)

    @contextmanager
    def _write(
        self, scope: Scope, texts: Sequence[str] = (), *, erases: bool = False
    ) -> Iterator[ScopeTransaction]:
        """Write to a scope, exclusively.

        Args:
            scope: The scope.
            texts: Texts to find by vectors, which are computed before the lock.
            erases: Whether deleted rows are to be erased after the transaction.
        """
        embedding = Embedding(self._embed, texts)
        begin = self._forgetting if erases else self._writing
        with begin(scope.owner) as db:
            scoped = ScopeTransaction(db, get_or_create_scope(db, scope), self._secret, embedding)
            reindex(scoped)
            yield scoped

    def _changing(self, scope: Scope) -> AbstractContextManager[None]:
        """Write a change to the document, if there is one."""
        return nullcontext() if self._documents is None else self._documents.changing(scope)

    # -- turns ---------------------------------------------------------------------------

    def capture(
        self,
        scope: Scope,
        thread: str,
        turns: Sequence[Statement],
        *,
        upto: int | None = None,
        begun: int | None = None,
        schedule: LearningSchedule | None = None,
    ) -> int:
        """See `MemoryStore.capture`."""
        if not turns and upto is None:
            return 0
        with self._write(scope, turn_texts(turns)) as scoped:
            new = capture_turns(scoped, thread, turns, upto, begun)
            if new and schedule is not None:
                at = queue.ticks(schedule.now)
                queue.note(scoped, thread, at, schedule.debounce_s, schedule.max_wait_s)
            return new

    def captured(self, scope: Scope, thread: str) -> int:
        """See `MemoryStore.captured`."""
        return self._thread(scope, thread).captured

    def turns(
        self, scope: Scope, thread: str, first: int = 0, last: int | None = None
    ) -> list[Statement]:
        """See `MemoryStore.turns`."""
        with self._read(scope) as scoped:
            return read_turns(scoped, thread, first, last)

    def learned(self, scope: Scope, thread: str) -> int:
        """See `MemoryStore.learned`."""
        return self._thread(scope, thread).learned

    def _thread(self, scope: Scope, thread: str) -> ThreadFactsRow:
        with self._read(scope) as scoped:
            return find_thread(scoped.db, scoped.digests, thread)

    # -- facts and profile ---------------------------------------------------------------

    def version(self, scope: Scope) -> int:
        """See `MemoryStore.version`."""
        with self._read(scope) as scoped:
            return scoped.row.version

    def facts(
        self,
        scope: Scope,
        *,
        ids: Sequence[FactId] | None = None,
        statuses: Sequence[Status] | None = ("active",),
        limit: int | None = None,
    ) -> list[Fact]:
        """See `MemoryStore.facts`."""
        with self._read(scope) as scoped:
            return scoped.facts(ids, statuses, limit)

    def has_more_than(self, scope: Scope, most: int) -> bool:
        """See `MemoryStore.has_more_than`."""
        with self._read(scope) as scoped:
            return scoped.has_more_than(most)

    def profile(self, scope: Scope) -> Profile:
        """See `MemoryStore.profile`."""
        with self._read(scope) as scoped:
            sections = scoped.sections()
        in_order = (sections.get(name) for name in (*USER_CONTEXT, *HISTORY))
        return Profile(tuple(section for section in in_order if section is not None))

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
        at = queue.ticks(now)
        texts = [change.fact.content for change in changes if isinstance(change, PutFact)]
        with self._changing(scope), self._write(scope, texts) as scoped:
            commits.check_version(scoped.row, expected)
            if lease and not queue.is_live(scoped, lease, at):
                problem = "the lease on the thread expired, or was withdrawn"
                raise StaleWriteError(problem)
            if learned is not None:
                commits.take_in(scoped, learned)
            if actor == "user":
                commits.unearth(scoped, changes)
            steps = commits.plan(scoped, changes)
            removed = [change for change in changes if isinstance(change, RemoveFact)]
            hidden = [change for change in changes if isinstance(change, Hide)]
            hides = next((change.why for change in hidden if not change.uids), "")
            uids = {uid for change in hidden for uid in change.uids}
            if actor == "user" or removed or hides:
                uids |= {change.asked_in for change in removed} - {""}
                steps = commits.by_hand(scoped, steps, hides=hides, uids=uids)
            elif uids:
                steps += commits.hide_turns(scoped, uids, hidden[0].why)
            return commits.make(scoped, steps, actor=actor, now=now, why=why)

    def is_forgotten(self, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """See `MemoryStore.is_forgotten`."""
        with self._read(scope) as scoped:
            buried = scoped.buried({(kind, text) for kind in _BURIED for text in texts})
        gone = {text for _, text in buried}
        return [text in gone for text in texts]

    # -- recall --------------------------------------------------------------------------

    @contextmanager
    def view(self, scope: Scope) -> Iterator[None]:
        """See `MemoryStore.view`."""
        before = getattr(self._views, "seen", None)
        with self._read(scope) as scoped:
            self._views.seen = (scope, scoped)
            try:
                yield
            finally:
                self._views.seen = before

    def vector(self, text: str) -> bytes:
        """See `MemoryStore.vector`."""
        return b"" if self._embed is None else self._embed([text])[0]

    def find(
        self,
        scope: Scope,
        words: Sequence[str],
        *,
        vector: bytes = b"",
        limit: int = 500,
        most_words: int = MOST_WORDS,
    ) -> WordOccurrences:
        """See `MemoryStore.find`."""
        with self._read(scope) as scoped:
            found = scoped.index.find(words, limit, most_words)
            return replace(found, near=self._near(scoped, vector, found)) if vector else found

    def _near(
        self, scoped: ScopeTransaction, vector: bytes, found: WordOccurrences
    ) -> Mapping[int, float]:
        if self._nearest is None:
            with needs_extra("embed"):
                from thalweg_memory.search.nearest import VectorIndex  # noqa: PLC0415 (an extra)
            self._nearest = VectorIndex()
        return self._nearest.find(scoped.index.vectors, vector, _NEAR, sorted(found.lengths))

    def items(self, scope: Scope, numbers: Sequence[int]) -> list[RecallItem]:
        """See `MemoryStore.items`."""
        with self._read(scope) as scoped:
            return read_items(scoped, numbers)

    def neighbours(
        self, scope: Scope, numbers: Sequence[int], reach: int = 2
    ) -> dict[int, list[int]]:
        """See `MemoryStore.neighbours`."""
        with self._read(scope) as scoped:
            return scoped.index.neighbours(numbers, reach)

    def newest(self, scope: Scope, thread: str, limit: int) -> list[int]:
        """See `MemoryStore.newest`."""
        with self._read(scope) as scoped:
            return newest_items(scoped, thread, limit)

    def keep_shown(self, scope: Scope, thread: str, outcome: ShownFacts) -> None:
        """See `MemoryStore.keep_shown`."""
        with self._write(scope) as scoped:
            keep_shown(scoped, thread, outcome)

    def shown_facts(self, scope: Scope, thread: str) -> list[ShownFacts]:
        """See `MemoryStore.shown_facts`."""
        with self._read(scope) as scoped:
            return list_shown(scoped, thread)

    # -- control -------------------------------------------------------------------------

    def operations(
        self, scope: Scope, *, fact: FactId | None = None, limit: int | None = None
    ) -> list[Operation]:
        """See `MemoryStore.operations`."""
        with self._read(scope) as scoped:
            return read_operations(scoped, fact=fact, limit=limit)

    def undo(self, scope: Scope, operation: int, *, now: str) -> Operation:
        """See `MemoryStore.undo`."""
        with self._changing(scope), self._write(scope) as scoped:
            return commits.undo(scoped, operation, now=now)

    def restore(self, scope: Scope, operation: int, *, now: str) -> list[Operation]:
        """See `MemoryStore.restore`."""
        with self._changing(scope), self._write(scope) as scoped:
            return commits.restore(scoped, operation, now=now)

    def forget(
        self, scope: Scope, selection: Selection, *, now: str, dry_run: bool = False
    ) -> Receipt:
        """See `MemoryStore.forget`."""
        forgotten: list[FactTexts] = []
        documents = self._documents
        with nullcontext() if documents is None else documents.forgetting(scope, forgotten):
            if dry_run:
                return self._would_forget(scope, selection)
            return self._forget(scope, selection, now, forgotten)

    def _would_forget(self, scope: Scope, selection: Selection) -> Receipt:
        with self._read(scope) as scoped:
            return execution.receipt(scoped, execution.plan(scoped, selection), dry_run=True)

    def _forget(
        self, scope: Scope, selection: Selection, now: str, forgotten: list[FactTexts]
    ) -> Receipt:
        at = queue.ticks(now)
        with self._write(scope, erases=True) as scoped:
            planned = execution.plan(scoped, selection)
            execution.erase(scoped, planned, selection, now=now, at=at)
        read_fact.cache_clear()
        forgotten.append(planned.sayings)
        return execution.receipt(scoped, planned, left=self._erased())

    def set_mode(self, scope: Scope, thread: str, mode: Mode) -> None:
        """See `MemoryStore.set_mode`."""
        with self._write(scope) as scoped:
            row = get_or_create_thread(scoped.db, scoped.row, scoped.digests, thread)
            row.mode = mode
            save_thread(scoped.db, scoped.id, thread, row)

    def mode(self, scope: Scope, thread: str) -> Mode:
        """See `MemoryStore.mode`."""
        return self._thread(scope, thread).mode

    def scopes(self, owner: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        with self._database.reading(owner) as db:
            return scopes_of_owner(db, owner)

    # -- jobs ----------------------------------------------------------------------------

    def note(
        self, scope: Scope, thread: str, *, now: str, debounce_s: float, max_wait_s: float
    ) -> None:
        """See `MemoryStore.note`."""
        at = queue.ticks(now)
        with self._write(scope) as scoped:
            queue.note(scoped, thread, at, debounce_s, max_wait_s)

    def lease(self, *, now: str, lease_s: float, worker: str) -> Job | None:
        """See `MemoryStore.lease`."""
        at = queue.ticks(now)
        with self._database.reading(None) as db:
            if not queue.is_any_due(db, at):
                return None
        with self._writing(None) as db:
            return queue.lease(db, at, lease_s, worker)

    def finish(self, job: Job, *, now: str, retry_s: float | None = None) -> None:
        """See `MemoryStore.finish`."""
        at = queue.ticks(now)
        with self._writing(job.scope.owner) as db:
            row = find_scope(db, job.scope)
            if row is not None:
                queue.finish(ScopeTransaction(db, row, self._secret), job, at, retry_s)

    def next_due(self) -> str | None:
        """See `MemoryStore.next_due`."""
        with self._database.reading(None) as db:
            return queue.next_due(db)


def reindex(scoped: ScopeTransaction) -> None:
    """Rebuild the index of a scope, in a writing transaction, unless its format is current."""
    if scoped.row.format >= FORMAT:
        return
    scoped.index.clear()
    index_turns(scoped, all_turns(scoped))
    for kept in scoped.all_kept().values():
        item = scoped.listed(replace(kept, item=0), kept.fact)
        scoped.db.run(
            "UPDATE memory_fact SET item = ? WHERE scope = ? AND fact = ?",
            (item, scoped.id, kept.number),
        )
    scoped.row.format = FORMAT
    save_scope(scoped.db, scoped.row)
