"""The tables of one scope, in one transaction: its row, threads, turns, facts and sections.

The lock on a scope's row makes a writer exclusive. `database.migrations` creates the tables. Texts
are in them unchanged, not compressed: forgotten content can be searched for. Every key begins with
the scope, and every statement names it, except for those on the queue of jobs, which holds no
content.

`memory_fact.item` is the fact's number in the index, 0 if it is not in it. `memory_turn.hidden`
is the operation that hid the turn; 0, or the negative number of the undo, if the turn is shown.
`memory_scope.format` is the version of the words that the scope's facts are indexed under
(`tables.reindex`), `cleared` the operation of the last clear, or the negative number of its
undo. An operation makes the version of the same number: a run that began before a clear captures
turns that the clear hides.

Threads to learn from are jobs of `thalweg.database.jobs`. A job's key has ids alone: the owner and
the agent in hexadecimal, and the number of the thread. Turns that are noted while a thread is
learned from are a job of their own.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Protocol, get_args

from thalweg.database.base import Rows, decode, encode
from thalweg.database.jobs import Job, JobQueue
from thalweg_memory.facts.recall.ranking import RecallItem, fact_words, pieces, turn_words
from thalweg_memory.facts.values import (
    Fact,
    FactId,
    Mode,
    ProfileSection,
    Scope,
    SectionName,
    ShownFacts,
    Statement,
    Status,
)
from thalweg_memory.search.index import FACTS, Index, IndexEntry
from thalweg_memory.store.records import (
    Digests,
    Kind,
    read_fact,
    read_section,
    read_shown,
    read_turn,
    write_fact,
    write_section,
    write_shown,
    write_turn,
)

CONTENT = (
    "memory_thread",
    "memory_turn",
    "memory_fact",
    "memory_section",
    "memory_operation",
    "memory_change",
    "memory_told",
)
"""Tables with content that a user may want forgotten. The index has no words, only keyed digests of
them."""


class MemoryRows(Rows, Protocol):
    """A transaction on the tables of a memory."""

    jobs: JobQueue
    """The threads to learn from, of any owner."""
    bound: str
    """A column for the `SELECT` of a scope's row, which binds the transaction to that scope.

    From there on its reads and writes are that scope's, if the database itself can ensure it.
    """


FORMAT = 4
"""Version of a scope's index and of its words; see `tables.reindex`."""


@dataclass(slots=True)
class ScopeRow:
    """The row of a scope. `save` writes a writer's counters back."""

    id: int = 0
    """0 if there is no row."""
    version: int = 0
    operation: int = 0
    """The highest number of a commit."""
    fact: int = 0
    thread: int = 0
    format: int = 0
    """See `tables.reindex`."""
    cleared: int = 0
    """Operation of the last clear, negative: of its undo; 0 if there was none."""


def find_scope(db: MemoryRows, scope: Scope, then: str = "") -> ScopeRow | None:
    """Return a scope's row, `None` if it was never written to."""
    row = db.row(
        f"SELECT id, version, operation, fact, thread, format, cleared, {db.bound}"  # noqa: S608 (fixed text)
        f" FROM memory_scope WHERE owner = ? AND agent = ?{then}",
        (encode(scope.owner), encode(scope.agent)),
    )
    return None if row is None else ScopeRow(*row[:7])


def get_or_create_scope(db: MemoryRows, scope: Scope) -> ScopeRow:
    """Return a scope's row, created if missing, and be its only writer to the end."""
    while True:
        row = find_scope(db, scope, db.for_update)
        if row is not None:
            return row
        # Where another writer makes it at the same time, this waits for that one to end.
        db.run(
            "INSERT INTO memory_scope (owner, agent, format) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (encode(scope.owner), encode(scope.agent), FORMAT),
        )


def save_scope(db: MemoryRows, row: ScopeRow) -> None:
    """Store the incremented counters."""
    db.run(
        "UPDATE memory_scope SET version = ?, operation = ?, fact = ?, thread = ?, format = ?,"
        " cleared = ? WHERE id = ?",
        (row.version, row.operation, row.fact, row.thread, row.format, row.cleared, row.id),
    )


