"""The trace of a conversation: every request, complete, and its answer.

It is recorded by a LangChain callback handler, which receives the model calls of everything that
runs inside a graph: the agent, its middleware and its subagents, of any harness.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Lock
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from thalweg.context.turn.effects import UNSEEN_TAGS
from thalweg.engine.tokens import Counter, count_json, exact_counter

Kind = Literal["agent", "subagent", "harness"]
"""The sender of a request: the agent, a subagent of it, or the harness for itself (a summary)."""
Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_SUMMARY = "lc_source"
"""Metadata key of calls that LangChain's middleware makes for itself."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A tool call of a model."""

    id: str
    name: str
    arguments: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return an argument as a text; empty if it is missing."""
        return str(self.arguments.get(name, ""))


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """A message in a request, or a model's answer."""

    role: Role
    text: str
    calls: tuple[TracedCall, ...] = ()
    answers: str = ""
    """In a tool's result: the id of the call."""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model."""

    number: int
    """From 0, in the order in which they were sent."""
    turn: int
    """Index of the user's message, from 0."""
    kind: Kind
    messages: tuple[TracedMessage, ...]
    tools: tuple[str, ...] = ()
    tokens: int
    """Tokens of the messages and the tools' schemas, o200k."""
    fixed: int = 0
    """Those of `tokens` that are the same in every request: instructions and the tools' schemas."""
    answer: TracedMessage | None = None
    """`None` if the model failed."""
    input_tokens: int = 0
    """As the model reported, as are the others; 0 if it did not."""
    cached_tokens: int = 0
    output_tokens: int = 0

    @property
    def calls(self) -> tuple[TracedCall, ...]:
        """The tool calls of its answer."""
        return self.answer.calls if self.answer else ()

    def text(self) -> str:
        """Return all text that the model was shown, with the arguments of calls."""
        return "\n".join(map(written, self.messages))


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A user's message and its answer."""

    text: str
    answer: str


@dataclass(slots=True)
class Trace:
    """Everything that happened in a conversation."""

    requests: list[Request] = field(default_factory=list)
    turns: list[TracedTurn] = field(default_factory=list)

    def agents(self) -> list[Request]:
        """Return the agent's own requests."""
        return [one for one in self.requests if one.kind == "agent"]

    def compactions(self) -> list[int]:
        """Return the numbers of the agent's requests that are smaller than the previous one.

        A context grows with each message; if it shrinks, content was removed. This holds for every
        harness.
        """
        agents = self.agents()
        pairs = pairwise(agents)
        return [new.number for old, new in pairs if new.tokens < old.tokens]

    def calls(self, *names: str) -> Iterator[tuple[Request, TracedCall]]:
        """Yield the agent's calls with the requests that they answered, in order.

        Args:
            names: Names of tools; any if empty.
        """
        for request in self.agents():
            for call in request.calls:
                if not names or call.name in names:
                    yield request, call

    def turn_of(self, text: str) -> int:
        """Return the newest turn in which the user sent exactly this; -1 if there is none."""
        turns = range(len(self.turns) - 1, -1, -1)
        return next((turn for turn in turns if self.turns[turn].text == text), -1)

    @property
    def answer(self) -> str:
        """The agent's last message."""
        return self.turns[-1].answer if self.turns else ""


class Recorder(BaseCallbackHandler):
    """Records requests in a trace, in the order in which they were sent.

    Args:
        trace: Receives the requests.
        has_tools: Whether the agent has tools: then a request without any is the harness's.
    """

    raise_error = True
    run_inline = True  # so that requests are recorded in order in an event loop, too

    def __init__(self, trace: Trace, *, has_tools: bool) -> None:
        self.trace = trace
        self._has_tools = has_tools
        self._count = exact_counter()
        self._lock = Lock()
        self._open: dict[UUID, int] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's)
    ) -> None:
        """Record a request."""
        del serialized
        schemas = (kwargs.get("invocation_params") or {}).get("tools") or []
        traced = tuple(as_traced_message(message) for message in messages[0])
        conversation = sum(tokens_of(one, self._count) for one in traced if one.role != "system")
        fixed = sum(tokens_of(one, self._count) for one in traced if one.role == "system")
        fixed += sum(count_json(schema, self._count) for schema in schemas)
        with self._lock:
            self._open[run_id] = len(self.trace.requests)
            self.trace.requests.append(
                Request(
                    number=len(self.trace.requests),
                    turn=len(self.trace.turns),
                    kind=self._kind(tags or [], metadata or {}, has_tools=bool(schemas)),
                    messages=traced,
                    tools=tuple(_name_of(schema) for schema in schemas),
                    tokens=conversation + fixed,
                    fixed=fixed,
                )
            )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401 (LangChain's)
        """Record an answer."""
        del kwargs
        made = response.generations[0][0]
        message = made.message if isinstance(made, ChatGeneration) else AIMessage(made.text)
        usage = getattr(message, "usage_metadata", None) or {}
        with self._lock:
            if run_id not in self._open:  # not a chat model: it reports no start
                return
            number = self._open.pop(run_id)
            self.trace.requests[number] = replace(
                self.trace.requests[number],
                answer=as_traced_message(message),
                input_tokens=usage.get("input_tokens", 0),
                cached_tokens=(usage.get("input_token_details") or {}).get("cache_read", 0) or 0,
                output_tokens=usage.get("output_tokens", 0),
            )

    def _kind(self, tags: list[str], about: dict[str, Any], *, has_tools: bool) -> Kind:
        if UNSEEN_TAGS[-1] in tags or _SUMMARY in about:
            return "harness"  # in a subagent, too
        steps = str(about.get("langgraph_checkpoint_ns", "")).split("|")
        if any(step.startswith("tools:") for step in steps[:-1]):
            return "subagent"
        return "harness" if self._has_tools and not has_tools else "agent"


def written(message: TracedMessage) -> str:
    """Return a message with its tool calls as text, one line per argument."""
    arguments = (str(value) for call in message.calls for value in call.arguments.values())
    return "\n".join([message.text, *arguments])


def tokens_of(message: TracedMessage, count: Counter) -> int:
    """Return the tokens of a message and its tool calls."""
    return count(message.text) + sum(
        count(call.name) + count_json(dict(call.arguments), count) for call in message.calls
    )


def as_traced_message(message: BaseMessage) -> TracedMessage:
    """Convert a LangChain message."""
    calls = tuple(
        TracedCall(str(call["id"] or ""), call["name"], call["args"])
        for call in getattr(message, "tool_calls", ())
    )
    if isinstance(message, ToolMessage):
        return TracedMessage("tool", message.text, (), message.tool_call_id, message.name or "")
    return TracedMessage(_ROLES.get(message.type, "user"), message.text, calls)


def _name_of(schema: Any) -> str:  # noqa: ANN401 (a provider's form)
    if not isinstance(schema, dict):
        return str(getattr(schema, "name", schema))
    return str(schema.get("function", schema).get("name", ""))
