"""Writes the tables of `docs/media.md` from `engine/media/media.toml`.

python -m scripts.media_page
"""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from thalweg.engine.media.table import (
    DEAREST_PRICES,
    MEDIA_ROWS,
    PRICE_FIELDS,
    MediaLimits,
    TokenRange,
)

PAGE = Path(__file__).parents[1] / "docs" / "media.md"
BEGIN = "<!-- The tables from here to the end are written by scripts/media_page.py. -->\n"
_UNITS = {
    "request_bytes": "{:,} bytes of the request",
    "image_bytes": "{:,} bytes of an image, in base64",
    "image_edge": "{:,} pixels an edge",
    "image_patches": "{:,} squares of 32 pixels of an image",
    "images": "{:,} images of a request",
    "pages": "{:,} pages of all documents",
    "document_pages": "{:,} pages of a document",
    "document_bytes": "{:,} bytes of a document",
    "file_bytes": "{:,} bytes of all files",
}


def _price(price: TokenRange | None) -> str:
    if price is None:
        return "as the dearest"
    tokens, least = price
    return f"{tokens:,}" if least == tokens else f"{tokens:,} (at least {least:,})"


def _prices() -> Iterator[str]:
    yield "| models | a page | a second of sound | a second of film | source, as of |"
    yield "|---|---|---|---|---|"
    for row in MEDIA_ROWS:
        prices = " | ".join(_price(getattr(row, name)) for name in PRICE_FIELDS)
        models = row.models.pattern.replace("|", "\\|")
        yield f"| {row.name}: `{models}` | {prices} | <{row.source}>, {row.dated} |"
    dearest = " | ".join(_price(DEAREST_PRICES[name]) for name in PRICE_FIELDS)
    yield f"| any other: the dearest of each kind | {dearest} | |"


def _limits() -> Iterator[str]:
    yield "| models | limits | with a window below | source, as of |"
    yield "|---|---|---|---|"
    for row in MEDIA_ROWS:
        values = {f.name: getattr(row.limits, f.name) for f in fields(MediaLimits)}
        told = [text.format(values[name]) for name, text in _UNITS.items() if values[name]]
        if many := values["many_images"]:
            told.append(f"{values['many_edge']:,} pixels an edge of each, above {many} images")
        lower = [_UNITS[name].format(n) for name, n in row.below.items() if name in _UNITS]
        window = f"{row.below['window']:,} tokens: {', '.join(lower)}" if lower else ""
        yield f"| {row.name} | {'; '.join(told)} | {window} | <{row.source}>, {row.dated} |"


def written(text: str) -> str:
    """Put the tables of today in place of those that the page has."""
    before, begin, _ = text.partition(BEGIN)
    tables = ["### Prices, in tokens", "", *_prices(), "", "### Limits", "", *_limits()]
    return before + begin + "\n" + "\n".join(tables) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
