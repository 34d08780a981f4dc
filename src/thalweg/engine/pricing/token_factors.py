"""Token ratios of providers to our o200k tokens, used before a provider reports any usage.

A row of `token_factors.toml` is a ratio of their tokens to ours for each kind of text. They were
measured by `benchmarks/token_factors.py`: growth of the reported input between two requests,
divided by our count of the messages in between.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from thalweg.engine.data_files import read_table
from thalweg.engine.tokens import Calibration

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


FACTORS = tuple(
    TokenFactors(re.compile(models), **row)
    for models, row in read_table(__package__, "token_factors.toml").items()
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
