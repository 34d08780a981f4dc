"""The validity gate: checks whether every provider would accept a request.

Messages are checked as they are sent, for any wire; merges by a wire itself (of consecutive
messages of one role) are not a violation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from thalweg.engine.entries import Message, ToolCall
from thalweg.engine.window.items import is_blank

MAX_ID = 40
"""Longest id of a call that every provider accepts."""


@dataclass(slots=True)
class Gate:
    """Checks a request message by message; the state between calls is that of its prefix.

    Checking a request that extends the previous one takes time in proportion to the new messages:
    keep the gate and feed it only those.
    """

    problems: list[str] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _waiting: dict[str, None] = field(default_factory=dict)
    _started: bool = False
    _last: str = ""
    _n: int = 0

    def feed(self, messages: Iterable[Message]) -> None:
        """Check the next messages."""
        for message in messages:
            self._feed(message)
            self._n += 1
            self._last = message.role

    def _feed(self, message: Message) -> None:
        if is_blank(message):
            self._problem("is empty")
        if message.role == "tool":
            self._result(message)
            return
        if self._waiting:
            self._problem(f"comes while {len(self._waiting)} calls have no result")
            self._waiting.clear()
        if message.role != "system" and not self._started:
            self._started = True
            if message.role != "user":
                self._problem("is the first message and not a user's")
        for call in message.calls:
            self._call(message, call)

    def _call(self, message: Message, call: ToolCall) -> None:
        if message.role != "assistant":
            self._problem("calls a tool and is not the assistant's")
        if not call.id or len(call.id) > MAX_ID:
            self._problem(f"has a call whose id is {len(call.id)} characters long")
        if call.id in self._ids:
            self._problem(f"reuses the id {call.id}")
        self._ids.add(call.id)
        self._waiting[call.id] = None

    def _result(self, message: Message) -> None:
        if message.answers in self._waiting:
            del self._waiting[message.answers]
        else:
            self._problem("is a result that no call right before it waits for")

    def _problem(self, what: str) -> None:
        self.problems.append(f"message {self._n + 1} {what}")

    def verdict(self) -> tuple[str, ...]:
        """Return the defects of the request so far; empty if a provider accepts it."""
        at_end: list[str] = []
        if self._waiting:
            at_end.append(f"the request ends while {len(self._waiting)} calls have no result")
        if self._last == "assistant":
            at_end.append("the request ends with the assistant's message")
        if not self._started:
            at_end.append("the request has no message besides the system prompt")
        return (*self.problems, *at_end)


def check(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the defects of one whole request.

    Returns:
        One sentence per defect; empty if every provider accepts it.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> check([Message("user", (Text("hi"),))])
        ()
        >>> check([Message("tool", (Text("42"),), answers="c1")])[0]
        'message 1 is a result that no call right before it waits for'
    """
    gate = Gate()
    gate.feed(messages)
    return gate.verdict()
