"""Sizes read from headers, and prices of images."""

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.entries import Media, Message
from thalweg.engine.media.cost import IMAGE_TOKENS, cost_of
from thalweg.engine.media.images import LARGEST_TOKENS, LONGEST_EDGE, dimensions, image_tokens
from thalweg.engine.tokens import measure

EDGES = st.integers(1, 16_383)
"""What every format can express."""


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def jpeg(width: int, height: int, before: int = 0) -> bytes:
    exif = b"".join(b"\xff\xe1" + struct.pack(">H", 60_002) + b"\0" * 60_000 for _ in range(before))
    table = b"\xff\xc4" + struct.pack(">H", 6) + b"\0" * 4
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return b"\xff\xd8" + exif + table + b"\xff" + frame + b"\0" * 20


def webp(kind: bytes, width: int, height: int) -> bytes:
    body = {
        b"VP8X": b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little"),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }[kind]
    return b"RIFF\0\0\0\0WEBP" + kind + struct.pack("<I", len(body)) + body + b"\0" * 9


@given(width=EDGES, height=EDGES)
def test_every_format_tells_its_size(width: int, height: int) -> None:
    for raw in (
        png(width, height),
        gif(width, height),
        jpeg(width, height),
        *(webp(kind, width, height) for kind in (b"VP8X", b"VP8L", b"VP8 ")),
    ):
        assert dimensions(_text(raw)) == (width, height)


def test_a_photograph_tells_its_size_behind_what_the_camera_wrote() -> None:
    assert dimensions(_text(jpeg(4_000, 3_000, before=4))) == (4_000, 3_000)


def test_base64_in_lines_or_in_the_alphabet_of_addresses_is_read_too() -> None:
    raw = jpeg(640, 480, before=1)
    assert dimensions(base64.encodebytes(raw).decode()) == (640, 480)
    assert dimensions(base64.urlsafe_b64encode(raw).decode().rstrip("=")) == (640, 480)


@given(st.one_of(st.text(max_size=80), st.binary(max_size=80).map(_text)))
def test_garbage_has_no_size(data: str) -> None:
    assert dimensions(data) is None


@given(st.sampled_from([png(9, 9), gif(9, 9), jpeg(9, 9), webp(b"VP8L", 9, 9)]), st.data())
def test_an_image_cut_short_or_changed_never_raises(raw: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(raw)))
    tail = data.draw(st.binary(max_size=40))
    found = dimensions(_text(raw[:cut] + tail))
    assert found is None or all(0 < edge <= LONGEST_EDGE for edge in found)


def test_an_edge_that_cannot_be_is_no_size() -> None:
    assert dimensions(_text(png(LONGEST_EDGE + 1, 10))) is None
    assert dimensions(_text(gif(0, 10))) is None


PRICES = [
    # Anthropic's own table
    ("anthropic:claude-sonnet-4-5", 200, 200, 64),
    ("anthropic:claude-sonnet-4-5", 1_000, 1_000, 1_334),
    ("anthropic:claude-sonnet-4-5", 1_092, 1_092, 1_590),
    ("anthropic:claude-3-haiku", 4_000, 3_000, 1_600),
    ("amazon_bedrock:anthropic.claude-opus-4-6-v1", 8_000, 8_000, 1_600),
    # More pixels from Opus 4.7 on
    ("anthropic:claude-opus-4-7", 2_000, 1_500, 4_000),
    ("anthropic:claude-sonnet-5", 8_000, 6_000, LARGEST_TOKENS),
    # OpenAI's own examples
    ("openai:gpt-4o", 1_024, 1_024, 765),
    ("openai:gpt-4o", 2_048, 4_096, 1_105),
    ("openai:gpt-4o", 512, 512, 255),
    ("openai:gpt-4o-mini", 512, 512, 8_500),
    # Measured by users
    ("openai:gpt-5-nano", 1_024, 1_024, 2_520),
    # Measured by users, with and without the bound
    ("openai:gpt-5.4", 4_032, 3_024, 3_000),
    ("openai:gpt-5.5", 2_560, 1_440, 4_320),
    ("openai:gpt-5.5", 4_032, 3_024, 12_000),
    ("openai:gpt-6-astra", 4_032, 3_024, 14_364),
    # Google's own examples
    ("google_genai:gemini-2.5-pro", 384, 384, 258),
    ("google_genai:gemini-2.5-pro", 960, 540, 1_548),
    ("google_genai:gemini-3-pro-preview", 4_000, 3_000, 1_120),
]


@pytest.mark.parametrize(("model", "width", "height", "tokens"), PRICES)
def test_a_model_takes_its_price(model: str, width: int, height: int, tokens: int) -> None:
    assert image_tokens(width, height, model) == tokens


def test_low_detail_is_cheap_where_it_is_heard() -> None:
    assert image_tokens(4_000, 3_000, "openai:gpt-4o", detail="low") == 85
    assert image_tokens(4_000, 3_000, "anthropic", detail="low") == LARGEST_TOKENS
    assert image_tokens(4_032, 3_024, "openai:gpt-6-astra", detail="high") == 3_000
    assert image_tokens(4_000, 3_000, detail="low") == image_tokens(4_000, 3_000)


@given(width=EDGES, height=EDGES, name=st.sampled_from(["anthropic", "openai", "google"]))
def test_without_a_model_the_dearest_counts_up_to_the_largest(
    width: int, height: int, name: str
) -> None:
    unknown = image_tokens(width, height)
    assert 0 < unknown <= LARGEST_TOKENS
    assert unknown >= min(image_tokens(width, height, name), LARGEST_TOKENS)


@given(width=EDGES, height=EDGES, model=st.sampled_from([model for model, *_ in PRICES]))
def test_a_provider_is_never_dearer_than_its_newest_model(
    width: int, height: int, model: str
) -> None:
    assert image_tokens(width, height, model) > 0
    if "claude" in model:
        assert image_tokens(width, height, model) <= image_tokens(width, height, "anthropic")


def test_a_message_counts_its_images_by_their_pixels() -> None:
    small = Media("image/png", data=_text(png(64, 64)))
    unknown = Media("image/png", url="https://example.org/a.png")
    low = Media("image/png", data=_text(png(2_000, 2_000)), extra='{"openai":{"detail":"low"}}')
    assert cost_of(small, "anthropic").tokens == 9
    assert cost_of(unknown) == cost_of(Media("image/png", data="AAAA"))
    assert cost_of(unknown).tokens == IMAGE_TOKENS
    assert cost_of(low, "openai:gpt-4o").tokens == 85
    assert measure(Message("user", (small,)), len, "anthropic").tokens == 13
