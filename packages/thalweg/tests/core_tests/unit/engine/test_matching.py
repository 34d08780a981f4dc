"""From the name of a model to its prices."""

from collections.abc import Callable
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.pricing.matching import UNKNOWN_TARIFF, tariff_for
from thalweg.engine.pricing.table import MODELS, NAMED_TARIFFS, TARIFFS
from thalweg.engine.pricing.tariff import Tariff

FAMILIES = set(TARIFFS)
ROWS = [(p, row.name) for p, rows in MODELS.items() for row in rows if row.name not in FAMILIES]
WRAPS: list[Callable[[str], str]] = [
    lambda name: name,
    lambda name: name.upper(),
    lambda name: name.replace(".", "-"),
    lambda name: f"{name}-latest",
    lambda name: f"{name}-preview",
    lambda name: f"{name}-20260101",
    lambda name: f"{name}-2026-01-01",
    lambda name: f"{name}@20260101",
    lambda name: f"{name}:thinking",
    lambda name: f"{name}[1m]",
    lambda name: f"models/{name}",
    lambda name: f"maker/{name}",
    lambda name: f"amazon_bedrock:us.maker.{name}-v1:0",
    lambda name: f"projects/p/locations/global/publishers/maker/models/{name}",
]


@given(st.sampled_from(ROWS), st.sampled_from(WRAPS))
def test_a_row_is_found_by_its_name_whatever_a_gateway_puts_around_it(
    row: tuple[str, str], wrap: Callable[[str], str]
) -> None:
    provider, name = row
    found = tariff_for(provider, wrap(name))
    assert found.tariff.name == name
    assert (found.by, found.note) == ("model", "")


NAMES = [
    ("anthropic", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
    ("anthropic", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-20250514", "claude-opus-4"),
    ("anthropic", "claude-sonnet-4@20250514", "claude-sonnet-4"),
    ("anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku"),
    ("openai", "gpt-5-2025-08-07", "gpt-5"),
    ("openai", "gpt-5-codex", "gpt-5"),
    ("openai", "gpt-5.1-codex-mini", "gpt-5.1-codex-mini"),
    ("openai", "ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o-mini"),
    ("openai", "o3", "o3"),
    ("google", "google_genai:gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"),
    ("qwen", "qwen/qwen3-max-2025-09-23", "qwen3-max"),
    ("moonshot", "moonshotai/kimi-k2-0905", "kimi-k2"),
]


@pytest.mark.parametrize(("provider", "model", "row"), NAMES)
def test_the_most_specific_name_holds(provider: str, model: str, row: str) -> None:
    assert tariff_for(provider, model).tariff.name == row


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5.9"),
        ("openai", "openai:gpt-9"),
        ("anthropic", "openrouter:anthropic/claude-opus-9"),
        ("deepseek", "deepseek:deepseek-v5"),
        ("openai", "gpt-4o-realtime-preview"),
        ("openai", "gpt-5.3-mini"),
        ("anthropic", "claude-opus-4-9"),
        ("anthropic", "claude-next"),
        ("google", "gemini-flash-latest"),
        ("google", "gemini-2.5-flash-image"),
        ("moonshot", "kimi-k2-turbo-preview"),
        ("deepseek", ""),
    ],
)
def test_another_version_or_a_sister_is_priced_so_that_least_is_changed(
    provider: str, model: str
) -> None:
    """And that is reported, with the name of the model and of what was assumed."""
    found = tariff_for(provider, model)
    assert found.by == "provider"
    assert found.tariff.rewriting == max(row.rewriting for row in MODELS[provider])
    assert model in found.note
    assert found.tariff.name in found.note
    assert found.tariff.tiers == ()
    assert found.tariff.cost_of(1) is None


@pytest.mark.parametrize("model", ["own-model", ""])
def test_of_a_provider_that_nobody_knows_the_middle_is_assumed_and_said(model: str) -> None:
    found = tariff_for("", model)
    assert found.tariff is UNKNOWN_TARIFF
    assert found.by == "nobody"
    assert found.note.startswith(
        f"the prices of {model or 'this model'} are unknown; compaction assumes those of "
    )


def test_a_model_of_ones_own_costs_time_and_nothing_has_to_be_said() -> None:
    found = tariff_for("ollama", "qwen3:8b")
    assert (found.tariff.unit, found.note) == ("seconds", "")


def loss(assumed: Tariff, true: Tariff) -> float:
    """Times the least cost of rewriting and re-reading, at the interval that is best for one."""
    factor = sqrt(assumed.rewriting / true.rewriting)
    return (factor + 1 / factor) / 2


def test_what_is_assumed_of_nobody_loses_less_at_worst_than_either_end() -> None:
    sold = [row for row in NAMED_TARIFFS.values() if row.unit == "USD" and row.rewriting >= 1]
    ends = min(sold, key=lambda t: t.rewriting), max(sold, key=lambda t: t.rewriting)
    worst = max(loss(UNKNOWN_TARIFF, true) for true in sold)
    assert worst == pytest.approx(1.84, abs=0.01)
    assert all(worst < max(loss(end, true) for true in sold) / 1.5 for end in ends)
