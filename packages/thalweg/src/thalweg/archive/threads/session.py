"""An open thread: the engine, synchronized with the archive; and how a thread is opened.

The order of effects is fixed: messages are appended to the log, edits are planned, the content that
they refer to is made durable, the turn is added to the journal. After a crash between any two,
`open_session` continues.

A snapshot of an engine is derived from the log and the journal. If it is damaged, of another
format, or has compacted a message that is no longer in the thread, the engine is rebuilt from the
turn before that compaction, and in the end from the log alone: no snapshot can make a thread
unusable (I55).
"""

import hashlib
import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any

from thalweg.archive import Archive, Logged, Span, ThreadKey
from thalweg.archive.base import Extent
from thalweg.archive.threads.journal import (
    MANUAL_KINDS,
    RECORDS_PER_BATCH,
    THIS_TURN,
    AnswerLog,
    ThreadBranch,
    TurnRecord,
    ancestry,
    append_page,
    name_page,
    read_branch,
    read_page,
    read_pages,
    snapshot_at,
)
from thalweg.engine.edits import Edit, Pin, Repair, Unpin
from thalweg.engine.engine import Engine
from thalweg.engine.entries import (
    Entry,
    Message,
    common_prefix_length,
    content_bytes,
    is_same,
    stored_text,
)
from thalweg.engine.snapshot import EngineSnapshot
from thalweg.engine.tokens import Calibration, first_calibration
from thalweg.errors import ArchiveError, ConflictError, DeletedThreadError, PinError

