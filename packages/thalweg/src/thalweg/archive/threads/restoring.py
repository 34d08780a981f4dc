"""Restore the engine of a thread from its snapshot, or rebuild it from the log.

A snapshot is derived from the log and the journal. If it is damaged, of another format, or has
compacted a message that is no longer in the thread, the engine is rebuilt from the turn before that
compaction, and in the end from the log alone: no snapshot can make a thread unusable (I55).
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.branch import ThreadBranch, read_branch
from thalweg.archive.threads.journal import (
    THIS_TURN,
    TurnRecord,
    ancestry,
    name_page,
    read_page,
    read_pages,
    snapshot_at,
)
from thalweg.engine.edits import Edit, Pin, Unpin
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.snapshot import EngineSnapshot
from thalweg.errors import ArchiveError, PinError

_log = logging.getLogger("thalweg.threads")
_DAMAGED = "thread %r: %s; it continues from an earlier turn, and compacts again if necessary"


@dataclass(frozen=True, slots=True)
class RestoredEngine:
    """An engine, and the record from which it continues."""

    engine: Engine
    number: int | None
    """Place of that record; `None` if the engine was rebuilt from the log alone."""
    page: TurnRecord
    """Its record, or a record without parent and snapshot."""
    note: str = ""
    """Why the engine was rebuilt; empty if it was not."""
    pins: tuple[Edit, ...] = ()
    """Pins and unpins of the turns that were passed over, oldest first, to be applied again."""


def restore(
    archive: Archive,
    key: ThreadKey,
    number: int | None,
    page: TurnRecord,
    branch: ThreadBranch,
    make_engine: Callable[[], Engine],
) -> RestoredEngine:
    """Return the engine as of a record, for the messages that are in the thread now.

    What concerns removed messages is dropped with them: their pins, and edits of their view. If one
    of them was compacted, the engine continues from the turn before that compaction.

    Args:
        archive: The archive of the thread.
        key: The thread.
        number: Place of the record; `None` for a new thread.
        page: The record.
        branch: The visible positions of the thread.
        make_engine: Returns a new engine.
    """
    newest, note = number, ""
    while number is not None:
        try:
            snapshot = snapshot_at(archive, key, number, page)
            problem = _removal_problem(archive, key, number, page, snapshot, branch)
            if not problem:
                engine = resume_engine(archive, key, branch, snapshot, make_engine())
                pins = tuple(_pins_between(archive, key, number, newest, branch))
                return RestoredEngine(engine, number, page, note, pins)
        except Exception as error:  # noqa: BLE001 (a damaged snapshot fails anywhere, and must not)
            problem = f"the engine of {name_page(number, page)} cannot be restored: {error!r}"
            _log.warning(_DAMAGED, key.thread, problem, exc_info=True)
        number, page = _earlier_turn(archive, key, number, page)
        source = "the log alone" if number is None else name_page(number, page)
        note = f"{problem}; the context was rebuilt from {source}"
    page = replace(page, base=None, parent=None)
    engine = resume_engine(archive, key, branch, EngineSnapshot(), make_engine())
    pins = tuple(_pins_between(archive, key, None, newest, branch))
    return RestoredEngine(engine, None, page, note, pins)


def resume_engine(
    archive: Archive, key: ThreadKey, branch: ThreadBranch, snapshot: EngineSnapshot, engine: Engine
) -> Engine:
    """Return a new engine after it continues from a snapshot.

    Data of the snapshot on messages that are not in the branch is dropped.
    """
    snapshot = snapshot.restricted(branch)
    engine.resume(snapshot, _live_messages(archive, key, branch, snapshot))
    return engine


def _live_messages(
    archive: Archive, key: ThreadKey, branch: ThreadBranch, snapshot: EngineSnapshot
) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a branch that are not compacted, with positions, oldest first."""
    fold = snapshot.fold
    if fold is None:
        yield from read_branch(archive, key, branch)
        return
    early_positions = sorted({*range(snapshot.systems), *fold.kept})
    yield from read_branch(archive, key, ThreadBranch.of(p for p in early_positions if p in branch))
    yield from read_branch(archive, key, branch.after(fold.last))


def _removal_problem(
    archive: Archive,
    key: ThreadKey,
    number: int,
    page: TurnRecord,
    snapshot: EngineSnapshot,
    branch: ThreadBranch,
) -> str:
    """Return whether a message that a snapshot has compacted is no longer in the branch.

    Returns:
        The problem; empty if there is none.
    """
    fold, fold_turn = snapshot.fold, _last_fold(number, page)
    if fold is None:
        return ""
    fold_record = page if fold_turn == number else read_page(archive, key, fold_turn)
    old_branch, new_branch = fold_record.line.before(fold.last + 1), branch.before(fold.last + 1)
    if old_branch == new_branch:
        return ""
    removed = set(old_branch).difference(new_branch, fold.kept)
    if not removed and set(new_branch) <= set(old_branch):
        return ""
    positions = ", ".join(f"#{position}" for position in sorted(removed)[:5]) or "others"
    name = name_page(fold_turn, fold_record)
    return f"{name} compacted messages that were changed or removed since ({positions})"


def _last_fold(number: int, page: TurnRecord) -> int:
    """Return the place of the record whose compaction a record continues; its own without one."""
    return number if page.base is None or page.base == THIS_TURN else page.base


def _earlier_turn(
    archive: Archive, key: ThreadKey, number: int, page: TurnRecord
) -> tuple[int | None, TurnRecord]:
    """Return the record before the last compaction; `None` with the same one if there is none."""
    fold_turn = _last_fold(number, page)
    with suppress(ArchiveError):
        earlier = (page if fold_turn == number else read_page(archive, key, fold_turn)).parent
        if earlier is not None and earlier < number:
            return earlier, read_page(archive, key, earlier)
    return None, page


def _pins_between(
    archive: Archive, key: ThreadKey, after: int | None, upto: int | None, branch: ThreadBranch
) -> Iterator[Pin | Unpin]:
    """Yield the pins and unpins of messages in the branch after a turn, oldest first."""
    if upto is None or upto == after:
        return
    pages = read_pages(archive, key, 0 if after is None else after + 1, upto)
    for number in reversed(list(ancestry(pages, upto))):
        for edit in pages[number].edits:
            if isinstance(edit, (Pin, Unpin)) and edit.position in branch:
                yield edit


def pin_again(engine: Engine, edits: Iterable[Edit]) -> None:
    """Apply pins and unpins of other turns; pins of missing messages are skipped."""
    for edit in edits:
        if isinstance(edit, Pin):
            with suppress(PinError):
                engine.pin(edit.position, edit.quote)
        elif isinstance(edit, Unpin):
            engine.unpin(edit.position, edit.quote)
