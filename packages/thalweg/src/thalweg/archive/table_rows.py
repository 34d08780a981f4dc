"""Statements on the archive's tables: rows of threads, messages, blobs and references.

A message is logged as one line of JSON in which every large text is empty, and a list of their
positions and hashes; large texts are stored separately and once.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Protocol

from thalweg.archive.base import Logged, Span, ThreadKey
from thalweg.archive.handles import parse_handle
from thalweg.database.base import Rows, decode, encode
from thalweg.engine.entries import Message, Part, message_from_json, message_to_json
from thalweg.errors import HandleError, StorageError

LARGE_CHARS = 2_000
"""Longer texts are stored once, by hash. That changes about six more pages of the database: for a
shorter text, more than it saves."""
_MAX_COMPRESSED_SHARE = 0.9
"""A blob is stored compressed if that is smaller than this share of it."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A large text as it is stored."""

    hash: bytes
    data: bytes
    packed: bool
    """Whether `data` is compressed."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is stored."""

    body: str
    """ASCII JSON, large texts empty."""
    holes: str
    """JSON list of `[part, field, hash]`, or empty."""
    blobs: tuple[Blob, ...] = ()


def pack(text: str) -> Blob:
    """Return the blob of a text.

    Example:
        >>> unpack(pack("a" * 5_000).data, packed=True) == "a" * 5_000
        True
    """
    raw = encode(text)
    packed = zlib.compress(raw, 3)
    is_smaller = len(packed) < len(raw) * _MAX_COMPRESSED_SHARE
    return Blob(hashlib.sha256(raw).digest(), packed if is_smaller else raw, is_smaller)


def unpack(data: bytes, *, packed: bool) -> str:
    """Return the text of a blob.

    Raises:
        StorageError: Its bytes are corrupt.
    """
    try:
        return decode(zlib.decompress(data) if packed else data)
    except (zlib.error, UnicodeDecodeError) as error:
        raise _damaged_error(error) from error


def _damaged_error(error: ValueError | zlib.error) -> StorageError:
    problem = f"a stored text is damaged ({error})"
    return StorageError("the archive", problem, "restore the file from a backup")


def take_apart(message: Message) -> StoredMessage:
    """Return the stored form of a message; `put_together` is the inverse.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> take_apart(Message("user", (Text("hi"),))).holes
        ''
    """
    blobs: list[Blob] = []
    holes: list[tuple[int, str, str]] = []
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        for f in fields(part):
            if len(text := getattr(part, f.name)) > LARGE_CHARS:
                blobs.append(pack(text))
                holes.append((index, f.name, blobs[-1].hash.hex()))
                part = _replace_texts(part, {f.name: ""})  # noqa: PLW2901 (without this text)
        parts.append(part)
    if not holes:
        return StoredMessage(message_to_json(message), "")
    body = message_to_json(replace(message, parts=tuple(parts)))
    return StoredMessage(body, json.dumps(holes, separators=(",", ":")), tuple(blobs))


def _replace_texts(part: Part, texts: dict[str, str]) -> Part:
    return replace(part, **texts)  # type: ignore[arg-type]  # every field of a part is a str


def put_together(body: str, holes: str, fetch: Callable[[bytes], str]) -> Message:
    """Return a message from its stored form.

    Args:
        body: `StoredMessage.body`.
        holes: `StoredMessage.holes`.
        fetch: Returns the text stored under a hash.

    Raises:
        StorageError: The stored form is corrupt.
    """
    try:
        message = message_from_json(body)
    except ValueError as error:
        raise _damaged_error(error) from error
    if not holes:
        return message
    parts = list(message.parts)
    for index, name, digest in json.loads(holes):
        parts[index] = _replace_texts(parts[index], {name: fetch(bytes.fromhex(digest))})
    return replace(message, parts=tuple(parts))


def large_text_hashes(holes: str) -> list[bytes]:
    r"""Return the hashes of the large texts of a stored message.

    Example:
        >>> large_text_hashes('[[0,"text","00ff"]]'), large_text_hashes("")
        ([b'\x00\xff'], [])
    """
    return [bytes.fromhex(digest) for _, _, digest in json.loads(holes)] if holes else []


MAX_POSITION = 1 << 60
_PAGE = 32
"""Messages that one statement reads."""
THREAD_TABLES = (
    "archive_log",
    "archive_turn",
    "archive_holding",
    "archive_handle",
    "archive_summary",
)


class ArchiveRows(Rows, Protocol):
    """A transaction on the tables of an archive."""

    bound: str
    """A column for the `SELECT` of a thread's row: it restricts later statements of the transaction
    to that thread, if the database supports it."""

    def drop_thread(self, thread: int, /, *tables: str) -> None:
        """Delete a thread's row, and its rows in some tables."""
        ...

    def list_words(self, listed: Iterable[tuple[int, str]], /) -> None:
        """Add passages to the word index: each id with its words, separated by spaces."""
        ...

    def unlist_words(self, first: int, end: int, /) -> None:
        """Remove passages from the word index, while their rows still exist; `end` excluded."""
        ...

    def count_listed(self, word: str, first: int, end: int, limit: int, /) -> tuple[int, int]:
        """Count the passages from `first` to before `end` with a word, newest first.

        Returns:
            At most `limit`, and the lowest id that was counted; 0 if none was.
        """
        ...

    def listed_under(
        self,
        words: Sequence[str],
        first: int,
        end: int,
        limit: int,
        /,
        *,
        any_of: Sequence[str] = (),
    ) -> list[int]:
        """Return the passages with all of some words, or forms of them.

        Args:
            words: The words.
            first: The lowest id.
            end: One past the highest.
            limit: Of the result.
            any_of: Further words, of which a passage has one; empty for any passage.

        Returns:
            Ids from `first` to before `end`, at most `limit` of them, the highest first.
        """
        ...


