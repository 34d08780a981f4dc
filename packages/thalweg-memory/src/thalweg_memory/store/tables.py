"""The logic of a memory on SQL tables, for any database."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from threading import local
from typing import Protocol, Self

from thalweg.database import jobs
from thalweg.database.base import Database, read_secret
from thalweg.database.migrations.schema import refuse_newer_format
from thalweg.errors import StaleWriteError
from thalweg_memory.facts.recall.ranking import RecallItem, WordOccurrences
from thalweg_memory.facts.values import (
    HISTORY,
    USER_CONTEXT,
    Change,
    Fact,
    FactId,
    Hide,
    Mode,
    Profile,
    RemoveFact,
    Scope,
    ShownFacts,
    Statement,
    Status,
)
from thalweg_memory.search.index import MOST_WORDS
from thalweg_memory.store import commits, forgetting
from thalweg_memory.store.commits import read_operations
from thalweg_memory.store.records import (
    FactTexts,
    Job,
    Kind,
    Learned,
    LearningSchedule,
    Operation,
    Receipt,
    Selection,
    read_fact,
)
from thalweg_memory.store.scoped import (
    FORMAT,
    MemoryRows,
    ScopeRow,
    ScopeTransaction,
    ThreadFactsRow,
    all_turns,
    capture_turns,
    find_scope,
    find_thread,
    finish_job,
    get_or_create_scope,
    get_or_create_thread,
    index_turns,
    is_live,
    keep_shown,
    list_shown,
    milliseconds,
    note_job,
    read_turns,
    save_scope,
    save_thread,
    scopes_of_owner,
    thread_names,
    thread_of,
    time_of,
)
from thalweg_memory.store.scoped import items as read_items
from thalweg_memory.store.scoped import newest as newest_items

_TOMBSTONED: tuple[Kind, ...] = ("content", "fact", "uid")


class DocumentSync(Protocol):
    """Documents that a store keeps equal to its facts; see `DocumentFiles`."""

    def refresh(self, scope: Scope) -> None:
        """Commit edits; called before a scope is read."""

    def changing(self, scope: Scope) -> AbstractContextManager[None]:
        """Write the document after a change of the facts."""

    def forgetting(self, scope: Scope, forgotten: list[FactTexts]) -> AbstractContextManager[None]:
        """Erase content that the block forgets."""


class MemoryStore(ABC):
    """The memories of all scopes, in one database.

    Calls block; each is atomic and durable when it returns. A scope that was never written to
    is empty. Safe to share between threads of one process, and between processes. `now` is
    aware UTC in ISO 8601 everywhere: the caller has the clock.

    A subclass opens the database, and erases deleted rows from its files. A writer of a scope locks
    its row until the end of the transaction.
    """

    documents: DocumentSync | None = None
    """The documents of the store, if it has any."""

    def __init__(
        self,
        database: Database[MemoryRows],
        secret: bytes | None,
        *,
        version: int,
    ) -> None:
        self._database = database
        self._views = local()
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
        """Release what the store holds open. A learner of this process ends its active job first.

        Closing twice is fine.
        """
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
        if self.documents is not None:
            self.documents.refresh(scope)
        while True:
            with self._database.reading(scope.owner) as db:
                row = find_scope(db, scope) or ScopeRow(format=FORMAT)
                if row.format >= FORMAT:
                    _refuse_newer(row)
                    yield ScopeTransaction(db, row, self._secret)
                    return
            with self._writing(scope.owner) as db:
                found = find_scope(db, scope, db.for_update)
                if found is not None:  # it may have been deleted in between
                    reindex(ScopeTransaction(db, found, self._secret))

    @contextmanager
    def _write(self, scope: Scope, *, erases: bool = False) -> Iterator[ScopeTransaction]:
        """Write to a scope, exclusively; with `erases`, deleted rows are erased afterwards."""
        begin = self._forgetting if erases else self._writing
        with begin(scope.owner) as db:
            scoped = ScopeTransaction(db, get_or_create_scope(db, scope), self._secret)
            reindex(scoped)
            yield scoped

    def _changing(self, scope: Scope) -> AbstractContextManager[None]:
        """Write a change to the document, if there is one."""
        return nullcontext() if self.documents is None else self.documents.changing(scope)

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
        """Store turns of a thread, oldest first; those with an existing `uid` are skipped.

        A turn with a tombstone is not stored. The store assigns `seq`. They are available for
        recall immediately.

        Args:
            scope: The scope.
            thread: The thread's id.
            turns: The turns.
            upto: Length of the thread's log that was read; see `captured`.
            begun: The scope's version when their run began. Turns of a run that began before the
                memory was cleared are stored hidden.
            schedule: When to learn from new turns. They and the job are stored together: a process
                that is killed never stores a turn without its job.

        Returns:
            How many turns were new.
        """
        if not turns and upto is None:
            return 0
        with self._write(scope) as scoped:
            new = capture_turns(scoped, thread, turns, upto, begun)
            if new and schedule is not None:
                at = milliseconds(schedule.now)
                note_job(scoped, scope, thread, at, schedule.debounce_s, schedule.max_wait_s)
            return new

    def captured(self, scope: Scope, thread: str) -> int:
        """Return the length up to which the thread's log was read."""
        return self._thread(scope, thread).captured

    def turns(
        self, scope: Scope, thread: str, first: int = 0, last: int | None = None
    ) -> list[Statement]:
        """Return turns of a thread by `seq`, `last` included, without hidden ones."""
        with self._read(scope) as scoped:
            return read_turns(scoped, thread, first, last)

    def learned(self, scope: Scope, thread: str) -> int:
        """Count the turns of a thread that were learned from."""
        return self._thread(scope, thread).learned

    def _thread(self, scope: Scope, thread: str) -> ThreadFactsRow:
        with self._read(scope) as scoped:
            return find_thread(scoped.db, scoped.digests, thread)

    # -- facts and profile ---------------------------------------------------------------

    def version(self, scope: Scope) -> int:
        """Number the states of a scope: every commit and every `forget` raises it."""
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
        """Return facts, oldest first; `None` means any id, any status.

        Args:
            scope: The scope.
            ids: Their ids; missing ones are skipped.
            statuses: Their statuses.
            limit: At most so many, the newest. Not with `ids`.
        """
        with self._read(scope) as scoped:
            return scoped.facts(ids, statuses, limit)

    def has_more_than(self, scope: Scope, most: int) -> bool:
        """Return whether more than `most` facts are active."""
        with self._read(scope) as scoped:
            return scoped.has_more_than(most)

    def profile(self, scope: Scope) -> Profile:
        """Read the profile."""
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
        lease: jobs.Job | None = None,
    ) -> Operation | None:
        """Change a memory, all or nothing, and log it.

        A fact with a tombstone is skipped, unless the user adds it again manually. `None` is
        returned if there was nothing to do; `learned` is stored in any case.

        If `user` drops or rewords a fact, its source turns are hidden, and it is removed from the
        profile: hidden turns are excluded from recall and extraction until the commit is undone.

        Raises:
            StaleWriteError: The scope's version is not `expected`, another worker processed the
                thread, or the lease is void: read again and plan again.
        """
        with self._changing(scope), self._write(scope) as scoped:
            commits.check_version(scoped.row, expected)
            if lease is not None and not is_live(scoped.db, lease):
                problem = "another worker claimed the thread, or the claim was withdrawn"
                raise StaleWriteError(problem)
            if learned is not None:
                commits.advance_watermark(scoped, learned)
            if actor == "user":
                commits.remove_tombstones(scoped, changes)
            steps = commits.plan(scoped, changes)
            removed = [change for change in changes if isinstance(change, RemoveFact)]
            hidden = [change for change in changes if isinstance(change, Hide)]
            hide_reason = next((change.why for change in hidden if not change.uids), "")
            uids = {uid for change in hidden for uid in change.uids}
            if actor == "user" or removed or hide_reason:
                uids |= {change.asked_in for change in removed} - {""}
                steps = commits.manual_steps(scoped, steps, hide_reason=hide_reason, uids=uids)
            elif uids:
                steps += commits.hide_turns(scoped, uids, hidden[0].why)
            return commits.perform_steps(scoped, steps, actor=actor, now=now, why=why)

    def is_forgotten(self, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Return for each text (content of a fact, `uid` of a turn) whether it has a tombstone."""
        with self._read(scope) as scoped:
            tombstoned = scoped.tombstoned({(kind, text) for kind in _TOMBSTONED for text in texts})
        gone = {text for _, text in tombstoned}
        return [text in gone for text in texts]

    # -- recall --------------------------------------------------------------------------

    @contextmanager
    def view(self, scope: Scope) -> Iterator[None]:
        """See one state of a scope throughout a block: what this thread reads of it in there.

        Reads that follow each other are faster so, too. This thread writes nothing in the block,
        and reads no other scope.
        """
        before = getattr(self._views, "seen", None)
        with self._read(scope) as scoped:
            self._views.seen = (scope, scoped)
            try:
                yield
            finally:
                self._views.seen = before

    def find(
        self,
        scope: Scope,
        words: Sequence[str],
        *,
        limit: int = 500,
        most_words: int = MOST_WORDS,
        facts_only: bool = False,
    ) -> WordOccurrences:
        """Find items by words.

        A fact is found by its `fact_words`, a turn by its `turn_words`; see
        `facts.recall.ranking`.

        Args:
            scope: The scope.
            words: Words of the question from `index_words`, each once, the rarest first.
            limit: Most items that words find: those with the rarest words, of equally rare ones the
                newest.
            most_words: Words that are looked up at most: those that the fewest items have.
            facts_only: Words find facts, and no turns: if `limit` are stored at most, all that have
                any of them.
        """
        with self._read(scope) as scoped:
            facts = scoped.row.fact if facts_only else None
            return scoped.index.find(words, limit, most_words, facts=facts)

    def items(self, scope: Scope, numbers: Sequence[int]) -> list[RecallItem]:
        """Return items; unknown numbers are skipped."""
        with self._read(scope) as scoped:
            return read_items(scoped, numbers)

    def neighbours(
        self, scope: Scope, numbers: Sequence[int], reach: int = 2
    ) -> dict[int, list[int]]:
        """Return for each turn the numbers of those within `reach` before and after it."""
        with self._read(scope) as scoped:
            return scoped.index.neighbours(numbers, reach)

    def newest(self, scope: Scope, thread: str, limit: int) -> list[int]:
        """List the numbers of a thread's pieces, the newest first, `limit` at most.

        Without a thread, those of all threads.
        """
        with self._read(scope) as scoped:
            return newest_items(scoped, thread, limit)

    def keep_shown(self, scope: Scope, thread: str, outcome: ShownFacts) -> None:
        """Store the items shown before a message of a thread, and why; the newest are kept."""
        with self._write(scope) as scoped:
            keep_shown(scoped, thread, outcome)

    def shown_facts(self, scope: Scope, thread: str) -> list[ShownFacts]:
        """Return the items shown in a thread and why, newest first. `forget` deletes them all."""
        with self._read(scope) as scoped:
            return list_shown(scoped, thread)

    # -- control -------------------------------------------------------------------------

    def operations(
        self, scope: Scope, *, fact: FactId | None = None, limit: int | None = None
    ) -> list[Operation]:
        """List commits, newest first; of one fact, or of all."""
        with self._read(scope) as scoped:
            return read_operations(scoped, fact=fact, limit=limit)

    def undo(self, scope: Scope, operation: int, *, now: str) -> Operation:
        """Undo the changes of one commit.

        Raises:
            NoSuchOperationError: There is no such commit, or its content was forgotten.
            StaleWriteError: Its changes were changed again since: undo the later change first.
        """
        with self._changing(scope), self._write(scope) as scoped:
            return commits.undo(scoped, operation, now=now)

    def restore(self, scope: Scope, operation: int, *, now: str) -> list[Operation]:
        """Undo every commit after one, newest first; 0 undoes all. See `undo`."""
        with self._changing(scope), self._write(scope) as scoped:
            return commits.restore(scoped, operation, now=now)

    def forget(
        self, scope: Scope, selection: Selection, *, now: str, dry_run: bool = False
    ) -> Receipt:
        """Delete for good: facts, evidence, index, profile text, log of operations, jobs.

        Forgotten content is in no file of the store afterwards (a server's backups, logs and
        replicas follow its operator's rules), and is not learned again from the same messages.
        """
        forgotten: list[FactTexts] = []
        documents = self.documents
        with nullcontext() if documents is None else documents.forgetting(scope, forgotten):
            if dry_run:
                return self._would_forget(scope, selection)
            return self._forget(scope, selection, now, forgotten)

    def forget_owner(self, owner: str, *, now: str, dry_run: bool = False) -> list[Receipt]:
        """Delete everything of each scope of an owner; see `forget`.

        A row with the owner's name remains: other processes may have cached a version of it.
        """
        everything = Selection(everything=True)
        return [
            self.forget(scope, everything, now=now, dry_run=dry_run) for scope in self.scopes(owner)
        ]

    def _would_forget(self, scope: Scope, selection: Selection) -> Receipt:
        with self._read(scope) as scoped:
            return forgetting.receipt(scoped, forgetting.plan(scoped, selection), dry_run=True)

    def _forget(
        self, scope: Scope, selection: Selection, now: str, forgotten: list[FactTexts]
    ) -> Receipt:
        with self._write(scope, erases=True) as scoped:
            planned = forgetting.plan(scoped, selection)
            forgetting.erase(scoped, scope, planned, selection, now=now)
        read_fact.cache_clear()
        forgotten.append(planned.sayings)
        return forgetting.receipt(scoped, planned, left=self._erased())

    def set_mode(self, scope: Scope, thread: str, mode: Mode) -> None:
        """Set what memory does with a thread: `on`, `read_only`, `incognito`, `off`."""
        with self._write(scope) as scoped:
            row = get_or_create_thread(scoped.db, scoped.row, scoped.digests, thread)
            row.mode = mode
            save_thread(scoped.db, scoped.id, thread, row)

    def mode(self, scope: Scope, thread: str) -> Mode:
        """Return what memory does with a thread; `on` by default."""
        return self._thread(scope, thread).mode

    def scopes(self, owner: str) -> list[Scope]:
        """List an owner's scopes."""
        with self._database.reading(owner) as db:
            return scopes_of_owner(db, owner)

    # -- jobs ----------------------------------------------------------------------------

    def note(
        self, scope: Scope, thread: str, *, now: str, debounce_s: float, max_wait_s: float
    ) -> None:
        """Record that a thread has turns to process, once it is quiet or has waited long enough."""
        at = milliseconds(now)
        with self._write(scope) as scoped:
            note_job(scoped, scope, thread, at, debounce_s, max_wait_s)

    def lease(
        self, *, worker: str, now: str | None = None, lease_s: float = jobs.LEASE_S
    ) -> Job | None:
        """Claim a job that is due, or one whose lease expired. Owners take turns.

        Args:
            worker: The name of a process, which no other has.
            now: The time; by default the database's.
            lease_s: Seconds until the job has to be renewed.
        """
        while True:
            with self._database.reading(None) as db:
                if db.row(*self._queue(db, now).pending()) is None:
                    return None
            with self._writing(None) as db:
                queued = self._queue(db, now)
                db.run(*queued.promote())
                row = db.row(*queued.claim(worker, lease_s=lease_s))
            if row is None:
                return None
            claimed = jobs.Job(*row)
            scope, number = thread_of(claimed.key)
            with self._database.reading(scope.owner) as db:
                found = find_scope(db, scope)
                name = thread_names(db, found.id, [number]) if found is not None else {}
            if name.get(number):
                return Job(scope, name[number], claimed)
            with self._writing(None) as db:  # it was forgotten meanwhile
                db.run(*db.jobs.finish(claimed))

    def renew(self, job: Job, *, worker: str, lease_s: float = jobs.LEASE_S) -> None:
        """Renew the lease of a job; a claim that is void is ignored."""
        with self._writing(None) as db:
            db.run(*db.jobs.renew(worker, [job.lease.id], lease_s=lease_s))

    def finish(self, job: Job, *, now: str, retry_s: float | None = None) -> None:
        """Return a job: done if there are no new turns, or due again in `retry_s`.

        A void lease is ignored.
        """
        # The scope's lock orders it with `note`, which may submit the next job of the thread.
        with self._write(job.scope) as scoped:
            finish_job(scoped.db, job.lease, milliseconds(now), retry_s)

    def next_due(self) -> str | None:
        """Return when the next job is due, or its lease expires; `None` if there is none."""
        with self._database.reading(None) as db:
            (due,) = db.row(*db.jobs.next_due())
        return None if due is None else time_of(due)

    def wait_s(self, now: str | None = None) -> float | None:
        """Return the seconds until the next job is due; `None` if there is none.

        Args:
            now: The time; by default the database's.
        """
        with self._database.reading(None) as db:
            (wait_ms,) = db.row(*self._queue(db, now).wait())
        return None if wait_ms is None else max(0.0, wait_ms / 1_000)

    @staticmethod
    def _queue(db: MemoryRows, now: str | None) -> jobs.JobQueue:
        return db.jobs if now is None else db.jobs.at(milliseconds(now))


def reindex(scoped: ScopeTransaction) -> None:
    """Rebuild the index of a scope, in a writing transaction, unless its format is current."""
    if scoped.row.format >= FORMAT:
        _refuse_newer(scoped.row)
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


def _refuse_newer(row: ScopeRow) -> None:
    """Refuse an index that a newer process changed: rows of this version would not be found."""
    refuse_newer_format("memory_scope", "memory", row.format, FORMAT)
