"""Open a thread: restore its engine from the journal and the log."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.archive.threads.answers import AnswerLog
from thalweg.archive.threads.branch import ThreadBranch, read_branch
from thalweg.archive.threads.journal import MANUAL_KINDS, TurnRecord, read_page, read_pages
from thalweg.archive.threads.restoring import restore
from thalweg.archive.threads.session import StateMessage, ThreadSession
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.identity import common_prefix_length, is_same, stored_text
from thalweg.engine.pricing.token_factors import first_calibration
from thalweg.errors import ArchiveError

_log = logging.getLogger("thalweg.threads")
_DAMAGED = "thread %r: %s; it continues from the turn before"
MakeEngine = Callable[[Callable[[int, int], str]], Engine]
"""Creates the engine of a thread; receives the function that names a span."""


def open_session(
    archive: Archive,
    key: ThreadKey,
    state_turn: int | None,
    messages: Sequence[Message],
    make_engine: MakeEngine,
    manual: "ManualOperations | None" = None,
    *,
    starts_at_state: bool = False,
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
        state_turn: Place of the last record of the state; `None` for a new one.
        messages: The messages of the state, oldest first.
        make_engine: Creates a new engine.
        manual: Manual operations since then; see `left_by_hand`.
        starts_at_state: Whether the thread begins at the start of the state if its first message
            was removed.

    Raises:
        ConflictError: Another process appended at the same time; open the thread again.
    """
    generation, _ = archive.extent(key)
    number, page = _newest_readable(archive, key, state_turn)
    held_messages = list(read_branch(archive, key, ThreadBranch(page.held)))
    alignment = plan_alignment([message for _, message in held_messages], messages)
    kept = [held_messages[k] for k in alignment.kept]
    dropped = {held_messages[k][0] for k in alignment.dropped}
    if manual is not None:
        since = Span(page.length, manual.page.length - 1)
        number, page = manual.number, manual.page
        kept += _logged_already(archive, key, since, messages[len(kept) :])
    if manual is None or not manual.is_rewound:
        if alignment.is_cleared:
            dropped.update(page.line)
        elif starts_at_state and alignment.first:
            dropped.update(page.line.before(held_messages[alignment.first][0]))
        dropped.difference_update(position for position, _ in kept)
    if number != state_turn and manual is None:  # the row of the state's turn is damaged
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

    def make_bound_engine() -> Engine:
        engine = make_engine(name_span)
        engine.read_back = lambda position: archive.messages(key, position, position)[0]
        kept = engine.bond_in
        engine.bond_in = lambda at, message: answers.bond(at, message) or kept(at, message)
        return engine

    restored = restore(archive, key, number, page, line, make_bound_engine)
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
        held=_pair_with_state(kept, messages),
        calibrations={
            model: replace(first_calibration(model), factor=factor, observations=seen)
            for model, (factor, seen) in page.calibration.items()
        },
    )
    session.carry_over(restored)
    if manual is not None and manual.is_rewound:
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
    return None, _BLANK_RECORD