INDEX_BATCH = 64
"""New messages after which the index is brought up to date."""
MAX_ATTEMPTS = 30
"""Attempts at an operation that may conflict."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.002, 0.25
"""Longest pause before the next attempt: doubled each time, up to the maximum. The actual one is
random, so that two runs do not conflict repeatedly."""


@dataclass(slots=True)
class Retry:
    """The remaining attempts of one operation on a thread.

    Example:
        >>> tries = Retry(2)
        >>> def append() -> str:
        ...     if tries.left == 2:
        ...         raise ConflictError("t1", 0, 1)
        ...     return "appended"
        >>> def act() -> str:
        ...     while True:
        ...         try:
        ...             return append()
        ...         except ConflictError as conflict:
        ...             tries.spend(conflict)
        >>> act()
        'appended'
    """

    left: int = MAX_ATTEMPTS

    def spend(self, conflict: ConflictError) -> None:
        """Count one attempt that ended in a conflict, and pause.

        Raises:
            ConflictError: It was the last one.
        """
        self.left -= 1
        if not self.left:
            raise conflict
        longest = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** (MAX_ATTEMPTS - self.left))
        time.sleep(random.uniform(0, longest))  # noqa: S311 (no secret)


_log = logging.getLogger("thalweg.threads")
_DAMAGED_SNAPSHOT = (
    "thread %r: %s; it continues from an earlier turn, and compacts again if necessary"
)


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
            _log.warning(_DAMAGED_SNAPSHOT, key.thread, problem, exc_info=True)
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


DIGESTED_AT_ONCE = 1_000
"""Messages whose contents are in memory at once for a digest."""


@dataclass(slots=True)
class StateDigest:
    """A digest of the first messages of a state, to which the next ones can be added."""

    size: int = 0
    """Messages in it."""
    _hash: Any = field(default_factory=hashlib.sha256)

    def of(self, messages: Sequence[Message]) -> str:
        """Return 32 hex digits of a state that begins with the messages in it, and add the rest."""
        for first in range(self.size, len(messages), DIGESTED_AT_ONCE):
            self._hash.update(content_bytes(messages[first : first + DIGESTED_AT_ONCE]))
        self.size = len(messages)
        return str(self._hash.hexdigest()[:32])


@dataclass(slots=True)
class ThreadSession:
    """A thread that one run at a time works on."""

    archive: Archive
    key: ThreadKey
    engine: Engine
    page: TurnRecord
    """The parent record; a blank one for a new thread."""
    number: int | None = None
    """Place of the parent record in the journal; `None` before the first."""
    root: int | None = None
    """`TurnRecord.root` of its branch; `None` until `sync` finds the beginning of a new branch."""
    length: int = 0
    """Last seen length of the log."""
    line: ThreadBranch = field(default_factory=ThreadBranch)
    """The visible positions of the thread."""
    answers: AnswerLog = field(default_factory=AnswerLog)
    """The models that produced its answers."""
    held: list[Message] = field(default_factory=list)
    """The messages of the state; replaced by `_hold_all`, or extended by `_hold`."""
    held_line: ThreadBranch = field(default_factory=ThreadBranch)
    """Their positions, in its order."""
    calibrations: dict[str, Calibration] = field(default_factory=dict)
    """Calibrations by model."""
    unwritten: list[Logged] = field(default_factory=list)
    """The newest messages of the log, not in the archive yet: `enter` writes them with the turn, in
    one transaction."""
    is_running: bool = False
    """Whether a run is under way that ended in this very state."""
    note: str = ""
    """Why the engine was rebuilt when the thread was opened: for the record of the next turn."""
    instead_of: int | None = None
    """The turn that the state names, if it was not the one that could be used: likewise."""
    carried: tuple[Edit, ...] = ()
    """Pins of turns that were passed over then, applied again: likewise."""
    generation: int = 0
    """Generation of the thread (`Archive.extent`); 0 for a new one."""
    readded: set[int] = field(default_factory=set)
    """Positions of messages that were removed from the state and added again: the caller sends all
    messages."""
    _digest: StateDigest = field(default_factory=StateDigest)
    _has_later: bool = True
    """Whether the journal may have records after the parent record."""
    _indexed: int = 0
    """Messages of the log when they were last indexed in the background."""

    def knows(self, messages: Sequence[Message]) -> bool:
        """Return whether a state still begins with its last seen messages."""
        return common_prefix_length(self.held, messages) == len(self.held)

    def sync(
        self,
        messages: Sequence[Message],
        *,
        others_belong: Callable[[], bool],
        extent: Extent | None = None,
    ) -> None:
        """Append the new messages of a state, which the session `knows`, to the log.

        A message that was removed from the state and added again, with the same text and id, keeps
        its position. Messages that others appended in the meantime are added to the branch, or
        skipped if a rewind abandoned them.

        Args:
            messages: The messages of the state, oldest first.
            others_belong: Returns whether messages appended by others belong to the thread;
                called only if there are any.
            extent: The sizes of the thread as they were just read, if they were.

        They are in the archive after `write` or `enter`.

        Raises:
            ConflictError: The thread was deleted; open it again.
        """
        if self.unwritten:
            self.write()
            extent = None
        known = len(self.held)
        readded = self._find_readded(messages[known:])
        new = [*messages[known:]]
        if readded:
            new = [message for k, message in enumerate(new) if k not in readded]
        log_length = self._check_extent(extent or self.archive.extent(self.key))
        if self.root is None:
            self._find_branch_start(new, log_length)
        if log_length > self.length:
            self._catch_up(new, log_length, others_belong)
        for message in new:
            entry = self._receive(message, self.length)
            self.unwritten.append(Logged(message, entry.answers.brief if entry.answers else ""))
            self.length += 1
            self._hold(entry)
        if readded:
            positions = [*self.held_line]
            new_positions = iter(positions[known:])
            indices = range(len(messages) - known)
            newest = [readded[k] if k in readded else next(new_positions) for k in indices]
            self._hold_all([*positions[:known], *newest], messages)
            self.readded.update(readded.values())

    def write(self) -> None:
        """Write the messages appended by `sync` to the archive, so that references can name them.

        Raises:
            ConflictError: Another process appended at the same time; open the thread again.
        """
        if self.unwritten:
            written = self.length - len(self.unwritten)
            self.archive.append(
                self.key, self.unwritten, expected=written, generation=self.generation
            )
            self.unwritten = []
            self._note_generation()

    def check_exists(self) -> None:
        """Check that the thread was not deleted since its last turn.

        Raises:
            DeletedThreadError: It was, also if it began again.
        """
        if self.generation and self.archive.extent(self.key).generation != self.generation:
            raise DeletedThreadError(self.key.thread)

    def _check_extent(self, extent: Extent) -> int:
        """Return the length of the log, after a check that it is still the same one."""
        generation, log_length, turns = extent
        self._has_later = turns > (0 if self.number is None else self.number + 1)
        if log_length < self.length or (self.generation and generation != self.generation):
            raise ConflictError(self.key.thread, self.length, log_length)
        self.generation = generation
        return log_length

    def _note_generation(self) -> None:
        if not self.generation:
            self.generation = self.archive.extent(self.key).generation

    def _find_readded(self, messages: Sequence[Message]) -> dict[int, int]:
        """Return the positions of messages that are in the branch already, by their index.

        Computed only if there is a user message: messages of a model and its tools are new.
        """
        if self.held_line.covers(self.line):
            return {}
        if all(message.role != "user" for message in messages):
            return {}
        held = set(self.held_line)
        positions_by_uid = self.archive.positions(self.key, {message.uid for message in messages})
        branch_positions = {
            p for places in positions_by_uid.values() for p in places if p in self.line
        } - held
        logged = dict(
            read_branch(self.archive, self.key, ThreadBranch.of(sorted(branch_positions)))
        )
        readded: dict[int, int] = {}
        for index, message in enumerate(messages):
            places = [p for p in positions_by_uid.get(message.uid, ()) if p in logged]
            if equal_positions := [p for p in places if is_same(logged[p], message)]:
                logged.pop(equal_positions[0])
                readded[index] = equal_positions[0]
        return readded

    def _find_branch_start(self, new_messages: Sequence[Message], log_length: int) -> None:
        """Find the beginning of a branch that continues from no turn.

        The branch is new, unless the log already has the first message of the state: then a run
        ended before its state had a checkpoint pointer. Messages without ids, which no graph's
        state has, are compared with the log from its beginning.
        """
        if not log_length or (new_messages and not new_messages[0].uid):
            self.length = self.root = 0
            return
        positions_by_uid = self.archive.positions(
            self.key, {message.uid for message in new_messages[:1]}
        )
        for position in next(iter(positions_by_uid.values()), ()):
            if is_same(self.archive.messages(self.key, position, position)[0], new_messages[0]):
                self.length, self.root = position, self._root_at(position, log_length)
                return
        self.length = self.root = log_length

    def _root_at(self, position: int, log_length: int) -> int:
        """Return the root of the turn that logged a message; a new one if none did."""
        count = self.archive.turn_count(self.key)
        for first in range(0, count, RECORDS_PER_BATCH):
            last = first + RECORDS_PER_BATCH - 1
            pages = read_pages(self.archive, self.key, first, last).values()
            if (root := next((p.root for p in pages if position in p.line), None)) is not None:
                return root
        return log_length

    def _catch_up(
        self, new_messages: list[Message], log_length: int, others_belong: Callable[[], bool]
    ) -> None:
        """Read messages that others appended; remove those among them from `new_messages`."""
        appended = self.archive.messages(self.key, self.length, log_length - 1)
        joined: Collection[int] | None = None
        for position, message in enumerate(appended, self.length):
            if new_messages and is_same(message, new_messages[0]):
                self._hold(self._receive(new_messages.pop(0), position))
                continue
            if joined is None:
                joined = self._joined_positions(log_length) if others_belong() else ()
            if position in joined and not any(
                is_same(message, new_message) for new_message in new_messages
            ):
                self._receive(message, position)
        self.length = log_length

    def _joined_positions(self, log_length: int) -> Collection[int]:
        """Return the later positions that belong to this branch, as the journal has it.

        The newest turn that continues this branch decides: it has the newest message of the
        branch, or its messages are of another branch, such as one that a rewind abandoned. A
        message that no turn has yet is another run's that is about to enter its turn; it is of
        this branch for sure only if the thread has no other.
        """
        pages = self._later_records()
        branch_records = (page for page in reversed(pages) if page.root == self.root)
        newest = next((page for page in branch_records if self.line.last in page.line), None)
        decided = self.length if newest is None else max(newest.length, self.length)
        positions = set(() if newest is None else newest.line.after(self.length - 1))
        if self.root == 0:
            entered_positions = {
                position for page in pages for position in page.line.after(decided - 1)
            }
            positions.update(set(range(decided, log_length)) - entered_positions)
        return positions

    def carry_over(self, restored: RestoredEngine) -> None:
        """Apply the pins of turns that were passed over, and note why they were."""
        pin_again(self.engine, restored.pins)
        self.carried, self.note = tuple(self.engine.history), restored.note
        self.engine.history.clear()

    def leave_behind(self, messages: Sequence[Message]) -> None:
        """Log messages of the state that a rewind abandoned, without adding them to the branch.

        Args:
            messages: They follow the last seen messages of the state.

        Raises:
            ConflictError: Another process appended at the same time; open the thread again.
        """
        if not messages:
            return
        log_length = self.archive.length(self.key)
        known_count = common_prefix_length(
            self.archive.messages(self.key, self.length, log_length - 1), messages
        )
        if rest := messages[known_count:]:
            self.archive.append(
                self.key, [Logged(message) for message in rest], expected=log_length
            )
        known_positions = range(self.length, self.length + known_count)
        positions = (*known_positions, *range(log_length, log_length + len(rest)))
        self._hold_all([*self.held_line, *positions], [*self.held, *messages])
        self.length = positions[-1] + 1

    def last_rejection(self) -> str:
        """Return the provider's error about the newest turn; empty if it was not refused.

        A failed run leads to turns that the state does not include, so the turn may be later than
        the session's parent turn.
        """
        if not self._has_later:
            return self.page.rejected
        later = reversed(self._later_records())
        return next((page for page in later if page.root == self.root), self.page).rejected

    def _later_records(self) -> list[TurnRecord]:
        first = 0 if self.number is None else self.number + 1
        return list(read_pages(self.archive, self.key, first).values())

    def _receive(self, message: Message, position: int) -> Entry:
        self.line = self.line.add(position)
        return self.engine.receive(message, position=position)

    def _hold(self, entry: Entry) -> None:
        self.held.append(entry.message)
        self.held_line = self.held_line.add(entry.position)

    def hold_first(
        self, positions: Sequence[int], messages: Sequence[Message], digest: StateDigest
    ) -> None:
        """Take the messages of a state that are in the log, those it begins with.

        Those out of order were added again.

        Args:
            positions: Their positions.
            messages: All messages of the state.
            digest: Of messages that it begins with.
        """
        before = accumulate(positions, max, initial=-1)
        pairs = zip(positions, before, strict=False)
        self.readded = {position for position, newest in pairs if position < newest}
        self._hold_all(positions, messages[: len(positions)])
        self._digest = digest

    def _hold_all(self, positions: Sequence[int], messages: Sequence[Message]) -> None:
        self.held, self.held_line = [*messages], ThreadBranch.of(positions)
        self.readded.intersection_update(positions)
        self._digest = StateDigest()

    def release(self, newest: int | None, *, spare: int = 0) -> list[str]:
        """Return what can be removed from the state, since all of it is in the log.

        Args:
            newest: How many of the newest messages to keep at least; `None` keeps all of them.
                The first one kept is a request, so that no run is split.
            spare: How many more there may be before any is removed.

        Returns:
            Ids of the messages to remove. Messages abandoned by a rewind are among them for any
            `newest`.
        """
        has_room = newest is None or (len(self.held) <= newest + spare and not self.readded)
        if has_room and self.line.covers(self.held_line):
            return []
        held = dict(zip(self.held_line, self.held, strict=True))
        leaving = set() if newest is None else self.readded
        kept = {p: m for p, m in held.items() if p in self.line and p not in leaving}
        if newest is not None and len(kept) > newest + spare:
            messages = [*kept.values()]
            before = range(len(kept) - newest, -1, -1)
            first = next((index for index in before if messages[index].is_request), 0)
            kept = dict(islice(kept.items(), first, None))
        self._hold_all([*kept], [*kept.values()])
        return [message.uid for position, message in held.items() if position not in kept]

    def enter(
        self, page: TurnRecord, edits: Sequence[Edit], attachments: Sequence[str] = ()
    ) -> int:
        """Add a turn to the journal, from which the thread then continues.

        Messages that are not in the archive yet are written with it, and a batch of new messages is
        indexed in the background.

        Args:
            page: The turn record; its place in the tree is filled in.
            edits: Edits committed since the last turn.
            attachments: Texts to attach to the thread; see `Archive.attach`.

        Returns:
            The place of its record in the journal.

        Raises:
            ConflictError: Another process has appended; open the thread again.
        """
        edits = (*self.carried, *edits)
        page = replace(
            page,
            parent=self.number,
            instead_of=self.instead_of,
            root=self.root or 0,
            length=self.length,
            line=self.line,
            held=self.held_line.spans,
            held_digest=self._digest.of(self.held),
            calls=self.engine.turn,
            policy=dict(self.engine.policy.memory),
            calibration={m: (c.factor, c.observations) for m, c in self.calibrations.items()},
            edits=edits,
            answered=self.answers.take(),
            note="; ".join(filter(None, (self.note, page.note))),
        )
        self.number, self.page = append_page(
            self.archive, self.key, page, self.page,
            length=self.length - len(self.unwritten), log=self.unwritten,
            attachments=attachments, engine=self.engine, generation=self.generation,
        )  # fmt: skip
        self.unwritten, self.carried, self.note, self.instead_of = [], (), "", None
        self._note_generation()
        self.engine.history.clear()  # stored in the journal; would grow without bound
        if self.length // INDEX_BATCH > self._indexed // INDEX_BATCH:
            self._indexed = self.length
            self.archive.index_soon(self.key)
        return self.number

    def enter_end(
        self, *, repairs: tuple[Repair, ...] = (), rejected: str = "", is_cut: bool = False
    ) -> None:
        """Add the end of a run to the journal: the newest record, with these fields."""
        ended = replace(
            self.page, kind="end", at=time.time(), spent=None, note="", repairs=repairs,
            rejected=rejected, is_cut=is_cut,
        )  # fmt: skip
        self.enter(ended, ())


_DAMAGED_RECORD = "thread %r: %s; it continues from the turn before"
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
    generation: int | None = None,
    held: "HeldState | None" = None,
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
        generation: Generation of the thread (`Archive.extent`); read if it is `None`.
        held: The result of `held_state`, if it is known.

    Raises:
        ConflictError: Another process appended at the same time; open the thread again.
    """
    generation = archive.extent(key).generation if generation is None else generation
    held = held or held_state(archive, key, state_turn, messages)
    number, page = held.number, held.page
    alignment, positions = plan_alignment(held.messages, messages), [*ThreadBranch(page.held)]
    kept = [positions[k] for k in alignment.kept]
    dropped = {positions[k] for k in alignment.dropped}
    if manual is not None:
        since = Span(page.length, manual.page.length - 1)
        number, page = manual.number, manual.page
        kept += _logged_already(archive, key, since, messages[len(kept) :])
    if manual is None or not manual.is_rewound:
        if alignment.is_cleared:
            dropped.update(page.line)
        elif starts_at_state and alignment.first:
            dropped.update(page.line.before(positions[alignment.first]))
        dropped.difference_update(kept)
    if number != state_turn and manual is None:  # the row of the state's turn is damaged
        length = archive.length(key)
        kept += _logged_already(archive, key, Span(page.length, length - 1), messages[len(kept) :])
        later = (position for position in kept if position >= page.length)
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
        calibrations={
            model: replace(first_calibration(model), factor=factor, observations=seen)
            for model, (factor, seen) in page.calibration.items()
        },
    )
    session.hold_first(kept, messages, held.digest)
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
            _log.warning(_DAMAGED_RECORD, key.thread, error)
        number = number - 1 if number else None
    return None, _BLANK_RECORD


