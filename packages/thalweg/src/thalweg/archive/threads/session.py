"""An open thread: the engine, synchronized with the archive.

The order of effects is fixed: messages are appended to the log, edits are planned, the content that
they refer to is made durable, the turn is added to the journal. After a crash between any two,
`open_session` continues.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from thalweg.archive import Archive, Logged, ThreadKey
from thalweg.archive.threads.answers import AnswerLog
from thalweg.archive.threads.branch import ThreadBranch, read_branch, spans_of
from thalweg.archive.threads.journal import TurnRecord, enter_page, read_pages
from thalweg.archive.threads.restoring import RestoredEngine, pin_again
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry, Message
from thalweg.engine.identity import common_prefix_length, is_same
from thalweg.engine.tokens import Calibration
from thalweg.errors import ConflictError, DeletedThreadError

RECORDS_PER_READ = 32
"""Records that are read at once."""


@dataclass(frozen=True, slots=True)
class StateMessage:
    """A message in the state of the agent's graph, as the log has it."""

    position: int
    message: Message
    is_again: bool = False
    """Whether it was removed from the state and added again: the caller sends all messages."""


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
    held: list[StateMessage] = field(default_factory=list)
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

    def knows(self, messages: Sequence[Message]) -> bool:
        """Return whether a state still begins with its last seen messages."""
        return common_prefix_length([h.message for h in self.held], messages) == len(self.held)

    def sync(self, messages: Sequence[Message], *, others_belong: Callable[[], bool]) -> None:
        """Append the new messages of a state, which the session `knows`, to the log.

        A message that was removed from the state and added again, with the same text and id, keeps
        its position. Messages that others appended in the meantime are added to the branch, or
        skipped if a rewind abandoned them.

        Args:
            messages: The messages of the state, oldest first.
            others_belong: Returns whether messages appended by others belong to the thread;
                called only if there are any.

        They are in the archive after `write` or `enter`.

        Raises:
            ConflictError: The thread was deleted; open it again.
        """
        self.write()
        known = len(self.held)
        readded = self._find_readded(messages[known:])
        new = [message for k, message in enumerate(messages[known:]) if k not in readded]
        log_length = self._extent()
        if self.root is None:
            self._find_branch_start(new, log_length)
        if log_length > self.length:
            self._catch_up(new, log_length, others_belong)
        if new:
            entries = [self._receive(m, p) for p, m in enumerate(new, log_length)]
            self.unwritten = [
                Logged(e.message, e.answers.brief if e.answers else "") for e in entries
            ]
            self.length = log_length + len(entries)
            for entry in entries:
                self._hold(entry)
        if readded:
            new_messages_held = iter(self.held[known:])
            indices = range(len(messages) - known)
            self.held[known:] = [
                readded[k] if k in readded else next(new_messages_held) for k in indices
            ]

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
        if self.generation and self.archive.extent(self.key)[0] != self.generation:
            raise DeletedThreadError(self.key.thread)

    def _extent(self) -> int:
        """Return the length of the log, after a check that it is still the same one."""
        generation, log_length = self.archive.extent(self.key)
        if log_length < self.length or (self.generation and generation != self.generation):
            raise ConflictError(self.key.thread, self.length, log_length)
        self.generation = generation
        return log_length

    def _note_generation(self) -> None:
        if not self.generation:
            self.generation = self.archive.extent(self.key)[0]

    def _find_readded(self, messages: Sequence[Message]) -> dict[int, StateMessage]:
        """Return the messages that are in the branch already, by index in `messages`.

        Computed only if there is a user message: messages of a model and its tools are new.
        """
        if all(message.role != "user" for message in messages):
            return {}
        held = {h.position for h in self.held}
        if held.issuperset(self.line):
            return {}
        positions_by_uid = self.archive.positions(self.key, {message.uid for message in messages})
        branch_positions = {
            p for places in positions_by_uid.values() for p in places if p in self.line
        } - held
        logged = dict(
            read_branch(self.archive, self.key, ThreadBranch.of(sorted(branch_positions)))
        )
        readded: dict[int, StateMessage] = {}
        for index, message in enumerate(messages):
            places = [p for p in positions_by_uid.get(message.uid, ()) if p in logged]
            if equal_positions := [p for p in places if is_same(logged[p], message)]:
                logged.pop(equal_positions[0])
                readded[index] = StateMessage(equal_positions[0], message, is_again=True)
        return readded

    def _find_branch_start(self, new_messages: Sequence[Message], log_length: int) -> None:
        """Find the beginning of a branch that continues from no turn.

        The branch is new, unless the log already has the first message of the state: then a run
        ended before its state had a checkpoint pointer. Messages without ids, which no graph's
        state has, are compared with the log from its beginning.
        """
        if new_messages and not new_messages[0].uid:
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
        for first in range(0, count, RECORDS_PER_READ):
            pages = read_pages(self.archive, self.key, first, first + RECORDS_PER_READ - 1).values()
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
        self.held += [StateMessage(p, m) for p, m in zip(positions, messages, strict=True)]
        self.length = positions[-1] + 1

    def last_rejection(self) -> str:
        """Return the provider's error about the newest turn; empty if it was not refused.

        A failed run leads to turns that the state does not include, so the turn may be later than
        the session's parent turn.
        """
        branch_records = (
            page for page in reversed(self._later_records()) if page.root == self.root
        )
        return next(branch_records, self.page).rejected

    def _later_records(self) -> list[TurnRecord]:
        first = 0 if self.number is None else self.number + 1
        return list(read_pages(self.archive, self.key, first).values())

    def _receive(self, message: Message, position: int) -> Entry:
        self.line = self.line.add(position)
        return self.engine.receive(message, position=position)

    def _hold(self, entry: Entry) -> None:
        self.held.append(StateMessage(entry.position, entry.message))

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
        if newest is None:
            kept = [h for h in self.held if h.position in self.line]
        else:
            kept = [h for h in self.held if h.position in self.line and not h.is_again]
            if len(kept) > newest + spare:
                kept = kept[_last_request(kept, len(kept) - newest) :]
        staying = {h.position for h in kept}
        removed_ids = [h.message.uid for h in self.held if h.position not in staying]
        self.held = kept
        return removed_ids

    def enter(self, page: TurnRecord, edits: Sequence[Edit]) -> int:
        """Add a turn to the journal, from which the thread then continues.

        Messages that are not in the archive yet are written with it.

        Args:
            page: The turn record; its place in the tree is filled in.
            edits: Edits committed since the last turn.

        Returns:
            The place of its record in the journal.

        Raises:
            ConflictError: Another process has appended; open the thread again.
        """
        page = replace(
            page,
            parent=self.number,
            instead_of=self.instead_of,
            root=self.root or 0,
            length=self.length,
            line=self.line,
            held=spans_of(h.position for h in self.held),
            calls=self.engine.turn,
            policy=dict(self.engine.policy.memory),
            calibration={m: (c.factor, c.observations) for m, c in self.calibrations.items()},
            edits=(*self.carried, *edits),
            answered=self.answers.take(),
            note="; ".join(filter(None, (self.note, page.note))),
        )
        log, generation = self.unwritten, self.generation
        self.number, self.page = enter_page(
            self.archive, self.key, page, self.page, self.engine, log, generation=generation
        )
        self.unwritten, self.carried, self.note, self.instead_of = [], (), "", None
        self._note_generation()
        self.engine.history.clear()  # stored in the journal; would grow without bound
        return self.number


def _last_request(held: Sequence[StateMessage], last_index: int) -> int:
    """Return the index of the newest request up to an index; 0 if there is none."""
    return next((index for index in range(last_index, -1, -1) if held[index].message.is_request), 0)
