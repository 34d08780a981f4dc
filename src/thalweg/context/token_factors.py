"""Token ratios of providers to our o200k tokens, used before a provider reports any usage.

A row is a ratio of the provider's tokens to ours for each kind of text. The ratios were
measured by `benchmarks/token_factors.py`: growth of the reported input between two requests,
divided by our count of the messages in between.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from thalweg.tokens import Calibration

Kind = Literal["prose", "code", "cjk"]
SAMPLE = 20_000
"""Characters of a thread that determine its kind of text."""
CJK_SHARE = 0.2
"""Share of Chinese, Japanese and Korean characters from which a text is of that kind."""
CODE_SHARE = 0.08
"""Share of digits and brackets from which a text is code, logs or data."""


@dataclass(frozen=True, slots=True)
class TokenFactors:
    """A tokenizer's tokens per token of ours."""

    models: re.Pattern[str]
    """Matches the names of the models that use it."""
    prose: float
    code: float
    cjk: float
    source: str
    dated: date


_RECORDED = (
    "usage in Claude Code sessions on Opus 4.6, medians of 420 pairs of requests; Chinese by "
    "the package ctok 1.3.0, whose counts were 9 % below recorded usage "
    "of Opus 4.6, and of Sonnet 4.5 12 % above it in sum and 4 % below in the median"
)
_NEWER = (
    "the package ctok 1.3.0, on recorded text; about 30 % more than "
    "before by https://platform.claude.com/docs/en/build-with-claude/token-counting"
)
FACTORS: tuple[TokenFactors, ...] = (
    TokenFactors(
        re.compile(r"claude-(opus-(4-[789]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)"),
        prose=1.65,
        code=1.52,
        cjk=1.51,
        source=_NEWER,
        dated=date(2026, 11, 23),
    ),
    TokenFactors(
        re.compile("claude"),
        prose=1.23,
        code=1.28,
        cjk=1.45,
        source=_RECORDED,
        dated=date(2026, 11, 23),
    ),
    TokenFactors(
        re.compile(r"\bgpt-(4o|4\.1|[5-9])|\bo[134](-mini|-pro)?\b"),
        prose=1.0,
        code=1.0,
        cjk=1.0,
        source="o200k_base is their own vocabulary, https://github.com/openai/tiktoken",
        dated=date(2026, 11, 23),
    ),
)
"""The first matching row is used."""


def first_calibration(model: str, texts: Iterable[str] = ()) -> Calibration:
    """Return the calibration for a provider before it has reported any usage.

    Args:
        model: Its name, which may include a gateway's prefix.
        texts: The thread's messages, the newest first; `SAMPLE` characters of them are read.

    Example:
        >>> first_calibration("anthropic:claude-opus-5", ["河流的最深處"]).factor
        1.51
        >>> first_calibration("mine").is_known
        False
    """
    row = next((row for row in FACTORS if row.models.search(model)), None)
    if row is None:
        return Calibration()
    return Calibration(getattr(row, kind_of(_sample(texts))), least=Calibration.DOUBTFUL)


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
        >>> kind_of('{"total": 31, "rows": [1, 2, 3]}')
        'code'
    """
    if not text:
        return "prose"
    if len(_CJK.findall(text)) >= CJK_SHARE * len(text):
        return "cjk"
    return "code" if len(_SIGNS.findall(text)) >= CODE_SHARE * len(text) else "prose"


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SIGNS = re.compile(r"[{}()\[\];=<>_/\\\"`|0-9]")
