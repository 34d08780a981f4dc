"""What happened in a trial: every request, whole, and what came of it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["agent", "subagent", "harness"]
"""Who sent a request: the agent, a subagent of it, or the harness for itself (a summary, what
memory learns)."""
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asked for."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it stood in a request, or as a model answered it."""

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    answers: str = ""
    """The id of the call that a tool's result answers."""
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model."""

    number: int
    """From 0, in the order in which they were sent."""
    turn: int
    """Which time the user spoke, from 0."""
    thread: str
    kind: Kind
    messages: tuple[Said, ...]
    tools: tuple[str, ...]
    tokens: int
    """Of the messages and the tools' schemas, o200k."""
    answer: Said | None
    """`None` where the model failed."""
    input_tokens: int = 0
    """As the model reported, as are the others."""
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str = ""

    def text(self) -> str:
        """All that the model was shown, for graders to search."""
        return "\n".join(message.text for message in self.messages)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user said, and what was answered."""

    thread: str
    text: str
    answer: str
    error: str = ""


@dataclass(slots=True)
class Trace:
    """Everything that happened in a trial."""

    requests: list[Request] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    def agents(self, thread: str | None = None) -> list[Request]:
        """List the agent's own requests."""
        return [
            one for one in self.requests if one.kind == "agent" and thread in {None, one.thread}
        ]

    def compactions(self, thread: str | None = None) -> list[int]:
        """List the numbers of the agent's requests that are smaller than the one before.

        A context grows by what is said; where it shrinks, something left it. This holds for
        every harness, whatever it calls what it does.
        """
        found: list[int] = []
        before: dict[str, Request] = {}
        for one in self.agents(thread):
            last = before.get(one.thread)
            if last is not None and one.tokens < last.tokens:
                found.append(one.number)
            before[one.thread] = one
        return found

    def calls(self, name: str | None = None) -> Iterator[Call]:
        """Give what the agent asked of tools, in order."""
        for one in self.agents():
            for call in one.answer.calls if one.answer else ():
                if name in {None, call.name}:
                    yield call

    @property
    def last(self) -> Request | None:
        """The agent's last request."""
        return next((one for one in reversed(self.requests) if one.kind == "agent"), None)

    @property
    def answer(self) -> str:
        """What the agent said last."""
        return self.turns[-1].answer if self.turns else ""

    def to_plain(self) -> dict[str, Any]:
        """Write it in plain values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Trace":
        """Read what `to_plain` wrote."""
        requests = [
            Request(
                **{
                    **one,
                    "messages": tuple(_said(said) for said in one["messages"]),
                    "tools": tuple(one["tools"]),
                    "answer": _said(one["answer"]) if one["answer"] else None,
                }
            )
            for one in plain["requests"]
        ]
        return cls(requests, [Turn(**one) for one in plain["turns"]], plain["files"])


def _said(plain: Mapping[str, Any]) -> Said:
    return Said(**{**plain, "calls": tuple(Call(**call) for call in plain["calls"])})
