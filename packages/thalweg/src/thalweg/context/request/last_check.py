"""The last check of the requests of one thread, at the last point before the client.

It runs after every other middleware and after LangChain's own repair of broken calls. Messages that
did not change since the last request are not checked again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import with_tool
from thalweg.context.request.messages import (
    WrittenMessage,
    client_of,
    common_prefix,
    parse_message,
)
from thalweg.context.request.models import Body, profile_of, with_last_check, with_transform
from thalweg.engine.edits import Repair
from thalweg.engine.entries import RECALL, Message
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.engine.wires.repairs import ExchangeChecker, RequestDefect, WireRules, rules_of

_WIRE = LangChainWire()
_NOT_LOGGED = -1


@dataclass(frozen=True, slots=True)
class _CheckedExchange:
    """One exchange: a message with the tool results after it."""

    given: tuple[BaseMessage, ...]
    sent: tuple[BaseMessage, ...]
    ids: tuple[str, ...]
    """Of the calls that are sent."""
    found: tuple[RequestDefect, ...]
    ends: tuple[int, int]
    """The index of its end in the input, and in the sent messages."""
    refers: bool
    """Whether its repair has a reference."""


@dataclass(slots=True)
class _Exchanges:
    """The exchanges of one request. The next request is checked from the first one that differs."""

    rules: WireRules
    rows: list[_CheckedExchange] = field(default_factory=list)
    sent: list[BaseMessage] = field(default_factory=list)
    _given: list[BaseMessage] = field(default_factory=list)
    _checker: ExchangeChecker = field(init=False)

    def __post_init__(self) -> None:
        self._checker = ExchangeChecker(self.rules)

    def check(
        self,
        messages: Sequence[BaseMessage],
        pointer: Callable[[BaseMessage], str],
        parse: Callable[[BaseMessage], Message] = parse_message,
    ) -> list[_CheckedExchange]:
        """Check a whole request; return the rows that are new."""
        kept = self._keep_common(messages)
        start, _ = self.rows[-1].ends if self.rows else (0, 0)
        for given in _exchanges(messages[start:]):
            self._add(given, pointer, parse)
        self._given = list(messages)
        return self.rows[kept:]

    def _keep_common(self, messages: Sequence[BaseMessage]) -> int:
        """Keep the rows that a request begins with; return how many they are."""
        unchanged, length = _unchanged_count(self._given, messages), len(self.rows)
        while self.rows:
            end, sent_end = self.rows[-1].ends
            if end <= unchanged and (end == len(messages) or messages[end].type != "tool"):
                del self.sent[sent_end:]
                break
            self.rows.pop()
        else:
            self.sent = []
        if len(self.rows) < length:
            ids = {call_id for row in self.rows for call_id in row.ids}
            started = any(message.type != "system" for message in self.sent)
            answered = bool(self.sent) and self.sent[-1].type == "ai"
            self._checker = ExchangeChecker(self.rules, ids, started, answered)
        return len(self.rows)

    def _add(
        self,
        given: tuple[BaseMessage, ...],
        pointer: Callable[[BaseMessage], str],
        parse: Callable[[BaseMessage], Message],
    ) -> None:
        pointers: list[str] = []

        def point_to(index: int) -> str:
            pointers.append(pointer(given[index]))
            return pointers[-1]

        checked = self._checker.check([*map(parse, given)], point_to)
        ids = tuple(call.id for message in checked.messages for call in message.calls)
        sent = tuple(_WIRE.write(checked.messages)) if checked.found else given
        sent = tuple(map(_with_blocks, sent))
        self.sent += sent
        start, _ = self.rows[-1].ends if self.rows else (0, 0)
        end_indices = start + len(given), len(self.sent)
        self.rows.append(
            _CheckedExchange(given, sent, ids, checked.found, end_indices, any(pointers))
        )


def _with_blocks(message: BaseMessage) -> BaseMessage:
    """Return a message in whose content every string of a list is a text block.

    LangChain accepts strings there, and its clients of OpenAI pass them on; the provider refuses
    them (developers.openai.com, "Create chat completion", `messages.content`, read 2026-11-28).
    """
    content = message.content
    if isinstance(content, str) or not any(isinstance(block, str) for block in content):
        return message
    blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in content]
    return message.model_copy(update={"content": blocks})


def _exchanges(messages: Iterable[BaseMessage]) -> Iterator[tuple[BaseMessage, ...]]:
    exchange: list[BaseMessage] = []
    for message in messages:
        if exchange and message.type != "tool":
            yield tuple(exchange)
            exchange = []
        exchange.append(message)
    if exchange:
        yield tuple(exchange)


def _unchanged_count(old: Sequence[BaseMessage], new: Sequence[BaseMessage]) -> int:
    """Count the leading messages that did not change.

    Messages of the thread are compared by identity. System messages are built again for each
    request and are compared by content.
    """
    start = 0
    for former, message in zip(old, new, strict=False):
        if not isinstance(former, SystemMessage) or former != message:
            break
        start += 1
    return start + common_prefix(old[start:], new[start:])


@dataclass(slots=True)
class LastCheck:
    """Checks the requests of one thread, and remembers its repairs."""

    alternates: bool = False
    """Whether the model has refused two answers in a row."""
    _exchanges: _Exchanges = field(default_factory=lambda: _Exchanges(WireRules()))
    _shown: dict[int, WrittenMessage] = field(default_factory=dict)
    """The messages of the thread, by identity."""
    _position_by_id: dict[str, int] = field(default_factory=dict)
    """Their positions in the log, by the ids of messages: other middleware copies them."""
    _pointer: Callable[[int], str] = str
    _tool: str = RECALL
    """Name of the tool in a pointer."""
    _pending_repairs: dict[Repair, None] = field(default_factory=dict)
    """Repairs that no caller has taken yet."""
    _taken_repairs: set[Repair] = field(default_factory=set)

    @property
    def refers(self) -> bool:
        """Whether repairs of the last request have references."""
        return any(map(attrgetter("refers"), self._exchanges.rows))

    def expect(
        self,
        shown: Sequence[WrittenMessage],
        pointer: Callable[[int], str],
        tool: str = RECALL,
    ) -> None:
        """Set the messages that the thread shows in its next request.

        Args:
            shown: The messages.
            pointer: Returns how the model reads the message at a position in full.
            tool: The tool that it names; empty for none.
        """
        if tool != self._tool:  # what was repaired for the last request names another
            self._tool, self._exchanges = tool, _Exchanges(self._exchanges.rules)
        self._shown = {id(one.message): one for one in shown}
        self._position_by_id = {
            one.message.id: one.position for one in shown if one.message.id and one.position >= 0
        }
        self._pointer = pointer

    def take(self, since: int) -> tuple[Repair, ...]:
        """Hand out the repairs made since the last time; each of them once.

        Args:
            since: Those of messages at earlier positions were handed out before this process.
        """
        repairs = tuple(r for r in self._pending_repairs if not 0 <= r.position < since)
        self._taken_repairs.update(self._pending_repairs)
        self._pending_repairs = {}
        return repairs

    def check(self, rules: WireRules, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Check a whole request, its system prompt included.

        Returns:
            The same objects if all of them are valid.
        """
        if all(self._position(message) is None for message in messages):
            separate = _Exchanges(rules)  # a request that another middleware makes for itself
            separate.check(messages, lambda _: "")
            return separate.sent
        if rules != self._exchanges.rules:
            self._exchanges = _Exchanges(rules)
        for row in self._exchanges.check(messages, self._pointer_text, self._parse):
            for defect in row.found:
                position = self._position(row.given[defect.index])
                place = _NOT_LOGGED if position is None else position
                repair = Repair(reason=defect.reason, position=place, detail=defect.detail)
                if repair not in self._taken_repairs:
                    self._pending_repairs[repair] = None
        return [*self._exchanges.sent]

    def _position(self, message: BaseMessage) -> int | None:
        """Return the position that a message shows; `None` of one that the thread does not."""
        shown = self._shown.get(id(message))
        return self._position_by_id.get(message.id or "") if shown is None else shown.position

    def _parse(self, message: BaseMessage) -> Message:
        shown = self._shown.get(id(message))
        return (shown and shown.parsed) or parse_message(message)

    def _pointer_text(self, message: BaseMessage) -> str:
        if message.type == "tool" and message.name in {RECALL, self._tool or RECALL}:
            return ""  # it is shown once more: reading it again would show the same
        position = self._position(message)
        return "" if position is None or position < 0 else self._pointer(position)

    def foresee(self, request: ModelRequest[Any]) -> None:
        """Check a request before it is sent, so that its repairs can be taken."""
        self.check(self._rules(request, _wire(request)), _messages(request))

    def _rules(self, request: ModelRequest[Any], wire: str) -> WireRules:
        rules = rules_of(wire, profile_of(request.model))
        return replace(rules, alternates=True) if self.alternates else rules

    def request(
        self, request: ModelRequest[Any], recall: BaseTool | None = None
    ) -> ModelRequest[Any]:
        """Return a request that is checked when it is sent, after all other middleware.

        Args:
            request: The request.
            recall: The tool that its references name: it remains in the request, even if other
                middleware changes the tools. `None` if it has no references.
        """
        wire = _wire(request)
        check = partial(self.check, self._rules(request, wire))
        model = with_last_check(request.model, check)
        if model is request.model:  # chosen when it is called: only what we see can be checked
            request = _with_messages(request, check(_messages(request)))
            return _CheckedRequest.of(request, self.request, recall)
        if wire == "gemini":
            model = with_transform(model, _with_joined_contents)
        return _CheckedRequest.of(request.override(model=model), self.request, recall)


