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

Kind = Literal["prose", "code", "data", "cjk"]
SAMPLE = 20_000
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
def _row(model: str) -> int | None:
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
    if count is not exact_counter() or (at := _row(model)) is None:
        return count
    return _bounded(count, at)


@cache
def _bounded(count: Counter, at: int) -> Counter:
    row = FACTORS[at]
    if not row.scripts and row.digits == "groups":
        return count
    begins = [begin for begin, _ in SCRIPTS]
    weights = [row.scripts.get(script, 0.0) for _, script in SCRIPTS]
    is_single = row.digits == "single"

    def bounded(text: str) -> int:
        tokens = count(text)
        if is_single:
            # o200k has one token for each of these and for a single digit.
            groups = _DIGITS.findall(text)
            tokens += len("".join(groups)) - len(groups)
        if text.isascii():
            return tokens
        more = 0.0
        for sign, times in Counted(text).items():
            more += weights[bisect_right(begins, ord(sign)) - 1] * times
        # Vocabularies of bytes have at most a token for each.
        most = max(tokens, len(text.encode("utf-8", "surrogatepass")))
        return min(most, tokens + math.ceil(more))

    return bounded


_DIGITS = re.compile("[0-9]{2,3}")


def first_calibration(model: str, texts: Iterable[str] = ()) -> Calibration:
    """Return the calibration of `counter_for` before a provider has reported any usage.

    Args:
        model: Its name, which may include a gateway's prefix.
        texts: The thread's messages, the newest first; `SAMPLE` characters of them are read.

    Example:
        >>> first_calibration("anthropic:claude-opus-5", ["河流的最深處"]).factor
        1.51
        >>> first_calibration("mine").factor, first_calibration("").is_known
        (1.18, False)
    """
    if (at := _row(model)) is None:
        return Calibration()
    row = FACTORS[at]
    factor: float = getattr(row, kind_of(_sample(texts)))
    return Calibration(factor, least=row.least)


def _sample(texts: Iterable[str]) -> str:
    sample, left = [], SAMPLE
    for text in texts:
        if left <= 0:
            break
        sample.append(text[:left])
        left -= len(text)
    return "\n".join(sample)


def kind_of(text: str) -> Kind:
    """Return the kind of a text, which determines its token ratio.

    Example:
        >>> kind_of("Please look at the invoice of May."), kind_of("河流的最深處")
        ('prose', 'cjk')
        >>> kind_of('{"total": 31, "rows": [1, 2]}'), kind_of("2026-05-04, 31.5, 7")
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
