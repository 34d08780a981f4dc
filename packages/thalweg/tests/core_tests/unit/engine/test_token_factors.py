"""How a provider counts: before it reports usage, and when what it reports cannot be true."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF
from thalweg.engine.pricing.table import MODELS, TARIFFS
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import (
    FACTORS,
    Calibration,
    counter_for,
    exact_counter,
    first_calibration,
)
from thalweg.engine.window.model_windows import WINDOWS, window_for

PROSE = "Please look at the invoice of May and say what is missing. "
CODE = 'for row in rows[1:]: total += row["net"] * 1.19  # {"vat": 19}\n'
CHINESE = "請看五月的發票，說說少了什麼。"


COUNTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("token_counts.toml").read_text("utf-8")
)
MODELS_OF = {
    "cl100k": "openai:gpt-4-turbo",
    "gemini": "google:gemini-3-pro",
    "gemma3": "ollama:gemma3:12b",
    "qwen3": "ollama:qwen3:8b",
    "llama3": "ollama:llama3.1",
    "deepseek": "deepseek:deepseek-chat",
    "tekken": "mistral:mistral-small-latest",
    "pieces": "ollama:mistral",
}
NAMES = ("", "mine", "openai:gpt-5.2", "claude-opus-5", *MODELS_OF.values())
ours = exact_counter()


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("vocabulary", MODELS_OF)
def test_the_first_count_bounds_that_of_the_models_vocabulary(kind: str, vocabulary: str) -> None:
    """Of a model with a recognized name, and of one that is served under another name."""
    text, real = COUNTS[kind]["text"], COUNTS[kind]["tokens"][vocabulary]
    names = ["mine", MODELS_OF[vocabulary]] if vocabulary != "pieces" else [MODELS_OF[vocabulary]]
    for name in names:
        bound = first_calibration(name, [text]).upper(counter_for(ours, name)(text))
        assert real <= bound


@given(st.lists(st.text("0123456789", min_size=1, max_size=12) | st.sampled_from(" ,.\nabx")))
def test_a_vocabulary_of_single_digits_has_a_token_for_each(words: list[str]) -> None:
    text = "".join(words)
    groups = sum(-(-len(run) // 3) for run in re.findall("[0-9]+", text))
    digits = sum(sign.isdigit() for sign in text)
    assert counter_for(ours, "qwen3")(text) == ours(text) + digits - groups
    assert counter_for(ours, "llama3.1")(text) == ours(text)


@given(st.text(), st.sampled_from(NAMES))
def test_a_count_is_between_ours_and_the_bytes(text: str, name: str) -> None:
    """No text has more tokens than bytes, however strange; ours is never lowered."""
    counted, size = counter_for(ours, name)(text), len(text.encode("utf-8", "surrogatepass"))
    assert ours(text) <= counted <= max(ours(text), size)


def test_models_of_one_vocabulary_share_a_counter_and_a_users_own_stays() -> None:
    assert counter_for(ours, "qwen3:8b") is counter_for(ours, "x:Qwen/qwen2.5-7b")
    assert counter_for(ours, "openai:gpt-5.2") is counter_for(ours, "") is ours
    assert counter_for(len, "qwen3:8b") is len


def engine_for(model: str) -> Engine:
    policy = ContextPolicy()
    return Engine(
        budget=policy.budget(32_000),
        policy=policy.policy(UNKNOWN_TARIFF),
        count=ours,
        name_span=lambda first, last: f"{first}-{last}",
        model=model,
    )


@given(
    st.lists(st.sampled_from([kind["text"] for kind in COUNTS.values()]), min_size=1),
    st.lists(st.sampled_from(NAMES[1:]), min_size=2, max_size=4),
)
def test_a_thread_that_changes_its_model_counts_as_one_that_began_with_it(
    texts: Sequence[str], models: Sequence[str]
) -> None:
    """System prompt, messages and what is inserted before them."""
    switched, began = engine_for(models[0]), engine_for(models[-1])
    messages = [Message("system", (Text(texts[0]),))]
    for number, text in enumerate(texts):
        messages.append(Message("user", (Text(text),), uid=f"u{number}"))
    inserts = {"u0": Message("user", (Text(texts[-1]),), kind="injected")}
    for engine in (switched, began):
        for message in messages:
            engine.receive(message)
        engine.window.settle()
        engine.window.set_inserts(inserts)
    for model in models[1:]:
        switched.speak_to(
            model,
        )
    assert switched.window.tokens == began.window.tokens
    assert switched.window.ledger == began.window.ledger
    assert [e.tokens for e in switched.window.entries.values()] == [
        e.tokens for e in began.window.entries.values()
    ]


@pytest.mark.parametrize("text", [PROSE, CODE, CHINESE])
def test_the_newest_claude_starts_with_more_tokens_than_the_one_before(text: str) -> None:
    newer = first_calibration("anthropic:claude-fable-5-2", [text * 50])
    older = first_calibration("anthropic:claude-opus-4-6", [text * 50])
    assert newer.upper(1_000) > older.upper(1_000) > 1_200


def test_the_kind_of_text_is_read_off_the_newest_messages() -> None:
    assert first_calibration("claude-opus-5", [PROSE * 400, CHINESE * 9_000]).factor == 1.65
    assert first_calibration("claude-opus-5", [CHINESE * 2_000, PROSE * 400]).factor == 1.51


def test_openais_own_vocabulary_needs_no_factor_and_no_model_has_none() -> None:
    assert first_calibration("openai:gpt-5.2").upper(1_000) == 1_000
    assert first_calibration("openai:gpt-oss-120b").upper(1_000) == 1_000
    assert first_calibration("") == first_calibration(":") == Calibration()


def test_every_row_has_its_source_and_date() -> None:
    for row in FACTORS:
        assert re.search("https://|package|vocabulary of|`thalweg.testing`", row.source)
        assert row.dated.year == 2026


@given(st.floats(0.01, 0.74), st.integers(2_000, 100_000), st.integers(1, 40))
def test_a_report_too_small_to_be_true_changes_nothing(
    share: float, tokens: int, times: int
) -> None:
    """Requests remain inside the window, regardless of what a proxy omits."""
    seen = Calibration()
    for _ in range(times):
        seen = seen.observe(estimated=tokens, reported=int(tokens * share))
    assert seen == Calibration()


@given(st.lists(st.sampled_from([0.76, 0.82, 0.88]), max_size=30))
def test_low_reports_that_do_not_agree_are_not_believed(shares: list[float]) -> None:
    seen, last, run = Calibration(), 0.0, 0
    for share in shares:
        run = run + 1 if share == last else 1
        last = share
        before = seen.factor
        seen = seen.observe(estimated=10_000, reported=round(10_000 * share))
        if run < Calibration.AGREEING:
            assert seen.factor == before


def test_several_low_reports_that_agree_are_believed_of_an_unknown_tokenizer() -> None:
    seen = Calibration()
    for _ in range(Calibration.AGREEING - 1):
        seen = seen.observe(estimated=10_000, reported=8_000)
    assert seen.upper(10_000) == 10_000
    assert seen.observe(estimated=10_000, reported=8_000).upper(10_000) < 8_300


def test_low_reports_of_a_known_tokenizer_are_never_believed() -> None:
    seen = first = first_calibration("openai:gpt-5.2")
    for _ in range(20):
        seen = seen.observe(estimated=10_000, reported=8_000)
    assert seen == first


def test_a_true_report_after_doubtful_ones_counts_at_once() -> None:
    seen = Calibration().observe(estimated=10_000, reported=8_000)
    seen = seen.observe(estimated=10_000, reported=12_000)
    assert seen.upper(10_000) >= 12_000
    assert replace(seen, doubted=0, doubted_ratio=0.0) == seen


def test_a_model_in_the_table_of_windows_has_a_price_too() -> None:
    """One list of names: a model that is added to one table is looked for in the other."""
    for provider, rows in WINDOWS.items():
        names = {tariff.name for tariff in MODELS[provider]}
        assert set(rows) <= names


def test_a_newer_version_is_not_taken_for_an_older_one() -> None:
    assert window_for("anthropic", "claude-fable-9") is None
    assert window_for("openai", "gpt-5.9") is None


def test_every_model_with_a_price_has_a_window_or_is_known_to_have_none() -> None:
    """The source has none of them, or of `kimi-k2` one for each version."""
    rows = [(provider, row.name) for provider, rows in MODELS.items() for row in rows]
    missing = {name for p, name in rows if name not in TARIFFS and not window_for(p, name)}
    assert missing == {"claude-mythos-5", "claude-mythos-5-1", "gemini-3-pro", "kimi-k2"}


@pytest.mark.parametrize("model", ["openrouter:anthropic/claude-opus-4.7", "claude-4.8-opus"])
def test_a_gateways_name_of_a_model_has_its_factors(model: str) -> None:
    assert first_calibration(model, [PROSE]) == first_calibration("claude-opus-4-7", [PROSE])
    assert first_calibration(model, [PROSE]) != first_calibration("claude-opus-4-6", [PROSE])
