"""Manual operations on a thread: compact it, undo a compaction, rewind, pin words.

Each adds a record to the journal, from which the thread's next run continues; nothing is removed
from the log. Intended for an idle thread: a run under way still finishes its answer.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.contexts import new_engine, set_overhead
from thalweg.archive.threads.journal import (
    Kind,
    ThreadBranch,
    TurnRecord,
    ancestry,
    append_page,
    page_at,
    read_journal,
    read_page,
    record_of,
    shown_from,
)
from thalweg.archive.threads.session import RestoredEngine, Retry, pin_again, restore
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.engine import Engine
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.snapshot import Quote
from thalweg.errors import ArchiveError, ConflictError, PinError


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of a manual operation."""

    about: int
    """The turn whose compaction is undone or that is the target of the rewind, or a position."""
    tokens: int
    """Tokens of the resulting request, before the next plan."""
    limit: int
    """Tokens it may fill, if recorded in the journal; else 0."""
    changed: bool = True
    """Whether the thread changed; `False` if there was nothing to compact."""

    @property
    def fits(self) -> bool:
        """Whether the next request can show all of it; else the next turn compacts at once."""
        return not self.limit or self.tokens <= self.limit


@dataclass(frozen=True, slots=True)
class _ManualOperation:
    """A record to add, and the state from which the thread continues."""

    kind: Kind
    about: int
    parent: int | None
    state: TurnRecord
    """Has the branch, the length of the log, the number of calls and the policy's state."""
    act: Callable[[Engine], None] = lambda _: None
    spent: Callable[[], Usage | None] = lambda: None
    """Returns the cost of the models that `act` called."""


class NarrativeWriter(Protocol):
    """Has a model write a narrative summary for a compaction; see `compact`."""

    @property
    def spent(self) -> Usage:
        """Its cost so far."""
        ...

    def __call__(self, engine: Engine, fold: Fold, line: ThreadBranch) -> Fold:
        """Return the compaction with a summary, or unchanged."""
        ...


def compact(
    archive: Archive, key: ThreadKey, write_narrative: NarrativeWriter | None = None
) -> OperationResult:
    """Compact as much as possible, independent of savings.

    If nothing can be compacted, no record is added.

    Args:
        archive: The archive of the thread.
        key: The thread.
        write_narrative: Adds a narrative summary; without it, there is only the structured summary.

    Raises:
        ArchiveError: The thread has no turns.
        WindowExceededError: What must be kept is larger than the limit.
    """
    number, newest = page_at(archive, key)
    engine = _restore_engine(archive, key, number, newest, newest).engine
    batches: list[Sequence[Edit]] = []

    def settle(planned: Sequence[Edit]) -> Sequence[Edit]:
        settled = [
            write_narrative(engine, edit, newest.line)
            if write_narrative and isinstance(edit, Fold)
            else edit
            for edit in planned
        ]
        batches.append(settled)
        return settled

    _commit_each(engine, settle)
    edits = [edit for batch in batches for edit in batch]
    if not edits:
        return OperationResult(newest.line.last, engine.window.tokens, newest.limit, changed=False)

    def make_operation() -> _ManualOperation:
        if page_at(archive, key)[0] != number:
            problem = f"thread {key.thread!r} continued in the meantime: compact it again"
            raise ArchiveError(problem)
        settled = iter(batches)
        return _ManualOperation(
            kind="compact",
            about=max((edit.last for edit in edits if isinstance(edit, Fold)), default=-1),
            parent=number,
            state=newest,
            act=lambda engine: _commit_each(engine, lambda _: next(settled)),
            spent=lambda: (
                write_narrative.spent if write_narrative and write_narrative.spent.calls else None
            ),
        )

    return _enter_with_retry(archive, key, make_operation)


def _commit_each(engine: Engine, settle: Callable[[Sequence[Edit]], Sequence[Edit]]) -> None:
    """Perform a requested compaction, with each batch passed through `settle`."""
    steps = engine.steps(is_requested=True)
    with suppress(StopIteration):
        batch = next(steps)
        while True:
            batch = steps.send(settle(batch))


def undo(archive: Archive, key: ThreadKey, turn: int | None = None) -> OperationResult:
    """Undo a compaction: its messages are shown again from the next request on.

    Only as far as they fit: the rest is compacted again at once. Words that were pinned since
    remain pinned, and later messages are kept.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turn: The turn that compacted, or the first after a manual compaction; by default the
            newest compaction.

    Raises:
        ArchiveError: The thread's history has no such turn, or it compacted nothing.
    """

    def make_operation() -> _ManualOperation:
        pages = read_journal(archive, key)
        ancestors = list(ancestry(pages, max(pages, default=None)))
        fold_turns = [
            n for n in ancestors if any(isinstance(edit, Fold) for edit in pages[n].edits)
        ]
        named = (n for n in fold_turns if turn in {None, shown_from(pages[n])})
        if (undone_turn := next(named, None)) is None:
            raise ArchiveError(_nothing_to_undo(key, turn))
        passed_records = [
            pages[number] for number in reversed(ancestors[: ancestors.index(undone_turn) + 1])
        ]
        return _ManualOperation(
            kind="undo",
            about=shown_from(pages[undone_turn]),
            parent=pages[undone_turn].parent,
            state=replace(pages[ancestors[0]], policy={}),
            act=lambda engine: pin_again(
                engine, [edit for page in passed_records for edit in page.edits]
            ),
        )

    return _enter_with_retry(archive, key, make_operation)


