"""Open a thread: restore its engine from the journal and the log."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.archive.threads.answers import AnswerLog
from thalweg.archive.threads.branch import ThreadBranch, read_line
from thalweg.archive.threads.journal import BY_HAND, TurnRecord, read_page, read_pages
from thalweg.archive.threads.restoring import restore
from thalweg.archive.threads.session import StateMessage, ThreadSession
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.identity import common, is_same, stored_text
from thalweg.engine.pricing.token_factors import first_calibration
from thalweg.errors import ArchiveError

_log = logging.getLogger("thalweg.threads")
_DAMAGED = "thread %r: %s; it continues from the turn before"
MakeEngine = Callable[[Callable[[int, int], str]], Engine]
"""Creates the engine of a thread; receives the function that names a span."""


def open_session(
    archive: Archive,
    key: ThreadKey,
    mark: int | None,
    messages: Sequence[Message],
    make_engine: MakeEngine,
    by_hand: "ByHand | None" = None,
    *,
    cuts: bool = False,
) -> ThreadSession:
    """Open a thread as a state recorded it.

    A message that a person removed from the state or changed there is removed from the branch (see
    `plan_alignment`); if it was compacted already, the thread continues from before that
    compaction. Manual operations in the archive since then (a rewind, an undone compaction) take
    precedence: state messages that a rewind abandoned are logged, are not in the branch, and may be
    removed from the state.

    Args:
        archive: The archive of the thread.
        key: The thread.
        mark: Place of the last record of the state; `None` for a new one.
        messages: The messages of the state, oldest first.
        make_engine: Creates a new engine.
        by_hand: Manual operations since then; see `left_by_hand`.
        cuts: Whether the thread begins at the start of the state if its first message was removed.

    Raises:
        ConflictError: Another process appended at the same time; open the thread again.
    """
    generation, _ = archive.extent(key)
    number, page = _newest_readable(archive, key, mark)
    held = list(read_line(archive, key, ThreadBranch(page.held)))
    alignment = plan_alignment([message for _, message in held], messages)
    kept = [held[k] for k in alignment.kept]
    dropped = {held[k][0] for k in alignment.dropped}
    if by_hand is not None:
        since = Span(page.length, by_hand.page.length - 1)
        number, page = by_hand.number, by_hand.page
        kept += _logged_already(archive, key, since, messages[len(kept) :])
    if by_hand is None or not by_hand.is_rewound:
        if alignment.is_cleared:
            dropped.update(page.line)
        elif cuts and alignment.first:
            dropped.update(page.line.before(held[alignment.first][0]))
        dropped.difference_update(position for position, _ in kept)
    if number != mark and by_hand is None:  # the row of the state's turn is damaged
        length = archive.length(key)
        kept += _logged_already(archive, key, Span(page.length, length - 1), messages[len(kept) :])
        later = (position for position, _ in kept if position >= page.length)
        page = replace(page, length=length, line=ThreadBranch.of([*page.line, *sorted(later)]))
        dropped = set()
    line = page.line.without(dropped)
    length, root = page.length, None if number is None else page.root

    def name_span(first: int, last: int) -> str:
        session.write()
        return archive.handle(key, Span(first, last))

    answers = AnswerLog.of(archive, key, number)

    def engine_of() -> Engine:
        engine = make_engine(name_span)
        kept = engine.bond_in
        engine.bond_in = lambda at, message: answers.bond(at, message) or kept(at, message)
        return engine

    restored = restore(archive, key, number, page, line, engine_of)
    engine, page = restored.engine, restored.page
    engine.turn = page.calls
    engine.policy.memory.update(page.policy)
    session = ThreadSession(
        archive=archive,
        key=key,
        engine=engine,
        page=page,
        number=restored.number,
        instead_of=None if restored.number == number else number,
        root=root,
        generation=generation,
        length=length,
        line=line,
        answers=answers,
        held=_held(kept, messages),
        calibrations={
            model: replace(first_calibration(model), factor=factor, observations=seen)
            for model, (factor, seen) in page.calibration.items()
        },
    )
    session.carry_over(restored)
    if by_hand is not None and by_hand.is_rewound:
        session.leave_behind(_before_newest_request(messages[len(kept) :]))
    return session


def _newest_readable(
    archive: Archive, key: ThreadKey, number: int | None
) -> tuple[int | None, TurnRecord]:
    """Return the newest turn up to one whose row is not damaged."""
    while number is not None:
        try:
            return number, read_page(archive, key, number)
        except ArchiveError as error:
            _log.warning(_DAMAGED, key.thread, error)
        number = number - 1 if number else None
    return None, _BLANK


def _held(kept: Sequence[tuple[int, Message]], messages: Sequence[Message]) -> list[StateMessage]:
    """Pair positions with the messages of the state; those out of order were added again."""
    newest = accumulate((position for position, _ in kept), max, initial=-1)
    return [
        StateMessage(position, message, is_again=position < last)
        for (position, _), message, last in zip(kept, messages, newest, strict=False)
    ]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Result of comparing a state's former messages with its present ones."""

    kept: tuple[int, ...]
    """Former indices of the messages the state begins with, in its order; all later ones are new.
    """
    dropped: tuple[int, ...]
    """Indices of the others: removed, changed, or after a change and to be logged again."""
    first: int
    """Index of the first that was not removed."""
    is_cleared: bool
    """Whether all were removed: then no older message is in the branch."""


