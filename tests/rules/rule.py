"""What a rule is: who demands it, where it is written, and a check on one request."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Provider = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]

PROVIDERS: tuple[Provider, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")

KeptBy = Literal[
    "layout", "adapted", "check", "verbatim", "binding", "budget", "learned", "client", "settings"
]
"""What makes a request keep a rule; `docs/providers.md` explains each."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a provider states a rule."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block as a provider issued it."""

    text: str
    model: str
    prefix: str
    """Digest of the system prompt, tools and messages that it was produced on."""
    previous: str
    """Signature of the thinking block before it in that request; empty for the first."""


@dataclass(slots=True)
class Issued:
    """What an endpoint has issued so far and expects back unchanged."""

    thoughts: dict[str, Thought] = field(default_factory=dict)
    """Anthropic: thinking blocks by signature."""
    reasoning: dict[str, str] = field(default_factory=dict)
    """Responses: encrypted content of each reasoning item, by the item's id."""
    reasoned: dict[str, str] = field(default_factory=dict)
    """Responses: for the item that followed a reasoning item, that reasoning item's id."""
    signatures: set[str] = field(default_factory=set)
    """Gemini: thought signatures."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    body: Json
    raw: bytes
    model: str
    issued: Issued = field(default_factory=Issued)


Check = Callable[[Request], Iterable[str]]
"""Yields one fault per breach: where in the body, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One demand of one provider."""

    name: str
    provider: Provider
    demand: str
    """What a request must be like, in one sentence."""
    source: Source
    since: str
    """ISO date (or month) of the document, or of the day the rule took effect."""
    check: Check
    kept_by: tuple[KeptBy, ...]
    """The first is what a request meets first."""

    def faults(self, request: Request) -> Iterator[str]:
        """Yield what `request` breaks, with the rule's name."""
        for fault in self.check(request):
            yield f"{self.name}: {fault}"
