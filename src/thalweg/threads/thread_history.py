"""What was said in a thread, and the turns that were taken in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.entries import Message, Usage
from thalweg.threads.contexts import page_at
from thalweg.threads.journal import Page, ancestry, read_pages
from thalweg.threads.line import Line, read_line


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a log."""

    position: int
    message: Message
    is_abandoned: bool = False
    """Whether a rewind, or an edit of the agent's state, left it behind."""


def history(
    archive: Archive, key: ThreadKey, turn: int | None = None, *, abandoned: bool = False
) -> list[Said]:
    """Read the messages of a thread in order, word for word.

    Args:
        archive: Where the thread is.
        key: The thread.
        turn: As it was at this turn; as it is now when it is not given.
        abandoned: Whether messages that were left behind are told, too.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    line = line_at(archive, key, turn)
    there = _whole(archive, key) if abandoned else line
    return [
        Said(position, message, position not in line)
        for position, message in read_line(archive, key, there)
    ]


def newest_said(
    archive: Archive,
    key: ThreadKey,
    limit: int,
    *,
    before: int | None = None,
    abandoned: bool = False,
) -> tuple[list[Said], bool]:
    """Read the newest messages of a thread as it is now, in order, and no others.

    Args:
        archive: Where the thread is.
        key: The thread.
        limit: How many at most.
        before: Stay before this position.
        abandoned: Whether messages that were left behind are told, too.

    Returns:
        The messages, and whether there are older ones.
    """
    line = line_at(archive, key)
    there = _whole(archive, key) if abandoned else line
    there = there if before is None else there.before(before)
    positions = [*there]
    said = [
        Said(position, message, position not in line)
        for position, message in read_line(archive, key, Line.of(positions[-limit:]))
    ]
    return said, len(positions) > limit


def line_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> Line:
    """Tell which positions of the log are the thread; all, where nobody kept a journal.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    if turn is None and not archive.turn_count(key):
        return _whole(archive, key)
    return page_at(archive, key, turn)[1].line


def _whole(archive: Archive, key: ThreadKey) -> Line:
    length = archive.length(key)
    return Line((Span(0, length - 1),)) if length else Line()


@dataclass(frozen=True, slots=True)
class Taken:
    """One turn, with what is known of it since."""

    number: int
    page: Page
    """What the journal says: kind, time, model, tokens, limit, edits, what compaction spent."""
    usage: Usage | None
    """What the provider reported for it; `None` where it did not, or the turn is no call."""
    is_current: bool
    """Whether what it saw is still the thread; others were left behind by a rewind."""
    answer: Said | None = None
    """The message that answered it; `None` where none did, or the turn is no call."""


def turns(archive: Archive, key: ThreadKey) -> list[Taken]:
    """List the turns of a thread, oldest first."""
    pages = read_pages(archive, key)
    way = set(ancestry(pages, len(pages) - 1))
    line = pages[len(pages) - 1].line if pages else Line()
    answers = {
        number: Said(position, archive.messages(key, position, position)[0])
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


def _is_within(line: Line, whole: Line) -> bool:
    return all(
        any(w.first <= span.first and span.last <= w.last for w in whole.spans)
        for span in line.spans
    )


def _answers(pages: Mapping[int, Page]) -> Iterator[tuple[int, int]]:
    """Find, for each model call that was answered, where the answer stands in the log."""
    answered: set[int] = set()
    for page in pages.values():
        asked = page.parent
        if asked is None or asked in answered or pages[asked].kind != "call":
            continue
        came = page.line.after(pages[asked].line.last)
        if came.spans:
            answered.add(asked)
            yield asked, came.spans[0].first
