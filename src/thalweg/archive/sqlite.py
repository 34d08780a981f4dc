"""The archive in one SQLite file, for any number of processes on one machine."""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from threading import RLock
from types import TracebackType
from typing import Self

from thalweg.archive import index
from thalweg.archive.base import Handle, Logged, Passage, Reading, Span, ThreadKey, Turn
from thalweg.archive.blobs import Blob, pack, put_together, take_apart, unpack
from thalweg.archive.handles import make_handle, parse_handle
from thalweg.archive.question import ask
from thalweg.archive.ranking import choose, shortlist, surroundings
from thalweg.archive.reading import read_piece, read_span
from thalweg.archive.schema import MEMORY, as_storage_error, connect, prepare
from thalweg.entries import Message
from thalweg.errors import ArchiveError, ConflictError, HandleError, RangeError
from thalweg.tokens import exact_counter
from thalweg.transcript import as_text, as_transcript


class SqliteArchive:
    """The log of every thread, in a SQLite file or in memory.

    One connection, used by one thread of the process at a time; other processes wait for
    each other's writes up to `busy_timeout_s`. See `Archive` for what the methods promise.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        secret: bytes | None = None,
        busy_timeout_s: float = 10.0,
    ) -> None:
        self._path = fspath(path)
        self._lock = RLock()
        self._closed = False
        self._connection = connect(self._path, busy_timeout_s)
        try:
            self._secret = prepare(self._connection, self._path, secret)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def append(
        self, key: ThreadKey, messages: Sequence[Logged], *, expected: int | None = None
    ) -> int:
        """See `Archive.append`."""
        stored = [(take_apart(logged.message), index.encode(logged.about)) for logged in messages]
        with self._write() as db:
            thread, length = self._thread(db, key)
            if expected is not None and expected != length:
                raise ConflictError(key.thread, expected, length)
            if not stored:
                return length
            if thread is None:
                thread = _new_thread(db, key)
            _hold(db, thread, [blob for message, _ in stored for blob in message.blobs])
            db.executemany(
                "INSERT INTO archive_log VALUES (?, ?, ?, ?, ?)",
                [
                    (thread, position, message.body, message.holes, about)
                    for position, (message, about) in enumerate(stored, length)
                ],
            )
        return length + len(stored)

    def length(self, key: ThreadKey) -> int:
        """See `Archive.length`."""
        with self._read() as db:
            return self._thread(db, key)[1]

    def messages(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[Message]:
        """See `Archive.messages`."""
        with self._read() as db:
            thread, length = self._thread(db, key)
            if thread is None:
                return []
            upto = length - 1 if last is None else last
            return [message for message, _ in _logged(db, thread, Span(first, upto))]

    def add_turn(self, key: ThreadKey, turn: Turn, *, length: int) -> int:
        """See `Archive.add_turn`."""
        body = zlib.compress(turn.body.encode(), 3)
        with self._write() as db:
            thread, found = self._thread(db, key)
            if found != length:
                raise ConflictError(key.thread, length, found)
            if thread is None:
                thread = _new_thread(db, key)
            (number,) = db.execute(
                "SELECT COALESCE(MAX(turn) + 1, 0) FROM archive_turn WHERE thread = ?", (thread,)
            ).fetchone()
            db.execute(
                "INSERT INTO archive_turn VALUES (?, ?, ?, ?)", (thread, number, body, turn.state)
            )
        return int(number)

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """See `Archive.turns`."""
        upto = _ENDLESS if last is None else last
        with self._read() as db:
            rows = db.execute(
                "SELECT body FROM archive_turn WHERE thread = ? AND turn BETWEEN ? AND ?"
                " ORDER BY turn",
                (self._thread(db, key)[0], first, upto),
            )
            return [zlib.decompress(body).decode() for (body,) in rows]

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """See `Archive.turn_state`."""
        with self._read() as db:
            row = db.execute(
                "SELECT state FROM archive_turn WHERE thread = ? AND turn = ?",
                (self._thread(db, key)[0], turn),
            ).fetchone()
        return b"" if row is None else bytes(row[0])

    def attach(self, key: ThreadKey, text: str) -> str:
        """See `Archive.attach`."""
        blob = pack(text)
        with self._write() as db:
            thread, _ = self._thread(db, key)
            _hold(db, _new_thread(db, key) if thread is None else thread, [blob])
        return blob.hash.hex()

    def attachment(self, key: ThreadKey, digest: str) -> str:
        """See `Archive.attachment`."""
        with self._read() as db:
            row = db.execute(
                "SELECT data, packed FROM archive_blob JOIN archive_holding USING (hash)"
                " WHERE thread = ? AND hash = ?",
                (self._thread(db, key)[0], _digest(digest)),
            ).fetchone()
        if row is None:
            raise HandleError(digest)
        return unpack(row[0], packed=bool(row[1]))

    def handle(self, key: ThreadKey, span: Span) -> Handle:
        """See `Archive.handle`."""
        handle = make_handle(self._secret, key, span)
        with self._write() as db:
            thread, length = self._thread(db, key)
            if thread is None or not 0 <= span.first <= span.last < length:
                asked = f"messages {span.first}-{span.last}"
                raise RangeError(asked, f"the thread has {length} messages, counted from 0")
            db.execute(
                "INSERT INTO archive_handle (thread, handle, first, last) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET held = 1",
                (thread, handle, span.first, span.last),
            )
        return handle

    def handles(self, key: ThreadKey) -> dict[Handle, Span]:
        """See `Archive.handles`."""
        with self._read() as db:
            rows = db.execute(
                "SELECT handle, first, last FROM archive_handle WHERE thread = ? AND held"
                " ORDER BY first, last",
                (self._thread(db, key)[0],),
            )
            return {Handle(handle): Span(first, last) for handle, first, last in rows}

    def release(self, key: ThreadKey, handles: Sequence[Handle]) -> None:
        """See `Archive.release`. A released handle still resolves until the next `prune`."""
        with self._write() as db:
            thread, _ = self._thread(db, key)
            db.executemany(
                "UPDATE archive_handle SET held = 0 WHERE thread = ? AND handle = ?",
                [(thread, _bindable(handle)) for handle in handles],
            )

    def span(self, key: ThreadKey, handle: str) -> Span:
        """See `Archive.span`."""
        with self._read() as db:
            return self._resolve(db, key, handle)[1]

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
        """See `Archive.read`."""
        with self._read() as db:
            thread, span = self._resolve(db, key, handle)
            logged = (message for message, _ in _logged(db, thread, span))
            if span.first < span.last and lines is None and chars is None and not path:
                return read_span(handle, span, logged, max_chars=max_chars)
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
    ) -> list[Passage]:
        """See `Archive.search`."""
        question = ask(query)
        self._catch_up(key)
        with self._read() as db:
            thread, _ = self._thread(db, key)
            if thread is None or not question.words:
                return []
            (total,) = db.execute(
                "SELECT passages FROM archive_thread WHERE id = ?", (thread,)
            ).fetchone()
            hits = index.find(db, thread, total, question.words, within)
            rows = index.rows_of(db, shortlist(question, hits))
            rows |= index.rows_of(db, surroundings(rows.values(), hits))
        return choose(question, hits, rows, max_tokens, exact_counter(), within=within)

    def threads(self, owner: str) -> list[str]:
        """See `Archive.threads`."""
        with self._read() as db:
            rows = db.execute(
                "SELECT thread FROM archive_thread WHERE owner = ? ORDER BY id",
                (index.encode(owner),),
            )
            return [index.decode(thread) for (thread,) in rows]

    def delete(self, key: ThreadKey) -> None:
        """See `Archive.delete`."""
        # The index goes first, a batch at a time: it is as long to undo as it was to build.
        while self._unindex_batch(key):
            pass
        with self._write() as db:
            thread, _ = self._thread(db, key)
            if thread is None:
                return
            index.remove(db, thread, 0)
            # The thread's row goes first: while it stands, its log cannot be deleted.
            db.execute("DELETE FROM archive_thread WHERE id = ?", (thread,))
            for table in _OF_A_THREAD:
                db.execute(f"DELETE FROM {table} WHERE thread = ?", (thread,))  # noqa: S608 (fixed names)

    def prune(self) -> int:
        """See `Archive.prune`. Handles that were released go, too."""
        unheld = "hash NOT IN (SELECT hash FROM archive_holding)"
        with self._write() as db:
            (freed,) = db.execute(
                f"SELECT COALESCE(SUM(LENGTH(data)), 0) FROM archive_blob WHERE {unheld}"  # noqa: S608 (fixed text)
            ).fetchone()
            db.execute(f"DELETE FROM archive_blob WHERE {unheld}")  # noqa: S608 (fixed text)
            db.execute("DELETE FROM archive_handle WHERE NOT held")
        with self._use() as db:
            db.execute("PRAGMA incremental_vacuum").fetchall()
            if self._path != MEMORY:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return int(freed)

    def close(self) -> None:
        """See `Archive.close`."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _catch_up(self, key: ThreadKey) -> None:
        """Index what was appended since the last search, in batches."""
        while self._index_batch(key):
            pass

    def _index_batch(self, key: ThreadKey) -> bool:
        with self._read() as db:
            if _unindexed(db, key) is None:
                return False
        with self._write() as db:
            state = _unindexed(db, key)
            if state is None:
                return False
            thread, indexed, passages = state
            batch: list[index.Posting] = []
            chars = 0
            for message, about in _logged(db, thread, Span(indexed, _ENDLESS)):
                batch.append(index.Posting(indexed + len(batch), message, about))
                chars += len(message.text)
                if chars > index.BATCH_CHARS:
                    break
            passages = index.add(db, thread, passages, batch)
            db.execute(
                "UPDATE archive_thread SET indexed = ?, passages = ? WHERE id = ?",
                (indexed + len(batch), passages, thread),
            )
        return True

    def _unindex_batch(self, key: ThreadKey) -> bool:
        with self._write() as db:
            thread, _ = self._thread(db, key)
            if thread is None:
                return False
            first, passages = index.last_batch(db, thread)
            index.remove(db, thread, passages)
            db.execute(
                "UPDATE archive_thread SET indexed = ?, passages = ? WHERE id = ?",
                (first, passages, thread),
            )
        return passages > 0

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                problem = f"{self._path}: the archive is closed; open it again"
                raise ArchiveError(problem)
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise as_storage_error(self._path, error) from error

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("BEGIN")

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._use() as db:
            db.execute(begin)
            try:
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @staticmethod
    def _thread(db: sqlite3.Connection, key: ThreadKey) -> tuple[int | None, int]:
        row = db.execute(
            "SELECT id, length FROM archive_thread WHERE owner = ? AND thread = ?",
            (index.encode(key.owner), index.encode(key.thread)),
        ).fetchone()
        return (None, 0) if row is None else (int(row[0]), int(row[1]))

    def _resolve(self, db: sqlite3.Connection, key: ThreadKey, text: str) -> tuple[int, Span]:
        handle, asked = parse_handle(text)
        thread, _ = self._thread(db, key)
        row = db.execute(
            "SELECT first, last FROM archive_handle WHERE thread = ? AND handle = ?",
            (thread, handle),
        ).fetchone()
        if thread is None or row is None:
            raise HandleError(text)
        span = Span(*row)
        if asked is None:
            return thread, span
        if not span.first <= asked.first <= asked.last <= span.last:
            raise HandleError(text)
        return thread, asked


