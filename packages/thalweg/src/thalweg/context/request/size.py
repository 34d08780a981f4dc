"""The size of a request: its overhead tokens, the guard that measures it, the learned limits.

Middleware does not see what inner middleware adds (a memory, a skill, a reminder). LangChain calls
its callbacks before a chat model sends a request, and a callback may raise: the guard checks a
request after every other middleware.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain.agents.middleware.types import ModelRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, SystemMessage

from thalweg.context.ready_tools import Tool, ToolsKey, as_openai
from thalweg.context.request.messages import WrittenMessage, is_equal, parse_message
from thalweg.context.request.refusals import Overflow
from thalweg.database.base import encode
from thalweg.engine.entries import message_to_json
from thalweg.engine.tokens import Calibration, Counter, TokenCounts, measure
from thalweg.engine.window.budget import LEAST_LIMIT, MIN_LIMIT, Budget


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
        sent: Sequence[WrittenMessage],
        limit: int,
        price_model: str = "",
        overhead: "Overhead | None" = None,
    ) -> None:
        self._count = count
        self._cached_count = cached_counter(count)
        self._sent = {id(one.message): one for one in sent}
        self._sent_by_id: dict[str, list[WrittenMessage]] = {}
        for one in sent:
            if one.message.id:
                self._sent_by_id.setdefault(one.message.id, []).append(one)
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
        last_known = next(
            (index for index in reversed(range(len(batch))) if self._is_known(batch[index])), None
        )
        if last_known is None:
            return  # a call that another middleware makes for itself
        self.behind = batch[last_known + 1 :]
        self.model = model_in(kwargs.get("metadata") or {}) or self.model
        tokens = sum(self._tokens(message) for message in batch)
        self.tokens = tokens + count_tools(kwargs.get("invocation_params") or {}, self._count)
        if self.tokens > self._limit:
            raise TooLarge

    def _is_known(self, message: BaseMessage) -> bool:
        return id(message) in self._sent or message.id in self._sent_by_id

    def _tokens(self, message: BaseMessage) -> int:
        sent = self._sent.get(id(message))
        if sent is not None:
            return sent.tokens
        if self._overhead is not None and message is self._overhead.message:
            return self._overhead.system_tokens
        match self._sent_by_id.get(message.id or ""):
            case [original] if original.message == message:
                return original.tokens
        return measure(parse_message(message), self._cached_count, self._price_model).tokens


def model_in(metadata: Mapping[str, Any]) -> str:
    """Return the model of a call from its metadata, as `provider:name`; empty if it has none.

    Example:
        >>> model_in({"ls_provider": "google_genai", "ls_model_name": "models/gemini-3-pro"})
        'google_genai:gemini-3-pro'
    """
    provider, name = metadata.get("ls_provider"), metadata.get("ls_model_name")
    return f"{provider}:{str(name).removeprefix('models/')}" if provider and name else ""


def count_tools(parameters: Mapping[str, Any], count: Counter) -> int:
    """Count the tools of a request that the model sees: not those that are deferred."""
    tools = parameters.get("tools") or parameters.get("functions")
    if not isinstance(tools, Sequence):
        return 0
    shown = [
        tool for tool in tools if not (isinstance(tool, Mapping) and tool.get("defer_loading"))
    ]
    return count_text(tools_as_json(shown), count) if shown else 0


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
        prefix_schemas, later_schemas = _schemas(ToolsKey(tools)), _schemas(ToolsKey(later))
        tokens = sum(count_text(text, count) for text in (prefix_schemas, later_schemas) if text)
        message = request.system_message
        if last is not None and is_equal(last.message, message):
            system, system_tokens = last.system, last.system_tokens
            if message is last.message and (last.tools, last.tools_tokens) == (
                prefix_schemas,
                tokens,
            ):
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
    return tools_as_json([as_openai(tool) for tool in tool_set.tools]) if tool_set.tools else ""


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