def _pair_with_state(
    kept: Sequence[tuple[int, Message]], messages: Sequence[Message]
) -> list[StateMessage]:
    """Pair positions with the messages of the state; those out of order were added again."""
    newest_so_far = accumulate((position for position, _ in kept), max, initial=-1)
    return [
        StateMessage(position, message, is_again=position < newest_position)
        for (position, _), message, newest_position in zip(
            kept, messages, newest_so_far, strict=False
        )
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
    common_length = common_prefix_length(held, messages)
    if common_length == len(held):
        return Alignment(tuple(range(common_length)), (), 0, is_cleared=False)
    kept = list(range(common_length))
    uids = [stored_text(message.uid) for message in held]
    index_by_uid = {uid: index for index, uid in enumerate(uids) if index >= common_length}
    for message in messages[common_length:]:
        index = index_by_uid.get(stored_text(message.uid), -1)
        if index < len(kept) or (kept and index <= kept[-1]) or not is_same(held[index], message):
            break
        kept.append(index)
    dropped = tuple(sorted(set(range(len(held))).difference(kept)))
    present_uids = {stored_text(message.uid) for message in messages}
    survivors = (index for index, uid in enumerate(uids) if uid in present_uids)
    first = next(survivors, len(held))
    return Alignment(tuple(kept), dropped, first, is_cleared=first == len(held))


_BLANK_RECORD = TurnRecord(kind="call", at=0.0, length=0)


@dataclass(frozen=True, slots=True)
class ManualOperations:
    """Manual operations on a thread, from which the next run continues."""

    number: int
    """Place of the newest manual record."""
    page: TurnRecord
    is_rewound: bool
    """Whether they include a rewind."""


def manual_operations_since(
    archive: Archive, key: ThreadKey, state_turn: int | None
) -> ManualOperations | None:
    """Return the manual operations since a state was saved, if they concern that state.

    They do not if a run has continued from them and this state is older: that was chosen later.
    Nor if they concern another branch, from before the checkpoints of the thread were deleted.

    Args:
        archive: The archive of the thread.
        key: The thread.
        state_turn: Place of the last record of the state; `None` for a new one.
    """
    first = 0 if state_turn is None else state_turn + 1
    later_records = read_pages(archive, key, first)
    manual_turns = [number for number, page in later_records.items() if page.kind in MANUAL_KINDS]
    if not manual_turns or (
        state_turn is not None
        and later_records[manual_turns[-1]].root
        != _newest_readable(archive, key, state_turn)[1].root
    ):
        return None
    if _was_continued(later_records, state_turn, manual_turns[-1]):
        return None
    is_all_manual = all(
        page.kind in MANUAL_KINDS for n, page in later_records.items() if n < manual_turns[-1]
    )
    if not is_all_manual and _has_answered_run(later_records, manual_turns[-1]):
        return None
    is_rewound = any(later_records[number].kind == "rewind" for number in manual_turns)
    return ManualOperations(manual_turns[-1], later_records[manual_turns[-1]], is_rewound)


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
    positions_by_uid = archive.positions(key, {message.uid for message in messages[:1]})
    length = read_page(archive, key, copied).length
    has_continued = any(
        position >= length for places in positions_by_uid.values() for position in places
    )
    return copied if copied == count - 1 or has_continued else None


def _was_continued(
    pages: Mapping[int, TurnRecord], state_turn: int | None, manual_turn: int
) -> bool:
    """Return whether a run continued from a state's turn after a manual operation, past it."""
    continuations = {state_turn}
    for turn, page in pages.items():
        if _intended_parent(page) in continuations and turn != manual_turn:
            continuations.add(turn)
    return (
        max((turn for turn in continuations if turn is not None), default=manual_turn) > manual_turn
    )


def _has_answered_run(pages: Mapping[int, TurnRecord], number: int) -> bool:
    """Return whether an answered run continued from a turn: its state includes that turn."""
    continuations = {number}
    for turn, page in pages.items():
        if (origin := _intended_parent(page)) not in continuations:
            continue
        if origin != number and page.line != pages[origin].line:
            return True
        continuations.add(turn)
    return False


def _intended_parent(page: TurnRecord) -> int | None:
    """Return the turn from which a turn was to continue."""
    return page.parent if page.instead_of is None else page.instead_of


def _logged_already(
    archive: Archive, key: ThreadKey, logged_span: Span, state_messages: Sequence[Message]
) -> list[tuple[int, Message]]:
    """Return messages logged by a run that failed before it saved a state."""
    already_logged: list[tuple[int, Message]] = []
    for position, message in read_branch(archive, key, ThreadBranch((logged_span,))):
        if len(already_logged) < len(state_messages) and is_same(
            message, state_messages[len(already_logged)]
        ):
            already_logged.append((position, message))
    return already_logged


def _before_newest_request(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages up to the last answer before the newest request; empty if none."""
    answer_indices = [index for index, message in enumerate(messages) if message.role != "user"]
    request_indices = [index for index, message in enumerate(messages) if message.role == "user"]
    return (
        messages[: answer_indices[-1] + 1]
        if answer_indices and request_indices and request_indices[-1] > answer_indices[-1]
        else ()
    )
