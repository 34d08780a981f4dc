"""The validity gate: checks whether every provider would accept a request.

Messages are checked as they are sent, for any wire; merges by a wire itself (of consecutive
messages of one role) are not a violation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from thalweg.engine.entries import Message, ToolCall
from thalweg.engine.window.items import is_blank

MAX_ID_CHARS = 40
"""Longest id of a call that every provider accepts."""


@dataclass(slots=True)
class ValidityGate:
    """Checks a request message by message; the state between calls is that of its prefix.

    Checking a request that extends the previous one takes time in proportion to the new messages:
    keep the gate and feed it only those.
    """

    problems: list[str] = field(default_factory=list)
    _call_ids: set[str] = field(default_factory=set)
    _unanswered: dict[str, None] = field(default_factory=dict)
    _has_started: bool = False
    _last_role: str = ""
    _checked_count: int = 0

    def feed(self, messages: Iterable[Message]) -> None:
        """Check the next messages."""
        for message in messages:
            self._check_message(message)
            self._checked_count += 1
            self._last_role = message.role

    def _check_message(self, message: Message) -> None:
        if is_blank(message):
            self._add_problem("is empty")
        if message.role == "tool":
            self._check_result(message)
            return
        if self._unanswered:
            self._add_problem(f"comes while {len(self._unanswered)} calls have no result")
            self._unanswered.clear()
        if message.role != "system" and not self._has_started:
            self._has_started = True
            if message.role != "user":
                self._add_problem("is the first message and not a user's")
        for call in message.calls:
            self._check_call(message, call)

    def _check_call(self, message: Message, call: ToolCall) -> None:
        if message.role != "assistant":
            self._add_problem("calls a tool and is not the assistant's")
        if not call.id or len(call.id) > MAX_ID_CHARS:
            self._add_problem(f"has a call whose id is {len(call.id)} characters long")
        if call.id in self._call_ids:
            self._add_problem(f"reuses the id {call.id}")
        self._call_ids.add(call.id)
        self._unanswered[call.id] = None

    def _check_result(self, message: Message) -> None:
        if message.answers in self._unanswered:
            del self._unanswered[message.answers]
        else:
            self._add_problem("is a result that no call right before it waits for")

    def _add_problem(self, defect: str) -> None:
        self.problems.append(f"message {self._checked_count + 1} {defect}")

    def verdict(self) -> tuple[str, ...]:
        """Return the defects of the request so far; empty if a provider accepts it."""
        end_problems: list[str] = []
        if self._unanswered:
            end_problems.append(
                f"the request ends while {len(self._unanswered)} calls have no result"
            )
        if self._last_role == "assistant":
            end_problems.append("the request ends with the assistant's message")
        if not self._has_started:
            end_problems.append("the request has no message besides the system prompt")
        return (*self.problems, *end_problems)


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
    gate = ValidityGate()
    gate.feed(messages)
    return gate.verdict()
