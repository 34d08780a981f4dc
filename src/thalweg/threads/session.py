"""One thread, open: the engine, and the archive under it kept in step.

The order of effects is always the same: what was said is appended to the log, edits are
planned, what they name is made durable, the turn is entered in the journal. A crash between
any two leaves a state that `open_session` goes on from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from thalweg.archive import Archive, Logged, ThreadKey
from thalweg.context.edits import Edit
from thalweg.context.engine import Engine
from thalweg.entries import Entry, Message
from thalweg.errors import ConflictError
from thalweg.threads.journal import Page, enter_page, read_page, read_pages
from thalweg.threads.line import Line, read_line, spans_of
from thalweg.tokens import Calibration

LIVE_S = 20.0
"""A turn of another run this young, with no end behind it: that run is still going on."""


@dataclass(frozen=True, slots=True)
class Held:
    """A message that the state of the agent's graph holds, as the log has it."""

    position: int
    message: Message
    is_again: bool = False
    """Whether it had left the state, and came again: whoever called sends all there is."""


@dataclass(slots=True)
class Session:
    """A thread that is being worked on, by one run at a time."""

    archive: Archive
    key: ThreadKey
    engine: Engine
    page: Page
    """The turn it goes on from; a blank one of a new thread."""
    number: int | None = None
    """Its number; `None` before the first."""
    length: int = 0
    """Length of the log as last seen."""
    line: Line = field(default_factory=Line)
    """The thread's messages."""
    held: list[Held] = field(default_factory=list)
    calibrations: dict[str, Calibration] = field(default_factory=dict)
    """By model."""
    unwritten: list[Logged] = field(default_factory=list)
    """The newest messages of the log, which are not in the archive yet: `enter` writes them with
    the turn, in one transaction."""
    is_running: bool = False
    """Whether a run is under way that left the thread in this very state."""

    def knows(self, said: Sequence[Message]) -> bool:
        """Tell whether a state still begins with what it was seen to hold."""
        return common([h.message for h in self.held], said) == len(self.held)

    def sync(self, said: Sequence[Message], *, joins: Callable[[], bool]) -> None:
        """Bring the log up to date with the messages of a state, which the session `knows`.

        What the state has and the log has not is appended. What left the state before and is
        there again, the same words under the same id, is no news: it stands where it stood.
        What others appended meanwhile is taken in, or passed over: a rewind left it behind.

        Args:
            said: The messages of the state, oldest first.
            joins: Tells whether what others appended belongs to the thread. Asked where there
                is any.

        What is appended is in the archive after `write` or `enter`.

        Raises:
            ConflictError: Someone deleted the thread; open it again.
        """
        self.write()
        known = len(self.held)
        again = self._again(said[known:])
        new = [message for k, message in enumerate(said[known:]) if k not in again]
        found = self.archive.length(self.key)
        if found < self.length:  # deleted under our hands
            raise ConflictError(self.key.thread, self.length, found)
        if found > self.length:
            self._catch_up(new, found, joins)
        if new:
            entries = [self._receive(m, p) for p, m in enumerate(new, found)]
            self.unwritten = [
                Logged(e.message, e.answers.brief if e.answers else "") for e in entries
            ]
            self.length = found + len(entries)
            for entry in entries:
                self._hold(entry)
        if again:
            news = iter(self.held[known:])
            places = range(len(said) - known)
            self.held[known:] = [again[k] if k in again else next(news) for k in places]

    def write(self) -> None:
        """Write to the archive what `sync` appended to the log: handles can name it from now on.

        Raises:
            ConflictError: Someone appended in this very moment; open the thread again.
        """
        if self.unwritten:
            written = self.length - len(self.unwritten)
            self.archive.append(self.key, self.unwritten, expected=written)
            self.unwritten = []

    def _again(self, said: Sequence[Message]) -> dict[int, Held]:
        """Find what stands in the line already; by place in `said`.

        Asked only when a user spoke: what a model and its tools say is new.
        """
        if all(message.role != "user" for message in said):
            return {}
        held = {h.position for h in self.held}
        if held.issuperset(self.line):
            return {}
        found = self.archive.positions(self.key, {message.uid for message in said})
        standing = {p for places in found.values() for p in places if p in self.line} - held
        logged = dict(read_line(self.archive, self.key, Line.of(sorted(standing))))
        again: dict[int, Held] = {}
        for k, message in enumerate(said):
            places = [p for p in found.get(message.uid, ()) if p in logged]
            if same := [p for p in places if is_same(logged[p], message)]:
                logged.pop(same[0])
                again[k] = Held(same[0], message, is_again=True)
        return again

    def _catch_up(self, new: list[Message], found: int, joins: Callable[[], bool]) -> None:
        """Read what is in the log already; what of it is `new` to the state leaves that list."""
        later = self.archive.messages(self.key, self.length, found - 1)
        left: set[int] | None = None
        for position, message in enumerate(later, self.length):
            if new and is_same(message, new[0]):
                self._hold(self._receive(new.pop(0), position))
                continue
            if left is None:
                left = self._left_before(found) if joins() else set(range(found))
            if position not in left and not any(is_same(message, one) for one in new):
                self._receive(message, position)
        self.length = found

    def _left_before(self, found: int) -> set[int]:
        """Tell what an earlier attempt to go on from this very turn left behind.

        It was a rewind, and came to nothing: its model failed. The rewind holds.
        """
        attempts = [page for page in self._later() if page.parent == self.number]
        return {
            position
            for page in attempts
            for position in range(self.length, min(page.length, found))
            if position not in page.line
        }

    def leave_behind(self, said: Sequence[Message]) -> None:
        """Log messages of the state that a rewind left behind: they are not in the line.

        Args:
            said: They follow what the state is known to hold.

        Raises:
            ConflictError: Someone appended in this very moment; open the thread again.
        """
        if not said:
            return
        found = self.archive.length(self.key)
        known = common(self.archive.messages(self.key, self.length, found - 1), said)
        if rest := said[known:]:
            self.archive.append(self.key, [Logged(message) for message in rest], expected=found)
        there = range(self.length, self.length + known)
        positions = (*there, *range(found, found + len(rest)))
        self.held += [Held(p, m) for p, m in zip(positions, said, strict=True)]
        self.length = positions[-1] + 1

    def has_company(self, now: float) -> bool:
        """Tell whether another run of the thread seems to be under way."""
        newest = self.newest_later()
        return newest is not None and newest[1].kind == "call" and now - newest[1].at < LIVE_S

    def newest_later(self) -> tuple[int, Page] | None:
        """Find the newest turn that was entered since this session's, with its number."""
        first = 0 if self.number is None else self.number + 1
        last = self.archive.turn_count(self.key) - 1
        return (last, read_page(self.archive, self.key, last)) if last >= first else None

    def last_rejection(self) -> str:
        """Return the words of the provider that refused the newest turn; empty where none did.

        A run that failed leaves the state behind its own turns, so the turn may be a later one
        than the session goes on from.
        """
        return next(reversed(self._later()), self.page).rejected

    def _later(self) -> list[Page]:
        first = 0 if self.number is None else self.number + 1
        return list(read_pages(self.archive, self.key, first).values())

    def _receive(self, message: Message, position: int) -> Entry:
        self.line = self.line.add(position)
        return self.engine.receive(message, at=position)

    def _hold(self, entry: Entry) -> None:
        self.held.append(Held(entry.position, entry.message))

    def release(self, newest: int | None, *, spare: int = 0) -> list[str]:
        """Release what the state need not hold: all of it is in the log.

        Args:
            newest: How many of the newest messages stay at least; `None` keeps all of them.
                What stays begins with a request, so that no run is cut in two.
            spare: How many more there may be before any leaves.

        Returns:
            Ids of the messages that leave the state. What a person rewound is among them,
            whatever `newest` is.
        """
        if newest is None:
            kept = [h for h in self.held if h.position in self.line]
        else:
            kept = [h for h in self.held if h.position in self.line and not h.is_again]
            if len(kept) > newest + spare:
                kept = kept[_last_request(kept, len(kept) - newest) :]
        staying = {h.position for h in kept}
        gone = [h.message.uid for h in self.held if h.position not in staying]
        self.held = kept
        return gone

    def enter(self, page: Page, edits: Sequence[Edit]) -> int:
        """Enter a turn in the journal: from now on it is what the thread goes on from.

        What is not in the archive yet is written with it.

        Args:
            page: What is to be said of the turn; where it belongs is filled in.
            edits: What was committed since the last one.

        Returns:
            The turn's number.

        Raises:
            ConflictError: Someone appended meanwhile; open the thread again.
        """
        page = replace(
            page,
            parent=self.number,
            length=self.length,
            line=self.line,
            held=spans_of(h.position for h in self.held),
            turn=self.engine.turn,
            policy=dict(self.engine.policy.memory),
            calibration={m: (c.factor, c.observations) for m, c in self.calibrations.items()},
            edits=tuple(edits),
        )
        self.number, self.page = enter_page(
            self.archive, self.key, page, self.page, self.engine, self.unwritten
        )
        self.unwritten = []
        self.engine.history.clear()  # the journal has it, and it would grow with the thread
        return self.number


def _last_request(held: Sequence[Held], upto: int) -> int:
    """Find the newest request no later than a place; 0 where there is none."""
    return next((k for k in range(upto, -1, -1) if held[k].message.is_request), 0)


def is_same(one: Message, other: Message) -> bool:
    """Tell whether two messages are the same words under the same id."""
    return one is other or (
        one.uid == other.uid
        and one.role == other.role
        and one.answers == other.answers
        and one.parts == other.parts
    )


def common(held: Sequence[Message], said: Sequence[Message]) -> int:
    """Count the leading messages that both have."""
    odd = (k for k, pair in enumerate(zip(held, said, strict=False)) if not is_same(*pair))
    return next(odd, min(len(held), len(said)))
