"""The checks of the requests of one thread at the last point before the client: size and validity.

Both run after every other middleware. Middleware does not see what inner middleware adds (a memory,
a skill, a reminder). LangChain calls its callbacks before a chat model sends a request, and a
callback may raise: the guard measures a request there, and limits are learned from refusals. What
a provider would refuse is repaired after LangChain's own repair of broken calls. Messages that did
not change since the last request are not checked again.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Self
from uuid import UUID

from langchain.agents.middleware.types import ModelRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import Tool, ToolsKey, as_openai, with_tool
from thalweg.context.request.messages import (
    TargetModel,
    WrittenMessage,
    common_prefix,
    is_equal,
    parse_message,
    target_model_of,
)
from thalweg.context.request.models import Body, with_last_check, with_transform
from thalweg.context.request.refusals import Overflow
from thalweg.database.base import encode
from thalweg.engine.edits import Repair
from thalweg.engine.entries import RECALL, Message, message_to_json
from thalweg.engine.tokens import Calibration, Counter, TokenCounts, measure
from thalweg.engine.window.budget import LEAST_LIMIT, MIN_LIMIT, Budget
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.engine.wires.repairs import ExchangeChecker, RequestDefect, WireRules


class TooLarge(BaseException):
    """A request would not fit; it was not sent.

    No `Exception`: a middleware in between that tries again on any would only repeat it.
    """


class RequestGuard(BaseCallbackHandler):
    """Measures all messages sent for one request, and stops a request that would not fit."""

    raise_error = True
    run_inline = True

    def __init__(
        self,
        count: Counter,
        check: "LastCheck",
        limit: int,
        price_model: str = "",
        overhead: "Overhead | None" = None,
    ) -> None:
        self._count = count
        self._cached_count = cached_counter(count)
        self._check = check
        self._overhead = overhead
        self._limit = limit
        self._price_model = price_model  # whose price images have
        self.tokens = 0
        """Tokens of the request as it was about to be sent; 0 if none was."""
        self.model = ""
        """The model it was sent to, as `provider:name`: another middleware may have changed it."""
        self.behind: list[BaseMessage] = []
        """Messages that other middleware added at its end; they are in no log yet."""

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 (LangChain's signature)
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Measure; see `BaseCallbackHandler`.

        Raises:
            TooLarge: It is more than the limit.
        """
        batch = messages[0] if messages else []
        last_known = len(batch) - 1
        while last_known >= 0 and self._check.shown(batch[last_known]) is None:
            last_known -= 1
        if last_known < 0:
            return  # a call that another middleware makes for itself
        self.behind = batch[last_known + 1 :]
        self.model = model_in(kwargs.get("metadata") or {}) or self.model
        found = map(self._check.known.get, map(id, batch))
        pairs = zip(found, batch, strict=True)
        tokens = sum([self._tokens(m) if known is None else known.tokens for known, m in pairs])
        self.tokens = tokens + self._tool_tokens(kwargs.get("invocation_params") or {})
        if self.tokens > self._limit:
            raise TooLarge

    def _tool_tokens(self, parameters: Mapping[str, Any]) -> int:
        tools, last = sent_tools(parameters), self._check.counted_tools
        if last is None or last.tools != tools or last.counter != self._count:
            tokens = count_text(tools_as_json(tools), self._count) if tools else 0
            last = self._check.counted_tools = CountedTools(tools, self._count, tokens)
        return last.tokens

    def _tokens(self, message: BaseMessage) -> int:
        shown = self._check.shown(message)
        if shown is not None and shown.message == message:
            return shown.tokens
        if self._overhead is not None and message is self._overhead.message:
            return self._overhead.system_tokens
        return measure(parse_message(message), self._cached_count, self._price_model).tokens


def model_in(metadata: Mapping[str, Any]) -> str:
    """Return the model of a call from its metadata, as `provider:name`; empty if it has none.

    Example:
        >>> model_in({"ls_provider": "google_genai", "ls_model_name": "models/gemini-3-pro"})
        'google_genai:gemini-3-pro'
    """
    provider, name = metadata.get("ls_provider"), metadata.get("ls_model_name")
    return f"{provider}:{str(name).removeprefix('models/')}" if provider and name else ""


