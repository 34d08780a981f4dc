"""What a provider says a call used, in whichever words it says it."""

from collections.abc import Mapping
from typing import Any

from thalweg.entries import Usage

_INPUT = ("input_tokens", "prompt_tokens", "promptTokenCount", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount", "output")
_CACHED_WITHIN = ("cachedContentTokenCount", "cached", "cached_input_tokens")
_CACHED_BESIDE = ("cache_read_input_tokens", "cacheRead")
_WRITTEN_BESIDE = ("cache_creation_input_tokens", "cacheWrite")
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")


def read_usage(reported: object) -> Usage | None:
    """Read a usage report of OpenAI, Anthropic, Google, LangChain or a coding agent.

    Anthropic and pi count cached tokens beside the input, the others within it.

    Returns:
        `None` when there is no report, or none of input tokens.

    Example:
        >>> read_usage({"input_tokens": 3, "cache_read_input_tokens": 97, "output_tokens": 5})
        Usage(input=100, cached=97, written=0, output=5)
    """
    if not isinstance(reported, Mapping):
        return None
    details: Mapping[str, Any] = next(
        (found for key in _DETAILS if isinstance(found := reported.get(key), Mapping)), {}
    )
    beside = _count(reported, _CACHED_BESIDE)
    written = _count(reported, _WRITTEN_BESIDE)
    within = _count(reported, _CACHED_WITHIN) or _count(details, ("cached_tokens", "cache_read"))
    total = _count(reported, _INPUT) + beside + written
    output = _count(reported, _OUTPUT)
    if total == 0:
        return None
    return Usage(total, beside or within, written or _count(details, ("cache_creation",)), output)


def _count(reported: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value = reported.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0