def scopes_of_owner(db: MemoryRows, owner: str) -> list[Scope]:
    """List the scopes of an owner, oldest first."""
    rows = db.rows("SELECT agent FROM memory_scope WHERE owner = ? ORDER BY id", (encode(owner),))
    return [Scope(owner, decode(agent)) for (agent,) in rows]


@dataclass(slots=True)
class ThreadFactsRow:
    """A thread with the data of its row."""

    number: int = 0
    """0 if there is no row."""
    mode: Mode = "on"
    captured: int = 0
    """Length of its log that was looked at."""
    turns: int = 0
    """`seq` of the next turn."""
    learned: int = 0
    """`seq` of the first turn that was not learned from."""


def find_thread(db: MemoryRows, digests: Digests, name: str) -> ThreadFactsRow:
    """Find a thread."""
    row = db.row(
        "SELECT thread, mode, captured, turns, learned FROM memory_thread"
        " WHERE scope = ? AND digest = ?",
        (digests.scope, digests.of("thread", name)),
    )
    return ThreadFactsRow() if row is None else ThreadFactsRow(*row)


def get_or_create_thread(
    db: MemoryRows, scope: ScopeRow, digests: Digests, name: str
) -> ThreadFactsRow:
    """Return a thread, created if missing; the scope's row is locked."""
    found = find_thread(db, digests, name)
    if found.number:
        return found
    scope.thread += 1
    db.run(
        "INSERT INTO memory_thread (scope, thread, digest, name) VALUES (?, ?, ?, ?)",
        (scope.id, scope.thread, digests.of("thread", name), encode(name)),
    )
    save_scope(db, scope)
    return ThreadFactsRow(scope.thread)


def save_thread(db: MemoryRows, scope: int, name: str, thread: ThreadFactsRow) -> None:
    """Write a thread back to its row, with its name, which `forget` may have taken out."""
    db.run(
        "UPDATE memory_thread SET name = ?, mode = ?, captured = ?, turns = ?, learned = ?"
        " WHERE scope = ? AND thread = ?",
        (
            encode(name),
            thread.mode,
            thread.captured,
            thread.turns,
            thread.learned,
            scope,
            thread.number,
        ),
    )


def thread_names(
    db: MemoryRows, scope: int, numbers: Sequence[int] | None = None
) -> dict[int, str]:
    """Name threads of a scope by number; all by default."""
    select = "SELECT thread, name FROM memory_thread WHERE scope = ?"
    if numbers is None:
        rows = db.rows(select, (scope,))
    else:
        rows = db.rows_by(f"{select} AND thread", numbers, (scope,))
    return {number: decode(name) for number, name in rows}


