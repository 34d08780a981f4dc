"""The size of an image, by its first bytes, and the tokens that providers charge for it.

An image is priced by its pixels, not by its bytes. Prices are bounds from above: if the price of a
model is unknown, the highest one is used.
"""

import binascii
import math
import re
from collections.abc import Callable
from functools import partial

LARGEST_TOKENS = 4_784
"""The most Anthropic takes for an image, and the limit if no model is named.

Only GPT-5.5 and later take more, for photographs above four megapixels that they look at in
full."""
LONGEST_EDGE = 30_000
"""Pixels; a header with more is broken, and no provider accepts such an image."""

Dimensions = tuple[int, int]
"""Width and height in pixels."""


def dimensions(data: str) -> Dimensions | None:
    """Read width and height from an image in base64; only its headers are decoded.

    Returns:
        `None` if it is no PNG, JPEG, GIF or WebP, or is broken.

    Example:
        >>> dimensions("R0lGODlhCgAUAA==")
        (10, 20)
    """
    if "\n" in data[:100]:
        data = "".join(data.split())
    head = _decoded_slice(data, 0, 30)
    for signature, length, read in _HEADERS:
        if len(head) >= length and signature.match(head):
            size = read(data)
            break
    else:
        return None
    if size is None or not all(0 < edge <= LONGEST_EDGE for edge in size):
        return None
    return size