@dataclass(frozen=True, slots=True)
class HeldState:
    """The messages that a state had at a turn, in its order."""

    number: int | None
    """The place of the record that names them, the newest readable one; `None` if there is none."""
    page: TurnRecord
    """That record."""
    messages: Sequence[Message]
    digest: StateDigest
    """That of the messages, if the present state begins with them; else an empty one."""


def held_state(
    archive: Archive, key: ThreadKey, state_turn: int | None, messages: Sequence[Message]
) -> HeldState:
    """Return the messages that a state had at a turn.

    The log is not read if the present state still begins with them, by their digest.

    Args:
        archive: The archive of the thread.
        key: The thread.
        state_turn: Place of the last record of the state; `None` for a new one.
        messages: The messages of the present state.
    """
    number, page = _newest_readable(archive, key, state_turn)
    line, digest = ThreadBranch(page.held), StateDigest()
    first = messages[: len(line)]
    if page.held_digest and page.held_digest == digest.of(first):
        return HeldState(number, page, first, digest)
    logged = [message for _, message in read_branch(archive, key, line)]
    return HeldState(number, page, logged, StateDigest())


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
) -> list[int]:
    """Return the positions of messages logged by a run that failed before it saved a state."""
    already_logged: list[int] = []
    for position, message in read_branch(archive, key, ThreadBranch((logged_span,))):
        if len(already_logged) < len(state_messages) and is_same(
            message, state_messages[len(already_logged)]
        ):
            already_logged.append(position)
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
