"""Detection of a provider's refusal of a request that is too large.

Providers have no status code for it, and hardly two use the same words. So an error is parsed as
text: first for other causes (a rate, an output limit, a name), then for the words of each kind of
refusal, then for its numbers. The words are in `overflow.toml`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thalweg.context.request.provider_errors import error_chain, status_of, text_of
from thalweg.engine.data_files import read_table

Kind = Literal["tokens", "sum", "bytes", "media"]
"""The exceeded limit: of the input, the input with the requested answer, the body, the images."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A provider's refusal of a request that is too large, with the numbers it named."""

    kind: Kind
    """`tokens`: the input is over the window. `sum`: the input fits, but not with the answer that
    was asked for, so a smaller answer helps as well. `bytes`: the body or a text in it is too
    long to be read at all. `media`: too many images or documents, or one that is too large."""
    counted: int | None = None
    """Tokens that the provider counted in the input.

    If the provider reports only the total, tokens of input and answer together."""
    limit: int | None = None
    """Tokens the provider accepts."""
    output: int | None = None
    """Tokens that were asked for as the answer."""


def overflow_of(error: BaseException) -> Overflow | None:
    """Read an error and what caused it as a request that was too large.

    Causes and the members of a group are read too; see `error_chain`.

    Returns:
        `None` when the error is about anything else.

    Example:
        >>> overflow_of(ValueError("prompt is too long: 208656 tokens > 200000 maximum"))
        Overflow(kind='tokens', counted=208656, limit=200000, output=None)
    """
    for link in error_chain(error):
        status = status_of(link)
        text = text_of(link)
        if is_other_refusal(link, status, text):
            return None
        if (overflow := _parse_overflow(link, status, text)) is not None:
            return overflow
    return None


def _parse_overflow(error: BaseException, status: int | None, text: str) -> Overflow | None:
    kind: Kind | None = next((kind for kind, words in _KINDS if words.search(text)), None)
    if kind is None and _has_class_named(error, _OVERFLOW_CLASSES):
        kind = "tokens"
    if kind is None:
        return Overflow("bytes") if status == _STATUS_TOO_LARGE else None
    if kind not in {"tokens", "sum"}:
        return Overflow(kind)
    counted, limit = _number("counted", text), _number("limit", text)
    total, output = _number("whole", text), _number("output", text)
    if counted is None and total is not None:
        counted = total - output if output and total > output else total
    if limit and counted and output:
        kind = "sum" if counted <= limit else "tokens"
    elif limit and counted and counted > limit:
        kind = "tokens"
    return Overflow(kind, counted, limit, output or None)


def is_other_refusal(error: BaseException, status: int | None, text: str) -> bool:
    """Return whether an error is about credentials, credit, rates or outputs, not the size."""
    if status in _OTHER_STATUSES or _has_class_named(error, _OTHER_CLASSES):
        return True
    return not _CODES.search(text) and _OTHER_CAUSES.search(text) is not None


def _has_class_named(error: BaseException, names: frozenset[str]) -> bool:
    return any(base.__name__ in names for base in type(error).__mro__)


def _number(name: str, text: str) -> int | None:
    for pattern in _NUMBERS[name]:
        if match := pattern.search(text):
            return int(re.sub(r"\D", "", match[1]))
    return None


_STATUS_TOO_LARGE = 413
_OTHER_STATUSES = frozenset({401, 402, 403, 404, 408, 409, 429, 529})
"""No credentials, no credit, no such model, too often, too busy: never the size."""
_OVERFLOW_CLASSES = frozenset({"ContextOverflowError", "ContextWindowExceededError"})
"""Names under which LangChain and LiteLLM have classified the refusal already."""
_OTHER_CLASSES = frozenset(
    {
        "ModelAuthenticationError",
        "ModelConnectionError",
        "ModelNotFoundError",
        "ModelPermissionDeniedError",
        "ModelRateLimitError",
        "ModelTimeoutError",
    }
)
"""Names under which LangChain has classified everything else."""


def _any_pattern(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_TABLE = read_table(__package__, "overflow.toml")
_CODES, _OTHER_CAUSES = _any_pattern(_TABLE["codes"]), _any_pattern(_TABLE["otherwise"])
_KINDS = [
    (kind, _any_pattern([*(_TABLE["codes"] if kind == "tokens" else ()), *patterns]))
    for kind, patterns in _TABLE["kinds"].items()
]
_NUMBERS = {
    name: [re.compile(one.replace("#", r"(\d[\d,_]*)"), re.IGNORECASE) for one in patterns]
    for name, patterns in _TABLE["numbers"].items()
}
