"""The tokens that a provider takes for media, and their weight in a request."""

import math
import re
from dataclasses import dataclass

from thalweg.engine.entries import Media
from thalweg.engine.media.facts import facts_of, kind_of, pixels_of
from thalweg.engine.media.images import image_tokens
from thalweg.engine.media.table import UNREAD_PAGES, UNREAD_SECONDS, price_of

IMAGE_TOKENS = 1_600
"""An image whose size is unknown: Anthropic's price of the largest image it does not resize
(1,092 x 1,092 pixels / 750), which is above OpenAI's and Google's for the same picture."""
_BYTES_PER_TOKEN = 3
_MOST_BYTES_PER_TOKEN = 8
"""Bytes of a token in a text file by value: of dense text, and of the longest words."""


@dataclass(frozen=True, slots=True)
class MediaCost:
    """The tokens that a part adds to a request."""

    tokens: int
    least: int
    """The minimum that the provider may charge: `tokens` if its price is exact."""


def cost_of(media: Media, model: str = "") -> MediaCost:
    """Return the tokens of an image, a document, a sound or a film.

    Args:
        media: The part.
        model: `provider:name`, or either; when empty, the dearest price of each kind.

    Example:
        >>> cost_of(Media("application/pdf", url="https://e.org/a.pdf"), "google_genai:gemini-3")
        MediaCost(tokens=5600, least=0)
    """
    match kind_of(media):
        case "image":
            tokens = _tokens_of_image(media, model)
            return MediaCost(tokens, tokens)
        case "sound":
            return _cost_by_seconds(media, model, "second_of_sound")
        case "film":
            return _cost_by_seconds(media, model, "second_of_film")
        case "text" if media.data:
            size = len(media.data) * 3 // 4
            return MediaCost(-(-size // _BYTES_PER_TOKEN), size // _MOST_BYTES_PER_TOKEN)
    return _cost_by_pages(media, model)


def _tokens_of_image(media: Media, model: str) -> int:
    if (size := pixels_of(media)) is None:
        return IMAGE_TOKENS
    detail = _DETAIL.search(media.extra)
    return image_tokens(*size, model, detail=detail[1] if detail else "")


def _cost_by_seconds(media: Media, model: str, price_name: str) -> MediaCost:
    tokens, least = price_of(model, price_name)
    if (seconds := facts_of(media).seconds) is None:
        return MediaCost(tokens * UNREAD_SECONDS, 0)
    return MediaCost(math.ceil(tokens * seconds), math.floor(least * seconds))


def _cost_by_pages(media: Media, model: str) -> MediaCost:
    tokens, least = price_of(model, "page")
    if (pages := facts_of(media).pages) is None:
        return MediaCost(tokens * UNREAD_PAGES, 0)
    return MediaCost(tokens * pages, least * pages)


_DETAIL = re.compile(r'"detail": ?"(\w+)"')
"""How closely OpenAI's models are asked to look at an image, among a part's other fields."""
