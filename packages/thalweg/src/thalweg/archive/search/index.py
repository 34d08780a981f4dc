"""The index of an archive: filled when a search needs it, read word by word.

The text of a message is split into passages, the pieces that search ranks. Passages of one thread
have consecutive ids in a range of their own, so that a search reads only its own thread's part of
the index, for any number of threads.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thalweg.archive.base import Logged, Span
from thalweg.archive.table_rows import ArchiveRows
from thalweg.database.base import decode, encode
from thalweg.engine.entries import Message, is_harness_command
from thalweg.engine.injections import without_own_blocks
from thalweg.engine.transcript import as_text, speaker
from thalweg.engine.words import words

MAX_CHARS = 600
MAX_LINES = 10
MAX_LINE_CHARS = 1_200
"""A longer line is split, at a space if there is one."""
PASSAGE_BITS = 32
"""Bits of a passage's number in its thread: at most 2**32 passages."""
BATCH_CHARS = 100_000
"""Characters that are indexed in one transaction, about a tenth of a second, so that other writers
are not blocked for long."""
BATCH_PASSAGES = 5_000
"""Passages that are deleted in one transaction."""
MAX_HITS = 800
"""Passages that are read for one word, newest first."""
_PROBES = 64
"""Passages that one statement probes to find the beginning of a message."""
MAX_GROUPS = 6
"""Groups of very common words that are searched for together."""
_SELECT = "SELECT id, position, start, about, speaker, text FROM archive_passage WHERE"


