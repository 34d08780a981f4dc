"""A recorded thread as a clean conversation, and the base of those who get it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg.engine.entries import Message
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.window.items import ValidityGate, WindowItem
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing


@dataclass(slots=True)
class ThreadLayout:
    """The whole thread as our window lays it out, never compacted.

    Logs have defects: results without ids, calls without results, late results, several turns in a
    row. A contestant gets what a provider would accept instead: unique ids, a result after every
    call, no two turns of the assistant in a row.
    """

    count: Counter = field(default_factory=exact_counter)
    _reader: Reader = field(init=False)
    _window: Window = field(init=False)
    _given: int = 0

    def __post_init__(self) -> None:
        self._reader = Reader(self.count)
        self._window = Window(self.count)

    def receive(self, message: Message) -> None:
        """Receive the recording's next message."""
        self._window.add(self._reader.read(message))

    def new(self) -> list[WindowItem]:
        """Return the items since the last call; call it when the next turn is about to begin.

        Returns:
            At the beginning system messages, then a user's. Later the assistant's message, a result
            for each of its calls, and then all other messages. The assistant's is missing if it was
            empty.
        """
        self._window.settle()
        new = self._window.items[self._given :]
        self._given += len(new)
        return new


@dataclass(slots=True, kw_only=True)
class PeerContestant(Contestant):
    """What all adapters of peers do: lay the thread out, check requests."""

    count: Counter = field(init=False, default_factory=exact_counter)
    layout: ThreadLayout = field(init=False, default_factory=ThreadLayout)
    _systems: list[WindowItem] = field(init=False, default_factory=list)
    """The beginning of the thread, which peers keep apart from the messages."""
    _gate: ValidityGate = field(init=False, default_factory=ValidityGate)
    _checked: list[WindowItem] = field(init=False, default_factory=list)

    def receive(self, message: Message) -> None:
        """Receive the recording's next message; see `Contestant.receive`."""
        self.layout.receive(message)

    def _sent(
        self,
        items: Sequence[WindowItem],
        whole: frozenset[int],
        beside: int,
        summaries: Sequence[Summarizing] = (),
    ) -> PeerRequest:
        return PeerRequest(
            items=items,
            whole=whole,
            overhead=beside,
            summaries=tuple(summaries),
            problems=self._problems(items),
        )

    def _problems(self, items: Sequence[WindowItem]) -> tuple[str, ...]:
        """Pass a request through the gate, in time for what is new."""
        known = len(self._checked)
        if items[:known] != self._checked:
            self._gate, self._checked, known = ValidityGate(), [], 0
        new = items[known:]
        self._gate.feed(item.message for item in new)
        self._checked += new
        return self._gate.verdict()
