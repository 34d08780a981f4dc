"""Provider's tokens by ours: bounds that are used before a provider reports any usage.

Two parts, both from `token_factors.toml`. `counter_for` makes the count of a text one that holds
for a model's vocabulary: digits and scripts that it splits finer than o200k cost up to four times
as much. `first_calibration` is the rest, a factor near 1 by kind of text, until the first report.

The rows of Claude were measured by `benchmarks/token_factors.py`: growth of the reported input
between two requests, divided by our count of the messages in between; those of vocabularies by
`benchmarks/token_bounds.py`.
"""

import math
import re
from bisect import bisect_right
from collections import Counter as Counted
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

from thalweg.engine.data_files import read_table
from thalweg.engine.tokens import Calibration, Counter, exact_counter

TextKind = Literal["prose", "code", "data", "cjk"]
SAMPLE_CHARS = 20_000
"""Characters of a thread that determine its kind of text."""
CJK_SHARE = 0.2
"""Share of Chinese, Japanese and Korean characters from which a text is of that kind."""
CODE_SHARE = 0.08
"""Share of digits and brackets from which a text is code, logs or data."""
DATA_SHARE = 0.15
"""Share of digits from which it is data."""
SCRIPTS: tuple[tuple[int, str], ...] = (
    (0, ""), (0x80, "latin"), (0x250, ""), (0x370, "greek"), (0x400, "cyrillic"),
    (0x460, "cyrillic_more"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"),
    (0x66E, "arabic_more"), (0x900, "devanagari"), (0x980, "indic"), (0xE00, "thai"),
    (0xE80, "burmese"), (0x10A0, "georgian"), (0x1100, "hangul"), (0x1200, "ethiopic"),
    (0x13A0, ""), (0x1780, "khmer"), (0x1800, ""), (0x1E00, "latin"), (0x1F00, "greek"),
    (0x2000, ""), (0x2E80, "cjk"), (0xAC00, "hangul"), (0xD7B0, ""), (0x1F000, "emoji"),
    (0x20000, "cjk"), (0x32000, ""),
)  # fmt: skip
"""Start of each range of code points, with its name in `scripts`; empty if no row has it."""


@dataclass(frozen=True, slots=True)
class TokenFactors:
    """A tokenizer's tokens per token of ours."""

    models: re.Pattern[str]
    """Matches the names of the models that use it."""
    prose: float
    code: float
    data: float
    cjk: float
    source: str
    dated: date
    digits: Literal["groups", "single"] = "groups"
    """Whether a token is up to three digits, as in o200k, or one."""
    scripts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Tokens per character of a script in addition to o200k's, before the factor."""
    least: float = 0.75
    """The least share of our count that a report may have, see `Calibration.least`."""


FACTORS = tuple(
    TokenFactors(re.compile(models), **row)
    for models, row in read_table(__package__, "token_factors.toml").items()
)
"""The first matching row is used; the last one matches every name."""


@lru_cache(maxsize=256)
def _row_index(model: str) -> int | None:
    return next((k for k, row in enumerate(FACTORS) if row.models.search(model)), None)


def counter_for(count: Counter, model: str) -> Counter:
    """Return the counter of texts for a model: the same one for models of one vocabulary.

    Args:
        count: The counter of the thread. One that the user supplied is returned as it is.
        model: The model's name, which may include a gateway's prefix; empty if there is none.

    Example:
        >>> ours = exact_counter()
        >>> ours("2026, 31415926"), counter_for(ours, "google:gemini-3-pro")("2026, 31415926")
        (7, 14)
        >>> counter_for(ours, "openai:gpt-5.2") is ours
        True
    """
    if count is not exact_counter() or (row_index := _row_index(model)) is None:
        return count
    return _bounded_counter(count, row_index)


@cache
def _bounded_counter(count: Counter, row_index: int) -> Counter:
    row = FACTORS[row_index]
    if not row.scripts and row.digits == "groups":
        return count
    range_starts = [range_start for range_start, _ in SCRIPTS]
    weights = [row.scripts.get(script, 0.0) for _, script in SCRIPTS]
    is_single = row.digits == "single"

    def count_bounded(text: str) -> int:
        tokens = count(text)
        if is_single:
            # o200k has one token for each of these and for a single digit.
            groups = _DIGITS.findall(text)
            tokens += len("".join(groups)) - len(groups)
        if text.isascii():
            return tokens
        extra_tokens = 0.0
        for character, occurrences in Counted(text).items():
            extra_tokens += weights[bisect_right(range_starts, ord(character)) - 1] * occurrences
        # Vocabularies of bytes have at most a token for each.
        max_tokens = max(tokens, len(text.encode("utf-8", "surrogatepass")))
        return min(max_tokens, tokens + math.ceil(extra_tokens))

    return count_bounded


_DIGITS = re.compile("[0-9]{2,3}")


def first_calibration(model: str, texts: Iterable[str] = ()) -> Calibration:
    """Return the calibration of `counter_for` before a provider has reported any usage.

    Args:
        model: Its name, which may include a gateway's prefix.
        texts: The thread's messages, the newest first; `SAMPLE_CHARS` characters of them are
            read.

    Example:
        >>> first_calibration("anthropic:claude-opus-5", ["河流的最深處"]).factor
        1.51
        >>> first_calibration("mine").factor, first_calibration("").is_known
        (1.18, False)
    """
    if (row_index := _row_index(model)) is None:
        return Calibration()
    row = FACTORS[row_index]
    factor: float = getattr(row, text_kind(_sample(texts)))
    return Calibration(factor, least=row.least)


def _sample(texts: Iterable[str]) -> str:
    sample, chars_left = [], SAMPLE_CHARS
    for text in texts:
        if chars_left <= 0:
            break
        sample.append(text[:chars_left])
        chars_left -= len(text)
    return "\n".join(sample)


def text_kind(text: str) -> TextKind:
    """Return the kind of a text, which determines its token ratio.

    Example:
        >>> text_kind("Please look at the invoice of May."), text_kind("河流的最深處")
        ('prose', 'cjk')
        >>> text_kind('{"total": 31, "rows": [1, 2]}'), text_kind("2026-05-04, 31.5, 7")
        ('code', 'data')
    """
    if not text:
        return "prose"
    if len(_CJK.findall(text)) >= CJK_SHARE * len(text):
        return "cjk"
    if len(_DIGIT.findall(text)) >= DATA_SHARE * len(text):
        return "data"
    return "code" if len(_SIGNS.findall(text)) >= CODE_SHARE * len(text) else "prose"


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DIGIT = re.compile("[0-9]")
_SIGNS = re.compile(r"[{}()\[\];=<>_/\\\"`|0-9]")