def _decoded_slice(data: str, start: int, size: int) -> bytes:
    """Decode some bytes of base64; fewer if it ends, none if it is broken."""
    first_group = start // 3
    chars = data[first_group * 4 : -(-(start + size) // 3) * 4].replace("-", "+").replace("_", "/")
    try:
        decoded = binascii.a2b_base64(chars + "=" * (-len(chars) % 4))
    except ValueError:
        return b""
    return decoded[start - first_group * 3 :][:size]


def _big_endian_int(data: str, start: int, size: int) -> int:
    return int.from_bytes(_decoded_slice(data, start, size), "big")


def _little_endian_int(data: str, start: int, size: int) -> int:
    return int.from_bytes(_decoded_slice(data, start, size), "little")


def _webp_lossless(data: str) -> Dimensions:
    bits = _little_endian_int(data, 21, 4)
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


def _jpeg(data: str) -> Dimensions | None:
    """Walk the segments to the one that starts a frame; only their heads are decoded."""
    offset = 2
    for _ in range(_MOST_SEGMENTS):
        head = _decoded_slice(data, offset, 9)
        if len(head) < 9 or head[0] != _MARKER_BYTE:  # noqa: PLR2004 (as far as a frame's size)
            return None
        if head[1] == _MARKER_BYTE:  # padding before a marker
            offset += 1
        elif head[1] in _FRAME_MARKERS:
            return int.from_bytes(head[7:9], "big"), int.from_bytes(head[5:7], "big")
        else:
            offset += 2 + int.from_bytes(head[2:4], "big")
    return None


_MOST_SEGMENTS = 1_000
_MARKER_BYTE = 0xFF
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers that start a frame; the three excluded ones are tables."""

_HEADERS: tuple[tuple[re.Pattern[bytes], int, Callable[[str], Dimensions | None]], ...] = (
    (
        re.compile(rb"\x89PNG\r\n\x1a\n"),
        24,
        lambda image: (_big_endian_int(image, 16, 4), _big_endian_int(image, 20, 4)),
    ),
    (
        re.compile(rb"GIF8[79]a"),
        10,
        lambda image: (_little_endian_int(image, 6, 2), _little_endian_int(image, 8, 2)),
    ),
    (re.compile(rb"\xff\xd8\xff"), 4, _jpeg),
    (
        re.compile(rb"RIFF....WEBPVP8X", re.DOTALL),
        30,
        lambda image: (_little_endian_int(image, 24, 3) + 1, _little_endian_int(image, 27, 3) + 1),
    ),
    (re.compile(rb"RIFF....WEBPVP8L", re.DOTALL), 25, _webp_lossless),
    (
        re.compile(rb"RIFF....WEBPVP8 ", re.DOTALL),
        30,
        lambda image: (
            _little_endian_int(image, 26, 2) & 0x3FFF,
            _little_endian_int(image, 28, 2) & 0x3FFF,
        ),
    ),
)
"""How each format begins, the bytes that hold its size, and who reads it."""


def image_tokens(width: int, height: int, model: str = "", *, detail: str = "") -> int:
    """Return an upper bound of a model's tokens for an image.

    Args:
        width: In pixels.
        height: In pixels.
        model: `provider:name`, or either; when empty, the highest of all providers is used, up to
            `LARGEST_TOKENS`.
        detail: The parameter `detail` of OpenAI's models: `low`, `high`, `original` or empty.

    Example:
        >>> image_tokens(1092, 1092, "anthropic:claude-sonnet-4-5")
        1590
    """
    for pattern, price in _PRICES:
        if pattern.search(model):
            return price(width, height, detail)
    dearest = max(price(width, height, "") for price in (_CLAUDE, _GPT, _GEMINI))
    return min(dearest, LARGEST_TOKENS)


def _area_tokens(width: int, height: int, _detail: str, *, edge: int, max_tokens: int) -> int:
    """Anthropic: the area, or squares of 28 pixels, of the image made to fit."""
    scale = min(1.0, edge / max(width, height))
    scaled_width, scaled_height = width * scale, height * scale
    squares = math.ceil(scaled_width / 28) * math.ceil(scaled_height / 28)
    return min(max_tokens, max(squares, math.ceil(scaled_width * scaled_height / 750)))


def _tile_tokens(width: int, height: int, detail: str, *, base: int, tile: int) -> int:
    """OpenAI, older models: squares of 512 pixels of the image made to fit."""
    if detail == "low":
        return base
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return base + tile * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


def _patch_tokens(
    width: int,
    height: int,
    detail: str,
    *,
    max_patches: int,
    factor: float,
    original_patches: int = 10_000,
) -> int:
    """OpenAI, newer models: squares of 32 pixels, each worth a bit more than a token."""
    max_patches = {"low": 256, "high": 2_500, "original": original_patches}.get(detail, max_patches)
    return math.ceil(factor * min(max_patches, math.ceil(width / 32) * math.ceil(height / 32)))


def _crop_tokens(width: int, height: int, _detail: str, *, min_tokens: int = 0) -> int:
    """Gemini up to 2.5: crops of a share of the shorter edge, each 258; one if it is small."""
    if max(width, height) <= 384:  # noqa: PLR2004 (Google's bound for one tile)
        return max(258, min_tokens)
    edge = min(768.0, max(256.0, min(width, height) / 1.5))
    return max(258 * math.ceil(width / edge) * math.ceil(height / edge), min_tokens)


def _flat_tokens(_width: int, _height: int, _detail: str, *, tokens: int) -> int:
    return tokens


def _dearest_gpt_tokens(width: int, height: int, detail: str) -> int:
    """Return the tokens of an OpenAI model with an unknown or missing name."""
    return max(price(width, height, detail) for price in (_OLD_GPT, _NEW_GPT, _GPT_6))


_UNBOUNDED = 10**6
"""GPT-6 has no published bound: 11,970 squares were measured to cost in full."""

Price = Callable[[int, int, str], int]
_CLAUDE: Price = partial(_area_tokens, edge=2_576, max_tokens=LARGEST_TOKENS)
_OLD_CLAUDE: Price = partial(_area_tokens, edge=1_568, max_tokens=1_600)
_OLD_GPT: Price = partial(_tile_tokens, base=85, tile=170)
_NEW_GPT: Price = partial(_patch_tokens, max_patches=2_500, factor=1.2)
_GPT_55: Price = partial(_patch_tokens, max_patches=10_000, factor=1.2)
_GPT_6: Price = partial(
    _patch_tokens, max_patches=_UNBOUNDED, factor=1.2, original_patches=_UNBOUNDED
)
_GPT: Price = _dearest_gpt_tokens
_GEMINI: Price = partial(_crop_tokens, min_tokens=1_120)


def _price_rule(pattern: str, price: Price) -> tuple[re.Pattern[str], Price]:
    return re.compile(pattern, re.IGNORECASE), price


_PRICES = (
    _price_rule(
        r"claude-(?:[123]|instant|opus-4(?:-[0-6]|-2\d|$)|(?:sonnet|haiku)-4)", _OLD_CLAUDE
    ),
    _price_rule(r"claude|anthropic", _CLAUDE),
    _price_rule(r"gpt-4o-mini", partial(_tile_tokens, base=2_833, tile=5_667)),
    _price_rule(
        r"(?:gpt|o\d)[-.\w]*-(?:mini|nano)", partial(_patch_tokens, max_patches=2_500, factor=2.46)
    ),
    _price_rule(r"gpt-4|gpt-5(?:\.[01])?(?![.\d])|\bo[13]\b", _OLD_GPT),
    _price_rule(r"gpt-5\.[2-4](?!\d)", _NEW_GPT),
    _price_rule(r"gpt-5\.5(?!\d)", _GPT_55),
    _price_rule(r"gpt-(?:5\.|[6-9]|\d\d)", _GPT_6),
    _price_rule(r"openai|azure|gpt", _GPT),
    _price_rule(r"gemini-[12]\b", _crop_tokens),
    _price_rule(r"gemini-[3-9]", partial(_flat_tokens, tokens=1_120)),
    _price_rule(r"gemini|google", _GEMINI),
)
"""Prices by the name of a model, the most specific name first. Claude processes images in more
pixels from Opus 4.7 on; OpenAI counts patches from GPT-5.2 on, and in every small model since
GPT-4.1; from GPT-5.5 on its default is the full detail."""
