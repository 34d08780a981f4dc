"""The windows of models whose client does not name one: the one table of them.

LangChain's clients have profiles of most models. A model newer than its client has none, nor
has any model behind a gateway. `thalweg.context.matching` finds a model's row, as for prices.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from thalweg.context.matching import row_of


@dataclass(frozen=True, slots=True)
class KnownWindow:
    """What a model accepts."""

    tokens: int
    """Of input and output together."""
    source: str
    dated: date


_COLLECTED = "https://pypi.org/project/genai-prices/0.2.3"
"""A collection of the providers' pages, as are the prices of the newest models."""
_READ = date(2026, 11, 1)


def _rows(windows: Mapping[int, tuple[str, ...]]) -> dict[str, KnownWindow]:
    return {
        name: KnownWindow(tokens, _COLLECTED, _READ)
        for tokens, names in windows.items()
        for name in names
    }


WINDOWS: Mapping[str, Mapping[str, KnownWindow]] = {
    "anthropic": _rows(
        {
            1_000_000: (
                "claude-fable-5-2",
                "claude-mythos-5-2",
                "claude-fable-5-1",
                "claude-fable-5",
                "claude-opus-5-5",
                "claude-opus-5",
                "claude-opus-4-8",
                "claude-opus-4-7",
                "claude-opus-4-6",
                "claude-sonnet-5-5",
                "claude-sonnet-5",
                "claude-sonnet-4-6",
                "claude-haiku-5-5",
            ),
            200_000: (
                "claude-opus-4-5",
                "claude-opus-4-1",
                "claude-sonnet-4-5",
                "claude-haiku-4-5",
                "claude-3-7-sonnet",
                "claude-3-5-haiku",
            ),
        }
    ),
    "openai": _rows(
        {
            1_050_000: (
                "gpt-6.1-terra",
                "gpt-6-astra",
                "gpt-6-sol",
                "gpt-6-luna",
                "gpt-5.6-sol",
                "gpt-5.6-terra",
                "gpt-5.6-luna",
                "gpt-5.4",
                "gpt-5.4-pro",
            ),
            1_000_000: ("gpt-5.5", "gpt-5.5-pro", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"),
            400_000: (
                "gpt-5.4-mini",
                "gpt-5.4-nano",
                "gpt-5.2",
                "gpt-5.2-pro",
                "gpt-5.1",
                "gpt-5.1-codex-mini",
                "gpt-5",
                "gpt-5-mini",
                "gpt-5-nano",
                "gpt-5-pro",
            ),
            200_000: ("o4-mini", "o3", "o3-mini", "o3-pro", "o1"),
            128_000: ("gpt-5.3", "gpt-4o", "gpt-4o-mini"),
        }
    ),
    "google": _rows(
        {
            1_000_000: (
                "gemini-3.8-flash",
                "gemini-3.7-flash",
                "gemini-3.6-flash",
                "gemini-3.5-flash",
                "gemini-3.5-flash-lite",
                "gemini-3.1-flash-lite",
                "gemini-3-flash",
                "gemini-2.5-flash",
                "gemini-2.5-flash-lite",
            ),
        }
    ),
    "deepseek": _rows(
        {
            1_000_000: ("deepseek-flash", "deepseek-v4-flash", "deepseek-v4-pro"),
            128_000: ("deepseek-v3.2",),
            64_000: ("deepseek-chat", "deepseek-reasoner"),
        }
    ),
    "moonshot": _rows(
        {
            1_048_576: ("kimi-k3.1-pro", "kimi-k3.1-pro-highspeed", "kimi-k3"),
            262_144: ("kimi-k2.7-code", "kimi-k2.7-code-highspeed", "kimi-k2.6", "kimi-k2.5"),
        }
    ),
}
"""By provider, as `provider_of` names it, and by model."""


def window_for(provider: str, model: str) -> KnownWindow | None:
    """Find the window of a model, or `None` where the table does not have it.

    Args:
        provider: As `provider_of` names it, or nothing.
        model: Its name, with whatever a gateway puts around it.

    Example:
        >>> found = window_for("anthropic", "us.anthropic.claude-fable-5-2-v1:0")
        >>> found.tokens if found else 0
        1000000
        >>> window_for("anthropic", "claude-fable-9")
    """
    rows = WINDOWS.get(provider, {})
    name = row_of(rows, model)
    return rows[name] if name else None
