"""The archive: an append-only log per thread in SQL tables, and all ways to read it.

Two rules: a compaction never deletes or rewrites a message; a reference is returned only after its
messages are durable.
"""

import hashlib
import logging
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain
from threading import Event, Lock, Thread
from typing import Self

from thalweg.archive import search as searching
from thalweg.archive.base import (
    Extent,
    Handle,
    Logged,
    Passage,
    Reading,
    Span,
    ThreadKey,
    ThreadPassage,
    TurnRow,
)
from thalweg.archive.handles import make_handle
from thalweg.archive.reading import read_numbered, read_piece
from thalweg.archive.table_rows import (
    MAX_POSITION,
    THREAD_TABLES,
    ArchiveRows,
    add_blob_references,
    attachment_blob,
    attachment_digest,
    bindable_handle,
    find_thread,
    get_or_create_thread,
    index_progress,
    insert_messages,
    logged_messages,
    resolve_handle,
    stored_messages,
    uid_key,
    unpack,
)
from thalweg.database.base import Database, decode, encode, read_secret
from thalweg.engine.entries import Message
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text, as_transcript
from thalweg.errors import ArchiveError, ConflictError, HandleError, RangeError

INDEXED_AT_ONCE = 128
"""Most messages that a search which does not wait indexes itself."""
PAUSE_S = 0.05
"""Seconds between two batches in the background: SQLite's lock goes to whoever waits for it."""
_log = logging.getLogger("thalweg.archive")
_NEWEST_STATES = (
    "SELECT thread, (SELECT state FROM archive_turn WHERE thread = id ORDER BY turn DESC LIMIT 1)"
    " FROM archive_thread WHERE owner = ? AND id BETWEEN ? AND ? ORDER BY id"
)