_INDEXED: frozenset[Status] = frozenset({"active", "superseded"})
"""Superseded facts answer questions about the past."""
_STATUSES: tuple[Status, ...] = get_args(Status)
ENDLESS = 1 << 60
"""The `LIMIT` of a statement that returns all rows."""


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact with the data of its row."""

    number: int
    item: int
    """In the index; 0 if it is not in it."""
    fact: Fact


class ScopeTransaction:
    """One scope in a transaction. Who writes has taken its row with `get_or_create_scope`."""

    def __init__(self, db: MemoryRows, row: ScopeRow, secret: bytes) -> None:
        self.db = db
        self.row = row
        self.id = row.id
        self.digests = Digests(secret, row.id)

    @cached_property
    def index(self) -> Index:
        """The index of the scope."""
        return Index(self.db, self.id, self.digests.secret)

    # -- facts ---------------------------------------------------------------------------

    def kept(self, ids: Iterable[FactId]) -> dict[FactId, FactRow]:
        """Read facts by id."""
        return self._read(
            self.db.rows_by(
                "SELECT fact, item, body FROM memory_fact WHERE scope = ? AND id",
                sorted({encode(id_) for id_ in ids}),
                (self.id,),
            )
        )

    def all_kept(self) -> dict[FactId, FactRow]:
        """Read every fact, oldest first."""
        return self._read(
            self.db.rows(
                "SELECT fact, item, body FROM memory_fact WHERE scope = ? ORDER BY fact", (self.id,)
            )
        )

    def facts(
        self, ids: Sequence[FactId] | None, statuses: Sequence[Status] | None, limit: int | None
    ) -> list[Fact]:
        """See `MemoryStore.facts`."""
        if ids is not None:
            found = self.kept(ids)
        else:
            found = {}
            for status in sorted(set(_STATUSES if statuses is None else statuses)):
                rows = self.db.rows(
                    "SELECT fact, item, body FROM memory_fact WHERE scope = ? AND status = ?"
                    " ORDER BY fact DESC LIMIT ?",
                    (self.id, status, ENDLESS if limit is None else limit),
                )
                found |= self._read(rows)
        in_order = sorted(found.values(), key=lambda kept: kept.number)
        newest = in_order if limit is None else in_order[max(0, len(in_order) - limit) :]
        facts = [kept.fact for kept in newest]
        return [fact for fact in facts if statuses is None or fact.status in statuses]

    def has_more_than(self, most: int) -> bool:
        """See `MemoryStore.has_more_than`."""
        if self.row.fact <= most:
            return False  # no more were ever written: counting would go through all of them
        row = self.db.row(
            "SELECT 1 FROM memory_fact WHERE scope = ? AND status = 'active' LIMIT 1 OFFSET ?",
            (self.id, most),
        )
        return row is not None

    def _read(self, rows: Iterable[tuple[int, int, bytes]]) -> dict[FactId, FactRow]:
        kept = [FactRow(number, item, read_fact(body)) for number, item, body in rows]
        return {each.fact.id: each for each in kept}

    def put(self, fact: Fact, old: FactRow | None) -> None:
        """Write a fact, replacing the one stored under its id."""
        if old is None:
            self.row.fact += 1
            old = FactRow(self.row.fact, 0, fact)
        else:
            self.db.run(
                "DELETE FROM memory_fact WHERE scope = ? AND fact = ?", (self.id, old.number)
            )
        item = self.listed(old, fact)
        row = (self.id, old.number, item, encode(fact.id), fact.status, write_fact(fact))
        self.db.insert("memory_fact", [row])

    def listed(self, old: FactRow, fact: Fact) -> int:
        """See to it that a fact is found by its words, if it is to be found at all."""
        words = fact_words(fact)
        if fact.status not in _INDEXED:
            if old.item:
                self.index.remove({old.item: fact_words(old.fact)})
            return 0
        if not old.item:
            return self.index.add([IndexEntry(words, seq=old.number)])[0]
        before = fact_words(old.fact)
        if before != words:
            self.index.replace(old.item, before, words)
        return old.item

    def drop(self, facts: Sequence[FactRow]) -> None:
        """Take facts out."""
        self.index.remove({old.item: fact_words(old.fact) for old in facts if old.item})
        self.db.run_each(
            "DELETE FROM memory_fact WHERE scope = ? AND fact = ?",
            [(self.id, old.number) for old in facts],
        )

    # -- the profile ---------------------------------------------------------------------

    def sections(self) -> dict[SectionName, ProfileSection]:
        """Read the sections of the profile."""
        rows = self.db.rows("SELECT body FROM memory_section WHERE scope = ?", (self.id,))
        read = [read_section(body) for (body,) in rows]
        return {section.name: section for section in read}

    def write(self, name: SectionName, section: ProfileSection | None) -> None:
        """Write a section, or take it out."""
        self.db.run("DELETE FROM memory_section WHERE scope = ? AND name = ?", (self.id, name))
        if section is not None:
            self.db.insert("memory_section", [(self.id, name, write_section(section))])

    # -- tombstones ----------------------------------------------------------------------

    def tombstoned(self, texts: Collection[tuple[Kind, str]]) -> set[tuple[Kind, str]]:
        """Return the texts that have a tombstone."""
        digests = {each: self.digests.tombstones_of(*each) for each in texts}
        rows = self.db.rows_by(
            "SELECT digest FROM memory_tombstone WHERE scope = ? AND digest",
            sorted(set(chain.from_iterable(digests.values()))),
            (self.id,),
        )
        gone = {bytes(digest) for (digest,) in rows}
        return {each for each, made in digests.items() if not gone.isdisjoint(made)}


# -- turns: stored verbatim, each message once, read by their numbers in the index -------------

_MOST_SHOWN = 50
"""Number of messages of a thread for which the memory shown there is stored."""


def with_uid(turn: Statement, thread: str) -> Statement:
    """Return a turn with an id; one derived from the message if it has none of its own.

    Example:
        >>> from thalweg_memory.facts.values import Trust
        >>> turn = Statement("t", 0, "user", "hello", "2026-03-01T10:00:00Z", Trust.USER)
        >>> with_uid(turn, "t").uid == with_uid(turn, "t").uid != with_uid(turn, "u").uid
        True
    """
    if turn.uid:
        return turn
    place = str(turn.position) if turn.position >= 0 else turn.said_at
    identity = repr((thread, place, turn.role, turn.text))
    return replace(turn, uid=f"digest:{hashlib.sha256(encode(identity)).hexdigest()[:32]}")


def capture_turns(
    scoped: ScopeTransaction,
    name: str,
    turns: Sequence[Statement],
    upto: int | None,
    begun: int | None,
) -> int:
    """See `MemoryStore.capture`."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name)
    named = [with_uid(turn, name) for turn in turns]
    by_uid: dict[str, Statement] = {}
    for turn in named:
        by_uid.setdefault(turn.uid, turn)
    tombstoned = {uid for _, uid in scoped.tombstoned({("uid", uid) for uid in by_uid})}
    new = _unknown(scoped, thread.number, by_uid.keys()) - tombstoned
    (hidden,) = scoped.db.row(
        "SELECT MAX(hidden) FROM memory_turn WHERE scope = ? AND thread = ? AND seq = ?",
        (scoped.id, thread.number, thread.turns - 1),
    )
    fresh: list[Statement] = []
    is_forgotten, hidden = hidden is None and thread.turns > 0, hidden or 0
    for turn in by_uid.values():  # the answer to a forgotten turn is not stored
        is_answer = turn.role == "assistant"
        is_forgotten = is_forgotten if is_answer else turn.uid in tombstoned
        if turn.uid in new and not (is_forgotten and is_answer):
            fresh.append(turn)
    numbered = list(enumerate(fresh, thread.turns))
    is_cleared = begun is not None and begun < scoped.row.cleared
    rows: list[tuple[int | bytes, ...]] = []
    for seq, turn in numbered:
        # an answer is hidden with the turn before it
        hidden = max(hidden, 0) if turn.role == "assistant" else 0
        hidden = scoped.row.cleared if is_cleared else hidden
        uid = scoped.digests.of("uid", turn.uid)
        rows.append((scoped.id, thread.number, seq, uid, write_turn(turn), hidden))
    scoped.db.insert("memory_turn", rows)
    index_turns(scoped, [(thread.number, seq, turn) for seq, turn in numbered])
    thread.turns += len(fresh)
    thread.captured = max(thread.captured, upto or 0)
    save_thread(scoped.db, scoped.id, name, thread)
    return len(fresh)


