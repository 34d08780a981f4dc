"""Drive threads as an agent's graph does: a growing state, a mark, and now and then a restart."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from core_tests.archives import archive_in_memory
from core_tests.property.driving import KEY, quick_count
from thalweg.archive import (
    Archive,
    Handle,
    Logged,
    Span,
    SqliteArchive,
    ThreadKey,
    TurnRow,
)
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, page_from_json
from thalweg.archive.threads.session import ThreadSession, open_session
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg.errors import ConflictError

BUDGET = Budget(window=2_000, max_output=0, tail_tokens=300)


@dataclass(frozen=True, slots=True)
class State:
    """What a checkpoint holds."""

    mark: int | None = None
    messages: tuple[Message, ...] = ()

    def plus(self, *messages: Message) -> "State":
        """Add messages."""
        return replace(self, messages=(*self.messages, *messages))


@dataclass(slots=True)
class Graph:
    """One process that drives a thread."""

    archive: Archive = field(default_factory=lambda: archive_in_memory(b"x"))
    budget: Budget = BUDGET
    tariff: str = "anthropic"
    newest: int = 4
    """Messages that the state keeps at least."""
    key: ThreadKey = KEY
    sessions: dict[int, ThreadSession] = field(default_factory=dict)
    """States suspended after a call, by the turn they are at, until a run continues from there."""
    line: ThreadBranch = field(default_factory=ThreadBranch)
    """The thread's line after the last turn."""
    requests: list[tuple[Message, ...]] = field(default_factory=list)
    problems: list[tuple[str, ...]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    conflicts: int = 0

    def restart(self) -> None:
        """Forget everything that is not in the archive."""
        self.sessions.clear()

    def take(self, state: State, *, joins: bool = True) -> ThreadSession:
        """Open the thread at its state, and bring its log up to date."""
        session = None if state.mark is None else self.sessions.pop(state.mark, None)
        if session is None or not session.knows(state.messages):
            session = open_session(self.archive, self.key, state.mark, state.messages, self._engine)
        session.sync(state.messages, others_belong=lambda: joins)
        return session

    def _engine(self, name_span: Callable[[int, int], str]) -> Engine:
        policy = RentOrBuy(TARIFFS[self.tariff])
        return Engine(self.budget, policy, quick_count, name_span)

    def call(
        self, state: State, *, joins: bool = True, cold: bool = False, pin: int | None = None
    ) -> State:
        """Make one request; return the state after the middleware ran."""
        session = self.take(state, joins=joins)
        gone = set(session.release(self.newest))
        engine = session.engine
        done = len(engine.history)
        items = engine.prepare(cold=cold)
        if pin is not None:
            spoken = (e for e in engine.window.entries.values() if e.is_request)
            for entry in [e for e in spoken if e.message.text][pin : pin + 1]:
                engine.pin(entry.position, entry.message.text[:30])
        [system] = self.archive.attach(self.key, "Be kind.")
        page = TurnRecord(kind="call", at=0.0, length=0, system=system)
        session.enter(page, engine.history[done:])
        self.requests.append(tuple(item.message for item in items))
        self.problems.append(engine.problems)
        self.tokens.append(engine.window.tokens)
        return self._left(session, state, gone)

    def end(self, state: State) -> State:
        """Log the newest messages, and end the run."""
        session = self.take(state)
        session.enter(TurnRecord(kind="end", at=0.0, length=0), ())
        return self._left(session, state, set())

    def _left(self, session: ThreadSession, state: State, gone: set[str]) -> State:
        assert session.number is not None
        self.sessions[session.number] = session
        self.line = session.line
        kept = tuple(m for m in state.messages if m.uid not in gone)
        return State(session.number, kept)

    def again(self, step: Callable[[], State]) -> State:
        """Take a step; again from the archive, as often as another run comes first."""
        while True:
            try:
                return step()
            except ConflictError:
                self.conflicts += 1

    def log(self) -> list[Message]:
        """Read the whole log."""
        return self.archive.messages(self.key)

    def said(self, line: ThreadBranch) -> list[Message]:
        """Read the messages of a line."""
        log = self.log()
        return [log[position] for position in line]

    def pages(self) -> list[TurnRecord]:
        """Read the whole journal."""
        return [page_from_json(text) for text in self.archive.turns(self.key)]


def numbered(messages: Sequence[Message]) -> list[Message]:
    """Assign every message an id of its own."""
    return [replace(message, uid=f"m{n}") for n, message in enumerate(messages)]


@dataclass(slots=True)
class Writes:
    """Something that happens at the writes of an archive."""

    happens: Callable[[], None] | None = None
    count: int = 0

    def one(self) -> None:
        """Receive notice of a write: once before it, and once after it."""
        self.count += 1
        if self.happens:
            self.happens()


class WatchedArchive(SqliteArchive):
    """An archive in memory whose writes are watched."""

    def __init__(self) -> None:
        super().__init__(":memory:", secret=b"x")
        self.close_when_collected()
        self.writes = Writes()

    def append(
        self,
        key: ThreadKey,
        messages: Sequence[Logged],
        *,
        expected: int | None = None,
        generation: int = 0,
    ) -> int:
        """See `Archive.append`."""
        with self._watched():
            return super().append(key, messages, expected=expected, generation=generation)

    def add_turn(
        self,
        key: ThreadKey,
        turn: TurnRow,
        *,
        length: int,
        log: Sequence[Logged] = (),
        generation: int = 0,
        expected: int | None = None,
    ) -> int:
        """See `Archive.add_turn`."""
        with self._watched():
            return super().add_turn(
                key, turn, length=length, log=log, generation=generation, expected=expected
            )

    def handle(self, key: ThreadKey, span: Span) -> Handle:
        """See `Archive.handle`."""
        with self._watched():
            return super().handle(key, span)

    def attach(self, key: ThreadKey, *texts: str) -> list[str]:
        """See `Archive.attach`."""
        with self._watched():
            return super().attach(key, *texts)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        self.writes.one()
        yield
        self.writes.one()


def text_of(message: Message) -> str:
    """Write the text and the calls of a message."""
    return message.text + "".join(call.arguments for call in message.calls)
