"""The values of the strict provider: requests, answers, and records of requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Object = dict[str, Any]
"""A JSON object as it came over the line."""

WireName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""The APIs that the provider has."""

Finish = Literal["stop", "length", "refusal"]
"""The reason for which an answer ends."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its arguments."""

    @classmethod
    def of(cls, definition: Object, schema: str = "parameters") -> Self:
        """Read a definition, whose field `schema` has the JSON schema."""
        description = definition.get("description") or ""
        return cls(definition["name"], description, definition.get(schema) or {})


@dataclass(frozen=True)
class Request:
    """A valid request, as a script reads it."""

    wire: WireName
    number: int
    """Of all requests to this provider that were valid, from 0."""
    model: str
    body: Object
    """As it was sent."""
    items: tuple[Any, ...]
    """The message objects of the body, its system prompt as one at the head."""
    tools: tuple[Tool, ...]
    max_tokens: int | None
    """Maximum tokens of output; `None` if the request sets none."""
    stream: bool
    tokens: int
    """Of the whole request, as this provider counts."""

    @property
    def last_text(self) -> str:
        """The text of the newest message object, results of tools included; in any dialect."""
        return text_of(self.items[-1])

    @property
    def ends_in_result(self) -> bool:
        """Whether the newest message object is the result of a tool, or has one."""
        last = self.items[-1]
        parts = [last, *_parts(last)]
        return any(part.get("role") == "tool" or _is_result(part) for part in parts)


def text_of(item: Any) -> str:  # noqa: ANN401 (a message object, a part, or a list of parts)
    r"""Return the text in a message object or a part of one, in any dialect.

    Example:
        >>> text_of({"role": "user", "content": "hi"})
        'hi'
        >>> text_of({"role": "user", "parts": [{"text": "hi"}, {"text": "there"}]})
        'hi\nthere'
    """
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        found = (item[name] for name in _TEXTS if isinstance(item.get(name), str | list | Mapping))
        return text_of(next(found, ""))
    return "\n".join(filter(None, map(text_of, item)))


_TEXTS = ("text", "content", "output", "parts", "functionResponse", "response")
"""Fields with text, of message objects and their parts."""


def _parts(item: Object) -> list[Object]:
    content = item.get("content") or item.get("parts")
    return content if isinstance(content, list) else []


def _is_result(part: Object) -> bool:
    kind = part.get("type")
    return kind in {"tool_result", "function_call_output"} or "functionResponse" in part


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's answer."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    """Name and arguments of each tool call; the provider assigns the ids. OpenAI's dialects send
    arguments that are a text unchanged: those of a truncated call."""
    thinking: str = ""
    """Signed on Anthropic, an encrypted reasoning item on Responses; counted only on Chat."""
    finish: Finish = "stop"
    """`length` and `refusal` in each dialect's own form; a call has its own reason."""
    output_tokens: int | None = None
    """What to report; counted if `None`."""


Summarize = Callable[[tuple[Any, ...]], str]
"""Writes the provider's summary of the message objects of a body."""


def brief_summary(items: tuple[Any, ...]) -> str:
    """Summarize by the number of messages alone."""
    return f"Summary of {len(items)} messages."


Script = Callable[[Request], Answer]
"""Decides the answer to a request. Called from many threads when requests are concurrent."""


@dataclass(frozen=True, slots=True)
class RequestTraits:
    """The traits that a request is judged by, besides its body: model settings and headers."""

    window: int = 0
    """Tokens that the model accepts."""
    inflation: float = 1.0
    """Factor of its counts over the exact count."""
    binds: bool = False
    """Whether signed reasoning is bound to the content sent before it (Anthropic).

    Such a model takes no forced tool either."""
    takes_system: bool = False
    """Whether system messages are allowed among the others (Anthropic)."""
    text_only: bool = False
    """Whether images, documents and sounds are refused."""
    betas: frozenset[str] = frozenset()
    """Values of the header `anthropic-beta`."""


PLAIN = RequestTraits()


@dataclass(frozen=True, slots=True)
class RequestProblem:
    """Why a request is refused, as in the body of the error."""

    message: str
    status: int = 400
    kind: str = "invalid_request_error"
    param: str | None = None
    """Of OpenAI: the parameter at fault."""
    code: str | None = None
    """Of OpenAI: the stable name of the fault."""


@dataclass(frozen=True, slots=True)
class ExchangeTokens:
    """Tokens of one exchange."""

    input: int = 0
    """All input tokens, cached ones included."""
    cached: int = 0
    """Read from the prompt cache."""
    written_5m: int = 0
    """Written to the prompt cache for five minutes (Anthropic)."""
    written_1h: int = 0
    """Written to the prompt cache for an hour (Anthropic)."""
    output: int = 0
    thinking: int = 0
    """The part of `output` that is reasoning."""


@dataclass(frozen=True, slots=True)
class CompactedBody:
    """A body that the provider compacted before the model answered."""

    body: Object
    """As the model sees it."""
    block: Object
    """The block or item that replaces the compacted content; the answer begins with it."""
    text: str
    """The summary in it."""
    spent: ExchangeTokens = ExchangeTokens()
    """Tokens of writing the summary; those of the answer are apart."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer on its way out."""

    request: Request
    answer: Answer
    spent: ExchangeTokens
    uid: str
    """Unique to this reply; the ids in it are made of it."""
    traits: RequestTraits
    compacted: CompactedBody | None = None

    @property
    def body(self) -> Object:
        """The body that the model answers: as it was sent, or compacted."""
        return self.compacted.body if self.compacted else self.request.body

    def call_id(self, number: int) -> str:
        """Return the id of the n-th call, without a provider's prefix."""
        return f"{self.uid}{number:02}"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that arrived, in the order of arrival, and what became of it."""

    wire: WireName
    model: str
    body: Object | None
    """As it was sent; `None` when bodies are not kept."""
    tokens: int
    """As this provider counted; 0 if it was refused before counting."""
    cached_tokens: int
    written_tokens: int
    """Written to the prompt cache (Anthropic)."""
    output_tokens: int
    status: int
    """Of the HTTP response; 0 for a fault that sent none."""
    problems: tuple[str, ...] = ()
    """Everything that was wrong with it. The error that went out is the first."""
    fault: str = ""
    """The fault it met, by its name in `fail_next`."""
    dropped: tuple[str, ...] = ()
    """Paths of the blocks that were dropped, not shown to the model (Anthropic)."""
    stream: bool = field(default=False)
    compaction: ExchangeTokens | None = None
    """Tokens of a compaction that the provider performed within it, in addition to the others."""