def split_passages(text: str) -> list[tuple[int, str]]:
    """Split a text into passages that add up to it, each with the index of its first character.

    A passage ends at an empty line if it is long enough by itself, else when it is full. It has
    whole lines, or a part of a very long one.

    Example:
        >>> [start for start, _ in split_passages("word " * 500)]
        [0, 1200, 2400]
    """
    pieces: list[tuple[int, str]] = []
    start = end = lines = 0
    for line in _split_lines(text):
        is_full = end - start + len(line) > MAX_CHARS or lines == MAX_LINES
        if lines and (is_full or (not line.strip() and end - start > MAX_CHARS // 2)):
            pieces.append((start, text[start:end]))
            start, lines = end, 0
        end += len(line)
        lines += 1
    return [*pieces, (start, text[start:end])] if lines else pieces


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, split if they are too long."""
    start = 0
    while start < len(text):
        newline = text.find("\n", start, start + MAX_LINE_CHARS)
        stop = newline + 1 if newline >= 0 else min(len(text), start + MAX_LINE_CHARS)
        if newline < 0 and stop < len(text):
            space = text.rfind(" ", start + MAX_LINE_CHARS // 2, stop)
            stop = space + 1 if space >= 0 else stop
        yield text[start:stop]
        start = stop


class PassageRow(NamedTuple):
    """A passage as the index stores it."""

    id: int
    position: int
    start: int
    """Index of its first character in its message; -1: the text about the message."""
    about: int
    """Id of the passage with the text about its message; 0 if there is none."""
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The passages in which the words of a query occur."""

    rows: dict[int, int]
    """By passage id, the words that occur in it: bit i represents word i of the query."""
    counts: tuple[float, ...]
    """For each word, the number of the thread's passages with it, estimated if very many."""
    total: int
    """Passages of the thread."""
    threads: Mapping[int, float] = field(default_factory=dict)
    """Of a search over several threads, by number: the share of the query's words in the thread."""


def add(db: ArchiveRows, thread: int, first: int, position: int, logged: Iterable[Logged]) -> int:
    """Index messages that follow those already indexed.

    Args:
        db: In a transaction.
        thread: The thread's number.
        first: Number of indexed passages of the thread.
        position: Position of the first message.
        logged: The messages, oldest first.

    Returns:
        The new number of indexed passages.
    """
    rows: list[PassageRow] = []
    start = thread << PASSAGE_BITS
    for message_position, logged_message in enumerate(logged, position):
        next_id = start + first + len(rows)
        rows += passages_of(logged_message, message_position, next_id)
    db.insert(
        "archive_passage",
        [(*row[:4], encode(row.speaker), encode(row.text)) for row in rows],
    )
    db.list_words((row.id, words_of(row.speaker, row.text)) for row in rows)
    return first + len(rows)


def passages_of(logged: Logged, position: int, next_id: int) -> list[PassageRow]:
    """Return the passages of a message, under ids from the next one on.

    Commands to a harness and what Thalweg itself put into a message are left out.
    """
    label, whole_text = _speaker_label(logged.message), as_text(logged.message)
    shown_text = "" if is_harness_command(whole_text) else whole_text
    pieces = [(-1, logged.about)] if logged.about else []
    pieces += [
        (piece_start + start, text)
        for piece_start, piece in without_own_blocks(shown_text)
        for start, text in split_passages(piece)
    ]
    about = next_id if logged.about else 0
    return [
        PassageRow(passage, position, start, about, label, text)
        for passage, (start, text) in enumerate(pieces, next_id)
    ]


def _speaker_label(message: Message) -> str:
    label = speaker(message)
    name = message.calls[0].name if message.calls else message.name
    return label if label.endswith(name) else f"{label} {name}"


def written_by(label: str) -> str:
    """Return who wrote a passage, `user` or `assistant`, by its label; empty for any other.

    Example:
        >>> [written_by(label) for label in ("user ada", "user (injected)", "assistant Bash")]
        ['user', '', '']
    """
    role, _, name = label.partition(" ")
    is_person = role == "user" and not name.startswith("(injected)")
    return role if is_person or label == "assistant" else ""


def words_of(speaker_label: str, text: str) -> str:
    """Return the words of a passage for the index, with its speaker's name."""
    _, _, name = speaker_label.partition(" ")
    return " ".join(dict.fromkeys(words(f"{name}\n{text}")))


def last_batch(db: ArchiveRows, thread: int) -> tuple[int, int]:
    """Return the start of the newest messages that are removed from the index in one batch.

    Returns:
        The first of their positions, and the number of passages before it.
    """
    start, _ = _id_range(thread)
    (last,) = db.row(
        "SELECT COALESCE(MAX(id), ?) FROM archive_passage WHERE id >= ? AND id < ?",
        (start, *_id_range(thread)),
    )
    if last - start < BATCH_PASSAGES:
        return 0, 0
    (position,) = db.row(
        "SELECT position FROM archive_passage WHERE id = ?", (last - BATCH_PASSAGES,)
    )
    return position, _first_id_at(db, start, last, position) - start


def remove(db: ArchiveRows, thread: int, first: int) -> None:
    """Remove a thread's passages from the index, from the `first` one on."""
    start, end = _id_range(thread)
    db.unlist_words(start + first, end)
    db.run("DELETE FROM archive_passage WHERE id >= ? AND id < ?", (start + first, end))


def _id_range(thread: int) -> tuple[int, int]:
    return thread << PASSAGE_BITS, (thread + 1) << PASSAGE_BITS


def find(
    db: ArchiveRows,
    thread: int,
    total: int,
    query: Sequence[str],
    within: Sequence[Span] | None,
) -> Hits:
    """Return the passages that contain words of a query.

    A word that occurs in more than `MAX_HITS` passages is searched for only in the newest of
    them; so that an old passage with several such words is found all the same, they are searched
    for together, too.
    """
    rows: dict[int, int] = {}
    counts: list[float] = []
    ranges = _id_ranges(db, thread, total, within)
    for bit, word in enumerate(query):
        row_ids = _matching_ids(db, [word], ranges)
        counts.append(_estimate(row_ids, ranges))
        for row in row_ids:
            rows[row] = rows.get(row, 0) | 1 << bit
    common = [bit for bit, count in enumerate(counts) if count >= MAX_HITS]
    pairs = [
        (first_bit, second_bit)
        for i, first_bit in enumerate(common)
        for second_bit in common[i + 1 :]
    ]
    groups: list[Sequence[int]] = [common, *pairs] if pairs else []
    for group in groups[:MAX_GROUPS]:
        mask = sum(1 << bit for bit in group)
        for row in _matching_ids(db, [query[bit] for bit in group], ranges):
            rows[row] = rows.get(row, 0) | mask
    return Hits(rows, tuple(counts), total)


def _matching_ids(
    db: ArchiveRows, words: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> list[int]:
    """Return the passages with all of some words, newest first."""
    found: list[int] = []
    for first, end in reversed(ranges):
        found += db.listed_under(words, first, end, MAX_HITS - len(found))
        if len(found) >= MAX_HITS:
            break
    return found


def _estimate(ids: Sequence[int], ranges: Sequence[tuple[int, int]]) -> float:
    if len(ids) < MAX_HITS:
        return len(ids)
    seen = sum(end - max(first, ids[-1]) for first, end in ranges if end > ids[-1])
    return len(ids) * max(1.0, sum(end - first for first, end in ranges) / max(1, seen))


def _id_ranges(
    db: ArchiveRows, thread: int, total: int, within: Sequence[Span] | None
) -> list[tuple[int, int]]:
    first = thread << PASSAGE_BITS
    if within is None:
        return [(first, first + total)]
    ranges: list[tuple[int, int]] = []
    for span in sorted(within, key=lambda span: span.first):
        start = _first_id_at(db, first, first + total, span.first)
        end = _first_id_at(db, first, first + total, span.last + 1)
        start = max(start, ranges[-1][1]) if ranges else start
        if start < end:
            ranges.append((start, end))
    return ranges


def _first_id_at(db: ArchiveRows, low: int, high: int, position: int) -> int:
    """Return the id of a message's first passage: ids ascend with positions, so narrow down."""
    while low < high:
        step = max(1, (high - low) // _PROBES)
        earlier_ids = [
            row
            for row, row_position in db.rows_by(
                "SELECT id, position FROM archive_passage WHERE id", range(low, high, step)
            )
            if row_position < position
        ]
        if not earlier_ids:
            return low
        low, high = max(earlier_ids) + 1, min(high, max(earlier_ids) + step)
    return low


def rows_of(db: ArchiveRows, ids: Iterable[int]) -> dict[int, PassageRow]:
    """Return passages by id; ids that do not exist are skipped."""
    return {row[0]: _row(*row) for row in db.rows_by(f"{_SELECT} id", sorted(ids))}


def rows_between(db: ArchiveRows, first: int, end: int) -> list[PassageRow]:
    """Return passages by a range of ids, `end` excluded."""
    return [_row(*row) for row in db.rows(f"{_SELECT} id >= ? AND id < ?", (first, end))]


def _row(
    row: int, position: int, start: int, about: int, speaker_bytes: bytes, text: bytes
) -> PassageRow:
    return PassageRow(row, position, start, about, decode(speaker_bytes), decode(text))