def sent_tools(parameters: Mapping[str, Any]) -> list[Any]:
    """Return the tools of a request that the model sees: not those that are deferred."""
    tools = parameters.get("tools") or parameters.get("functions")
    if not isinstance(tools, Sequence):
        return []
    return [tool for tool in tools if not (isinstance(tool, Mapping) and tool.get("defer_loading"))]


def tools_as_json(tools: Sequence[Any]) -> str:
    """Serialize tools as JSON, so that equal tools have equal texts."""
    return json.dumps(tools, sort_keys=True, ensure_ascii=False, default=str)


@lru_cache(maxsize=64)
def count_text(text: str, count: Counter) -> int:
    """Count a text that recurs in every request; the count is cached."""
    return count(text)


def cached_counter(count: Counter) -> Counter:
    """Make a counter that caches the counts of texts that recur in every request."""
    if hasattr(count, "count_message"):
        return count
    return lambda text: count_text(text, count)


@dataclass(frozen=True, slots=True)
class Overhead:
    """System prompt and tools of one request, as texts and counted."""

    system: str
    """The system message as JSON (`message_to_json`); empty if there is none."""
    tools: str
    """The schemas of the tools as a JSON list; empty if there are none."""
    system_tokens: int
    tools_tokens: int
    message: SystemMessage | None = field(default=None, compare=False, repr=False)
    """The system message."""
    digests: tuple[str, str] = field(init=False)
    """Digests of `system` and `tools`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", (digest_of(self.system), digest_of(self.tools)))

    @classmethod
    def of(
        cls,
        request: ModelRequest[Any],
        count: Counter,
        tools: Sequence[Tool],
        later: Sequence[Tool] = (),
        last: "Overhead | None" = None,
    ) -> "Overhead":
        """Read and count them in a request.

        Args:
            request: The request.
            count: Counts the tokens of a text.
            tools: The tools before its messages.
            later: Tools that are loaded among its messages: they count, and are no part of what
                every request begins with.
            last: The overhead of the last request, with the same counter: what both have is not
                read again.
        """
        prefix_schemas = _schemas(ToolsKey(tools)) if tools else ""
        tokens = count_text(prefix_schemas, count) if tools else 0
        tokens += count_text(_schemas(ToolsKey(later)), count) if later else 0
        message = request.system_message
        if last is not None and is_equal(last.message, message):
            system, system_tokens = last.system, last.system_tokens
            has_same_tools = (last.tools, last.tools_tokens) == (prefix_schemas, tokens)
            if message is last.message and has_same_tools:
                return last
        elif message is None:
            system, system_tokens = "", 0
        else:
            parsed = parse_message(message)
            system = message_to_json(parsed)
            system_tokens = measure(parsed, cached_counter(count)).tokens
        return cls(system, prefix_schemas, system_tokens, tokens, message)


def digest_of(text: str) -> str:
    """Return the digest of a text, as `Archive.attach` returns it; empty for an empty one."""
    return hashlib.sha256(encode(text)).hexdigest() if text else ""


@lru_cache(maxsize=32)
def _schemas(tool_set: ToolsKey) -> str:
    return tools_as_json([as_openai(tool) for tool in tool_set.tools])


SHRINK_SHARES = (0.85, 0.7, 0.55, 0.4, 0.3)
"""Size of the next request after a refusal without numbers, as a share of the refused one.

A little less at first, and after five refusals less than a twentieth of the first."""
BELOW_REFUSED_SHARE = 0.85
"""Share of a refused size that later turns still try, if the refusal named no limit."""
LEAST_TOKENS, LEAST_BYTES, LEAST_MEDIA = 8_000, 65_536, 10
"""No limit below these is believed of a provider that names none: a refusal of so little is
about something in that request."""


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request."""

    tokens: int
    """As the provider counts them."""
    bytes: int = 0
    media: int = 0

    @classmethod
    def of(
        cls, ledger: TokenCounts, calibration: Calibration, counted: int | None = None
    ) -> "RequestSize":
        """Build from a request's ledger, and from the provider's count if it reported one."""
        return cls(counted or calibration.upper(ledger.total), ledger.bytes, ledger.media)


