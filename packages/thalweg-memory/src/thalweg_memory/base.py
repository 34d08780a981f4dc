"""The interface of a store of memories, its clock and ids.

Callers use `thalweg_memory.handle.Memory` on top of it.
"""

import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, Self

from thalweg_memory.facts.recall.found import RecallItem, WordOccurrences
from thalweg_memory.facts.values import (
    Change,
    Fact,
    FactId,
    Mode,
    Profile,
    Scope,
    ShownFacts,
    Statement,
    Status,
)

Clock = Callable[[], str]
"""Returns the time: aware UTC in ISO 8601, to the second."""


def utc_now() -> str:
    """Return the current time in memory's format."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_fact_id() -> FactId:
    """Make an id for a fact."""
    return FactId(f"fact-{uuid.uuid4().hex[:12]}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One commit, in the form for people."""

    id: int
    """Ascending in its scope."""
    at: str
    actor: str
    """`user`, `import`, `agent`, `learned:MODEL`, `undo`."""
    why: str
    changes: tuple[Change, ...]
    """The changes that it made. Empty if it was forgotten."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How far a thread was learned from; committed with the facts learned."""

    thread: str
    expected: int
    """Turns of the thread that had been learned from before."""
    upto: int
    """Turns that have been now."""


@dataclass(frozen=True, slots=True)
class LearningSchedule:
    """When a thread with new turns is learned from."""

    now: str
    debounce_s: float
    """Seconds that it must be quiet."""
    max_wait_s: float
    """Seconds after the first new turn that it waits at most."""


@dataclass(frozen=True, slots=True)
class Job:
    """A thread with turns that were not learned from, leased to one worker."""

    scope: Scope
    thread: str
    lease: str
    """The token that the worker passes to commit and to finish: void once the lease has expired."""
    attempt: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to forget; everything that any of them names."""

    facts: tuple[FactId, ...] = ()
    threads: tuple[str, ...] = ()
    """All turns of these threads, and facts learned from nothing else."""
    uids: tuple[str, ...] = ()
    """Turns, and facts learned from nothing else."""
    words: str = ""
    """Facts of every status and turns, hidden ones included, that have each word of it."""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` did, or would do. Holds no content."""

    facts: tuple[FactId, ...]
    turns: int
    sections: int
    operations: int
    """Operations whose content was taken out."""
    reopened: tuple[FactId, ...]
    """Facts that only a forgotten one had superseded: they hold again."""
    hashes: tuple[str, ...]
    """Tombstones: keyed digests that keep the same from being learned again."""
    remaining: tuple[tuple[str, int], ...] = ()
    """Threads and positions in their logs of the same text, which memory does not delete."""
    left: tuple[str, ...] = ()
    """Places where its bytes may remain, in words for people; empty if they are in no file.

    A file that could not be erased yet is erased with a later write or when it is opened.
    """
    alike: tuple[str, ...] = ()
    """Ids of facts and names of profile sections that stay and hold half of a forgotten fact's
    words or more: they may tell the same."""
    dry_run: bool = False