_Checking = Callable[[ModelRequest[Any], BaseTool | None], ModelRequest[Any]]


class _CheckedRequest(ModelRequest[Any]):
    """A request whose model and tools are checked, also after middleware replaces them."""

    _again: _Checking
    _recall: BaseTool | None

    @classmethod
    def of(cls, request: ModelRequest[Any], again: _Checking, recall: BaseTool | None) -> Self:
        """Create one from a request; `recall` remains among its tools."""
        checked = cls.__new__(cls)
        vars(checked).update(vars(request), _again=again, _recall=recall)
        return checked

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401 (LangChain's fields)
        """Set a field, as middleware of older versions does."""
        super().__setattr__(name, with_tool(value, self._recall) if name == "tools" else value)

    def override(self, **overrides: Any) -> ModelRequest[Any]:  # noqa: ANN401 (LangChain's fields)
        """Return a copy with other fields, whose model is checked, too.

        See `ModelRequest.override`.
        """
        plain = ModelRequest.__new__(ModelRequest)
        vars(plain).update({k: v for k, v in vars(self).items() if k not in _OWN_FIELDS})
        if "tools" in overrides:
            overrides["tools"] = with_tool(overrides["tools"], self._recall)
        changed = plain.override(**overrides)
        if "model" in overrides:
            return self._again(changed, self._recall)
        return _CheckedRequest.of(changed, self._again, self._recall)


_OWN_FIELDS = frozenset({"_again", "_recall"})


def _wire(request: ModelRequest[Any]) -> str:
    client = client_of(request)
    return "" if client == "other" else client


def _with_joined_contents(body: Body) -> Body:
    return {**body, "contents": joined_contents(body["contents"])}


def joined_contents(contents: Sequence[Any]) -> list[Any]:
    """Join adjacent contents of one role that Google's client built.

    Results come first in a turn, directly after their calls. Other contents are returned as the
    same objects.
    """
    joined: list[Any] = []
    for role, neighbours in groupby(contents, key=lambda content: content.role):
        same_role = list(neighbours)
        if not role or len(same_role) == 1:
            joined += same_role
            continue
        parts = [part for content in same_role for part in content.parts or ()]
        parts.sort(key=lambda part: part.function_response is None)
        joined.append(same_role[0].model_copy(update={"parts": parts}))
    return joined


def _messages(request: ModelRequest[Any]) -> list[BaseMessage]:
    system = [request.system_message] if request.system_message is not None else []
    return [*system, *request.messages]


def _with_messages(
    request: ModelRequest[Any], messages: Sequence[BaseMessage]
) -> ModelRequest[Any]:
    first = messages[0] if messages else None
    system = first if isinstance(first, SystemMessage) and request.system_message else None
    other_messages: Any = list(
        messages[1:] if system is not None else messages
    )  # LangChain's own union
    return request.override(system_message=system, messages=other_messages)