class Archive(ABC):
    """The log of every thread.

    Calls block; each is atomic and durable when it returns. A key that was never written to
    is an empty thread. Safe to share between threads of one process, and between processes.

    Databases differ only in the word index and in how space is freed. A transaction that changes a
    thread locks its row until the end.
    """

    outlives_process: bool = True
    """Whether appended messages can be read after the process has ended."""
    is_read_only: bool
    """Whether the archive cannot be written, such as a backup: no search indexes it."""

    def __init__(
        self, database: Database[ArchiveRows], secret: bytes | None, *, version: int
    ) -> None:
        self._database, self.is_read_only = database, database.is_read_only
        self._indexing: dict[ThreadKey, Thread] = {}
        self._deleting: set[ThreadKey] = set()
        self._indexing_lock, self._closing = Lock(), Event()
        try:
            self._secret = read_secret(database, "archive", secret, version=version)
        except BaseException:
            database.close()
            raise

    @cached_property
    def identity(self) -> str:
        """Letters and digits unique to this archive; the same whenever it is opened."""
        return hashlib.sha256(b"identity" + self._secret).hexdigest()[:16]

    def close(self) -> None:
        """Release connections and files, after a batch that is being indexed.

        Closing twice is safe.
        """
        self._closing.set()
        with self._indexing_lock:
            threads = list(self._indexing.values())
        for thread in threads:
            thread.join()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the archive."""
        self.close()

    def close_when_collected(self) -> None:
        """Release connections and files when nothing refers to this archive any more."""
        self._database.close_with(self)

    def append(
        self,
        key: ThreadKey,
        messages: Sequence[Logged],
        *,
        expected: int | None = None,
        generation: int = 0,
    ) -> int:
        """Append to the log, all or nothing.

        Args:
            key: The thread.
            messages: Oldest first.
            expected: Length of the log the writer has seen; `None` appends to any.
            generation: As for `add_turn`.

        Returns:
            The new length of the log.

        Raises:
            ConflictError: The log is not `expected` long, or of another generation.
        """
        stored = stored_messages(messages)
        with self._database.writing(key.owner) as db:
            thread, length = (
                get_or_create_thread(db, key) if stored else find_thread(db, key, db.for_update)
            )
            is_other_generation = generation not in {0, thread}
            if is_other_generation or (expected is not None and expected != length):
                raise ConflictError(key.thread, expected or 0, 0 if is_other_generation else length)
            if thread is None:
                return length
            insert_messages(db, thread, length, stored)
        return length + len(stored)

    def extent(self, key: ThreadKey) -> Extent:
        """Return the generation of a thread, and the sizes of its log and of its journal."""
        with self._database.reading(key.owner) as db:
            thread, length = find_thread(db, key)
            return Extent() if thread is None else Extent(thread, length, _turn_count(db, thread))

    def length(self, key: ThreadKey) -> int:
        """Return the number of messages in the log."""
        return self.extent(key).length

    def messages(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[Message]:
        """Return messages, equal to the appended ones (except for origins), `last` included."""
        with self._database.reading(key.owner) as db:
            thread, length = find_thread(db, key)
            if thread is None:
                return []
            last_position = length - 1 if last is None else last
            return [
                logged.message for logged in logged_messages(db, thread, Span(first, last_position))
            ]

    def errors(self, key: ThreadKey) -> list[tuple[int, Logged]]:
        """Return the results that are errors, as they were appended, with their positions."""
        with self._database.reading(key.owner) as db:
            thread, _ = find_thread(db, key)
            if thread is None:
                return []
            statement = "SELECT position FROM archive_log WHERE thread = ? AND body LIKE ?"
            rows = db.rows(f"{statement} ORDER BY position", (thread, '%"is_error":true%'))
            positions = [int(position) for (position,) in rows]
            return [(k, next(logged_messages(db, thread, Span(k, k)))) for k in positions]

    def positions(self, key: ThreadKey, uids: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the positions of messages by their ids (`Message.uid`).

        Returns:
            The positions of each id that is in the log, ascending. An empty id is ignored.
        """
        uid_by_key = {uid_key(uid): uid for uid in uids if uid}
        positions_by_uid: dict[str, list[int]] = {}
        with self._database.reading(key.owner) as db:
            thread, _ = find_thread(db, key)
            if thread is None or not uid_by_key:
                return {}
            rows = db.rows_by(
                f"SELECT uid, position FROM archive_log WHERE thread = {thread} AND uid",  # noqa: S608 (a number)
                sorted(uid_by_key),
            )
            for uid, position in rows:
                positions_by_uid.setdefault(uid_by_key[bytes(uid)], []).append(int(position))
        return {uid: tuple(sorted(positions)) for uid, positions in positions_by_uid.items()}

    def add_turn(
        self,
        key: ThreadKey,
        turn: TurnRow,
        *,
        length: int,
        log: Sequence[Logged] = (),
        generation: int = 0,
        expected: int | None = None,
    ) -> int:
        """Append a record to the thread's journal, and messages to its log, all or nothing.

        Args:
            key: The thread.
            turn: The record.
            length: Length of the log that the writer has seen.
            log: Messages to append, oldest first; the record was decided on these, too.
            generation: Generation of the thread that the writer has seen; 0 for any.
            expected: Records of the journal that the writer has seen; `None` appends to any.

        Returns:
            The record's place in the journal, from 0.

        Raises:
            ConflictError: The log is not `length` long any more, the journal does not have
                `expected` records, or the thread was deleted.
        """
        body, stored = zlib.compress(turn.body.encode(), 3), stored_messages(log)
        with self._database.writing(key.owner) as db:
            thread, current_length = get_or_create_thread(db, key)
            if current_length != length or generation not in {0, thread}:
                raise ConflictError(key.thread, length, current_length)
            number = _turn_count(db, thread)
            if expected not in {None, number}:
                raise ConflictError(key.thread, length, current_length)
            insert_messages(db, thread, length, stored)
            add_blob_references(db, thread, [*map(attachment_blob, turn.attachments)])
            db.insert("archive_turn", [(thread, number, body, turn.state)])
        return number

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """Return the bodies of records of the journal, `last` included."""
        last_position = MAX_POSITION if last is None else last
        with self._database.reading(key.owner) as db:
            rows = db.rows(
                "SELECT body FROM archive_turn WHERE thread = ? AND turn BETWEEN ? AND ?"
                " ORDER BY turn",
                (find_thread(db, key)[0], first, last_position),
            )
            return [unpack(body, packed=True) for (body,) in rows]

    def turn_count(self, key: ThreadKey) -> int:
        """Return the number of records in the journal."""
        return self.extent(key).turns

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """Return the state of one record of the journal; empty if it has none."""
        with self._database.reading(key.owner) as db:
            row = db.row(
                "SELECT state FROM archive_turn WHERE thread = ? AND turn = ?",
                (find_thread(db, key)[0], turn),
            )
        return b"" if row is None else bytes(row[0])

    def newest_states(self, owner: str) -> dict[str, bytes]:
        """Return the state of the newest record of each thread of an owner, by name."""
        with self._database.reading(owner) as db:
            threads = sorted(_indexed_threads(db, owner))
            groups = searching.readable_groups(db, threads) if threads else ()
            spans = ((encode(owner), group[0], group[-1]) for group in groups)
            rows = chain.from_iterable(db.rows(_NEWEST_STATES, span) for span in spans)
            return {decode(name): bytes(state or b"") for name, state in rows}

    def attach(self, key: ThreadKey, *texts: str) -> list[str]:
        """Store texts that belong to a thread and are in no message (a system prompt), together.

        Returns:
            The SHA-256 of each as 64 hex digits; the same text is stored once.
        """
        blobs = [attachment_blob(text) for text in texts]
        with self._database.writing(key.owner) as db:
            thread, _ = get_or_create_thread(db, key)
            add_blob_references(db, thread, blobs)
        return [blob.hash.hex() for blob in blobs]

    def attachment(self, key: ThreadKey, digest: str) -> str:
        """Return a text that was attached to this thread.

        Raises:
            HandleError: There is no such text.
        """
        with self._database.reading(key.owner) as db:
            row = db.row(
                "SELECT data, packed FROM archive_blob JOIN archive_holding USING (hash)"
                " WHERE thread = ? AND hash = ?",
                (find_thread(db, key)[0], attachment_digest(digest)),
            )
        if row is None:
            raise HandleError(digest)
        return unpack(row[0], packed=bool(row[1]))

    def add_summary(self, key: ThreadKey, source: str, text: str) -> bool:
        """Store a model's summary of some messages of a thread, until the thread is deleted.

        Args:
            key: The thread.
            source: A digest of those messages, as hex digits. The first text of a source is kept.
            text: The summary.

        Returns:
            Whether the thread exists: one that was deleted in the meantime is not created again.
        """
        body = zlib.compress(encode(text), 3)
        with self._database.writing(key.owner) as db:
            thread, _ = find_thread(db, key, db.for_update)
            if thread is None:
                return False
            db.run(
                "INSERT INTO archive_summary (thread, source, body) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (thread, bytes.fromhex(source), body),
            )
        return True

    def summary(self, key: ThreadKey, source: str) -> str:
        """Return the text stored by `add_summary`; empty if there is none."""
        with self._database.reading(key.owner) as db:
            row = db.row(
                "SELECT body FROM archive_summary WHERE thread = ? AND source = ?",
                (find_thread(db, key)[0], bytes.fromhex(source)),
            )
        return "" if row is None else unpack(row[0], packed=True)

    def handle(self, key: ThreadKey, span: Span) -> Handle:
        """Return a durable reference to a span, which protects it from pruning.

        The same span of the same thread always has the same reference in one archive.

        Raises:
            RangeError: The span is not in the log.
        """
        handle = make_handle(self._secret, key, span)
        with self._database.writing(key.owner) as db:
            thread, length = find_thread(db, key, db.for_update)
            if thread is None or not 0 <= span.first <= span.last < length:
                requested = f"messages {span.first}-{span.last}"
                raise RangeError(requested, f"the thread has {length} messages, counted from 0")
            db.run(
                "INSERT INTO archive_handle (thread, handle, first, last) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (thread, handle) DO UPDATE SET held = 1",
                (thread, handle, span.first, span.last),
            )
        return handle

    def handles(self, key: ThreadKey) -> dict[Handle, Span]:
        """Return the references that are held."""
        with self._database.reading(key.owner) as db:
            rows = db.rows(
                "SELECT handle, first, last FROM archive_handle WHERE thread = ? AND held = 1"
                " ORDER BY first, last",
                (find_thread(db, key)[0],),
            )
            return {Handle(handle): Span(first, last) for handle, first, last in rows}

    def release(self, key: ThreadKey, handles: Sequence[Handle]) -> None:
        """Release references that no live view shows any more. Others are ignored."""
        with self._database.writing(key.owner) as db:
            thread, _ = find_thread(db, key, db.for_update)
            if thread is None:
                return
            db.run_each(
                "UPDATE archive_handle SET held = 0 WHERE thread = ? AND handle = ?",
                [(thread, bindable_handle(handle)) for handle in handles],
            )

    def span(self, key: ThreadKey, handle: str) -> Span:
        """Resolve a reference (`HANDLE`, `HANDLE#position` or `HANDLE#first-last`).

        Raises:
            HandleError: It refers to nothing in this thread of this owner.
        """
        with self._database.reading(key.owner) as db:
            return resolve_handle(db, key, handle)[1]

    def read(
        self,
        key: ThreadKey,
        handle: str,
        *,
        lines: tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
        path: str = "",
        max_chars: int = 8_000,
    ) -> Reading:
        """Return the text of a reference, bounded.

        A span of one message reads as that message's text, to the byte; a longer one as a
        transcript (`transcript.as_transcript`). A transcript longer than `max_chars` without a
        requested range is replaced by an outline (`transcript.as_outline`), as many lines as fit;
        only the messages shown are fetched.

        Args:
            key: The thread.
            handle: `HANDLE`, `HANDLE#position` or `HANDLE#first-last`.
            lines: First and last line, from 1, both included.
            chars: Start and end character, from 0, end excluded.
            path: A JSONPath (RFC 9535) into a text that is JSON; selects the text to return.
            max_chars: Most characters to return; `Reading.next` states how to continue.

        Raises:
            HandleError: The reference does not exist here.
            RangeError: Two kinds of range at once, a range outside the text, a path that is
                invalid or matches nothing, or a text that is not JSON.
        """
        with self._database.reading(key.owner) as db:
            thread, span = resolve_handle(db, key, handle)
            logged = (entry.message for entry in logged_messages(db, thread, span))
            if span.first < span.last and lines is None and chars is None and not path:
                numbered = enumerate(logged, span.first)
                return read_numbered(handle, span, numbered, max_chars=max_chars)
            messages = list(logged)
        whole = as_text(messages[0]) if len(messages) == 1 else as_transcript(messages, span.first)
        return read_piece(handle, whole, lines=lines, chars=chars, path=path, max_chars=max_chars)

    def search(
        self,
        key: ThreadKey,
        query: str,
        *,
        within: Sequence[Span] | None = None,
        max_tokens: int = 2_000,
        wait: bool = True,
    ) -> list[Passage]:
        """Return passages that match words (any language), best first, within a token budget.

        Args:
            key: The thread.
            query: A question or some words; it has no syntax.
            within: Search only in these spans; `None` means the whole log.
            max_tokens: Bound on `render_passages` of the result.
            wait: Index new messages first, all of them; otherwise, and in a read-only archive, the
                newest of those that `unindexed` returns are searched by the beginnings of words,
                in bounded time.
        """
        if wait or self.unindexed(key) is None:
            self._index_new_messages(key)
        with self._database.reading(key.owner) as db:
            thread, _ = find_thread(db, key)
            if thread is None:
                return []
            question, count = searching.ask(query), exact_counter()
            return searching.search_thread(
                db, thread, question, within, max_tokens=max_tokens, count=count
            )

    def unindexed(self, key: ThreadKey) -> Span | None:
        """Return the messages without an index; `None` if each search indexes them: they are few.

        See `INDEXED_AT_ONCE`. A search of a read-only archive indexes none.
        """
        indexed_at_once = 0 if self.is_read_only else INDEXED_AT_ONCE
        with self._database.reading(key.owner) as db:
            progress, (_, length) = index_progress(db, key), find_thread(db, key)
        if progress is None or length - progress[1] <= indexed_at_once:
            return None
        return Span(progress[1], length - 1)

    def index_soon(self, key: ThreadKey) -> None:
        """Index the new messages of a thread in the background, in batches, until `close`."""
        worker = Thread(
            target=self._index_in_background, args=(key,), name="thalweg-index", daemon=True
        )
        with self._indexing_lock:
            if not self._closing.is_set() and key not in self._indexing:
                try:
                    worker.start()
                except RuntimeError as error:  # too many threads, or the interpreter ends
                    _log.debug("thread %r is not indexed yet: %s", key.thread, error)
                else:
                    self._indexing[key] = worker

    def _index_in_background(self, key: ThreadKey) -> None:
        try:
            while self._index_batch(key) and not self._closing.wait(PAUSE_S):
                pass
        except Exception as error:  # noqa: BLE001 (nobody waits for it; a search indexes the rest)
            _log.debug("thread %r is not indexed yet: %s", key.thread, error)
        finally:
            with self._indexing_lock:
                del self._indexing[key]

    def search_threads(
        self,
        owner: str,
        query: str | Sequence[str],
        *,
        threads: Collection[str] | None = None,
        max_tokens: int = 2_000,
        exchanges: bool = False,
    ) -> list[ThreadPassage]:
        """Return passages in the threads of an owner, best first, within a token budget.

        In a read-only archive, messages without an index are not searched.

        Args:
            owner: Owner of the threads.
            query: A question or some words; it has no syntax. With several phrasings the hits
                of each are fused by their ranks; without `exchanges` they are one query.
            threads: Search only in these; `None` means all.
            max_tokens: Bound on `render_passages` of the result.
            exchanges: Return hits of different exchanges, the first with passages around each.
        """
        queries = [query] if isinstance(query, str) else query
        questions = [searching.ask(one) for one in (queries if exchanges else [" ".join(queries)])]
        self.update_index(owner, threads)
        with self._database.reading(owner) as db:
            indexed = _indexed_threads(db, owner)
            searched = {
                number: (name, passages)
                for number, (name, passages) in indexed.items()
                if threads is None or name in threads
            }
            return searching.search_threads(
                db,
                searched,
                questions,
                max_tokens=max_tokens,
                count=exact_counter(),
                exchanges=exchanges,
                others=indexed.keys() - searched.keys(),
            )

    def find_threads(self, owner: str, query: str) -> list[ThreadPassage]:
        """Return the threads that have some words, best first, each with its best passage.

        A thread is left out if others have much more of the words; words that occur in many threads
        count little. In a read-only archive, messages without an index are not searched.

        Args:
            owner: Owner of the threads.
            query: A question or some words; it has no syntax.
        """
        self.update_index(owner)
        with self._database.reading(owner) as db:
            return searching.find_threads(db, _indexed_threads(db, owner), searching.ask(query))

    def update_index(self, owner: str, threads: Collection[str] | None = None) -> None:
        """Index the messages appended since the last search; otherwise the next search does so.

        A read-only archive is not changed.

        Args:
            owner: Owner of the threads.
            threads: Index only these; `None` means all.
        """
        for thread in self._unindexed_threads(owner, threads):
            self._index_new_messages(ThreadKey(owner, thread))

    def _unindexed_threads(self, owner: str, threads: Collection[str] | None) -> list[str]:
        with self._database.reading(owner) as db:
            rows = db.rows(
                "SELECT thread FROM archive_thread WHERE owner = ? AND indexed < length",
                (encode(owner),),
            )
            unindexed = [decode(thread) for (thread,) in rows]
        return unindexed if threads is None else [name for name in unindexed if name in threads]

    def threads(self, owner: str) -> list[str]:
        """Return an owner's threads, oldest first."""
        with self._database.reading(owner) as db:
            rows = db.rows(
                "SELECT thread FROM archive_thread WHERE owner = ? ORDER BY id",
                (encode(owner),),
            )
            return [decode(thread) for (thread,) in rows]

    def delete(self, key: ThreadKey) -> None:
        """Delete a thread: log, references, index. Its blobs are deleted by `prune`."""
        # The index is deleted first, in batches: deleting it takes as long as building it.
        self._deleting.add(key)
        try:
            while self._unindex_batch(key):
                pass
            with self._database.writing(key.owner) as db:
                thread, _ = find_thread(db, key, db.for_update)
                if thread is None:
                    return
                searching.remove(db, thread, 0)
                db.drop_thread(thread, *THREAD_TABLES)
        finally:
            self._deleting.discard(key)

    @abstractmethod
    def prune(self) -> int:
        """Delete blobs that no log refers to and release the space.

        Returns:
            Bytes freed.
        """

    @abstractmethod
    def erase(self) -> str:
        """Overwrite deleted content in the files of the archive; writers wait meanwhile.

        Returns:
            The data that may remain and its place, in one line without content; empty if none.
        """

    def _index_new_messages(self, key: ThreadKey) -> None:
        """Index the messages appended since the last search, in batches."""
        while self._index_batch(key):
            pass

    def _index_batch(self, key: ThreadKey) -> bool:
        with self._database.reading(key.owner) as db:
            if self.is_read_only or key in self._deleting or index_progress(db, key) is None:
                return False
        with self._database.writing(key.owner) as db:
            find_thread(db, key, db.for_update)
            progress = index_progress(db, key)
            if progress is None:
                return False
            thread, indexed, passages = progress
            batch: list[Logged] = []
            chars = 0
            for logged in logged_messages(db, thread, Span(indexed, MAX_POSITION)):
                batch.append(logged)
                chars += len(logged.message.text)
                if chars > searching.BATCH_CHARS:
                    break
            passages = searching.add(db, thread, passages, indexed, batch)
            db.run(
                "UPDATE archive_thread SET indexed = ?, passages = ? WHERE id = ?",
                (indexed + len(batch), passages, thread),
            )
        return True

    def _unindex_batch(self, key: ThreadKey) -> bool:
        with self._database.writing(key.owner) as db:
            thread, _ = find_thread(db, key, db.for_update)
            if thread is None:
                return False
            first, passages = searching.last_batch(db, thread)
            searching.remove(db, thread, passages)
            db.run(
                "UPDATE archive_thread SET indexed = ?, passages = ? WHERE id = ?",
                (first, passages, thread),
            )
        return passages > 0


def _indexed_threads(db: ArchiveRows, owner: str) -> dict[int, tuple[str, int]]:
    """Return the threads of an owner by number: the name and the number of indexed passages."""
    statement = "SELECT id, thread, passages FROM archive_thread WHERE owner = ?"
    found = db.rows(statement, (encode(owner),))
    return {int(number): (decode(thread), int(passages)) for number, thread, passages in found}


def _turn_count(db: ArchiveRows, thread: int) -> int:
    statement = "SELECT COALESCE(MAX(turn) + 1, 0) FROM archive_turn WHERE thread = ?"
    (number,) = db.row(statement, (thread,))
    return int(number)


def closed_error(place: str) -> ArchiveError:
    """Return the error of a call after `close`."""
    return ArchiveError(f"{place}: the archive is closed; open it again")
