"""Find the prices of a model in the table by its name.

A gateway may add to a name: `us.anthropic.claude-opus-5-v1:0`, `anthropic/claude-opus-5`,
`claude-opus-5@20260724`, `models/gemini-3-pro-preview`. A model that is not in the table gets
conservative prices and a note.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from thalweg.engine.pricing.table import MODELS, TARIFFS
from thalweg.engine.pricing.tariff import Tariff

PriceSource = Literal["model", "provider", "nobody", "settings"]

UNKNOWN_TARIFF = TARIFFS["anthropic"]
"""Prices for a model of an unsupported provider.

If the assumed rewrite is too expensive, too much is read again; if it is too cheap, too much is
rewritten. The best interval grows with the square root of `Tariff.rewriting`, so either error by a
factor f costs the same: (√f + 1/√f) / 2 of the necessary cost of rewriting and re-reading. So
the assumption that loses least over all existing prices, from half-price reads (1) to reads at a
fortieth (49), lies in the middle: at 11.5 it costs 1.27 times the least at one end and 1.84 at the
other, where 49 would cost 3.6. Lack of foresight is not all: content that is removed early must be
fetched again, and content that is kept too long is bounded by the window. That is why it is not 7.
"""


@dataclass(frozen=True, slots=True)
class Priced:
    """The prices of a model, and how they were found."""

    tariff: Tariff
    by: PriceSource
    """Their source: the table, by model or by provider alone; a default; or the settings."""
    note: str = ""
    """The assumptions made, as one sentence; empty if none was."""


@lru_cache(maxsize=256)
def tariff_for(provider: str, model: str) -> Priced:
    """Return the prices of a model.

    Args:
        provider: As `provider_of` names it, or empty.
        model: Its name, with or without a provider in front.

    Returns:
        The row of the most specific name contained in the model's own. A model without a row of a
        listed provider gets the row of that provider with the least rewriting: it is most likely
        newer than the table, and reads have only become cheaper.

    Example:
        >>> tariff_for("anthropic", "us.anthropic.claude-opus-4-5-20251101-v1:0").tariff.name
        'claude-opus-4-5'
        >>> tariff_for("nobody", "mine").by
        'nobody'
    """
    rows = MODELS.get(provider, ())
    if not rows:
        label = model.strip(":") or "this model"
        return Priced(
            UNKNOWN_TARIFF, "nobody", _NOTE.format(model=label, tariff=UNKNOWN_TARIFF.name)
        )
    by_name = {row.name: row for row in rows if row.name not in TARIFFS}  # not of a whole family
    if row_name := matching_row_name(by_name, model):
        return Priced(by_name[row_name], "model")
    cautious_row = max(rows, key=lambda row: (row.rewriting, row.lifetime_s or float("inf")))
    if len(rows) == 1:
        return Priced(cautious_row, "provider")
    # Another model's price per request size is unavailable here.
    changes = {"tiers": (), "base": None}
    note = _NOTE.format(
        model=model.strip(":") or f"a model of {provider}", tariff=cautious_row.name
    )
    return Priced(cautious_row.model_copy(update=changes), "provider", note)


@lru_cache(maxsize=256)
def tariff_of_model(model: str) -> Tariff | None:
    """Return the row of a model whose provider is not named, as in a log; `None` if none fits.

    Example:
        >>> found = tariff_of_model("claude-opus-4-5-20251101")
        >>> found.name if found else ""
        'claude-opus-4-5'
    """
    name = matching_row_name(_BY_MODEL, model) if model else ""
    return _BY_MODEL[name] if name else None


_BY_MODEL = {row.name: row for rows in MODELS.values() for row in rows if row.name not in TARIFFS}
_NOTE = (
    "the prices of {model} are unknown; compaction assumes those of {tariff}; set them in pricing"
)


def matching_row_name(names: Iterable[str], model: str) -> str:
    """Return the most specific of `names` contained in a model's name, or an empty string."""
    model_segments = _segments(model)
    matching_names = [name for name in names if _is_contained(_segments(name), model_segments)]
    return max(matching_names, key=lambda name: len(_segments(name)), default="")


def _segments(name: str) -> tuple[str, ...]:
    """Split a name where words, versions and dates meet."""
    return tuple(re.findall(r"[a-z]+\d*[a-z]*|\d+[a-z]*", name.lower()))


def _is_contained(row_segments: tuple[str, ...], model_segments: tuple[str, ...]) -> bool:
    """Return whether a row's name is contained in a model's, and no later word excludes it."""
    for start in range(len(model_segments) - len(row_segments) + 1):
        if model_segments[start : start + len(row_segments)] == row_segments:
            following = model_segments[start + len(row_segments) :]
            is_other_version = (
                bool(following) and following[0].isdigit() and len(following[0]) < _MIN_DATE_DIGITS
            )
            if not is_other_version and not _VARIANTS.intersection(following):
                return True
    return False


_MIN_DATE_DIGITS = 3
"""A shorter number after a name is another version: 5.9 is not 5."""
_VARIANTS = frozenset(
    (
        *("mini", "nano", "lite", "flash", "pro", "max", "plus", "turbo", "highspeed", "prime"),
        *("luna", "sol", "terra", "astra", "cyber", "omni"),
        *("audio", "image", "tts", "live", "realtime", "transcribe"),
    )
)
"""Words that distinguish variants of a model, each with prices of its own."""
