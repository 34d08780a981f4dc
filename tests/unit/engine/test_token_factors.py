"""How a provider counts: before it reports usage, and when what it reports cannot be true."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.pricing.table import MODELS
from thalweg.engine.pricing.token_factors import FACTORS, first_calibration
from thalweg.engine.tokens import Calibration
from thalweg.engine.window.model_windows import WINDOWS, window_for

PROSE = "Please look at the invoice of May and say what is missing. "
CODE = 'for row in rows[1:]: total += row["net"] * 1.19  # {"vat": 19}\n'
CHINESE = "請看五月的發票，說說少了什麼。"


@pytest.mark.parametrize("text", [PROSE, CODE, CHINESE])
def test_the_newest_claude_starts_with_more_tokens_than_the_one_before(text: str) -> None:
    newer = first_calibration("anthropic:claude-fable-5-2", [text * 50])
    older = first_calibration("anthropic:claude-opus-4-6", [text * 50])
    assert newer.upper(1_000) > older.upper(1_000) > 1_200


def test_the_kind_of_text_is_read_off_the_newest_messages() -> None:
    assert first_calibration("claude-opus-5", [PROSE * 400, CHINESE * 9_000]).factor == 1.65
    assert first_calibration("claude-opus-5", [CHINESE * 2_000, PROSE * 400]).factor == 1.51


def test_openais_own_vocabulary_needs_no_factor_and_an_unknown_model_has_none() -> None:
    assert first_calibration("openai:gpt-5.2").upper(1_000) == 1_000
    assert first_calibration("mine") == Calibration()


def test_every_row_has_its_source_and_date() -> None:
    for row in FACTORS:
        assert "https://" in row.source or "the package " in row.source
        assert row.dated.year == 2026


@given(st.floats(0.01, 0.74), st.integers(2_000, 100_000), st.integers(1, 40))
def test_a_report_too_small_to_be_true_changes_nothing(
    share: float, tokens: int, times: int
) -> None:
    """Whatever a proxy leaves out, requests stay inside the window."""
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
    assert replace(seen, doubted=0, heard=0.0) == seen


def test_a_model_in_the_table_of_windows_has_a_price_too() -> None:
    """One list of names: a model that is added to one table is looked for in the other."""
    for provider, rows in WINDOWS.items():
        names = {tariff.name for tariff in MODELS[provider]}
        assert set(rows) <= names


def test_a_newer_version_is_not_taken_for_an_older_one() -> None:
    assert window_for("anthropic", "claude-fable-9") is None
    assert window_for("openai", "gpt-5.9") is None