def index_turns(scoped: ScopeTransaction, turns: Iterable[tuple[int, int, Statement]]) -> None:
    """Enter the pieces of turns, each with its thread's number and its `seq`, into the index."""
    cut = [(*turn, *piece) for turn in turns for piece in pieces(turn[2].text)]
    if cut:
        scoped.index.add(
            [
                IndexEntry(turn_words(turn, start, stop), thread, seq, start, stop)
                for thread, seq, turn, start, stop in cut
            ]
        )


def _unknown(scoped: ScopeTransaction, thread: int, uids: Collection[str]) -> set[str]:
    """Return the ids that are not in the thread."""
    digests = {scoped.digests.of("uid", uid): uid for uid in uids}
    rows = scoped.db.rows_by(
        "SELECT uid FROM memory_turn WHERE scope = ? AND thread = ? AND uid",
        sorted(digests),
        (scoped.id, thread),
    )
    there = {digests[bytes(digest)] for (digest,) in rows}
    return set(uids) - there


def read_turns(
    scoped: ScopeTransaction, name: str, first: int, last: int | None
) -> list[Statement]:
    """See `MemoryStore.turns`."""
    thread = find_thread(scoped.db, scoped.digests, name)
    rows = scoped.db.rows(
        "SELECT seq, body FROM memory_turn"
        " WHERE scope = ? AND thread = ? AND seq BETWEEN ? AND ? AND hidden <= 0 ORDER BY seq",
        (scoped.id, thread.number, first, ENDLESS if last is None else last),
    )
    return [read_turn(name, seq, body) for seq, body in rows]


