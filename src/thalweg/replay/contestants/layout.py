"""A recorded thread as a clean conversation, and the check of what is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg.context.reading import Reader
from thalweg.context.validity import Gate
from thalweg.context.window import Item, Window
from thalweg.entries import Message
from thalweg.tokens import Counter, exact_counter


@dataclass(slots=True)
class Layout:
    """The whole thread as our window lays it out, never compacted.

    Logs are odd: results without ids, calls without results, results that come late, several
    turns in a row. Who is measured here is given what a provider would take instead: unique
    ids, a result behind every call, no turn of the assistant's behind another.
    """

    count: Counter = field(default_factory=exact_counter)
    _reader: Reader = field(init=False)
    _window: Window = field(init=False)
    _given: int = 0

    def __post_init__(self) -> None:
        self._reader = Reader(self.count)
        self._window = Window(self.count)

    def receive(self, message: Message) -> None:
        """Take in the recording's next message."""
        self._window.add(self._reader.read(message))

    def new(self) -> list[Item]:
        """Give what came since this was asked before; ask when the next turn is about to begin.

        Returns:
            At the beginning system messages, then a user's. Later the assistant's message, a
            result for each of its calls, and then whatever else was said. The assistant's is
            missing where it had nothing to send.
        """
        self._window.settle()
        new = self._window.items[self._given :]
        self._given += len(new)
        return new


@dataclass(slots=True)
class Checker:
    """The gate over one request after the other, in time for what is new."""

    _gate: Gate = field(default_factory=Gate)
    _checked: list[Item] = field(default_factory=list)

    def problems(self, items: Sequence[Item]) -> tuple[str, ...]:
        """Say why a provider would reject a request; nothing when it takes it."""
        known = len(self._checked)
        if items[:known] != self._checked:
            self._gate, self._checked, known = Gate(), [], 0
        new = items[known:]
        self._gate.feed(item.message for item in new)
        self._checked += new
        return self._gate.verdict()