def _nothing_to_undo(key: ThreadKey, turn: int | None) -> str:
    if turn is None:
        return f"thread {key.thread!r} has no compaction to undo"
    return (
        f"turn {turn} of thread {key.thread!r} has no active compaction; "
        "`thalweg thread show` lists the compactions"
    )


def rewind(archive: Archive, key: ThreadKey, turn: int) -> OperationResult:
    """Reset the thread to the state before the answer of a turn.

    Later messages remain in the log, and are in no context.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turn: Number of the turn, from 1.

    Raises:
        ArchiveError: The thread has no such turn.
    """

    def make_operation() -> _ManualOperation:
        record = record_of(archive, key, turn)
        state = replace(read_page(archive, key, record), length=archive.length(key))
        return _ManualOperation(kind="rewind", about=turn, parent=record, state=state)

    return _enter_with_retry(archive, key, make_operation)


def pin(archive: Archive, key: ThreadKey, position: int, quote: str) -> OperationResult:
    """Keep a user's words verbatim in every context, through all compactions.

    Args:
        archive: The archive of the thread.
        key: The thread.
        position: Position of the user's message in the log.
        quote: Words of it, exactly.

    Raises:
        PinError: The words are not in a request at that position.
        ArchiveError: The thread has no turns.
    """

    def act(engine: Engine) -> None:
        if Quote(position, quote) not in engine.window.pins:
            engine.pin(position, quote)

    return _enter_pin(archive, key, "pin", position, act)


def unpin(archive: Archive, key: ThreadKey, position: int, quote: str) -> OperationResult:
    """Release words that were pinned.

    Raises:
        PinError: They are not pinned.
        ArchiveError: The thread has no turns.
    """

    def act(engine: Engine) -> None:
        if Quote(position, quote) not in engine.window.pins:
            raise PinError(position, quote)
        engine.unpin(position, quote)

    return _enter_pin(archive, key, "unpin", position, act)


def _enter_pin(
    archive: Archive, key: ThreadKey, kind: Kind, position: int, act: Callable[[Engine], None]
) -> OperationResult:
    def make_operation() -> _ManualOperation:
        number, newest = page_at(archive, key)
        return _ManualOperation(kind, position, parent=number, state=newest, act=act)

    return _enter_with_retry(archive, key, make_operation)


def _enter_with_retry(
    archive: Archive, key: ThreadKey, make_operation: Callable[[], _ManualOperation]
) -> OperationResult:
    retry = Retry()
    while True:
        length = archive.length(key)
        try:
            return _enter(archive, key, make_operation(), length)
        except ConflictError as conflict:
            retry.spend(conflict)


def _enter(
    archive: Archive, key: ThreadKey, operation: _ManualOperation, length: int
) -> OperationResult:
    _, newest = page_at(archive, key)
    parent = None if operation.parent is None else read_page(archive, key, operation.parent)
    restored = _restore_engine(
        archive, key, operation.parent, parent or newest, newest, operation.state.line
    )
    engine, parent = restored.engine, None if restored.number is None else restored.page
    pin_again(engine, restored.pins)
    operation.act(engine)
    page = replace(
        newest,
        kind=operation.kind,
        at=time.time(),
        parent=restored.number,
        length=operation.state.length,
        line=operation.state.line,
        calls=operation.state.calls,
        policy=operation.state.policy,
        tokens={k: n for k, n in engine.window.ledger.tokens.items() if n},
        edits=tuple(engine.history),
        spent=operation.spent(),
        note=str(operation.about),
    )
    append_page(archive, key, page, parent, length=length, engine=engine)
    return OperationResult(operation.about, engine.window.tokens, newest.limit)


def _restore_engine(
    archive: Archive,
    key: ThreadKey,
    number: int | None,
    page: TurnRecord,
    newest: TurnRecord,
    branch: ThreadBranch | None = None,
) -> RestoredEngine:
    """Return the engine of a turn for a branch, with the budget and the overhead of the newest."""
    restored_branch = newest.line if branch is None else branch
    restored = restore(
        archive, key, number, page, restored_branch, lambda: new_engine(archive, key, newest)
    )
    set_overhead(restored.engine, newest)
    return restored
