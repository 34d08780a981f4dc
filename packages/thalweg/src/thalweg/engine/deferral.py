"""Deferred tools: which schemas a request omits, whether that pays, and how they are found.

The decision depends on the tools, the system prompt and the prices alone, so it is the same for
every call of a thread, and the beginning of its requests does not change.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.words import STOP_WORDS
from thalweg.engine.words.named import rank_named

MAX_FOUND_TOOLS = 5
"""Most tools that one search loads."""
MEAN_CALLS, MEAN_LOADS, MEAN_CONTEXT_TOKENS = 77, 6, 28_500
"""Model calls of a thread, calls in which it uses a tool for the first time, and the tokens of its
context then: means of 48 recorded sessions with tools."""
CROWDED_SHARE = 0.25
"""Share of the window above which schemas are deferred at any price."""
SEARCH_TOKENS, SEARCH_OUTPUT_TOKENS = 120, 40
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


def searchable_text(function: Mapping[str, Any]) -> str:
    """Return the text by which a function is found: its description, and those of its arguments.

    Args:
        function: Its declaration with `name`, `description` and `parameters`, a JSON schema.
    """
    return " ".join((str(function.get("description") or ""), *_arguments(function)))


def _arguments(function: Mapping[str, Any]) -> Iterator[str]:
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(properties, Mapping):
        for name, property_schema in properties.items():
            yield str(name)
            if isinstance(property_schema, Mapping):
                yield str(property_schema.get("description") or "")


def plan_deferral(
    cards: Sequence[ToolCard],
    *,
    system: str,
    kept_patterns: Sequence[str],
    tariff: Tariff,
    rewrites: bool,
    window: int,
) -> tuple[str, ...]:
    """Return the names of the tools to defer; none if that does not pay.

    They are deferred in any case if they fill more than a quarter of the window.

    Tools that the system prompt names or a pattern of `kept_patterns` matches are not deferred.

    Args:
        cards: The tools that may be deferred.
        system: The system prompt.
        kept_patterns: Names, or patterns such as `github_*`.
        tariff: Prices of the model.
        rewrites: Whether loading a tool rewrites the cached prefix.
        window: Tokens that the model accepts.

    Example:
        >>> prices = Tariff(name="x", read=0.1, write=1.25)
        >>> cards = [ToolCard(f"tool_{n}", "", 300) for n in range(60)]
        >>> terms = {"tariff": prices, "rewrites": False, "window": 200_000}
        >>> names = plan_deferral(cards, system="Use tool_7.", kept_patterns=["*_1?"], **terms)
        >>> len(names), "tool_7" in names, "tool_12" in names
        (49, False, False)
    """
    named_tools = set(_WORD.findall(system))
    deferrable = [
        card
        for card in cards
        if card.name not in named_tools
        and not any(fnmatchcase(card.name, pattern) for pattern in kept_patterns)
    ]
    is_crowded = sum(card.tokens for card in deferrable) > CROWDED_SHARE * window
    is_worthwhile = is_crowded or expected_saving(deferrable, tariff, rewrites=rewrites) > 0
    return tuple(card.name for card in deferrable) if is_worthwhile else ()


def expected_saving(cards: Sequence[ToolCard], tariff: Tariff, *, rewrites: bool) -> float:
    """Return the expected saving of deferring tools in a thread, in uncached input tokens.

    Saved: writing the schemas once and reading them at each call. Spent: the list of names, and
    for each load one more call, the schemas that it loads, read until the end, and where loading
    rewrites the prefix, the context.
    """
    schema_tokens = sum(card.tokens for card in cards)
    name_list_tokens = sum(1 + len(card.name) // 4 for card in cards)
    tokens_per_load = min(schema_tokens, MAX_FOUND_TOOLS * schema_tokens / max(1, len(cards)))
    prices = tariff.prices(MEAN_CONTEXT_TOKENS)
    whole_thread_price = prices.write + (MEAN_CALLS - 1) * prices.read
    half_thread_price = prices.write + MEAN_CALLS / 2 * prices.read
    search_cost = MEAN_CONTEXT_TOKENS * prices.read + SEARCH_OUTPUT_TOKENS * prices.output
    load_cost = search_cost + (SEARCH_TOKENS + tokens_per_load) * half_thread_price
    if rewrites:
        load_cost += MEAN_CONTEXT_TOKENS * (prices.write - prices.read)
    return (schema_tokens - name_list_tokens) * whole_thread_price - MEAN_LOADS * load_cost


def find_cards(
    cards: Sequence[ToolCard], query: str, max_cards: int = MAX_FOUND_TOOLS
) -> list[ToolCard]:
    """Return the tools for a query: those that it names exactly, else the best by its words.

    Example:
        >>> cards = [ToolCard("create_issue", "Open an issue."), ToolCard("send_mail")]
        >>> [card.name for card in find_cards(cards, "open a new issue")]
        ['create_issue']
        >>> [card.name for card in find_cards(cards, "send_mail, create_issue")]
        ['create_issue', 'send_mail']
    """
    query_words = set(_WORD.findall(query))
    if exact_matches := [card for card in cards if card.name in query_words]:
        return exact_matches
    named_texts = [(card.name, card.text) for card in cards]
    return [cards[k] for k in rank_named(named_texts, query, STOP_WORDS, fuzzy=True)[:max_cards]]
