"""The messages and the turns of a thread."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.archive.threads.branch import ThreadBranch, read_line
from thalweg.archive.threads.journal import TurnRecord, ancestry, page_at, read_pages
from thalweg.engine.entries import Message
from thalweg.engine.pricing.usage import Usage


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """One message of a log."""

    position: int
    message: Message
    is_abandoned: bool = False
    """Whether a rewind, or an edit of the agent's state, abandoned it."""


def history(
    archive: Archive, key: ThreadKey, turn: int | None = None, *, abandoned: bool = False
) -> list[LoggedMessage]:
    """Return the messages of a thread in order, verbatim.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turn: As of this turn; by default as it is now.
        abandoned: Whether abandoned messages are included.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    line = line_at(archive, key, turn)
    there = _whole(archive, key) if abandoned else line
    return _logged(archive, key, there, line)


def newest_messages(
    archive: Archive,
    key: ThreadKey,
    limit: int,
    *,
    before: int | None = None,
    abandoned: bool = False,
) -> tuple[list[LoggedMessage], bool]:
    """Return only the newest messages of a thread, in order.

    Args:
        archive: The archive of the thread.
        key: The thread.
        limit: How many at most.
        before: Only messages before this position.
        abandoned: Whether abandoned messages are included.

    Returns:
        The messages, and whether there are older ones.
    """
    line = line_at(archive, key)
    there = _whole(archive, key) if abandoned else line
    there = there if before is None else there.before(before)
    positions = [*there]
    messages = _logged(archive, key, ThreadBranch.of(positions[-limit:]), line)
    return messages, len(positions) > limit


def _logged(
    archive: Archive, key: ThreadKey, there: ThreadBranch, line: ThreadBranch
) -> list[LoggedMessage]:
    return [
        LoggedMessage(position, message, position not in line)
        for position, message in read_line(archive, key, there)
    ]


def line_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> ThreadBranch:
    """Return the visible positions of a thread; all of the log, if it has no journal.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    if turn is None and not archive.turn_count(key):
        return _whole(archive, key)
    return page_at(archive, key, turn)[1].line


def _whole(archive: Archive, key: ThreadKey) -> ThreadBranch:
    length = archive.length(key)
    return ThreadBranch((Span(0, length - 1),)) if length else ThreadBranch()


@dataclass(frozen=True, slots=True)
class Taken:
    """One turn, and its outcome."""

    number: int
    page: TurnRecord
    """Its journal record: kind, time, model, tokens, limit, edits, cost of compaction."""
    usage: Usage | None
    """The reported usage; `None` if there is none, or the turn is no call."""
    is_current: bool
    """Whether its request is part of the current branch; a rewind abandons turns."""
    answer: LoggedMessage | None = None
    """The message that answered it; `None` if there is none, or the turn is no call."""


def turns(archive: Archive, key: ThreadKey) -> list[Taken]:
    """Return the turns of a thread, oldest first."""
    pages = read_pages(archive, key)
    way = set(ancestry(pages, len(pages) - 1))
    line = pages[len(pages) - 1].line if pages else ThreadBranch()
    answers = {
        number: LoggedMessage(position, archive.messages(key, position, position)[0])
        for number, position in _answers(pages)
    }
    return [
        Taken(
            number,
            page,
            answers[number].message.usage if number in answers else None,
            number in way or _is_within(page.line, line),
            answers.get(number),
        )
        for number, page in pages.items()
    ]


def _is_within(line: ThreadBranch, whole: ThreadBranch) -> bool:
    return all(
        any(w.first <= span.first and span.last <= w.last for w in whole.spans)
        for span in line.spans
    )


def _answers(pages: Mapping[int, TurnRecord]) -> Iterator[tuple[int, int]]:
    """Yield, for each answered model call, its number and the position of the answer."""
    answered: set[int] = set()
    for page in pages.values():
        parent = page.parent
        if parent is None or parent in answered or pages[parent].kind != "call":
            continue
        came = page.line.after(pages[parent].line.last)
        if came.spans:
            answered.add(parent)
            yield parent, came.spans[0].first
