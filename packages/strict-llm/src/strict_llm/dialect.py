"""The interface of a dialect of the strict provider: refusing, counting, answering, streaming."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from strict_llm.cache import PromptCache
from strict_llm.counting import CountedPiece, Measured
from strict_llm.exchange import (
    PLAIN,
    Answer,
    CompactedBody,
    ExchangeTokens,
    Object,
    Reply,
    RequestProblem,
    RequestTraits,
    Summarize,
    Tool,
    WireName,
)

Event = tuple[str, Object | str]
"""A server-sent event: its name, empty for none, and its data."""

MOST_DELTAS = 16
LEAST_DELTA_CHARS = 12


class StrictDialect(Protocol):
    """One of the four APIs; what most of them do alike is done here."""

    wire: WireName
    body_bytes: int
    """Largest body."""

    def missing_key(self, headers: Mapping[str, str]) -> RequestProblem | None:
        """Return the problem of a request without the headers that its client always sends."""
        ...

    def too_large(self) -> RequestProblem:
        """Refuse a body for its size."""
        ...

    def problems(self, body: Object, traits: RequestTraits = PLAIN) -> Iterable[RequestProblem]:
        """Return the problems of a body, except for its length in tokens."""
        ...

    def dropped(self, body: Object, traits: RequestTraits) -> tuple[str, ...]:
        """Return the paths of the parts dropped from a valid body before the model sees it."""
        del body, traits
        return ()

    def overflow(self, body: Object, measured: Measured, window: int) -> RequestProblem | None:
        """Refuse a body that the window does not hold."""
        ...

    def items(self, body: Object) -> tuple[Any, ...]:
        """Return the messages of a valid body, its system prompt as one of them."""
        ...

    def tools(self, body: Object) -> tuple[Tool, ...]:
        """Return the tools of a valid body."""
        ...

    def max_tokens(self, body: Object) -> int | None:
        """Return the maximum tokens of output in a body."""
        ...

    def pieces(self, body: Object) -> list[CountedPiece]:
        """Render a valid body for counting."""
        ...

    def compacted(self, body: Object, tokens: int, summarize: Summarize) -> CompactedBody | None:
        """Compact a valid body of so many tokens, if it requests that; else return `None`."""
        del body, tokens, summarize
        return None

    def spend(
        self, cache: PromptCache, model: str, measured: Measured, now: float
    ) -> ExchangeTokens:
        """Look a request up in the prompt cache, and store it there."""
        return cache.automatic(model, measured, now)

    def adapt_answer(self, body: Object, answer: Answer) -> Answer:
        """Return an answer in the form that a model of this API would use for a body."""
        del body
        return answer

    def whole(self, reply: Reply) -> Object:
        """Write the body of an answer."""
        ...

    def events(self, reply: Reply) -> Iterator[Event]:
        """Write an answer as a stream."""
        ...

    def error(self, problem: RequestProblem, request_id: str) -> Object:
        """Write the body of an error."""
        ...


def written(arguments: Mapping[str, Any] | str) -> str:
    """Return the arguments of a call as text; a text is unchanged."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def deltas(text: str) -> Iterator[str]:
    """Cut a text into the fragments of a stream; none for the empty text.

    Example:
        >>> list(deltas("a text that streams"))
        ['a text that ', 'streams']
    """
    size = max(LEAST_DELTA_CHARS, -(-len(text) // MOST_DELTAS))
    return (text[at : at + size] for at in range(0, len(text), size))
