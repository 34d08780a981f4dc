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

By = Literal["model", "provider", "nobody", "settings"]

UNKNOWN = TARIFFS["anthropic"]
"""Prices for a model of an unsupported provider.

Assume too expensive a rewrite and too much is read again; too cheap a one, and too much is
rewritten. With the best interval growing with the square root of `Tariff.rewriting`, either error
by a factor f costs the same, (√f + 1/√f) / 2 of the necessary cost of rewriting and re-reading. So
the assumption that loses least over all existing prices, from half-price reads (1) to reads at a
fortieth (49), lies in the middle: at 11.5 it costs 1.27 times the least at one end and 1.84 at the
other, where 49 would cost 3.6. Lack of foresight is not all: content that is removed early must be
fetched again, and content that is kept too long is bounded by the window. That is why it is not 7.
"""


@dataclass(frozen=True, slots=True)
class Priced:
    """The prices of a model, and how they were found."""

    tariff: Tariff
    by: By
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
        return Priced(UNKNOWN, "nobody", _NOTE.format(model=label, tariff=UNKNOWN.name))
    by_name = {row.name: row for row in rows}
    if found := row_of(by_name, model):
        return Priced(by_name[found], "model")
    careful = max(rows, key=lambda row: (row.rewriting, row.lifetime_s or float("inf")))
    if len(rows) == 1:
        return Priced(careful, "provider")
    # Another model's price per request size is unavailable here.
    changes = {"tiers": (), "base": None}
    note = _NOTE.format(model=model.strip(":") or f"a model of {provider}", tariff=careful.name)
    return Priced(careful.model_copy(update=changes), "provider", note)


def tariff_of_model(model: str) -> Tariff | None:
    """Return the row of a model whose provider is not named, as in a log; `None` if none fits.

    Example:
        >>> found = tariff_of_model("claude-opus-4-5-20251101")
        >>> found.name if found else ""
        'claude-opus-4-5'
    """
    name = row_of(_BY_MODEL, model) if model else ""
    return _BY_MODEL[name] if name else None


_BY_MODEL = {row.name: row for rows in MODELS.values() for row in rows if row.name not in TARIFFS}
_NOTE = (
    "the prices of {model} are unknown; compaction assumes those of {tariff}; set them in pricing"
)


def row_of(names: Iterable[str], model: str) -> str:
    """Return the most specific of `names` contained in a model's name, or an empty string."""
    named = _segments(model)
    found = [name for name in names if _stands_in(_segments(name), named)]
    return max(found, key=lambda name: len(_segments(name)), default="")


def _segments(name: str) -> tuple[str, ...]:
    """Split a name where words, versions and dates meet."""
    return tuple(re.findall(r"[a-z]+\d*[a-z]*|\d+[a-z]*", name.lower()))


def _stands_in(row: tuple[str, ...], named: tuple[str, ...]) -> bool:
    """Return whether a row's name is contained in a model's, and no later word excludes it."""
    for at in range(len(named) - len(row) + 1):
        if named[at : at + len(row)] == row:
            rest = named[at + len(row) :]
            another = bool(rest) and rest[0].isdigit() and len(rest[0]) < _LEAST_DATE
            if not another and not _VARIANTS.intersection(rest):
                return True
    return False


_LEAST_DATE = 3
"""A shorter number after a name is another version: 5.9 is not 5."""
_VARIANTS = frozenset(
    (
        *("mini", "nano", "lite", "flash", "pro", "max", "plus", "turbo", "highspeed", "prime"),
        *("luna", "sol", "terra", "astra", "cyber", "omni"),
        *("audio", "image", "tts", "live", "realtime", "transcribe"),
    )
)
"""Words that distinguish variants of a model, each with prices of its own."""