@lru_cache(maxsize=1_024)
def thread_values(key: ThreadKey) -> tuple[bytes, bytes]:
    """Return the values of the columns `owner` and `thread` in a thread's row."""
    return encode(key.owner), encode(key.thread)


def find_thread(db: ArchiveRows, key: ThreadKey, lock: str = "") -> tuple[int | None, int]:
    """Return a thread's number, `None` if it does not exist yet, and the length of its log.

    With `db.for_update` as `lock`, its row is locked until the end of the transaction.
    """
    row = db.row(
        f"SELECT id, length, {db.bound} FROM archive_thread WHERE owner = ? AND thread = ?{lock}",  # noqa: S608 (fixed text)
        thread_values(key),
    )
    return (None, 0) if row is None else (int(row[0]), int(row[1]))


def get_or_create_thread(db: ArchiveRows, key: ThreadKey) -> tuple[int, int]:
    """Return a thread's number and length with its row locked, creating it if necessary."""
    while True:
        thread, length = find_thread(db, key, db.for_update)
        if thread is not None:
            return thread, length
        # If another writer inserts it at the same time, this waits for its transaction.
        db.run(
            "INSERT INTO archive_thread (owner, thread) VALUES (?, ?) ON CONFLICT DO NOTHING",
            thread_values(key),
        )


@lru_cache(maxsize=16)
def attachment_blob(text: str) -> Blob:
    """Return the blob of a text that is attached on every turn: system prompt, tools, prices."""
    return pack(text)


_LogRow = tuple[bytes, StoredMessage, bytes]
"""A message as its row has it: the key of its id, the stored form, additional text for search."""


def stored_messages(messages: Sequence[Logged]) -> list[_LogRow]:
    """Return messages as their rows have them."""
    return [
        (uid_key(logged.message.uid), take_apart(logged.message), encode(logged.about))
        for logged in messages
    ]


def insert_messages(db: ArchiveRows, thread: int, length: int, stored: Sequence[_LogRow]) -> None:
    """Append messages to the log of a thread whose row is locked."""
    if not stored:
        return
    add_blob_references(db, thread, [blob for _, message, _ in stored for blob in message.blobs])
    db.insert(
        "archive_log",
        [
            (thread, position, uid, message.body, message.holes, about)
            for position, (uid, message, about) in enumerate(stored, length)
        ],
    )


def resolve_handle(db: ArchiveRows, key: ThreadKey, text: str) -> tuple[int, Span]:
    """Return the number of a handle's thread, and its span.

    Raises:
        HandleError: It names nothing of this thread.
    """
    handle, requested = parse_handle(text)
    thread, _ = find_thread(db, key)
    row = db.row(
        "SELECT first, last FROM archive_handle WHERE thread = ? AND handle = ?", (thread, handle)
    )
    if thread is None or row is None:
        raise HandleError(text)
    span = Span(*row)
    if requested is None:
        return thread, span
    if not span.first <= requested.first <= requested.last <= span.last:
        raise HandleError(text)
    return thread, requested


def add_blob_references(db: ArchiveRows, thread: int, blobs: Sequence[Blob]) -> None:
    """Store large texts and add a thread's references to them.

    The references are added first: `prune`, which locks out writers, then deletes none of them in
    between. The order is fixed, so that no two writers deadlock.
    """
    if not blobs:
        return
    ordered = sorted({blob.hash: blob for blob in blobs}.items())
    db.run_each(
        "INSERT INTO archive_holding VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(thread, digest) for digest, _ in ordered],
    )
    db.run_each(
        "INSERT INTO archive_blob (hash, data, packed) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(digest, blob.data, int(blob.packed)) for digest, blob in ordered],
    )


def index_progress(db: ArchiveRows, key: ThreadKey) -> tuple[int, int, int] | None:
    """Return the end of the index of a thread, or `None` if the index is complete."""
    row = db.row(
        "SELECT id, indexed, passages FROM archive_thread"
        " WHERE owner = ? AND thread = ? AND indexed < length",
        thread_values(key),
    )
    return None if row is None else (int(row[0]), int(row[1]), int(row[2]))


def logged_messages(db: ArchiveRows, thread: int, span: Span) -> Iterator[Logged]:
    """Yield messages as they were appended, in order, read in pages."""
    first = span.first
    while page := list(
        db.rows(
            "SELECT body, holes, about FROM archive_log"
            " WHERE thread = ? AND position BETWEEN ? AND ? ORDER BY position",
            (thread, first, min(span.last, first + _PAGE - 1)),
        )
    ):
        texts = large_texts(
            db, {digest for _, holes, _ in page for digest in large_text_hashes(holes)}
        )
        for body, holes, about in page:
            yield Logged(put_together(body, holes, texts.__getitem__), decode(about))
        first += len(page)


def large_texts(db: ArchiveRows, digests: set[bytes]) -> dict[bytes, str]:
    """Return large texts by hash."""
    rows = db.rows_by("SELECT hash, data, packed FROM archive_blob WHERE hash", sorted(digests))
    return {digest: unpack(data, packed=bool(packed)) for digest, data, packed in rows}


def uid_key(uid: str) -> bytes:
    """Return a short key of an id of any length; empty if there is no id."""
    return hashlib.sha256(encode(uid)).digest()[:16] if uid else b""


def attachment_digest(text: str) -> bytes:
    """Return the digest of an attachment from its text in hexadecimal; empty for anything else."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def bindable_handle(handle: str) -> str:
    """Return a handle as a value that every database can bind."""
    return handle if handle.isascii() and handle.isalnum() else ""
