"""The trace of a trial: every request, complete, and its answer."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from itertools import groupby
from typing import Any, Literal

from thalweg_recorder.pages import Pool

Kind = Literal["agent", "subagent", "harness"]
"""The sender of a request: the agent, a subagent of it, or the harness for itself (a summary,
learning)."""
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A tool call of a model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """A message in a request, or a model's answer."""

    role: Role
    text: str
    calls: tuple[TracedCall, ...] = ()
    answers: str = ""
    """In a tool's result: the id of the call."""
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model."""

    number: int
    """From 0, in the order in which they were sent."""
    turn: int
    """Index of the user's message, from 0."""
    thread: str
    kind: Kind
    messages: tuple[TracedMessage, ...]
    tools: tuple[str, ...]
    tokens: int
    """Tokens of the messages and the tools' schemas, o200k."""
    fixed: int = 0
    """Those of `tokens` that are the same in every request: instructions and the tools' schemas."""
    answer: TracedMessage | None
    """`None` if the model failed."""
    input_tokens: int = 0
    """As the model reported, as are the others."""
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def calls(self) -> tuple[TracedCall, ...]:
        """The tool calls of its answer."""
        return self.answer.calls if self.answer else ()

    def text(self) -> str:
        """Return all text that the model was shown, for graders to search."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A user's message and its answer."""

    thread: str
    text: str
    answer: str
    error: str = ""


@dataclass(slots=True)
class Trace:
    """Everything that happened in a trial."""

    requests: list[Request] = field(default_factory=list)
    turns: list[TracedTurn] = field(default_factory=list)
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    def agents(self, thread: str | None = None) -> list[Request]:
        """Return the agent's own requests."""
        return [
            one for one in self.requests if one.kind == "agent" and thread in {None, one.thread}
        ]

    def compactions(self, thread: str | None = None) -> list[int]:
        """Return the numbers of the agent's requests that are smaller than the previous one.

        A context grows with each message; if it shrinks, content was removed. This holds for every
        harness.
        """
        found: list[int] = []
        before: dict[str, Request] = {}
        for one in self.agents(thread):
            last = before.get(one.thread)
            if last is not None and one.tokens < last.tokens:
                found.append(one.number)
            before[one.thread] = one
        return found

    def calls(self, *names: str) -> Iterator[tuple[Request, TracedCall]]:
        """Yield the agent's calls with the requests that they answered, in order.

        Args:
            names: Names of tools; any if empty.
        """
        for request in self.agents():
            for call in request.calls:
                if not names or call.name in names:
                    yield request, call

    def put(self, text: str) -> int | None:
        """Return the newest turn in which the user sent exactly this; `None` if there is none.

        Args:
            text: The user's message.
        """
        turns = range(len(self.turns) - 1, -1, -1)
        return next((turn for turn in turns if self.turns[turn].text == text), None)

    def within(self, turn: int) -> list[Request]:
        """Return the agent's requests of a turn."""
        return [one for one in self.agents() if one.turn == turn]

    @property
    def last(self) -> Request | None:
        """The agent's last request."""
        return next((one for one in reversed(self.requests) if one.kind == "agent"), None)

    @property
    def answer(self) -> str:
        """The agent's last message."""
        return self.turns[-1].answer if self.turns else ""

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON values; see `from_plain`.

        Each message is stored once: a request refers to its messages by ranges `[first, end)` of
        that list.
        """
        pool = Pool()
        requests = [_plain_request(one, pool) for one in self.requests]
        return {
            "messages": [json.loads(str(line)) for line in pool.numbers],
            "requests": requests,
            "turns": [_plain(one) for one in self.turns],
            "files": dict(self.files),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Trace":
        """Parse the output of `to_plain`."""
        messages = [_message(one) for one in plain["messages"]]
        requests = [_request(one, messages) for one in plain["requests"]]
        turns = [TracedTurn(**one) for one in plain["turns"]]
        return cls(requests, turns, dict(plain["files"]))


def stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as first and last of each range of consecutive ones.

    Example:
        >>> stretches([3, 4, 5, 1])
        [(3, 5), (1, 1)]
    """
    groups = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ranges = [[number for _, number in group] for _, group in groups]
    return [(one[0], one[-1]) for one in ranges]


def _plain(value: TracedMessage | TracedCall | TracedTurn | Request) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    plain: dict[str, Any] = {}
    for one in fields(value):
        item = getattr(value, one.name)
        if one.default is MISSING or item != one.default:
            plain[one.name] = dict(item) if isinstance(item, Mapping) else item
    return plain


def _plain_request(request: Request, pool: Pool) -> dict[str, Any]:
    places = (_place(message, pool) for message in request.messages)
    return {
        **_plain(request),
        "messages": [[first, last + 1] for first, last in stretches(places)],
        "tools": list(request.tools),
        "answer": None if request.answer is None else _place(request.answer, pool),
    }


def _place(message: TracedMessage, pool: Pool) -> int:
    plain = _plain(message)
    if message.calls:
        plain["calls"] = [_plain(call) for call in message.calls]
    return pool.number(json.dumps(plain))


def _message(plain: Mapping[str, Any]) -> TracedMessage:
    calls = tuple(TracedCall(**one) for one in plain.get("calls", ()))
    return TracedMessage(**{**plain, "calls": calls})


def _request(plain: Mapping[str, Any], messages: Sequence[TracedMessage]) -> Request:
    shown = tuple(one for first, end in plain["messages"] for one in messages[first:end])
    answer = None if plain["answer"] is None else messages[plain["answer"]]
    return Request(**{**plain, "messages": shown, "tools": tuple(plain["tools"]), "answer": answer})
