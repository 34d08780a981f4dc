"""Deferred tools: which schemas a request omits, whether that pays, and how they are found.

The decision depends on the tools, the system prompt and the prices alone, so it is the same for
every call of a thread, and the beginning of its requests does not change.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.words import STOP_WORDS
from thalweg.engine.words.named import rank_named

FOUND = 5
"""Most tools that one search loads."""
CALLS, LOADS, CONTEXT = 77, 6, 28_500
"""Model calls of a thread, calls in which it uses a tool for the first time, and the tokens of its
context then: means of 48 recorded sessions with tools."""
CROWDED = 0.25
"""Share of the window above which schemas are deferred at any price."""
SEARCH_TOKENS, SEARCH_OUTPUT = 120, 40
"""Tokens that a search adds to the thread, and those that the model writes for it."""
_WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as it is searched."""

    name: str
    text: str = ""
    """Its description, and the names and descriptions of its arguments."""
    tokens: int = 0
    """Of its schema."""


def described(function: Mapping[str, Any]) -> str:
    """Return the text by which a function is found: its description, and those of its arguments.

    Args:
        function: Its declaration with `name`, `description` and `parameters`, a JSON schema.
    """
    return " ".join((str(function.get("description") or ""), *_arguments(function)))


def _arguments(function: Mapping[str, Any]) -> Iterator[str]:
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(properties, Mapping):
        for name, one in properties.items():
            yield str(name)
            if isinstance(one, Mapping):
                yield str(one.get("description") or "")


def plan_deferral(
    cards: Sequence[ToolCard],
    *,
    system: str,
    keep: Sequence[str],
    tariff: Tariff,
    rewrites: bool,
    window: int,
) -> tuple[str, ...]:
    """Return the names of the tools to defer; none if that does not pay.

    They are deferred in any case if they fill more than a quarter of the window.

    Tools that the system prompt names or a pattern of `keep` matches are not deferred.

    Args:
        cards: The tools that may be deferred.
        system: The system prompt.
        keep: Names, or patterns such as `github_*`.
        tariff: Prices of the model.
        rewrites: Whether loading a tool rewrites the cached prefix.
        window: Tokens that the model accepts.

    Example:
        >>> prices = Tariff(name="x", read=0.1, write=1.25)
        >>> cards = [ToolCard(f"tool_{n}", "", 300) for n in range(60)]
        >>> terms = {"tariff": prices, "rewrites": False, "window": 200_000}
        >>> names = plan_deferral(cards, system="Use tool_7.", keep=["*_1?"], **terms)
        >>> len(names), "tool_7" in names, "tool_12" in names
        (49, False, False)
    """
    named = set(_WORD.findall(system))
    hidden = [card for card in cards if card.name not in named and not _is_kept(card.name, keep)]
    crowds = sum(card.tokens for card in hidden) > CROWDED * window
    pays = crowds or saving(hidden, tariff, rewrites=rewrites) > 0
    return tuple(card.name for card in hidden) if pays else ()


def _is_kept(name: str, keep: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in keep)


def saving(cards: Sequence[ToolCard], tariff: Tariff, *, rewrites: bool) -> float:
    """Return the expected saving of deferring tools in a thread, in uncached input tokens.

    Saved: writing the schemas once and reading them at each call. Spent: the list of names, and
    for each load one more call, the schemas that it loads, read until the end, and where loading
    rewrites the prefix, the context.
    """
    total = sum(card.tokens for card in cards)
    listed = sum(1 + len(card.name) // 4 for card in cards)
    each = min(total, FOUND * total / max(1, len(cards)))
    prices = tariff.prices(CONTEXT)
    to_the_end = prices.write + (CALLS - 1) * prices.read
    halfway = prices.write + CALLS / 2 * prices.read
    search = CONTEXT * prices.read + SEARCH_OUTPUT * prices.output
    load = search + (SEARCH_TOKENS + each) * halfway
    if rewrites:
        load += CONTEXT * (prices.write - prices.read)
    return (total - listed) * to_the_end - LOADS * load


def find_cards(cards: Sequence[ToolCard], query: str, most: int = FOUND) -> list[ToolCard]:
    """Return the tools for a query: those that it names exactly, else the best by its words.

    Example:
        >>> cards = [ToolCard("create_issue", "Open an issue."), ToolCard("send_mail")]
        >>> [card.name for card in find_cards(cards, "open a new issue")]
        ['create_issue']
        >>> [card.name for card in find_cards(cards, "send_mail, create_issue")]
        ['create_issue', 'send_mail']
    """
    query_words = set(_WORD.findall(query))
    if exact := [card for card in cards if card.name in query_words]:
        return exact
    named = [(card.name, card.text) for card in cards]
    return [cards[k] for k in rank_named(named, query, STOP_WORDS, fuzzy=True)[:most]]