@dataclass(frozen=True, slots=True)
class SizeRefusal:
    """A request that was too large for a model."""

    model: str
    overflow: Overflow
    size: RequestSize
    message: str = ""
    """The provider's words."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Learned limits of one model; `None` for a limit without a refusal."""

    window: int | None = None
    """Tokens of input and output together, as the provider counts."""
    bytes: int | None = None
    media: int | None = None
    counts_in_full: bool = False
    """Whether media whose price is not exact count in full: the provider found a request of this
    turn too large that has such media."""

    def under(self, budget: Budget) -> Budget:
        """Lower a budget to the accepted limits."""
        changed: dict[str, int] = {}
        if self.counts_in_full:
            changed["trusts_least"] = False
        if self.bytes is not None:
            changed["max_bytes"] = min(budget.max_bytes, self.bytes)
        if self.media is not None:
            changed["max_media"] = min(budget.max_media, self.media)
        if self.window is not None and self.window < budget.window:
            output = min(budget.output, max(self.window - MIN_LIMIT, self.window // 2))
            changed |= {"window": max(self.window, output + LEAST_LIMIT), "max_output": output}
        return budget.model_copy(update=changed) if changed else budget

    def lowered(
        self,
        overflow: Overflow,
        ledger: TokenCounts,
        budget: Budget,
        calibration: Calibration,
        earlier_refusals: int,
    ) -> "Ceilings":
        """Make the next request of the turn smaller than the one that was refused.

        Args:
            overflow: The refusal.
            ledger: Of the request that was refused.
            budget: The budget it was made for.
            calibration: How the provider counts, including the refusal's own count.
            earlier_refusals: Earlier refusals of this request.
        """
        share = SHRINK_SHARES[min(earlier_refusals, len(SHRINK_SHARES) - 1)]
        if overflow.kind == "bytes":
            return replace(self, bytes=max(1, int(ledger.bytes * share)))
        if overflow.kind == "media":
            return replace(self, media=ledger.media // 2)
        ceilings = replace(self, counts_in_full=True)
        if overflow.limit and overflow.limit < budget.window:
            ceilings = replace(ceilings, window=overflow.limit)
        lowered = ceilings.under(budget).calibrated(calibration)
        tokens = lowered.tokens_to_fit(ledger)
        if lowered.limit < tokens:
            return ceilings
        target = calibration.upper(int(tokens * share))
        return replace(ceilings, window=target + budget.output)

    def learned(
        self, refusals: Iterable[SizeRefusal], accepted: RequestSize, output: int
    ) -> "Ceilings":
        """Learn limits for later turns, after a smaller request was accepted.

        A limit that the provider named is trusted. A size that was only refused is too large;
        the limit is never taken to be as low as the size that was accepted.

        Args:
            refusals: The model's refusals in this turn.
            accepted: The request that it then accepted.
            output: Tokens that were kept free for the answer.
        """
        ceilings = self
        for refusal in refusals:
            size, limit = refusal.size, refusal.overflow.limit
            match refusal.overflow.kind:
                case "bytes":
                    inferred = _inferred_limit(size.bytes, accepted.bytes, LEAST_BYTES)
                    ceilings = replace(ceilings, bytes=_smaller(ceilings.bytes, inferred))
                case "media":
                    inferred = _inferred_limit(size.media, accepted.media, LEAST_MEDIA)
                    ceilings = replace(ceilings, media=_smaller(ceilings.media, inferred))
                case _ if limit:
                    ceilings = replace(
                        ceilings, window=_smaller(ceilings.window, max(limit, MIN_LIMIT))
                    )
                case _:
                    inferred = _inferred_limit(size.tokens, accepted.tokens, LEAST_TOKENS)
                    window = None if inferred is None else inferred + output
                    ceilings = replace(ceilings, window=_smaller(ceilings.window, window))
        return ceilings.raised(accepted, output)

    def raised(self, accepted: RequestSize, output: int) -> "Ceilings":
        """Learn from an accepted request: its size fits."""
        return Ceilings(
            None if self.window is None else max(self.window, accepted.tokens + output),
            None if self.bytes is None else max(self.bytes, accepted.bytes),
            None if self.media is None else max(self.media, accepted.media),
        )


def _inferred_limit(refused: int, accepted: int, least: int) -> int | None:
    """Return a size below one that was refused; `None` if there is none to infer."""
    inferred = max(least, accepted, int(refused * BELOW_REFUSED_SHARE))
    return inferred if inferred < refused else None


def _smaller(known: int | None, other: int | None) -> int | None:
    return min((size for size in (known, other) if size is not None), default=None)


_WIRE = LangChainWire()
_MESSAGE, _REFERS = attrgetter("message"), attrgetter("refers")
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


@dataclass(frozen=True, slots=True)
class CountedTools:
    """The tools of a request, with what counted them."""

    tools: list[Any]
    counter: Counter
    tokens: int


@dataclass(slots=True)
class LastCheck:
    """Checks the requests of one thread, and remembers its repairs."""

    alternates: bool = False
    """Whether the model has refused two answers in a row."""
    _exchanges: _Exchanges = field(default_factory=lambda: _Exchanges(WireRules()))
    known: dict[int, WrittenMessage] = field(default_factory=dict)
    """The messages of the thread, by identity."""
    counted_tools: CountedTools | None = None
    """Those of the last request."""
    _known_by_id: dict[str, WrittenMessage] | None = None
    """The same by the ids of messages, if needed: other middleware copies them."""
    _pointer: Callable[[int], str] = str
    _tool: str = RECALL
    """Name of the tool in a pointer."""
    _pending_repairs: dict[Repair, None] = field(default_factory=dict)
    """Repairs that no caller has taken yet."""
    _taken_repairs: set[Repair] = field(default_factory=set)

    @property
    def refers(self) -> bool:
        """Whether repairs of the last request have references."""
        return any(map(_REFERS, self._exchanges.rows))

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
        self.known = dict(zip(map(id, map(_MESSAGE, shown)), shown, strict=True))
        self._known_by_id = None
        self._pointer = pointer

    def take(self, since: int) -> tuple[Repair, ...]:
        """Hand out the repairs made since the last time; each of them once.

        Args:
            since: Those of messages at earlier positions were handed out before this process.
        """
        if not self._pending_repairs:
            return ()
        repairs = tuple(r for r in self._pending_repairs if not 0 <= r.position < since)
        self._taken_repairs.update(self._pending_repairs)
        self._pending_repairs = {}
        return repairs

    def check(self, rules: WireRules, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Check a whole request, its system prompt included.

        Returns:
            The same objects if all of them are valid.
        """
        if not any(map(self.shown, messages)):
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
        shown = self.shown(message)
        return None if shown is None else shown.position

    def shown(self, message: BaseMessage) -> WrittenMessage | None:
        """Return the message of the thread that a message is, or is a copy of."""
        if (known := self.known.get(id(message))) or not message.id:
            return known
        if self._known_by_id is None:
            self._known_by_id = {
                one.message.id: one for one in self.known.values() if one.message.id
            }
        return self._known_by_id.get(message.id)

    def _parse(self, message: BaseMessage) -> Message:
        shown = self.known.get(id(message))
        return (shown and shown.parsed) or parse_message(message)

    def _pointer_text(self, message: BaseMessage) -> str:
        if message.type == "tool" and message.name in {RECALL, self._tool or RECALL}:
            return ""  # it is shown once more: reading it again would show the same
        position = self._position(message)
        return "" if position is None or position < 0 else self._pointer(position)

    def foresee(self, request: ModelRequest[Any], target: TargetModel) -> None:
        """Check a request before it is sent, so that its repairs can be taken."""
        self.check(self._rules(target), _messages(request))

    def _rules(self, target: TargetModel) -> WireRules:
        return replace(target.rules, alternates=True) if self.alternates else target.rules

    def request(
        self,
        request: ModelRequest[Any],
        recall: BaseTool | None = None,
        target: TargetModel | None = None,
    ) -> ModelRequest[Any]:
        """Return a request that is checked when it is sent, after all other middleware.

        Args:
            request: The request.
            recall: The tool that its references name: it remains in the request, even if other
                middleware changes the tools. `None` if it has no references.
            target: Its target model, if that is known.
        """
        target = target or target_model_of(request)
        check = partial(self.check, self._rules(target))
        model = with_last_check(request.model, check)
        if model is request.model:  # chosen when it is called: only what we see can be checked
            request = _with_messages(request, check(_messages(request)))
            return _CheckedRequest.of(request, self.request, recall)
        if target.client == "gemini":
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