def plan_alignment(held: Sequence[Message], messages: Sequence[Message]) -> Alignment:
    """Compare the former messages of a state with its present ones.

    A missing message was removed. One with the same id and another text was edited: a log does not
    change, so it and the following ones are logged again.


    Example:
        >>> from thalweg.engine.entries import Text
        >>> a, b, c = (Message("user", (Text(t),), uid=t) for t in "abc")
        >>> plan_alignment([a, b, c], [a, c]).dropped
        (1,)
    """
    same = common(held, messages)
    if same == len(held):
        return Alignment(tuple(range(same)), (), 0, is_cleared=False)
    kept = list(range(same))
    uids = [stored_text(message.uid) for message in held]
    places = {uid: k for k, uid in enumerate(uids) if k >= same}
    for message in messages[same:]:
        k = places.get(stored_text(message.uid), -1)
        if k < len(kept) or (kept and k <= kept[-1]) or not is_same(held[k], message):
            break
        kept.append(k)
    dropped = tuple(sorted(set(range(len(held))).difference(kept)))
    there = {stored_text(message.uid) for message in messages}
    survivors = (k for k, uid in enumerate(uids) if uid in there)
    first = next(survivors, len(held))
    return Alignment(tuple(kept), dropped, first, is_cleared=first == len(held))


_BLANK = TurnRecord(kind="call", at=0.0, length=0)


@dataclass(frozen=True, slots=True)
class ByHand:
    """Manual operations on a thread, from which the next run continues."""

    number: int
    """Place of the newest manual record."""
    page: TurnRecord
    is_rewound: bool
    """Whether they include a rewind."""


def left_by_hand(archive: Archive, key: ThreadKey, mark: int | None) -> ByHand | None:
    """Return the manual operations since a state was saved, if they concern that state.

    They do not if a run has continued from them and this state is older: that was chosen later.
    Nor if they concern another branch, from before the checkpoints of the thread were deleted.

    Args:
        archive: The archive of the thread.
        key: The thread.
        mark: Place of the last record of the state; `None` for a new one.
    """
    first = 0 if mark is None else mark + 1
    later = read_pages(archive, key, first)
    done = [number for number, page in later.items() if page.kind in BY_HAND]
    if not done or (
        mark is not None and later[done[-1]].root != _newest_readable(archive, key, mark)[1].root
    ):
        return None
    if _was_continued(later, mark, done[-1]):
        return None
    was_newest = all(page.kind in BY_HAND for n, page in later.items() if n < done[-1])
    if not was_newest and _went_on(later, done[-1]):
        return None
    is_rewound = any(later[number].kind == "rewind" for number in done)
    return ByHand(done[-1], later[done[-1]], is_rewound)


def copied_turn(archive: Archive, key: ThreadKey, messages: Sequence[Message]) -> int | None:
    """Return the turn from which the first run on a copied or imported log continues.

    Args:
        archive: The archive of the thread.
        key: The thread.
        messages: The messages of a state without a checkpoint pointer.

    Returns:
        `None` if the log is no copy, or another run has continued from it.
    """
    count, copied = archive.turn_count(key), -1
    while copied + 1 < count and read_page(archive, key, copied + 1).kind == "import":
        copied += 1
    if copied < 0:
        return None
    first = archive.positions(key, {message.uid for message in messages[:1]})
    length = read_page(archive, key, copied).length
    begun = any(position >= length for places in first.values() for position in places)
    return copied if copied == count - 1 or begun else None


def _was_continued(pages: Mapping[int, TurnRecord], mark: int | None, number: int) -> bool:
    """Return whether a run continued from a state's turn after a manual operation, past it."""
    after = {mark}
    for k, page in pages.items():
        if _origin(page) in after and k != number:
            after.add(k)
    return max((k for k in after if k is not None), default=number) > number


def _went_on(pages: Mapping[int, TurnRecord], number: int) -> bool:
    """Return whether an answered run continued from a turn: its state includes that turn."""
    after = {number}
    for k, page in pages.items():
        if (origin := _origin(page)) not in after:
            continue
        if origin != number and page.line != pages[origin].line:
            return True
        after.add(k)
    return False


def _origin(page: TurnRecord) -> int | None:
    """Return the turn from which a turn was to continue."""
    return page.parent if page.instead_of is None else page.instead_of


def _logged_already(
    archive: Archive, key: ThreadKey, since: Span, new: Sequence[Message]
) -> list[tuple[int, Message]]:
    """Return messages logged by a run that failed before it saved a state."""
    found: list[tuple[int, Message]] = []
    for position, message in read_line(archive, key, ThreadBranch((since,))):
        if len(found) < len(new) and is_same(message, new[len(found)]):
            found.append((position, message))
    return found


def _before_newest_request(new: Sequence[Message]) -> Sequence[Message]:
    """Return the messages up to the last answer before the newest request; empty if none."""
    ran = [k for k, message in enumerate(new) if message.role != "user"]
    requests = [k for k, message in enumerate(new) if message.role == "user"]
    return new[: ran[-1] + 1] if ran and requests and requests[-1] > ran[-1] else ()