def all_turns(scoped: ScopeTransaction) -> list[tuple[int, int, Statement]]:
    """Read every turn of a scope, hidden ones included, with its thread's number and its `seq`."""
    names = thread_names(scoped.db, scoped.id)
    rows = scoped.db.rows(
        "SELECT thread, seq, body FROM memory_turn WHERE scope = ? ORDER BY thread, seq",
        (scoped.id,),
    )
    return [(thread, seq, read_turn(names[thread], seq, body)) for thread, seq, body in rows]


def keep_shown(scoped: ScopeTransaction, name: str, outcome: ShownFacts) -> None:
    """See `MemoryStore.keep_shown`."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name).number
    (newest,) = scoped.db.row(
        "SELECT COALESCE(MAX(place), 0) FROM memory_told WHERE scope = ? AND thread = ?",
        (scoped.id, thread),
    )
    place = newest + 1
    scoped.db.insert("memory_told", [(scoped.id, thread, place, write_shown(outcome))])
    scoped.db.run(
        "DELETE FROM memory_told WHERE scope = ? AND thread = ? AND place <= ?",
        (scoped.id, thread, place - _MOST_SHOWN),
    )


def list_shown(scoped: ScopeTransaction, name: str) -> list[ShownFacts]:
    """See `MemoryStore.shown_facts`."""
    thread = find_thread(scoped.db, scoped.digests, name).number
    rows = scoped.db.rows(
        "SELECT body FROM memory_told WHERE scope = ? AND thread = ? ORDER BY place DESC",
        (scoped.id, thread),
    )
    return [read_shown(body) for (body,) in rows]


def forget_shown(scoped: ScopeTransaction) -> None:
    """Delete all of it: forgotten content may have been shown anywhere."""
    scoped.db.run("DELETE FROM memory_told WHERE scope = ?", (scoped.id,))


def items(scoped: ScopeTransaction, numbers: Sequence[int]) -> list[RecallItem]:
    """Return items in the order of their numbers; see `MemoryStore.items`."""
    requested = [*dict.fromkeys(numbers)]
    found = _turns(scoped, requested)
    if len(found) < len(requested):
        found |= _facts(scoped, [number for number in requested if number not in found])
    return [found[number] for number in requested if number in found]


def newest(scoped: ScopeTransaction, thread: str, limit: int) -> list[int]:
    """List the newest pieces of a thread, or of all; see `MemoryStore.newest`."""
    if not thread:
        rows = scoped.db.rows(
            "SELECT number FROM memory_item WHERE scope = ? AND thread <> ?"
            " ORDER BY number DESC LIMIT ?",
            (scoped.id, FACTS, limit),
        )
        return [found for (found,) in rows]
    number = find_thread(scoped.db, scoped.digests, thread).number
    rows = scoped.db.rows(
        "SELECT number FROM memory_item WHERE scope = ? AND thread = ?"
        " ORDER BY seq DESC, place DESC LIMIT ?",
        (scoped.id, number, limit),
    )
    return [found for (found,) in rows] if number else []


def _turns(scoped: ScopeTransaction, numbers: Sequence[int]) -> dict[int, RecallItem]:
    rows = [
        *scoped.db.rows_by(
            "SELECT i.number, i.thread, i.seq, i.start, i.stop, t.body"
            " FROM memory_item i JOIN memory_turn t"
            " ON t.scope = i.scope AND t.thread = i.thread AND t.seq = i.seq"
            " AND t.hidden <= 0 WHERE i.scope = ? AND i.number",
            numbers,
            (scoped.id,),
        )
    ]
    names = thread_names(scoped.db, scoped.id, [*{thread for _, thread, *_ in rows}])
    read: dict[tuple[int, int], Statement] = {}
    found: dict[int, RecallItem] = {}
    for number, thread, seq, start, stop, body in rows:
        turn = read.get((thread, seq))
        if turn is None:
            turn = read[thread, seq] = read_turn(names[thread], seq, body)
        found[number] = RecallItem(number, turn=turn, start=start, end=None if stop < 0 else stop)
    return found


def _facts(scoped: ScopeTransaction, numbers: Sequence[int]) -> dict[int, RecallItem]:
    # Not selected by thread: all facts have the same one, and would all be scanned.
    rows = scoped.db.rows_by(
        "SELECT i.number, i.thread, f.body FROM memory_item i JOIN memory_fact f"
        " ON f.scope = i.scope AND f.fact = i.seq WHERE i.scope = ? AND i.number",
        numbers,
        (scoped.id,),
    )
    return {n: RecallItem(n, fact=read_fact(body)) for n, thread, body in rows if thread == FACTS}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE_MS = 60_000


def milliseconds(at: str) -> int:
    """Count the milliseconds of a time since 1970.

    Example:
        >>> milliseconds("1970-01-01T00:00:01Z"), time_of(1_000)
        (1000, '1970-01-01T00:00:01Z')
    """
    read = datetime.fromisoformat(at)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


def time_of(milliseconds: int) -> str:
    """Write a time as memory does."""
    return (_EPOCH + milliseconds * _MILLISECOND).isoformat().replace("+00:00", "Z")


def key_of(scope: Scope, thread: int | None = None) -> str:
    """Return the key of a thread's job; without a thread, the prefix of all keys of the scope."""
    prefix = f"{encode(scope.owner).hex()}.{encode(scope.agent).hex()}."
    return prefix if thread is None else f"{prefix}{thread}."