class MemoryStore(Protocol):
    """The memories of all scopes, in one database.

    Calls block; each is atomic and durable when it returns. A scope that was never written to
    is empty. Safe to share between threads of one process, and between processes. `now` is
    aware UTC in ISO 8601 everywhere: the caller has the clock.
    """

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
        ...

    def captured(self, scope: Scope, thread: str) -> int:
        """Return the length up to which the thread's log was read."""
        ...

    def turns(
        self, scope: Scope, thread: str, first: int = 0, last: int | None = None
    ) -> list[Statement]:
        """Return turns of a thread by `seq`, `last` included, without hidden ones."""
        ...

    def learned(self, scope: Scope, thread: str) -> int:
        """Count the turns of a thread that were learned from."""
        ...

    # -- facts and profile ---------------------------------------------------------------

    def version(self, scope: Scope) -> int:
        """Number the states of a scope: every commit and every `forget` raises it."""
        ...

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
        ...

    def has_more_than(self, scope: Scope, most: int) -> bool:
        """Return whether more than `most` facts are active."""
        ...

    def profile(self, scope: Scope) -> Profile:
        """Read the profile."""
        ...

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
        """Change a memory, all or nothing, and log it.

        A fact with a tombstone is skipped, unless the user adds it again manually. `None` is
        returned if there was nothing to do; `learned` is stored in any case.

        If `user` drops or rewords a fact, its source turns are hidden, and it is removed from the
        profile: hidden turns are excluded from recall and extraction until the commit is undone.

        Raises:
            StaleWriteError: The scope's version is not `expected`, another worker processed the
                thread, or the lease is void: read again and plan again.
        """
        ...

    def is_forgotten(self, scope: Scope, texts: Sequence[str]) -> list[bool]:
        """Return for each text (content of a fact, `uid` of a turn) whether it has a tombstone."""
        ...

    # -- recall --------------------------------------------------------------------------

    def view(self, scope: Scope) -> AbstractContextManager[None]:
        """See one state of a scope throughout a block: what this thread reads of it in there.

        Reads that follow each other are faster so, too. This thread writes nothing in the block,
        and reads no other scope.
        """
        ...

    def vector(self, text: str) -> bytes:
        """Return the vector of a question for `find`; empty if the store has no vectors."""
        ...

    def find(
        self,
        scope: Scope,
        words: Sequence[str],
        *,
        vector: bytes = b"",
        limit: int = 500,
        most_words: int = 64,
    ) -> WordOccurrences:
        """Find items by words, and by a vector if there are any.

        A fact is found by its `fact_words`, a turn by its `turn_words`; see
        `memory.facts.recall.found`.

        Args:
            scope: The scope.
            words: Words of the question from `index_words`, each once, the rarest first.
            vector: Of the question: float32, little endian, of length 1; empty for none.
            limit: Approximate number of items to return.
            most_words: Words that are looked up at most: those that the fewest items have.
        """
        ...

    def items(self, scope: Scope, numbers: Sequence[int]) -> list[RecallItem]:
        """Return items; unknown numbers are skipped."""
        ...

    def neighbours(
        self, scope: Scope, numbers: Sequence[int], reach: int = 2
    ) -> dict[int, list[int]]:
        """Return for each turn the numbers of those within `reach` before and after it."""
        ...

    def newest(self, scope: Scope, thread: str, limit: int) -> list[int]:
        """List the numbers of a thread's pieces, the newest first, `limit` at most.

        Without a thread, those of all threads.
        """
        ...

    def keep_shown(self, scope: Scope, thread: str, outcome: ShownFacts) -> None:
        """Store the items shown before a message of a thread, and why; the newest are kept."""
        ...

    def shown_facts(self, scope: Scope, thread: str) -> list[ShownFacts]:
        """Return the items shown in a thread and why, newest first. `forget` deletes them all."""
        ...

    # -- control -------------------------------------------------------------------------

    def operations(
        self, scope: Scope, *, fact: FactId | None = None, limit: int | None = None
    ) -> list[Operation]:
        """List commits, newest first; of one fact, or of all."""
        ...

    def undo(self, scope: Scope, operation: int, *, now: str) -> Operation:
        """Undo the changes of one commit.

        Raises:
            NoSuchOperationError: There is no such commit, or its content was forgotten.
            StaleWriteError: Its changes were changed again since: undo the later change first.
        """
        ...

    def restore(self, scope: Scope, operation: int, *, now: str) -> list[Operation]:
        """Undo every commit after one, newest first; 0 undoes all. See `undo`."""
        ...

    def forget(
        self, scope: Scope, selection: Selection, *, now: str, dry_run: bool = False
    ) -> Receipt:
        """Delete for good: facts, evidence, index, profile text, log of operations, jobs.

        Forgotten content is in no file of the store afterwards (a server's backups, logs and
        replicas follow its operator's rules), and is not learned again from the same messages.
        """
        ...

    def set_mode(self, scope: Scope, thread: str, mode: Mode) -> None:
        """Set what memory does with a thread: `on`, `read_only`, `incognito`, `off`."""
        ...

    def mode(self, scope: Scope, thread: str) -> Mode:
        """Return what memory does with a thread; `on` by default."""
        ...

    def scopes(self, owner: str) -> list[Scope]:
        """List an owner's scopes."""
        ...

    # -- jobs ----------------------------------------------------------------------------

    def note(
        self, scope: Scope, thread: str, *, now: str, debounce_s: float, max_wait_s: float
    ) -> None:
        """Record that a thread has turns to process, once it is quiet or has waited long enough."""
        ...

    def lease(self, *, now: str, lease_s: float, worker: str) -> Job | None:
        """Take a job that is due, the longest waiting first, or one whose lease ran out."""
        ...

    def finish(self, job: Job, *, now: str, retry_s: float | None = None) -> None:
        """Return a job: done if there are no new turns, or due again in `retry_s`.

        A void lease is ignored.
        """
        ...

    def next_due(self) -> str | None:
        """Return when the next job is due; `None` if there is none."""
        ...

    def close(self) -> None:
        """Release the resources that the store holds open. Closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        ...
