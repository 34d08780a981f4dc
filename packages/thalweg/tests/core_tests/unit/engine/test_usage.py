"""Usage of model answers: sums, copies, prices, stored forms."""

import json

import pytest

from thalweg.engine.entries import Message, message_from_json, message_to_json
from thalweg.engine.pricing.cost import cost_of, cost_of_answers, distinct, summed, units_of
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.engine.wires.fields import as_usage

OPUS, HAIKU, SONNET = "claude-opus-4-5-20251101", "claude-haiku-4-5", "claude-sonnet-4-5"


def test_an_hours_write_costs_twice_the_input_and_a_short_one_a_quarter_more() -> None:
    million = 1_000_000
    usage = Usage(2 * million, written=2 * million, written_long=million, model=OPUS)
    assert cost_of(usage, NAMED_TARIFFS["claude-opus-4-5"]) == pytest.approx(5 * 1.25 + 5 * 2)
    assert cost_of_answers([usage]) == pytest.approx(16.25)


def test_every_kind_of_token_has_its_price() -> None:
    usage = Usage(100, cached=50, written=30, written_long=10, output=8, reasoning=3)
    expected = 20 + 0.1 * 50 + 1.25 * 20 + 2 * 10 + 5 * 8
    assert units_of(usage, NAMED_TARIFFS["claude-opus-4-5"]) == pytest.approx(expected)


def test_each_answer_is_priced_at_its_own_model() -> None:
    answers = [Usage(1_000_000, model=OPUS), Usage(1_000_000, model=HAIKU)]
    assert cost_of_answers(answers) == pytest.approx(6.0)
    assert cost_of_answers(summed([*answers, *answers])) == pytest.approx(12.0)
    assert cost_of_answers([*answers, Usage(1, model="somebody-s")]) is None
    assert (answers[0] + answers[1]).model == ""


def test_sums_keep_the_price_tiers_of_requests_apart() -> None:
    answers = [Usage(size, output=10, model=SONNET) for size in (1_000, 300_000, 150_000, 250_000)]
    sums = summed(answers)
    assert [(one.calls, one.input) for one in sums] == [(2, 151_000), (2, 550_000)]
    assert cost_of_answers(sums) == pytest.approx(cost_of_answers(answers))
    assert cost_of_answers(summed(sums)) == pytest.approx(cost_of_answers(answers))


def test_the_last_row_of_an_answer_counts_once() -> None:
    rows = [Usage(9, output=1, id="a"), Usage(7), Usage(9, output=4, id="a"), Usage(7)]
    assert distinct(rows) == [rows[2], rows[1], rows[3]]


def test_no_usage_changes_no_sum() -> None:
    usage = Usage(5, output=1, reasoning=1, written=2, written_long=1, model="m")
    assert NO_USAGE + usage == usage == usage + NO_USAGE


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 10,
                "cache_creation_input_tokens": 7,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 5,
                    "ephemeral_1h_input_tokens": 2,
                },
                "output_tokens": 4,
            },
            Usage(20, cached=10, written=7, output=4, written_long=2),
        ),
        (
            {
                "input_tokens": 20,
                "output_tokens": 4,
                "input_token_details": {"cache_creation": 0, "ephemeral_1h_input_tokens": 6},
                "output_token_details": {"reasoning": 3},
            },
            Usage(20, written=6, output=4, written_long=6, reasoning=3),
        ),
        (
            {
                "prompt_tokens": 20,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 16},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(20, cached=16, output=9, reasoning=5),
        ),
        (
            {"promptTokenCount": 20, "candidatesTokenCount": 4, "thoughtsTokenCount": 5},
            Usage(20, output=9, reasoning=5),
        ),
        (
            {"input_tokens": 20, "output_tokens": 9, "reasoning_output_tokens": 5},
            Usage(20, output=9, reasoning=5),
        ),
    ],
    ids=["anthropic", "langchain", "openai", "gemini", "codex"],
)
def test_reported_usage(reported: object, expected: Usage) -> None:
    assert as_usage(reported) == expected


def test_messages_stored_before_usage_had_a_model_are_read() -> None:
    old = json.loads(message_to_json(Message("assistant", (), usage=Usage(9, 8, 7, 6))))
    assert old["usage"] == [9, 8, 7, 6]
    new = Message("assistant", (), usage=Usage(9, written_long=1, model="m", id="msg_1"))
    assert message_from_json(message_to_json(new)) == new
    assert message_from_json(json.dumps(old)).usage == Usage(9, 8, 7, 6)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (
            {
                "input_tokens": 100,
                "output_tokens": 50,
                "input_token_details": {"priority_cache_read": 90, "priority": 10},
                "output_token_details": {"priority_reasoning": 40},
            },
            Usage(100, cached=90, output=50, reasoning=40),
        ),
        (
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 90},
                "cache_read_input_tokens": 90,
            },
            Usage(100, cached=90),
        ),
        (
            {"prompt_tokens": 100, "prompt_tokens_details": {"cache_write_tokens": 60}},
            Usage(100, written=60),
        ),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64}, Usage(100, cached=64)),
        (
            {"input_tokens": 100, "prompt_tokens": 1000, "cache_read_input_tokens": 900},
            Usage(1000, cached=900),
        ),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 900}, Usage(1000, cached=900)),
    ],
    ids=["service tier", "LiteLLM", "written", "DeepSeek", "both names", "apart"],
)
def test_cached_and_written_tokens_are_read_in_every_form(
    reported: dict[str, object], usage: Usage
) -> None:
    """As langchain-openai 1.7, LiteLLM, OpenAI and DeepSeek report them."""
    assert as_usage(reported) == usage
