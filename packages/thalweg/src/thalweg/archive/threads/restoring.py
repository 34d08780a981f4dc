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
from thalweg.archive.threads.branch import ThreadBranch, read_line
from thalweg.archive.threads.journal import (
    THIS,
    TurnRecord,
    ancestry,
    name_page,
    read_page,
    read_pages,
    standing_at,
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
    line: ThreadBranch,
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
        line: The visible positions of the thread.
        make_engine: Returns a new engine.
    """
    newest, note = number, ""
    while number is not None:
        try:
            standing = standing_at(archive, key, number, page)
            problem = _removed(archive, key, number, page, standing, line)
            if not problem:
                engine = resumed(archive, key, line, standing, make_engine())
                pins = tuple(_pins_between(archive, key, number, newest, line))
                return RestoredEngine(engine, number, page, note, pins)
        except Exception as error:  # noqa: BLE001 (a damaged snapshot fails anywhere, and must not)
            problem = f"the engine of {name_page(number, page)} cannot be restored: {error!r}"
            _log.warning(_DAMAGED, key.thread, problem, exc_info=True)
        number, page = _before(archive, key, number, page)
        source = "the log alone" if number is None else name_page(number, page)
        note = f"{problem}; the context was rebuilt from {source}"
    page = replace(page, base=None, parent=None)
    engine = resumed(archive, key, line, EngineSnapshot(), make_engine())
    pins = tuple(_pins_between(archive, key, None, newest, line))
    return RestoredEngine(engine, None, page, note, pins)


def resumed(
    archive: Archive, key: ThreadKey, line: ThreadBranch, standing: EngineSnapshot, engine: Engine
) -> Engine:
    """Return a new engine after it continues from a snapshot.

    Data of the snapshot on messages that are not in the branch is dropped.
    """
    standing = standing.restricted(line)
    engine.resume(standing, _live_messages(archive, key, line, standing))
    return engine


def _live_messages(
    archive: Archive, key: ThreadKey, line: ThreadBranch, standing: EngineSnapshot
) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a branch that are not compacted, with positions, oldest first."""
    fold = standing.fold
    if fold is None:
        yield from read_line(archive, key, line)
        return
    early = sorted({*range(standing.systems), *fold.kept})
    yield from read_line(archive, key, ThreadBranch.of(p for p in early if p in line))
    yield from read_line(archive, key, line.after(fold.last))


def _removed(
    archive: Archive,
    key: ThreadKey,
    number: int,
    page: TurnRecord,
    standing: EngineSnapshot,
    line: ThreadBranch,
) -> str:
    """Return whether a message that a snapshot has compacted is no longer in the branch.

    Returns:
        The problem; empty if there is none.
    """
    fold, at_fold = standing.fold, _last_fold(number, page)
    if fold is None:
        return ""
    when = page if at_fold == number else read_page(archive, key, at_fold)
    before, now = when.line.before(fold.last + 1), line.before(fold.last + 1)
    if before == now:
        return ""
    gone = set(before).difference(now, fold.kept)
    if not gone and set(now) <= set(before):
        return ""
    what = ", ".join(f"#{position}" for position in sorted(gone)[:5]) or "others"
    name = name_page(at_fold, when)
    return f"{name} compacted messages that were changed or removed since ({what})"


def _last_fold(number: int, page: TurnRecord) -> int:
    """Return the place of the record whose compaction a record continues; its own without one."""
    return number if page.base is None or page.base == THIS else page.base


def _before(
    archive: Archive, key: ThreadKey, number: int, page: TurnRecord
) -> tuple[int | None, TurnRecord]:
    """Return the record before the last compaction; `None` with the same one if there is none."""
    at_fold = _last_fold(number, page)
    with suppress(ArchiveError):
        earlier = (page if at_fold == number else read_page(archive, key, at_fold)).parent
        if earlier is not None and earlier < number:
            return earlier, read_page(archive, key, earlier)
    return None, page


def _pins_between(
    archive: Archive, key: ThreadKey, after: int | None, upto: int | None, line: ThreadBranch
) -> Iterator[Pin | Unpin]:
    """Yield the pins and unpins of messages in the branch after a turn, oldest first."""
    if upto is None or upto == after:
        return
    pages = read_pages(archive, key, 0 if after is None else after + 1, upto)
    for number in reversed(list(ancestry(pages, upto))):
        for edit in pages[number].edits:
            if isinstance(edit, (Pin, Unpin)) and edit.position in line:
                yield edit


def pin_again(engine: Engine, edits: Iterable[Edit]) -> None:
    """Apply pins and unpins of other turns; pins of missing messages are skipped."""
    for edit in edits:
        if isinstance(edit, Pin):
            with suppress(PinError):
                engine.pin(edit.position, edit.quote)
        elif isinstance(edit, Unpin):
            engine.unpin(edit.position, edit.quote)