_ENDLESS = 1 << 60
_OF_A_THREAD = ("archive_log", "archive_turn", "archive_holding", "archive_handle")


def _hold(db: sqlite3.Connection, thread: int, blobs: Sequence[Blob]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO archive_blob VALUES (?, ?, ?)",
        [(blob.hash, blob.data, blob.packed) for blob in blobs],
    )
    db.executemany(
        "INSERT OR IGNORE INTO archive_holding VALUES (?, ?)",
        [(thread, blob.hash) for blob in blobs],
    )


def _new_thread(db: sqlite3.Connection, key: ThreadKey) -> int:
    cursor = db.execute(
        "INSERT INTO archive_thread (owner, thread) VALUES (?, ?)",
        (index.encode(key.owner), index.encode(key.thread)),
    )
    return int(cursor.lastrowid or 0)


def _unindexed(db: sqlite3.Connection, key: ThreadKey) -> tuple[int, int, int] | None:
    """Find where the index of a thread ends, or `None` when it is complete."""
    row = db.execute(
        "SELECT id, indexed, passages FROM archive_thread"
        " WHERE owner = ? AND thread = ? AND indexed < length",
        (index.encode(key.owner), index.encode(key.thread)),
    ).fetchone()
    return None if row is None else (int(row[0]), int(row[1]), int(row[2]))


def _logged(db: sqlite3.Connection, thread: int, span: Span) -> Iterator[tuple[Message, str]]:
    """Read messages with what they are about, in order."""

    def fetch(digest: bytes) -> str:
        data, packed = db.execute(
            "SELECT data, packed FROM archive_blob WHERE hash = ?", (digest,)
        ).fetchone()
        return unpack(data, packed=bool(packed))

    rows = db.execute(
        "SELECT body, holes, about FROM archive_log"
        " WHERE thread = ? AND position BETWEEN ? AND ? ORDER BY position",
        (thread, span.first, span.last),
    )
    for body, holes, about in rows:
        yield put_together(body, holes, fetch), index.decode(about)


def _digest(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _bindable(handle: str) -> str:
    return handle if handle.isascii() else ""
