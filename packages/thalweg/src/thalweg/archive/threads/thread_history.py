"""The messages and the turns of a thread."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.archive.threads.journal import (
    ThreadBranch,
    TurnRecord,
    ancestry,
    call_at,
    page_at,
    read_branch,
    read_journal,
    turn_before,
)
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
        turn: As of the request of this turn; by default as it is now.
        abandoned: Whether abandoned messages are included.

    Raises:
        ArchiveError: The thread has no such turn.
    """
    branch = branch_at(archive, key) if turn is None else call_at(archive, key, turn)[1].line
    shown_branch = _whole_log(archive, key) if abandoned else branch
    return _logged(archive, key, shown_branch, branch)


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
    branch = branch_at(archive, key)
    shown_branch = _whole_log(archive, key) if abandoned else branch
    shown_branch = shown_branch if before is None else shown_branch.before(before)
    positions = [*shown_branch]
    messages = _logged(archive, key, ThreadBranch.of(positions[-limit:]), branch)
    return messages, len(positions) > limit


def _logged(
    archive: Archive, key: ThreadKey, shown_branch: ThreadBranch, branch: ThreadBranch
) -> list[LoggedMessage]:
    return [
        LoggedMessage(position, message, position not in branch)
        for position, message in read_branch(archive, key, shown_branch)
    ]


def branch_at(archive: Archive, key: ThreadKey, record: int | None = None) -> ThreadBranch:
    """Return the visible positions of a thread; all of the log, if it has no journal.

    Args:
        archive: The archive of the thread.
        key: The thread.
        record: As of this record of the journal; by default as it is now.

    Raises:
        ArchiveError: The journal has no such record.
    """
    if record is None and not archive.turn_count(key):
        return _whole_log(archive, key)
    return page_at(archive, key, record)[1].line


def _whole_log(archive: Archive, key: ThreadKey) -> ThreadBranch:
    length = archive.length(key)
    return ThreadBranch((Span(0, length - 1),)) if length else ThreadBranch()


@dataclass(frozen=True, slots=True)
class Taken:
    """One turn, or another record of the journal, and its outcome."""

    record: int
    """Its place in the journal."""
    page: TurnRecord
    """Its journal record: kind, time, model, tokens, limit, edits, cost of compaction."""
    usage: Usage | None
    """The reported usage; `None` if there is none, or the record is no turn."""
    is_current: bool
    """Whether its request is part of the current branch; a rewind abandons turns."""
    answer: LoggedMessage | None = None
    """The message that answered it; `None` if there is none, or the record is no turn."""
    is_cut: bool = False
    """Whether it is a turn without an answer that its provider did not refuse: its run is under
    way, was cancelled, or ended with its process."""
    before: int | None = None
    """Number of the turn from which it continues; `None` if it continues from none."""

    @property
    def turn(self) -> int | None:
        """Number of the turn; `None` of a record that is none."""
        return self.page.turns if self.page.kind == "call" else None


def turns(archive: Archive, key: ThreadKey) -> list[Taken]:
    """Return the turns of a thread and the other records of its journal, oldest first."""
    pages = read_journal(archive, key)
    ancestors = set(ancestry(pages, len(pages) - 1))
    branch = pages[len(pages) - 1].line if pages else ThreadBranch()
    answers = {
        number: LoggedMessage(position, archive.messages(key, position, position)[0])
        for number, position in _answers(pages)
    }
    ended = {
        page.parent for page in pages.values() if page.kind in {"call", "end"} and not page.is_cut
    }
    return [
        Taken(
            number,
            page,
            answers[number].message.usage if number in answers else None,
            number in ancestors or _is_within(page.line, branch),
            answers.get(number),
            page.kind == "call" and number not in answers and number not in ended,
            turn_before(pages, number),
        )
        for number, page in pages.items()
    ]


def _is_within(branch: ThreadBranch, whole: ThreadBranch) -> bool:
    return all(
        any(
            whole_span.first <= span.first and span.last <= whole_span.last
            for whole_span in whole.spans
        )
        for span in branch.spans
    )


def _answers(pages: Mapping[int, TurnRecord]) -> Iterator[tuple[int, int]]:
    """Yield, for each answered model call, its number and the position of the answer."""
    answered: set[int] = set()
    for page in pages.values():
        parent = page.parent
        if parent is None or parent in answered or pages[parent].kind != "call":
            continue
        later_positions = page.line.after(pages[parent].line.last)
        if later_positions.spans:
            answered.add(parent)
            yield parent, later_positions.spans[0].first
