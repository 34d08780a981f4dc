"""The providers' prices and limits of media, from the table `media.toml`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final

from thalweg.engine.data_files import read_table

TokenRange = tuple[int, int]
"""Tokens as they are counted, and the least that the provider may charge."""


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """The limits of a provider for one request; `None` if it publishes no limit.

    Bytes are those of the body: of base64, not of the file that it encodes.
    """

    provider: str = ""
    """As a notice names it."""
    source: str = ""
    """The page that publishes the limits, and the day on which it was read."""
    request_bytes: int | None = None
    """Of the whole request."""
    image_bytes: int | None = None
    """Of one image."""
    image_edge: int | None = None
    """Pixels of an image's longer edge."""
    image_patches: int | None = None
    """Squares of 32 pixels of one image."""
    many_images: int | None = None
    """Images above which `many_edge` holds for each of them."""
    many_edge: int | None = None
    images: int | None = None
    """Images of a request, those of tool results included."""
    pages: int | None = None
    """Pages of all documents together."""
    document_pages: int | None = None
    """Pages of one document."""
    document_bytes: int | None = None
    """Of the file of one document, decoded."""
    file_bytes: int | None = None
    """Of all files of a request together, decoded."""


@dataclass(frozen=True, slots=True)
class MediaRow:
    """What one family of models takes for media, and accepts."""

    name: str
    models: re.Pattern[str]
    limits: MediaLimits
    below: Mapping[str, int]
    """Limits that are lower for a model with a smaller window than `window`."""
    page: TokenRange | None = None
    second_of_sound: TokenRange | None = None
    second_of_film: TokenRange | None = None
    source: str = ""
    dated: str = ""


def _media_row(row: Mapping[str, Any]) -> MediaRow:
    page, dated = row["source"], str(row["dated"])
    limits = MediaLimits(row["name"], f"{page}, {dated}", **row["limits"])
    prices = {name: tuple(row[name]) for name in PRICE_FIELDS if name in row}
    models = re.compile(row["models"], re.IGNORECASE)
    return MediaRow(
        row["name"], models, limits, row.get("below", {}), source=page, dated=dated, **prices
    )


PRICE_FIELDS: Final = ("page", "second_of_sound", "second_of_film")
_TABLE: Final = read_table(__package__, "media.toml")
MEDIA_ROWS: Final[tuple[MediaRow, ...]] = tuple(map(_media_row, _TABLE["rows"]))
"""The rows, the most specific first."""
UNREAD_PAGES: Final[int] = _TABLE["unread"]["pages"]
"""Pages that a document counts as if they cannot be read."""
UNREAD_SECONDS: Final[int] = _TABLE["unread"]["seconds"]
"""Seconds that a sound or a film counts as if they cannot be read."""
DEAREST_PRICES: Final[Mapping[str, TokenRange]] = {
    name: (max(price[0] for row in MEDIA_ROWS if (price := getattr(row, name))), 0)
    for name in PRICE_FIELDS
}
"""The prices of an unknown model."""


@lru_cache(maxsize=256)
def media_row_of(model: str) -> MediaRow | None:
    """Return the row of a model, as `provider:name`; `None` for an unknown one."""
    return next((row for row in MEDIA_ROWS if row.models.search(model)), None)


def price_of(model: str, price_name: str) -> TokenRange:
    """Return a price of `PRICE_FIELDS` for a model, or the dearest one of the table."""
    price: TokenRange | None = getattr(media_row_of(model), price_name, None)
    return price or DEAREST_PRICES[price_name]


@lru_cache(maxsize=256)
def limits_for(model: str, window: int) -> MediaLimits:
    """Return the limits of a model's provider.

    Args:
        model: As `provider:name`.
        window: Tokens that the model accepts: for a small one, Anthropic's limits are lower.

    Example:
        >>> limits_for("anthropic:claude-sonnet-4-5", 200_000).pages
        100
    """
    row = media_row_of(model)
    if row is None:
        return MediaLimits()
    lower_limits = row.below if window < row.below.get("window", 0) else {}
    values = {f.name: getattr(row.limits, f.name) for f in fields(MediaLimits)}
    return MediaLimits(
        **{**values, **{k: limit for k, limit in lower_limits.items() if k != "window"}}
    )
