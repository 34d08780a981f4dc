"""What media cost, by kind and provider, and what the providers accept."""

import base64
import io
import wave
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.unit.engine.media.test_facts import pdf
from thalweg.engine.entries import Media, Message, Text
from thalweg.engine.media.cost import MediaCost, cost_of
from thalweg.engine.media.table import (
    DEAREST_PRICES,
    MEDIA_ROWS,
    PRICE_FIELDS,
    UNREAD_PAGES,
    UNREAD_SECONDS,
    MediaLimits,
    limits_for,
    media_row_of,
    price_of,
)
from thalweg.engine.tokens import MESSAGE_OVERHEAD, Calibration, TokenCounts, measure

KINDS = ["application/pdf", "audio/wav", "video/mp4", "image/png", "", "application/zip"]
MODELS = [
    "anthropic:claude-sonnet-4-6",
    "anthropic_bedrock:anthropic.claude-haiku-4-5-v1",
    "openai:gpt-4o",
    "openai:gpt-6-astra",
    "google_genai:gemini-2.5-pro",
    "google_genai:gemini-3.8-flash",
    "ollama:llama3",
    "",
]


def spoken(seconds: int) -> Media:
    body = io.BytesIO()
    with wave.open(body, "wb") as recorded:
        recorded.setparams((1, 1, 8_000, 0, "NONE", ""))
        recorded.writeframes(bytes(8_000 * seconds))
    return Media("audio/wav", data=base64.b64encode(body.getvalue()).decode())


PRICES = [
    ("anthropic:claude-sonnet-4-6", MediaCost(15_000, 7_500)),
    ("google_genai:gemini-2.5-pro", MediaCost(1_290, 1_290)),
    ("google_genai:gemini-3.8-flash", MediaCost(2_800, 1_400)),
    ("openai:gpt-4o", MediaCost(10_000, 425)),
    ("ollama:llama3", MediaCost(15_000, 0)),
]


@pytest.mark.parametrize(("model", "cost"), PRICES)
def test_a_pdf_costs_its_pages(model: str, cost: MediaCost) -> None:
    assert cost_of(pdf("cairo.pdf"), model) == cost


def test_a_sound_costs_its_seconds() -> None:
    minute = spoken(60)

    assert cost_of(minute, "google_genai:gemini-2.5-pro").tokens == pytest.approx(1_920, rel=0.01)
    assert cost_of(minute, "openai:gpt-audio").tokens == pytest.approx(600, rel=0.01)
    assert cost_of(minute, "ollama:qwen3-omni").tokens == pytest.approx(1_920, rel=0.01)


@given(mime=st.sampled_from(KINDS), model=st.sampled_from(MODELS), kilobytes=st.integers(0, 2_000))
def test_what_cannot_be_read_has_one_price_for_any_number_of_bytes(
    mime: str, model: str, kilobytes: int
) -> None:
    large = cost_of(Media(mime, data="B/ck" * kilobytes * 250 or "B/ck"), model)

    assert large == cost_of(Media(mime, data="B/ck"), model)
    assert 0 <= large.least <= large.tokens
    assert large.least in {0, large.tokens}


def test_an_unread_document_counts_as_ten_pages_and_a_sound_as_a_minute() -> None:
    for model in MODELS:
        tokens, _ = price_of(model, "page")
        assert cost_of(Media("application/pdf", url="https://e.org"), model).tokens == (
            tokens * UNREAD_PAGES
        )
        tokens, _ = price_of(model, "second_of_sound")
        assert cost_of(Media("audio/mpeg", data="AAAA"), model).tokens == tokens * UNREAD_SECONDS


def test_an_unknown_model_has_the_dearest_price_of_each_kind() -> None:
    for name in PRICE_FIELDS:
        prices = [price for row in MEDIA_ROWS if (price := getattr(row, name))]
        assert DEAREST_PRICES[name] == (max(tokens for tokens, _ in prices), 0)
        assert price_of("somebody:new", name) == DEAREST_PRICES[name]


def test_a_text_by_value_costs_what_its_bytes_may_hold() -> None:
    words = "river stone valley " * 1_000
    data = base64.b64encode(words.encode()).decode()
    cost = cost_of(Media("text/csv", data=data))

    assert cost.least <= len(words) / 5 <= cost.tokens <= len(words)


def test_every_row_has_a_source_a_date_and_prices_that_are_a_range() -> None:
    for row in MEDIA_ROWS:
        assert row.source.startswith("https://")
        assert row.dated.startswith("20")
        for name in PRICE_FIELDS:
            price = getattr(row, name)
            assert price is None or 0 < price[1] <= price[0]


FAMILIES = [
    ("anthropic:claude-opus-5-5", "Anthropic"),
    ("amazon_bedrock:anthropic.claude-sonnet-4", "Claude on Amazon Bedrock"),
    ("google_vertexai:claude-sonnet-4", "Claude on Google Cloud"),
    ("google_genai:gemini-3-pro", "Gemini"),
    ("azure:gpt-5.2", "OpenAI"),
    ("openrouter:anthropic/claude-sonnet-5", "Anthropic"),
]


@pytest.mark.parametrize(("model", "name"), FAMILIES)
def test_a_model_has_the_row_of_its_host(model: str, name: str) -> None:
    row = media_row_of(model)

    assert row is not None
    assert row.name == name


def test_a_small_window_has_lower_limits_at_anthropic() -> None:
    small, large = (limits_for("anthropic:claude", n) for n in (200_000, 1_000_000))

    assert (small.pages, small.images) == (100, 100)
    assert (large.pages, large.images) == (600, 600)
    assert small.request_bytes == large.request_bytes == 32_000_000
    assert limits_for("ollama:llama3", 8_000) == MediaLimits()


def test_a_message_tells_how_much_of_it_is_media_and_how_sure_that_is() -> None:
    message = Message("user", (Text("look"), pdf("cairo.pdf"), spoken(10)))
    size = measure(message, len, "anthropic:claude-sonnet-4-6")

    assert size.tokens == MESSAGE_OVERHEAD + len("look") + size.media_tokens
    assert size.media_tokens == 15_000 + ceil(32 * 10.0055)
    assert size.slack == 7_500 + ceil(32 * 10.0055)  # no price of Claude's for a sound
    assert size.media == 2


@given(reported=st.integers(0, 400_000), estimated=st.integers(0, 200_000), share=st.floats(0, 0.9))
def test_media_of_an_inexact_price_teach_only_that_more_is_counted(
    reported: int, estimated: int, share: float
) -> None:
    before = Calibration(1.2, observations=3)
    slack = int(estimated * share)
    after = before.observe(estimated=estimated, reported=reported, slack=slack)

    if slack > estimated * Calibration.SPREAD:
        assert after == before or after.factor > before.factor
    else:
        assert after == before.observe(estimated=estimated, reported=reported)


def test_a_ledger_knows_the_least_that_a_request_counts() -> None:
    ledger = TokenCounts.empty()
    ledger.add("history", 1_000, 5_000, 1, 900, 400)
    assert (ledger.total, ledger.slack, ledger.media) == (1_000, 400, 1)
    ledger.add("history", -1_000, -5_000, -1, -900, -400)
    assert ledger == TokenCounts.empty()