def thread_of(key: str) -> tuple[Scope, int]:
    """Return the scope and the number of the thread that a key names.

    Example:
        >>> thread_of(key_of(Scope("ada"), 7))[1]
        7
    """
    owner, agent, thread, _ = key.split(".")
    return Scope(decode(bytes.fromhex(owner)), decode(bytes.fromhex(agent))), int(thread)


def note_job(
    scoped: ScopeTransaction,
    scope: Scope,
    name: str,
    now: int,
    debounce_s: float,
    max_wait_s: float,
) -> None:
    """See `MemoryStore.note`. The longest wait is counted from the first note of a job."""
    thread = get_or_create_thread(scoped.db, scoped.row, scoped.digests, name)
    save_thread(scoped.db, scoped.id, name, thread)
    latest = now + round(1_000 * max_wait_s)
    due = min(now + round(1_000 * debounce_s), latest)
    jobs, key = scoped.db.jobs, key_of(scope, thread.number)
    (waiting,) = scoped.db.row(*jobs.waiting(key_of(scope)))
    # Owners take turns: each job that waits already counts as a minute.
    priority = -(now // _MINUTE_MS + waiting)
    submitted = jobs.submit(key, key, due_ms=due, latest_ms=latest, priority=priority)
    scoped.db.run(*submitted)


def finish_job(db: MemoryRows, job: Job, now: int, retry_s: float | None) -> None:
    """See `MemoryStore.finish`."""
    if retry_s is None:
        db.run(*db.jobs.finish(job))
    elif is_live(db, job):
        db.run(*db.jobs.cancel(job.key))
        db.run(*db.jobs.release(job, due_ms=now + round(1_000 * retry_s)))


def is_live(db: MemoryRows, job: Job) -> bool:
    """Return whether a claim is valid, and lock its job for the transaction."""
    text, values = db.jobs.hold(job)
    return db.row(text + db.for_update, values) is not None
